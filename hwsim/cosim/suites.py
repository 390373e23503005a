"""The suites of a design of one mode or of several: their cases, and how many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, islice

from hwsim.base.text import counted
from hwsim.cases.bins.covering import covering, directed
from hwsim.cases.captured import sparse_captured
from hwsim.cases.case import Case, dot, fill
from hwsim.cases.drawing import Stream
from hwsim.cases.matrices import gemm_cases, gemm_problem, sparse_problem
from hwsim.cases.random_cases import by_turns, mixed, pair_cases, random_cases
from hwsim.cases.selection import placed, selection_cases
from hwsim.compute.gemm import gemm
from hwsim.cosim.bench import fitting
from hwsim.cosim.design import BUSY, EVERY_SUITE, FULL, AskedSuites, DotDesign, Play, Suite, SuiteKind, Traffic
from hwsim.cosim.play import BULK
from hwsim.cosim.unitdesign import ModalDesign, SparseDesign
from hwsim.explain import LeftOut
from hwsim.explain.silicon.results import known_cases
from hwsim.formats import codes_of
from hwsim.model.definition import definition_of
from hwsim.spec import NotImplementedYet, Unit


@dataclass(frozen=True)
class DriverSize:
    """The amount of work for a driver.

    random: cases of each of two suites. gemm: rows, columns and K. captured: at most so many cases.
    """

    random: int
    gemm: tuple[int, int, int]
    captured: int


SIZES = {
    "verilator": DriverSize(random=1500, gemm=(16, 16, 512), captured=4000),
    "icarus": DriverSize(random=150, gemm=(6, 6, 512), captured=200),
}
PAIRS = SuiteKind.PAIRS.suite
PAIR_STEP = {"verilator": 1, "icarus": 17}  # on cocotb every so many-th pair of codes, made odd
ALL_PAIRS = 1 << 16
BULK_RANDOM = 20_000
MANY = Traffic(offer=0.9, take=0.9, bursts=True)
MOST_CASES = 20_000
MOST_GEMM_BEATS = 1 << 15
HANDSHAKE_CASES = 64


@dataclass
class Filter:
    """A filter for the cases that a design takes. reasons: cases that were left out, by reason."""

    design: DotDesign
    reasons: Counter[str] = field(default_factory=Counter)

    def take(self, cases: Sequence[Case]) -> Iterator[tuple[int, Case]]:
        """Yield the cases that the design takes, filled up to whole beats, with their indices."""
        for index, case in enumerate(cases):
            filled = fill(self.design.unit, self.design.products, case)
            if why := self.design.held.differs(case):
                self.reasons[why] += 1
            elif len(filled.a) > self.design.products and not self.design.chains:
                self.reasons["more than one beat"] += 1
            elif case.c and not self.design.addend and "c" not in self.design.held:
                self.reasons["an addend other than +0"] += 1
            else:
                yield index, self.design.held.put(filled)


def takes(design: DotDesign, case: Case) -> bool:
    """True if a design takes a case."""
    return any(Filter(design).take([case]))


def expected_codes(unit: Unit, cases: Sequence[Case]) -> tuple[int, ...]:
    """The definition's result for each case, as codes of the output's container."""
    definition = definition_of(unit)
    return tuple(dot(definition, case).code for case in cases)


def covering_or_directed(unit: Unit, seed: int) -> list[Case]:
    """Cases that hit every bin known to be reachable; the directed ones for a unit without a coverage plan."""
    try:
        return covering(unit, seed)
    except NotImplementedYet:
        return directed(unit, seed)


class Planner:
    """Makes one design's suites.

    seed: of everything random. asked: which suites the user wants. skipped: suites of a driver that are not made.
    """

    def __init__(self, design: DotDesign, seed: int, asked: AskedSuites = EVERY_SUITE):
        self.design, self.seed, self.asked = design, seed, asked
        self.skipped, self.driver = list[LeftOut](), ""

    def stream(self, name: str) -> Stream:
        """The random stream of a suite."""
        return Stream(self.seed, self.design.unit.name, "cosim", name)

    def plan(self, driver: str, count: int | None) -> tuple[list[Play], list[LeftOut]]:
        """The plays of the suites of a driver, and the reports of what is left out.

        count: random cases of each suite of them, or None for the usual number.
        """
        design, suites = self.design, self.suites(driver, count)
        plays = [design.play(suite, self.stream(suite.name)) for suite in suites]
        part = [
            LeftOut(unit=design.name, suite=suite.name, driver=driver, cases=some, reason=reason)
            for suite in suites
            for reason, some in suite.left_out
        ]
        return plays, [*part, *self.skipped]

    def suites(self, driver: str, count: int | None) -> list[Suite]:
        """The suites of a driver. Those that are not made are added to `skipped`."""
        self.skipped, self.driver = [], driver
        return list(self.bulk(count) if driver == BULK else self.simulated(driver, count))

    def simulated(self, simulator: str, count: int | None) -> Iterator[Suite]:
        """Yield the suites that cocotb plays."""
        design, size, unit = self.design, SIZES[simulator], self.design.drawn_for
        count = size.random if count is None else count
        # Icarus takes its time: there the cases that are solved for bins that the directed ones miss are left out, but
        # for designs with constant operands, of which few directed ones are left.
        solved = simulator == "verilator" or bool(design.held)
        known = partial(covering_or_directed, unit, self.seed) if solved else lambda: self._known
        yield from self._taken(SuiteKind.DIRECTED, known)
        drawn = cache(lambda: random_cases(unit, 2 * count, self.seed))
        if design.selected and not self.asked.left_out(SuiteKind.DIRECTED):
            yield from self._parts(SuiteKind.DIRECTED, Suite(EVERY_SELECTION, design.selected))
        yield from self._taken(SuiteKind.RANDOM, lambda: drawn()[:count])
        yield from self._taken(SuiteKind.GAPS, lambda: drawn()[count:], BUSY, shuffled=True)
        if design.reset:
            yield from self._taken(SuiteKind.RESET, lambda: self._handshake(drawn()), BUSY, resets=True)
        else:
            self.skip(SuiteKind.RESET.suite, "the design has no reset", required=False)
        yield from self.gemm(size.gemm)
        yield from self.captured(size.captured)
        if not design.cycles:
            step = PAIR_STEP[simulator] | 1  # odd, so that every lane and every code has its turn
            yield from self._taken(SuiteKind.PAIRS, lambda: list(pair_cases(unit, step, design.held)), most=ALL_PAIRS)

    def bulk(self, count: int | None) -> Iterator[Suite]:
        """Yield the suites that the bulk driver plays: too many cases for cocotb."""
        unit = self.design.drawn_for
        if self.wants(SuiteKind.PAIRS):
            yield Suite(PAIRS, tuple(pair_cases(unit)))
        drawn = partial(random_cases, unit, BULK_RANDOM if count is None else count, self.seed + 1)
        yield from self._taken(SuiteKind.MANY, drawn, MANY, shuffled=True)

    @cached_property
    def _known(self) -> list[Case]:
        return directed(self.design.drawn_for, self.seed)

    def _handshake(self, drawn: Sequence[Case]) -> list[Case]:
        """A case that is longer than a beat, and then random ones."""
        longer = [case for case in self._known if len(case.a) > self.design.products]
        return list(islice(chain(longer[:1], drawn, self._known), HANDSHAKE_CASES))

    def wants(self, kind: SuiteKind) -> bool:
        """True if the user wants a kind of suite; if not, it is added to those that are skipped."""
        why = self.asked.left_out(kind)
        if why:
            self.skip(kind.suite, why, required=False)
        return not why

    def skip(self, name: str, why: str, *, required: bool = True) -> None:
        """Note that a suite is not made. required: whether a run without it does not pass."""
        skipped = LeftOut(unit=self.design.name, suite=name, driver=self.driver, reason=why, required=required)
        self.skipped.append(skipped)

    def _taken(
        self,
        kind: SuiteKind,
        make: Callable[[], Sequence[Case]],
        traffic: Traffic = FULL,
        *,
        shuffled: bool = False,
        resets: bool = False,
        most: int = MOST_CASES,
    ) -> Iterator[Suite]:
        """Yield the cases that the design takes, in suites that one run holds; or note why there are none."""
        if not self.wants(kind):
            return
        try:
            cases = self.design.held.drawn(make(), solved=kind == SuiteKind.DIRECTED)
        except NotImplementedYet as error:
            self.skip(kind.suite, str(error))
            return
        suite = Suite(kind.suite, tuple(cases), traffic=traffic, shuffled=shuffled, resets=resets)
        yield from self._parts(kind, suite, most)

    def _parts(self, kind: SuiteKind, suite: Suite, most: int = MOST_CASES) -> Iterator[Suite]:
        """Yield the cases that the design takes, in suites of no more cases, and beats, than one run holds well."""
        taken = Filter(self.design)
        kept = list(taken.take(suite.cases))
        if not kept:
            why = "; ".join(
                f"{counted(count, 'case')} that would take {reason}" for reason, count in sorted(taken.reasons.items())
            )
            # Where a unit has no such cases nothing is missing; where a design takes none of them, much is.
            self.skip(kind.suite, why or "there are no such cases of this unit", required=bool(why))
        left_out = [(f"they take {reason}", count) for reason, count in sorted(taken.reasons.items())]
        parts = list(fitting(kept, lambda item: len(item[1].a) // self.design.products, most))
        for number, part in enumerate(parts):
            yield replace(
                suite,
                name=f"{suite.name}, part {number + 1}" if len(parts) > 1 else suite.name,
                cases=tuple(case for _, case in part),
                expected=None if suite.expected is None else tuple(suite.expected[index] for index, _ in part),
                left_out=() if number else (*suite.left_out, *left_out),
            )

    def gemm(self, shape: tuple[int, int, int]) -> Iterator[Suite]:
        """Yield a matrix product, an element a case, with interleaved contexts; it must equal `hwsim.gemm`."""
        unit, (m, n, k) = self.design.unit, self.within(shape)
        if not self.wants(SuiteKind.GEMM):
            return
        try:
            problem = gemm_problem(unit, m, n, k, self.seed)
        except NotImplementedYet as error:
            self.skip(SuiteKind.GEMM.suite, str(error))
            return
        problem = problem if self.design.addend else replace(problem, C=None)
        problem = self.design.held.in_product(problem)
        product = gemm(unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
        codes = tuple(codes_of(unit.output, product).ravel().tolist())
        suite = Suite(f"{SuiteKind.GEMM.suite} {m} x {n} x {k}", tuple(gemm_cases(unit, problem)), codes)
        yield from self._parts(SuiteKind.GEMM, suite)

    def within(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """A matrix product's shape, with K no longer than the design and the time of a run allow."""
        m, n, k = shape
        design, instruction = self.design, self.design.unit.instruction
        k = min(k, design.products * (1 if not design.chains else MOST_GEMM_BEATS // (m * n)))
        return m, n, k if instruction.chain else min(k, instruction.k)

    def captured(self, most: int) -> Iterator[Suite]:
        """Yield the cases and results captured from hardware, where captures of this unit are at hand."""
        known = known_cases(self.design.unit)
        chosen = known[:: max(1, len(known) // most)][:most]
        if chosen and self.wants(SuiteKind.CAPTURED):
            cases, codes = zip(*chosen, strict=True)
            yield from self._parts(SuiteKind.CAPTURED, Suite(SuiteKind.CAPTURED.suite, cases, codes))


EVERY_DIRECTED = "dot directed, all"
SOLVED = "cases solved for coverage bins"
FEWEST_RANDOM = 16  # of each mode: the second eight have several beats
MOST_DIRECTED = {"verilator": 20_000, "icarus": 2_000}  # of all modes; the bulk driver plays the others too
MOST_PAIRS = 1 << 17  # of codes, of all modes
GEMM_SIDE = 6  # rows, and columns, of the product in each mode


class ModalPlanner(Planner):
    """Makes the suites of one design of several modes."""

    design: ModalDesign

    def stream(self, name: str) -> Stream:
        return Stream(self.seed, self.design.name, "cosim", name)

    def simulated(self, simulator: str, count: int | None) -> Iterator[Suite]:
        size = SIZES[simulator]
        count = size.random if count is None else count
        yield from self._wanted(SuiteKind.DIRECTED, lambda: self._some_directed(simulator))
        single, changing = self._random(2 * count, self.seed)
        both = [
            *chain.from_iterable(zip(single, changing, strict=False)),
            *single[len(changing) :],
            *changing[len(single) :],
        ]
        half = len(both) // 2
        yield from self._wanted(SuiteKind.RANDOM, lambda: Suite(SuiteKind.RANDOM.suite, tuple(both[:half])))
        gaps = Suite(SuiteKind.GAPS.suite, tuple(both[half:]), traffic=BUSY, shuffled=True)
        yield from self._wanted(SuiteKind.GAPS, lambda: gaps)
        longer = [case for case in changing if len(case.a) > self.design.products][:1]
        cases = (longer + both)[:HANDSHAKE_CASES]
        reset = Suite(SuiteKind.RESET.suite, tuple(cases), traffic=BUSY, resets=True)
        yield from self._wanted(SuiteKind.RESET, lambda: reset)
        yield from self._wanted(SuiteKind.GEMM, lambda: self._gemm(size.gemm[2]))

    def bulk(self, count: int | None) -> Iterator[Suite]:
        yield from self._wanted(SuiteKind.PAIRS, self._pairs)
        yield from self._wanted(SuiteKind.DIRECTED, self._all_directed)
        single, changing = self._random(BULK_RANDOM if count is None else count, self.seed + 1)
        many = Suite(SuiteKind.MANY.suite, (*single, *changing), traffic=MANY, shuffled=True)
        yield from self._wanted(SuiteKind.MANY, lambda: many)
        if not self.design.solved:
            why = f"each of the {len(self.design.modes)} modes has its directed cases, and no coverage is counted"
            self.skip(SOLVED, why, required=False)

    def _wanted(self, kind: SuiteKind, make: Callable[[], Suite]) -> Iterator[Suite]:
        if self.wants(kind):
            yield from self._parts(kind, make())

    def _some_directed(self, simulator: str) -> Suite:
        """The directed cases that a simulator has time for."""
        known = self._directed(simulator == "verilator" and self.design.solved)
        some = known[:: max(1, -(-len(known) // MOST_DIRECTED[simulator]))]
        why = "the bulk driver, on Verilator, plays all of them"
        return Suite(SuiteKind.DIRECTED.suite, tuple(some), left_out=_rest(known, some, why))

    def _all_directed(self) -> Suite:
        return Suite(EVERY_DIRECTED, tuple(self._directed(self.design.solved)))

    def _pairs(self) -> Suite:
        """Pairs of codes of every mode: all, or every so many-th where they would be too many."""
        modal = self.design.modal
        total = sum(1 << unit.operands.a.bits + unit.operands.b.bits for unit in modal.units)
        step = -(-total // MOST_PAIRS) | 1  # odd, so that every lane has its turn
        cases = by_turns(modal, [list(pair_cases(unit, step)) for unit in modal.units])
        rest = total - len(cases)
        why = f"of each mode one pair in {step} is played"
        return Suite(SuiteKind.PAIRS.suite, tuple(cases), left_out=((why, rest),) if rest else ())

    def _directed(self, solved: bool) -> list[Case]:
        """Every mode's directed cases, taking turns. solved: whether also those for bins that they miss."""
        make = covering_or_directed if solved else directed
        return by_turns(self.design.modal, [make(unit, self.seed) for unit in self.design.modal.units])

    def _random(self, count: int, seed: int) -> tuple[list[Case], list[Case]]:
        """Draw so many cases, half of them of one mode each, half of modes that change from beat to beat."""
        modal = self.design.modal
        share = max(FEWEST_RANDOM, -(-count // (2 * len(modal.units))))
        drawn = [random_cases(unit, share, seed) for unit in modal.units]
        single = by_turns(modal, drawn)
        return single, mixed(modal, drawn, len(single), Stream(seed, self.design.name, "modes"))

    def _gemm(self, k: int) -> Suite:
        """A small matrix product in each mode, which must equal `hwsim.gemm`."""
        modal, cases, codes = self.design.modal, list[list[Case]](), list[list[int]]()
        longest = min(Planner(mode, self.seed).within((GEMM_SIDE, GEMM_SIDE, k))[2] for mode in self.design.modes)
        for unit in modal.units:
            problem = gemm_problem(unit, GEMM_SIDE, GEMM_SIDE, longest, self.seed)
            product = gemm(unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
            cases.append(list(gemm_cases(unit, problem)))
            codes.append(codes_of(unit.output, product).ravel().tolist())
        expected = tuple(chain.from_iterable(zip(*codes, strict=True)))
        return Suite(
            f"{SuiteKind.GEMM.suite} {GEMM_SIDE} x {GEMM_SIDE} x {longest}", tuple(by_turns(modal, cases)), expected
        )


EVERY_SELECTION = f"{SuiteKind.DIRECTED.suite}, selections"  # through each lane
MOST_SELECTED = {"verilator": MOST_CASES, "icarus": 256}


class SparsePlanner(Planner):
    """Makes the suites of one design of a sparse unit: the dense unit's among other factors, and its selector's."""

    design: SparseDesign

    def suites(self, driver: str, count: int | None) -> list[Suite]:
        """The suites of a driver. Those that are not made are added to `skipped`."""
        made = super().suites(driver, count)
        return [suite if suite.cases[0].metadata else self._placed(suite) for suite in made]

    def _placed(self, suite: Suite) -> Suite:
        drawn = placed(self.design.sparse, suite.cases, self.stream(f"{suite.name}, metadata"), falling=True)
        return replace(suite, cases=tuple(drawn))

    def simulated(self, simulator: str, count: int | None) -> Iterator[Suite]:
        yield from super().simulated(simulator, count)
        if not self.asked.left_out(SuiteKind.DIRECTED):
            every = selection_cases(self.design.sparse, self.stream(EVERY_SELECTION), falling=True)
            some = every[:: -(-len(every) // MOST_SELECTED[simulator]) | 1]  # odd, so that each group has its turn
            if some:
                left_out = _rest(every, some, "Verilator plays all of them")
                yield Suite(EVERY_SELECTION, tuple(some), left_out=left_out)

    def gemm(self, shape: tuple[int, int, int]) -> Iterator[Suite]:
        """Yield a matrix product whose first factor is compressed; it must equal `hwsim.gemm` with metadata."""
        unit, sparse, (m, n, k) = self.design.unit, self.design.sparse, self.within(shape)
        if not self.wants(SuiteKind.GEMM):
            return
        try:
            problem = sparse_problem(sparse, m, n, k, self.seed)
        except NotImplementedYet as error:
            self.skip(SuiteKind.GEMM.suite, str(error))
            return
        product = gemm(sparse, problem.A, problem.B, problem.C, metadata=problem.metadata)
        codes = tuple(codes_of(unit.output, product).ravel().tolist())
        name = f"{SuiteKind.GEMM.suite} {m} x {n} x {len(problem.B)}"
        yield from self._fitting(Suite(name, tuple(gemm_cases(sparse, problem)), codes))

    def captured(self, most: int) -> Iterator[Suite]:
        """Yield results captured of a GPU's sparse instruction, where they are at hand."""
        known = sparse_captured(self.design.sparse)
        if known and self.wants(SuiteKind.CAPTURED):
            beats = sum(len(case.a) for case, _ in known) // self.design.products
            step = max(-(-len(known) // most), -(-beats // MOST_GEMM_BEATS)) | 1
            cases, codes = zip(*known[::step], strict=True)
            left_out = _rest(known, cases, f"one in {step} is played")
            yield from self._fitting(Suite(SuiteKind.CAPTURED.suite, cases, codes, left_out=left_out))

    def _fitting(self, suite: Suite) -> Iterator[Suite]:
        """Yield a suite of whole cases in parts that one run holds."""
        rows, first = list(zip(suite.cases, suite.expected or (), strict=True)), suite.name
        parts = list(fitting(rows, lambda row: len(row[0].a) // self.design.products, MOST_CASES))
        for number, part in enumerate(parts):
            cases, codes = zip(*part, strict=True)
            name = f"{first}, part {number + 1}" if len(parts) > 1 else first
            yield replace(suite, name=name, cases=cases, expected=codes, left_out=() if number else suite.left_out)


def _rest(cases: Sequence[object], some: Sequence[object], why: str) -> tuple[tuple[str, int], ...]:
    """The count of left-out cases and the reason, where a suite has only some of the cases."""
    return ((why, len(cases) - len(some)),) if len(some) < len(cases) else ()
