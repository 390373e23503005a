"""Claims: what is to be shown of a unit, each by itself, and what claims are made of."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

from hwsim.base.errors import InputError
from hwsim.model.definition import Definition
from hwsim.prove.circuits import Circuit, connected
from hwsim.prove.composition import Calls
from hwsim.prove.symbolic import Path, Truth, as_integer
from hwsim.prove.terms import (
    Decided,
    Term,
    Word,
    all_substituted,
    ask,
    both,
    implies,
    negated,
    possible,
    true,
    value,
    width,
)
from hwsim.prove.wiring import composed
from hwsim.spec import Unit


@dataclass(frozen=True)
class Claim:
    """A claim that the solver decides: `claim` holds wherever the assumptions do.

    name: of the place and of what is claimed, as `lane: product`. words: a sentence. over: what it ranges over.
    show: the constants whose values refute it, if any do.
    """

    name: str
    words: str
    over: str
    assumptions: tuple[Term, ...]
    claim: Term
    show: tuple[Term, ...] = ()

    solver = "bitwuzla"

    def decide(self, seconds: float) -> Decided:
        """The solver's answer. A claim of assumptions that cannot hold together is refuted: it says nothing."""
        if self.assumptions and not possible(self.assumptions, seconds):
            return Decided("refuted", 0.0, {})
        return ask(self.claim, self.assumptions, seconds, self.show)


@dataclass(frozen=True)
class LateClaim:
    """A `Claim` that takes long to write down, and is written when it is looked at. write: returns the claimed term."""

    name: str
    words: str
    over: str
    assumptions: tuple[Term, ...]
    write: Callable[[], Term]
    show: tuple[Term, ...] = ()

    solver = "bitwuzla"

    @cached_property
    def claim(self) -> Term:
        """The claimed term."""
        return self.write()

    def decide(self, seconds: float) -> Decided:
        """The solver's answer."""
        return Claim(self.name, self.words, self.over, self.assumptions, self.claim, self.show).decide(seconds)


@dataclass(frozen=True)
class StructuralClaim:
    """A claim that linear forms decide: two of them are equal, or two terms are one term.

    otherwise: the same claim as a question, which is asked where forms do not show it; None where there is none.
    """

    name: str
    words: str
    over: str
    holds: Callable[[], bool]
    otherwise: Callable[[], Claim] | None = None

    @property
    def solver(self) -> str:
        """The name of the method that decides it."""
        return "linear forms" if self.otherwise is None else "linear forms, or bitwuzla"

    def decide(self, seconds: float) -> Decided:
        """The answer of the forms, or of `otherwise` where they do not show the claim."""
        start = time.thread_time()
        try:
            shown = self.holds()
        except InputError:  # what has no form
            if self.otherwise is None:
                raise
            shown = False
        if not shown and self.otherwise is not None:
            return self.otherwise().decide(seconds)
        word: Word = "proved" if shown else "undecided"
        return Decided(word, time.thread_time() - start)


@dataclass(frozen=True)
class CasesClaim:
    """A claim that is decided case by case: each is a question of its own, and a refuted case refutes the claim.

    cases: questions, written one after another. Their writer must show that they are all cases.
    """

    name: str
    words: str
    over: str
    cases: Callable[[], Iterator[Claim]]

    solver = "bitwuzla, by cases"

    def decide(self, seconds: float) -> Decided:
        """The solver's answer. seconds: for each case. A claim without a case is refuted: it says nothing."""
        start, some = time.thread_time(), False
        for case in self.cases():
            some = True
            answer = case.decide(seconds)
            if answer.word != "proved":
                return Decided(answer.word, time.thread_time() - start, answer.model)
        return Decided("proved" if some else "refuted", time.thread_time() - start, None if some else {})


def by_value(
    port: Term | None, claim: Term, assumptions: Sequence[Term], show: tuple[Term, ...] = ()
) -> Iterator[Claim]:
    """Yield the claim for each value of a constant, or once where there is none; impossible cases are left out."""
    for number in range(1 if port is None else 1 << width(port)):
        by = {} if port is None else {port: value(number, width(port))}
        here, *assumed = all_substituted([claim, *assumptions], by)
        if possible(assumed):
            yield Claim(f"{number}", "", "", tuple(assumed), here, show)


@dataclass(frozen=True)
class ComparedCases:
    """The answer to a claim some of whose cases were tried, and none of which was wrong: no proof."""

    word: Literal["compared"] = "compared"
    seconds: float = 0.0
    model: None = None


class Undecided(Protocol):
    """The answer to a claim of which nothing is proved."""

    @property
    def word(self) -> Literal["compared", "not proved"]:
        """The word of a `ClaimRow`."""

    @property
    def seconds(self) -> float:
        """Seconds of the processor."""

    @property
    def model(self) -> None:
        """None: nothing refutes the claim."""


class Decidable(Protocol):
    """The interface of every claim: how it is listed, and how it is decided."""

    @property
    def name(self) -> str:
        """The name, as of `Claim`."""

    @property
    def words(self) -> str:
        """The sentence, as of `Claim`."""

    @property
    def over(self) -> str:
        """The range, as of `Claim`."""

    @property
    def solver(self) -> str:
        """The name of the method that decides it."""

    def decide(self, seconds: float) -> Decided | Undecided:
        """Decide the claim. seconds: of the processor, for each question."""


OfSolver = Claim | LateClaim
AnyClaim = OfSolver | StructuralClaim | CasesClaim


SPECIAL = ("nan", "positive", "negative")
ROUNDS = ("magnitude", "normalize", "round")  # the steps that round a total


def holds(truth: object) -> Term:
    """A condition as a term."""
    return truth.term if isinstance(truth, Truth) else true() if truth else negated(true())


def exactly(number: object, low: int, high: int) -> Term:
    """The condition that an integer is from low to high."""
    return both(holds(as_integer(number) >= low), holds(as_integer(number) <= high))


def each(found: Sequence[Path[Term]]) -> Term:
    """The condition that the result holds on every path."""
    return both(*(implies(path.condition, path.result) for path in found))


def is_each(found: object, runs: Sequence[Path[Any]]) -> Term:
    """The condition that a code is, on every path, the path's result."""
    return each([Path(run.condition, holds(found == run.result)) for run in runs])


def joined(steps: Mapping[str, Circuit], *names: str) -> Circuit:
    """The circuit of some steps of a datapath, and of those inside of trees that they end."""
    return connected([circuit for name, circuit in steps.items() if name.split(".")[0] in names])


def adding(steps: Mapping[str, Circuit], name: str) -> tuple[Circuit, Circuit, Circuit]:
    """The steps of the adder of this name: those that align, that sum and that round, however they are cut."""
    of_adder = {
        step.removeprefix(f"{name}."): circuit for step, circuit in steps.items() if step.startswith(f"{name}.")
    }
    of_adder |= {"round": steps[name]}
    return joined(of_adder, "distance", "align"), joined(of_adder, "sum"), joined(of_adder, *ROUNDS)


@dataclass(frozen=True)
class FrontCircuits:
    """The first steps of a datapath; products: both together."""

    decode: Circuit
    multiply: Circuit
    products: Circuit


@dataclass(frozen=True)
class StepCircuits(FrontCircuits):
    """The steps of a datapath with windows, joined where no relation stands between them.

    combine, cut, late: the steps of two windows, of places of the sum that are lost, and of a late addend.
    """

    maximum: Circuit
    align: Circuit
    sum: Circuit
    round: Circuit
    combine: Circuit | None = None
    cut: Circuit | None = None
    late: Circuit | None = None

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> StepCircuits:
        """Join steps, given by their names and in their order."""

        def part(*names: str) -> Circuit:
            return joined(steps, *names)

        there = {name.split(".")[0] for name in steps}
        combine, cut, late = (part(name) if name in there else None for name in ("combine", "cut", "late"))
        return cls(
            part("decode"), part("multiply"), part("decode", "multiply"), part("maximum"), part("distance", "align"),
            part("sum"), part(*ROUNDS), combine, cut, late,
        )  # fmt: skip


@dataclass(frozen=True)
class ExactCircuits(FrontCircuits):
    """The steps of an exact sum.

    magnitude, code: the two parts of `round`, where the sign of a sum is made by a step of its own.
    """

    align: Circuit
    sum: Circuit
    round: Circuit
    magnitude: Circuit | None
    code: Circuit

    @classmethod
    def joined(cls, steps: Mapping[str, Circuit]) -> ExactCircuits:
        """Join steps, given by their names and in their order."""

        def part(*names: str) -> Circuit:
            return joined(steps, *names)

        magnitude = part("magnitude") if "magnitude" in steps else None
        return cls(
            part("decode"), part("multiply"), part("decode", "multiply"), part("align"), part("scale", "sum"),
            part(*ROUNDS), magnitude, part("normalize", "round"),
        )  # fmt: skip


class DatapathClaims(ABC):
    """All claims about the datapath of a unit.

    cuts: as of a pipeline, where they divide a circuit that a claim is about. calls: the model's calls for a group; the
    claims show that circuits compute them. Raises Unmet where the model does what no step of the RTL does.
    """

    def __init__(self, unit: Unit, cuts: Sequence[str] = (), calls: Calls | None = None):
        self.unit, self.model = unit, Definition(unit, keep=False)
        self.calls = Calls(composed(unit).group) if calls is None else calls

    @abstractmethod
    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims in the order of the steps; then those of the cases and of the whole."""

    def of_mode(self) -> Iterator[AnyClaim]:
        """Yield the claims that depend on the unit's mode, one of several: of decoding, and of what decoding begins."""
        yield from self.claims()

    @property
    @abstractmethod
    def chain(self) -> Sequence[Circuit]:
        """The circuits of the datapath, one after another: claims are about their inputs and outputs."""

    @property
    @abstractmethod
    def neutral(self) -> Mapping[str, Term]:
        """The inputs of the chain's first circuit for operands of +0 and scales of 1, by their names."""
