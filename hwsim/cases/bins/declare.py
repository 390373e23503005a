"""Bins, families of bins, the plan that they declare them in, and what a case did, as samplers look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.case import Case, Rows, one_window
from hwsim.cases.solver import CaseBuilder
from hwsim.formats import Class
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, Pipeline, Unit
from hwsim.spec.implementation import pipeline as usual_pipeline

SignedTerm = tuple[int, Term, int, int]


class SampledGroup(NamedTuple):
    """One group of a case of one plain window.

    terms: of each product other than zero its lane, the term, how many of its places are below the window (negative:
    none, with room), and what stands there. Empty where a term is NaN or infinite.
    addend: the same of the addend, or of the partial sum, if it is not zero; its lane is -1.
    holders: lanes of the products that have the largest exponent `top`; top is None for zeros only.
    """

    case: Case
    group: Group
    terms: list[SignedTerm]
    addend: SignedTerm | None
    holders: list[int]
    top: int | None

    @property
    def every(self) -> list[SignedTerm]:
        """The terms, and the addend last where there is one."""
        return self.terms if self.addend is None else [*self.terms, self.addend]

    @property
    def finite(self) -> bool:
        """True if no term is NaN or infinite."""
        return self.group.special is None

    @property
    def last(self) -> bool:
        """True if the case ends with this group."""
        return (self.group.index + 1) * len(self.group.products) == len(self.case.a)


class SampledCase(NamedTuple):
    """A whole case. groups: of units of one plain window alone."""

    case: Case
    explanation: Explanation
    groups: list[SampledGroup]


def sampled_case(case: Case, explanation: Explanation) -> SampledCase:
    """A case with the facts that bins sample. explanation: the definition's."""
    rule = explanation.unit.sum
    if not isinstance(rule, AlignedSum) or not one_window(explanation.unit):
        return SampledCase(case, explanation, [])
    return SampledCase(case, explanation, [_group(case, group, rule.fraction_bits) for group in explanation.groups])


def _group(case: Case, group: Group, window: int) -> SampledGroup:
    top = group.max_exp
    if group.special is not None or top is None:
        return SampledGroup(case, group, [], None, [], None)
    terms, holders = [], []
    for lane, term in enumerate(group.products):
        if term.sig:
            below = top - term.exp + term.fraction_bits - window
            terms.append((lane, term, below, term.sig & ((1 << below) - 1) if below > 0 else 0))
            if term.exp == top:
                holders.append(lane)
    addend, start = None, group.addend
    if start is not None and start.cls is Class.NORMAL:
        below = top - start.exp + start.fraction_bits - window
        addend = (-1, start, below, start.sig & ((1 << below) - 1) if below > 0 else 0)
    return SampledGroup(case, group, terms, addend, holders, top)


MARKS = ("+", "-")  # of a sign of 0 and of 1
How = Literal["model", "trace"]
Hits = set[int]
GroupSampler = Callable[[SampledGroup, Hits], None]
CaseSampler = Callable[[SampledCase, Hits], None]
PartSampler = Callable[[SampledGroup], list[int]]


@dataclass(frozen=True, slots=True)
class CoverageBin:
    """An event that a test of a unit can make happen.

    group: G1 to G12. name: unique in the plan, and the same in every version that has the bin.
    unreachable: the proof that nothing does it, a sentence; None where there is none.
    how: what it is sampled from: what the model computes, or the cycles of a trace.
    parts: more than 1 for a bin that is hit when all of so many parts are.
    """

    group: str
    name: str
    unreachable: str | None = None
    how: How = "model"
    parts: int = 1

    @property
    def reachable(self) -> bool:
        """True if nothing proves that it cannot be hit."""
        return self.unreachable is None


class Declared:
    """A plan in the making: bins in order, and what samples them."""

    def __init__(self) -> None:
        self.bins: list[CoverageBin] = []
        self.groups: list[GroupSampler] = []
        self.cases: list[CaseSampler] = []
        self.parts: PartSampler = lambda group: []
        self.sections: dict[str, int] = {}
        self._names: set[str] = set()

    def section(self, name: str) -> None:
        """Begin a section: bins that one sampler counts, whose order others may build on."""
        self.sections[name] = len(self.bins)

    def bin(self, group: str, name: str, unreachable: str | None = None, how: How = "model", parts: int = 1) -> int:
        """Declare a bin, and return its index.

        Raises ValueError for a name that there is already.
        """
        if name in self._names:
            raise InputError(f"two bins are named {name!r}")
        self._names.add(name)
        self.bins.append(CoverageBin(group, name, unreachable, how, parts))
        return len(self.bins) - 1


class Subject:
    """A unit whose bins are declared, and what its cases are made with.

    rows: collects those that are laid out; any unit has some. seed: of choices between operands that serve as well.
    """

    def __init__(self, unit: Unit, seed: int = 0):
        self.unit, self.seed, self.rows = unit, seed, Rows(unit)

    @cached_property
    def facts(self) -> UnitFacts:
        """The numbers of one plain window. Raises NotImplementedYet for other units."""
        return UnitFacts(self.unit)

    @cached_property
    def builder(self) -> CaseBuilder:
        """The solver of one plain window. Raises NotImplementedYet for other units."""
        return CaseBuilder(self.unit, self.seed)


MakesCases = Callable[[Subject], Iterable[Case]]


@dataclass(frozen=True)
class Family:
    """Bins, and what makes cases that hit them.

    units: True of each unit that has the bins. declare: declares them, and what counts them. directed: makes directed
    cases, all of which are kept. rest: makes cases for bins of these groups that no directed case hits; they are kept
    where they hit something new.
    """

    units: Callable[[Unit], bool]
    declare: Callable[[Subject, Declared], None] | None = None
    directed: tuple[MakesCases, ...] = ()
    rest: tuple[MakesCases, ...] = ()
    groups: tuple[str, ...] = ()


def every_unit(_unit: Unit) -> bool:
    """True of any unit."""
    return True


def not_one_window(unit: Unit) -> bool:
    """True if a unit has more, or other, than one plain window."""
    return not one_window(unit)


def window_family(
    name: str,
    declare: Callable[[UnitFacts, Declared], None],
    directed: tuple[Callable[[CaseBuilder], None], ...],
    rest: tuple[Callable[[CaseBuilder, UnitFacts], None], ...] = (),
    groups: tuple[str, ...] = (),
    units: Callable[[Unit], bool] = every_unit,
) -> Family:
    """A family of units of one plain window, whose cases are solved for.

    name: with that of a solver it keys the solver's random choices, so that neither may change. units: of those of one
    plain window.
    """

    def solved(solve: Callable[..., None], facts: bool, subject: Subject) -> list[Case]:
        builder = subject.builder
        builder.cases.clear()
        builder.start(name, solve.__name__)
        solve(builder, subject.facts) if facts else solve(builder)
        return list(builder.cases)

    return Family(
        lambda unit: one_window(unit) and units(unit),
        lambda subject, out: declare(subject.facts, out),
        tuple(partial(solved, solve, False) for solve in directed),
        tuple(partial(solved, solve, True) for solve in rest),
        groups,
    )


def laid(*lays: Callable[[Rows], None]) -> tuple[MakesCases, ...]:
    """Makers of cases that are laid out as rows, of names that none before them has."""

    def made(lay: Callable[[Rows], None], subject: Subject) -> list[Case]:
        before = len(subject.rows.cases)
        lay(subject.rows)
        return list(subject.rows.cases.values())[before:]

    return tuple(partial(made, lay) for lay in lays)


BACK_TO_BACK, ONE_IDLE = "beats back to back", "one cycle without a beat"
FULL_STANDSTILL, LONELY_RESULT = "back-pressure with every stage full", "a result that waits while nothing follows"
RESET_WAITING, READY_ALONE = "reset while a result waits", "ready without valid"
WAITS, GIVEN_UP, MISUSE = "a beat that waits for its context", "a sum given up for a new one", "misuse"


def bubble(stage: int) -> str:
    """The bin of a gap in one stage, from 1 on."""
    return f"a bubble at stage {stage}, beats in the other stages"


def reset_with(beats: int) -> str:
    """The bin of a reset that loses so many beats."""
    return f"reset with {counted(beats, 'beat')} in flight"


def contexts_open(count: int) -> str:
    """The bin of so many sums open at once."""
    return counted(count, "context", "open")


def _interface(unit: Unit, pipeline: Pipeline, out: Declared) -> None:
    stages = range(1, pipeline.latency + 1)
    out.section("interface")
    names = [BACK_TO_BACK, ONE_IDLE, *map(bubble, stages), FULL_STANDSTILL, LONELY_RESULT, *map(reset_with, stages)]
    names += [RESET_WAITING, *map(contexts_open, range(1, pipeline.contexts + 1))]
    for name in (*names, READY_ALONE, WAITS, GIVEN_UP, MISUSE):
        out.bin("G12", name, _never_waits(unit, pipeline) if name == WAITS else None, how="trace")


def _never_waits(unit: Unit, pipeline: Pipeline) -> str | None:
    instruction = unit.instruction
    if not instruction.chain and instruction.k == instruction.lanes:
        return "every sum is one beat, which continues none"
    return "of one stage, each sum is at the output before its next beat comes" if pipeline.latency == 1 else None


def interface_bins(unit: Unit, pipeline: Pipeline) -> tuple[CoverageBin, ...]:
    """The bins of one implementation of a unit; a unit's plan has those of its usual one."""
    out = Declared()
    _interface(unit, pipeline, out)
    return tuple(out.bins)


def declare_interface(subject: Subject, out: Declared) -> None:
    """Gaps, back-pressure, resets, contexts."""
    _interface(subject.unit, usual_pipeline(subject.unit), out)
