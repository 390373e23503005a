"""Claims: what is to be shown of a unit, each by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from hwsim.errors import InputError
from hwsim.prove.logic import Decided, Term, Word, all_substituted, ask, possible, value, width


@dataclass(frozen=True)
class Claim:
    """Something that the solver decides: `claim` holds wherever the assumptions do.

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
        """What the solver says. A claim of assumptions that cannot hold together is refuted: it says nothing."""
        if self.assumptions and not possible(self.assumptions, seconds):
            return Decided("refuted", 0.0, {})
        return ask(self.claim, self.assumptions, seconds, self.show)


@dataclass(frozen=True)
class LateClaim:
    """A `Claim` that takes long to write down, and is written when it is looked at. write: returns what is claimed."""

    name: str
    words: str
    over: str
    assumptions: tuple[Term, ...]
    write: Callable[[], Term]
    show: tuple[Term, ...] = ()

    solver = "bitwuzla"

    @cached_property
    def claim(self) -> Term:
        """What is claimed."""
        return self.write()

    def decide(self, seconds: float) -> Decided:
        """What the solver says."""
        return Claim(self.name, self.words, self.over, self.assumptions, self.claim, self.show).decide(seconds)


@dataclass(frozen=True)
class FormClaim:
    """Something that forms decide: that two of them are equal, or two terms one term.

    otherwise: the same as a question, which is asked where forms do not show it; None where none is.
    """

    name: str
    words: str
    over: str
    holds: Callable[[], bool]
    otherwise: Callable[[], Claim] | None = None

    @property
    def solver(self) -> str:
        """What decides it."""
        return "linear forms" if self.otherwise is None else "linear forms, or bitwuzla"

    def decide(self, seconds: float) -> Decided:
        """Whether they are."""
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
    """A claim that is decided case by case: each is a question of its own, and what refutes one refutes the claim.

    cases: questions, written one after another. That they are all is for whoever writes them to show.
    """

    name: str
    words: str
    over: str
    cases: Callable[[], Iterator[Claim]]

    solver = "bitwuzla, by cases"

    def decide(self, seconds: float) -> Decided:
        """What the solver says. seconds: for each case. Without a case the claim is refuted: it says nothing."""
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
    """The same claim for each value of a constant, or at once where there is none; what cannot be is left out."""
    for number in range(1 if port is None else 1 << width(port)):
        by = {} if port is None else {port: value(number, width(port))}
        here, *assumed = all_substituted([claim, *assumptions], by)
        if possible(assumed):
            yield Claim(f"{number}", "", "", tuple(assumed), here, show)


@dataclass(frozen=True)
class ComparedCases:
    """What comes of a claim some of whose cases were tried, and none of which was wrong: no proof."""

    word: Literal["compared"] = "compared"
    seconds: float = 0.0
    model: None = None


class Decidable(Protocol):
    """What every claim has: how it is listed, and what becomes of it."""

    @property
    def name(self) -> str:
        """As of `Claim`."""

    @property
    def words(self) -> str:
        """As of `Claim`."""

    @property
    def over(self) -> str:
        """As of `Claim`."""

    @property
    def solver(self) -> str:
        """What decides it."""

    def decide(self, seconds: float) -> Decided | ComparedCases:
        """What becomes of it. seconds: of the processor, for each question."""


OfSolver = Claim | LateClaim
AnyClaim = OfSolver | FormClaim | CasesClaim
