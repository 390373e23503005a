"""Coverage of a run: the bins of the unit's cases, and those of the interface, counted as they were played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hwsim.base.text import counted
from hwsim.cases.bins import declare as bins
from hwsim.cases.bins import plan as functional
from hwsim.cases.bins.covering import Covered, covered
from hwsim.cases.bins.plan import plan
from hwsim.cases.case import Case
from hwsim.cases.selection import as_dense, indices_words, ordered, selections
from hwsim.cocotb.coverage import Coverage
from hwsim.cosim.design import Compared, Cycle, DotDesign, Played
from hwsim.cosim.heldoperands import HeldOperands
from hwsim.cosim.suites import takes
from hwsim.cosim.unitdesign import ModalDesign, SparseDesign
from hwsim.explain import CoverageGroup, Kills
from hwsim.explain.mistakes.kills import kept_kills
from hwsim.explain.record import coverage_groups
from hwsim.model.clock import Beat
from hwsim.spec import NotImplementedYet
from hwsim.tb.job import HOLD, READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID

EMPTY, BUBBLE, BEAT = range(3)  # what stands in a stage: nothing since reset, a gap right behind a beat, a beat


def port_counts(cycles: Iterable[Cycle], latency: int) -> Counter[str]:
    """Count the cycles that hit each bin of the interface; bins without a hit are left out. latency: stages."""
    ports = _Ports(latency)
    for drive, beat, seen in cycles:
        if drive & RESET:
            ports.reset()
        elif not drive & HOLD:
            ports.cycle(drive, seen, beat if drive & VALID else None)
    return ports.counts


class _Ports:
    """The state of a unit's stages and contexts, as its ports show it; the model of the arithmetic is not asked."""

    def __init__(self, latency: int):
        self.counts: Counter[str] = Counter()
        self.latency = latency
        self.clear()

    def clear(self) -> None:
        self.stages = [EMPTY] * self.latency
        self.open: set[int] = set()
        self.waiting = self.misused = False
        self.before = (False, False)  # whether a beat was accepted in the last cycle, and whether none was offered
        self.earlier = False  # whether one was accepted in the cycle before the last

    def reset(self) -> None:
        if lost := self.stages.count(BEAT):
            self.counts[bins.reset_with(lost)] += 1
        self.counts.update([bins.RESET_WAITING] * self.waiting)
        self.clear()

    def cycle(self, drive: int, expect: int, offered: Beat | None) -> None:
        """Count the bins of a cycle without reset. offered: the beat at the input."""
        valid, take = bool(expect & SEEN_VALID), bool(drive & READY)
        self.waiting = valid and not take
        accepted = offered is not None and bool(expect & SEEN_READY)
        misuse = bool(expect & SEEN_MISUSE)
        happens = {
            bins.FULL_STANDSTILL: self.waiting and self.stages == [BEAT] * self.latency,
            bins.LONELY_RESULT: self.waiting and BEAT not in self.stages[:-1] and offered is None,
            bins.READY_ALONE: take and not valid,
            bins.WAITS: offered is not None and not accepted and not self.waiting,
            bins.BACK_TO_BACK: accepted and self.before[0],
            bins.ONE_IDLE: accepted and self.before[1] and self.earlier,
            bins.MISUSE: misuse and not self.misused,
        }
        self.counts.update(name for name, is_so in happens.items() if is_so)
        if self.stages.count(BEAT) == self.latency - 1 and BUBBLE in self.stages:
            self.counts[bins.bubble(self.stages.index(BUBBLE) + 1)] += 1
        if accepted and offered is not None:
            self._sums(offered)
        if not self.waiting:
            behind = BUBBLE if self.stages[0] == BEAT else EMPTY
            self.stages = [BEAT if accepted else behind, *self.stages[:-1]]
        self.earlier, self.before = self.before[0], (accepted, offered is None)
        self.misused = misuse

    def _sums(self, beat: Beat) -> None:
        if beat.first and beat.context in self.open:
            self.counts[bins.GIVEN_UP] += 1
        self.open.add(beat.context)
        self.counts[bins.contexts_open(len(self.open))] += 1
        if beat.last:
            self.open.remove(beat.context)


WHOLE = ("dot directed", "handshake and reset")  # suites of which every case is sampled
MOST_BEATS = 3000  # of the other suites together: explaining one takes a few tenths of a millisecond


@dataclass(frozen=True)
class UnitCoverage:
    """A unit's bins after a run. sampled: how many of the `compared` different cases were explained.

    held: operands that were the same in all of them, in words. kills: likely mistakes of the unit that these cases
    kill.
    """

    unit: str
    groups: tuple[CoverageGroup, ...]
    sampled: int
    compared: int
    contradicted: tuple[str, ...] = ()
    held: str = ""
    kills: Kills | None = None

    @property
    def notes(self) -> list[str]:
        """Lines for a reader: how many cases were sampled, and which proofs of an unreachable bin turned out wrong."""
        whole = f"of {counted(self.compared, 'different case')} that came back, all are counted"
        some = (
            f"of {counted(self.compared, 'different case')} that came back, {self.sampled:,} are counted: all of the "
            "suites dot directed and handshake and reset, and of each other suite some, evenly chosen"
        )
        lines = [f"coverage of {self.unit}: {whole if self.sampled == self.compared else some}"]
        if self.held:
            lines.append(f"{self.unit}: bins that {self.held} does not reach are not among the reachable ones")
        return lines + [f"{self.unit}: {name} was hit, and is said to be unreachable" for name in self.contradicted]


def design_coverage(design: DotDesign, seed: int, played: Sequence[Played]) -> list[UnitCoverage]:
    """Coverage of the cases whose results came, and of the ports; for each mode of a unit of several modes.

    The bins are those of the unit that the cases were drawn for; none for a unit without a coverage plan.
    """
    traffic = Counter[str]()
    for play in played:
        traffic += port_counts(play.cycles(), design.latency)
    compared = [(play.suite.name, play.compared()) for play in played]
    if isinstance(design, SparseDesign):
        return _sparse_coverage(design, seed, compared, traffic)
    parts = list(design.in_modes(compared)) if isinstance(design, ModalDesign) else [(design, compared)]
    try:
        return [unit_coverage(part, seed, cases, traffic) for part, cases in parts]
    except NotImplementedYet:
        return []


def _sparse_coverage(
    design: SparseDesign, seed: int, compared: Sequence[Compared], traffic: Mapping[str, int]
) -> list[UnitCoverage]:
    """Coverage of what the dense unit multiplied, and of the selector: every choice of indices in every group."""
    unit = design.sparse
    lanes, of_lanes = unit.dense.instruction.lanes // unit.sparsity.kept, Counter[str]()
    for _, cases in compared:
        of_lanes.update(_selection(*found) for case in dict.fromkeys(cases) for found in selections(unit, case))
    every = [_selection(group, pattern) for group in range(lanes) for pattern in ordered(unit.sparsity, falling=True)]
    (group,) = coverage_groups(
        [("G13", name, True, "") for name in every],
        of_lanes,
        unit=design.name,
        titles=SELECTED[0],
        meanings=SELECTED[1],
    )
    try:
        dense = [(name, as_dense(unit, cases)) for name, cases in compared]
        whole = unit_coverage(design, seed, dense, traffic)
    except NotImplementedYet:
        return []
    return [replace(whole, groups=(*whole.groups, group))]


SELECTED = (
    {"G13": "selection"},
    {"G13": "Which factors of b the metadata select: a group of a beat, and the indices of what is kept there, as they "
    "stand in it, also those that do not ascend."},
)  # fmt: skip


def _selection(group: int, pattern: Sequence[int]) -> str:
    return f"group {group}: {indices_words(pattern)}"


def unit_coverage(design: DotDesign, seed: int, played: Iterable[Compared], traffic: Mapping[str, int]) -> UnitCoverage:
    """Coverage of a design's suites.

    seed: what cases were made for. traffic: counts of the interface's bins.

    Raises NotImplementedYet for a unit without a coverage plan.
    """
    unit = design.drawn_for
    first, others = _different(played, design.held)
    known = covered(unit, seed)
    coverage = Coverage(unit)
    counter, left = coverage.counter, first
    if all(case in first for case in known.cases):
        counter.merge(known.counter)
        sampled = set(known.cases)
        left = {case: None for case in first if case not in sampled}
    some = list(_some(others, unit.instruction.lanes))
    for case in (*left, *some):
        coverage.sample(case)
    every = reached(design, known)
    groups = coverage.groups(name=design.name, reached=every, interface=design.interface, traffic=traffic)
    hit = {bin_.name for group in groups for bin_ in group.of("hit")}
    return UnitCoverage(
        design.name,
        groups,
        counter.cases,
        len(first) + sum(map(len, others)),
        tuple(bin_.name for bin_ in (*plan(unit).bins, *design.interface) if not bin_.reachable and bin_.name in hit),
        str(design.held),
        kept_kills(unit, [*first, *some]).model_copy(update={"unit": design.name}),
    )


def reached(design: DotDesign, known: Covered) -> set[str]:
    """The names of bins that a design can reach, by the hits of covering cases.

    Of its ports those that have no proof, where a suite of its own hits them all.
    """
    names = {bin_.name for bin_ in design.interface if bin_.reachable} if design.cycles else set[str]()
    drawn = design.held.drawn(known.cases, solved=True)
    if design.held:
        counter = functional.Counter(plan(design.drawn_for))
        for case in drawn:
            if takes(design, case):
                counter.sample(design.held.as_drawn(case))
        names |= {name for name, count in counter.counts.items() if count}
    elif all(takes(design, case) for case in drawn):
        names |= {name for name, count in known.counter.counts.items() if count}
    return names


def _different(played: Iterable[Compared], held: HeldOperands) -> tuple[dict[Case, None], list[list[Case]]]:
    """The cases of suites that are sampled whole, and those of each other suite, in order: as drawn, each case once."""
    suites = [(name, [held.as_drawn(case) for case in cases] if held else cases) for name, cases in played]
    first = {case: None for name, cases in suites if name.startswith(WHOLE) for case in cases}
    seen, others = set(first), list[list[Case]]()
    for name, cases in suites:
        if not name.startswith(WHOLE):
            others.append([case for case in dict.fromkeys(cases) if case not in seen])
            seen |= set(cases)
    return first, others


def _some(suites: Collection[list[Case]], lanes: int) -> Iterable[Case]:
    """Some cases of each suite, evenly spaced: about as many beats of one suite as of another."""
    for cases in suites:
        beats = sum(len(case.a) for case in cases) // lanes
        yield from cases[:: max(1, -(-beats * len(suites) // MOST_BEATS))]
