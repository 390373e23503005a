"""Bins, the list that groups declare them in, and what a case did, as samplers look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.case import Case, one_window
from hwsim.cases.solver import CaseBuilder
from hwsim.formats import Class
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, Pipeline, Unit

SignedTerm = tuple[int, Term, int, int]


class SampledGroup(NamedTuple):
    """One group of a case.

    a, b: the codes of its lanes. place: where in the case it is. finite: no term is NaN or infinite.
    terms: of each product other than zero its lane, the term, how many of its places are below the window (negative:
    none, with room), and what stands there. Empty unless finite.
    addend: the same of the addend, or of the partial sum, if it is not zero; its lane is -1.
    holders: lanes of the products that have the largest exponent `top`; top is None for zeros only.
    """

    case: Case
    group: Group
    a: tuple[int, ...]
    b: tuple[int, ...]
    place: int
    finite: bool
    terms: list[SignedTerm]
    addend: SignedTerm | None
    holders: list[int]
    top: int | None


class SampledCase(NamedTuple):
    """A whole case."""

    case: Case
    explanation: Explanation
    groups: list[SampledGroup]


def sampled_case(case: Case, explanation: Explanation) -> SampledCase:
    """A case with the facts that bins sample; groups for one plain window alone. explanation: the definition's."""
    rule, lanes = explanation.unit.sum, explanation.unit.instruction.lanes
    sampled: list[SampledGroup] = []
    if not isinstance(rule, AlignedSum) or not one_window(explanation.unit):
        return SampledCase(case, explanation, sampled)
    for index, group in enumerate(explanation.groups):
        start = index * lanes
        sampled.append(
            _group(case, group, case.a[start : start + lanes], case.b[start : start + lanes], index, rule.fraction_bits)
        )
    return SampledCase(case, explanation, sampled)


def _group(case: Case, group: Group, a: tuple[int, ...], b: tuple[int, ...], index: int, window: int) -> SampledGroup:
    top, finite = group.max_exp, group.special is None
    if not finite or top is None:
        return SampledGroup(case, group, a, b, index, finite, [], None, [], None)
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
    return SampledGroup(case, group, a, b, index, True, terms, addend, holders, top)


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


@dataclass(frozen=True)
class Family:
    """Bins of one or two groups, and what solves for cases that hit them.

    name: with that of a solver it keys the solver's random choices, so that neither may change. groups: their titles,
    by name. declare: declares the bins, and what counts them. directed: solvers of directed cases, all of which are
    kept. rest: solvers for bins that no directed case hits; their cases are kept where they hit something new.
    """

    name: str
    groups: Mapping[str, str]
    declare: Callable[[UnitFacts, Declared], None]
    directed: tuple[Callable[[CaseBuilder], None], ...]
    rest: tuple[Callable[[CaseBuilder, UnitFacts], None], ...] = ()


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


def declare_interface(unit: Unit, pipeline: Pipeline, out: Declared) -> None:
    """Gaps, back-pressure, resets, contexts."""
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
    declare_interface(unit, pipeline, out)
    return tuple(out.bins)
