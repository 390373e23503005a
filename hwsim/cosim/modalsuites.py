"""The suites of a unit of several modes: those of each mode, a beat of each in turn, and sums of mixed modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cases.matrices import gemm_cases, gemm_problem
from hwsim.cases.modal import by_turns, mixed
from hwsim.cases.pairs import pair_cases
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import fitting
from hwsim.cosim.design import BUSY, EVERY_SUITE, AskedSuites, Play, Suite, SuiteKind, Tick
from hwsim.cosim.play import BULK
from hwsim.cosim.suites import (
    BULK_RANDOM,
    HANDSHAKE_CASES,
    MANY,
    MOST_CASES,
    SIZES,
    Planner,
    SkippedSuite,
    covering_or_directed,
)
from hwsim.cosim.unitdesign import ModalDesign
from hwsim.formats import codes_of
from hwsim.products import gemm
from hwsim.report import LeftOut

EVERY_DIRECTED = "dot directed, all"
SOLVED = "cases solved for coverage bins"
FEWEST_RANDOM = 16  # of each mode: the second eight have several beats
MOST_DIRECTED = {"verilator": 20_000, "icarus": 2_000}  # of all modes; the bulk driver plays the others too
MOST_PAIRS = 1 << 17  # of codes, of all modes
GEMM_SIDE = 6  # rows, and columns, of the product in each mode


class ModalPlanner:
    """Makes the suites of one design of several modes. seed: of everything random. asked: which the user wants."""

    def __init__(self, design: ModalDesign, seed: int, asked: AskedSuites = EVERY_SUITE):
        self.design, self.seed, self.asked = design, seed, asked
        self.skipped: list[SkippedSuite] = []

    def plan(self, driver: str, count: int | None, tick: Tick) -> tuple[list[Play], list[LeftOut]]:
        """The suites of a driver, as the testbench plays them, and what is left out. As `Planner.plan`."""
        self.skipped = []
        made = self._bulk(count) if driver == BULK else self._simulated(driver, count)
        suites = [part for suite in made for part in self._parts(suite)]
        plays = [self.design.play(suite, self._stream(suite.name), tick) for suite in suites]
        left_out = [
            LeftOut(unit=self.design.name, suite=suite.name, driver=driver, cases=cases, reason=why)
            for suite in suites
            for why, cases in suite.left_out
        ]
        if driver == BULK and not self.design.solved:
            why = f"each of the {len(self.design.modes)} modes has its directed cases, and no coverage is counted"
            self.skipped.append(SkippedSuite(SOLVED, why, required=False))
        return plays, [*left_out, *(one.of(self.design.name, driver) for one in self.skipped)]

    def _stream(self, name: str) -> Stream:
        return Stream(self.seed, self.design.name, "cosim", name)

    def _simulated(self, simulator: str, count: int | None) -> Iterator[Suite]:
        size = SIZES[simulator]
        count = size.random if count is None else count
        yield from self._wanted(SuiteKind.DIRECTED, lambda: self._some_directed(simulator))
        own, changing = self._random(2 * count, self.seed)
        both = [*chain.from_iterable(zip(own, changing, strict=False)), *own[len(changing) :], *changing[len(own) :]]
        half = len(both) // 2
        yield from self._wanted(SuiteKind.RANDOM, lambda: Suite(SuiteKind.RANDOM.suite, tuple(both[:half])))
        gaps = Suite(SuiteKind.GAPS.suite, tuple(both[half:]), traffic=BUSY, shuffled=True)
        yield from self._wanted(SuiteKind.GAPS, lambda: gaps)
        longer = [case for case in changing if len(case.a) > self.design.products][:1]
        cases = (longer + both)[:HANDSHAKE_CASES]
        reset = Suite(SuiteKind.RESET.suite, tuple(cases), traffic=BUSY, resets=True)
        yield from self._wanted(SuiteKind.RESET, lambda: reset)
        yield from self._wanted(SuiteKind.GEMM, lambda: self._gemm(size.gemm[2]))

    def _bulk(self, count: int | None) -> Iterator[Suite]:
        yield from self._wanted(SuiteKind.PAIRS, self._pairs)
        yield from self._wanted(SuiteKind.DIRECTED, self._all_directed)
        own, changing = self._random(BULK_RANDOM if count is None else count, self.seed + 1)
        many = Suite(SuiteKind.MANY.suite, (*own, *changing), traffic=MANY, shuffled=True)
        yield from self._wanted(SuiteKind.MANY, lambda: many)

    def _wanted(self, kind: SuiteKind, make: Callable[[], Suite]) -> Iterator[Suite]:
        """A suite, if the user wants its kind."""
        if why := self.asked.left_out(kind):
            self.skipped.append(SkippedSuite(kind.suite, why, required=False))
        else:
            yield make()

    def _some_directed(self, simulator: str) -> Suite:
        """The directed cases that a simulator has time for."""
        known = self._directed(simulator == "verilator" and self.design.solved)
        some = known[:: max(1, -(-len(known) // MOST_DIRECTED[simulator]))]
        why = "the bulk driver, on Verilator, plays all of them"
        return Suite(SuiteKind.DIRECTED.suite, tuple(some), left_out=_rest(known, some, why))

    def _all_directed(self) -> Suite:
        return Suite(EVERY_DIRECTED, tuple(self._directed(self.design.solved)))

    def _pairs(self) -> Suite:
        """Pairs of codes of every mode: all, or every so many-th, so that there are not too many."""
        modal = self.design.modal
        total = sum(1 << unit.operands.a.bits + unit.operands.b.bits for unit in modal.units)
        step = -(-total // MOST_PAIRS) | 1  # odd, so that every lane has its turn
        cases = by_turns(modal, [list(pair_cases(unit, step)) for unit in modal.units])
        rest = total - len(cases)
        why = f"of each mode one pair in {step} is played"
        return Suite(SuiteKind.PAIRS.suite, tuple(cases), left_out=((why, rest),) if rest else ())

    def _directed(self, solved: bool) -> list[Case]:
        """Every mode's directed cases, of each one in turn. solved: whether also those for bins that they miss."""
        make = covering_or_directed if solved else directed
        return by_turns(self.design.modal, [make(unit, self.seed) for unit in self.design.modal.units])

    def _random(self, count: int, seed: int) -> tuple[list[Case], list[Case]]:
        """So many cases, half of them of one mode each, half of modes that change from beat to beat."""
        modal = self.design.modal
        each = max(FEWEST_RANDOM, -(-count // (2 * len(modal.units))))
        drawn = [random_cases(unit, each, seed) for unit in modal.units]
        own = by_turns(modal, drawn)
        return own, mixed(modal, drawn, len(own), Stream(seed, self.design.name, "modes"))

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

    def _parts(self, suite: Suite) -> Iterator[Suite]:
        """A suite in parts that one run holds well."""
        numbers = list(range(len(suite.cases)))
        parts = list(fitting(numbers, lambda at: len(suite.cases[at].a) // self.design.products, MOST_CASES))
        for number, part in enumerate(parts):
            yield replace(
                suite,
                name=f"{suite.name}, part {number + 1}" if len(parts) > 1 else suite.name,
                cases=tuple(suite.cases[at] for at in part),
                expected=None if suite.expected is None else tuple(suite.expected[at] for at in part),
                left_out=() if number else suite.left_out,
            )


def _rest(cases: Sequence[Case], some: Sequence[Case], why: str) -> tuple[tuple[str, int], ...]:
    """What a suite leaves out where it has only some of the cases."""
    return ((why, len(cases) - len(some)),) if len(some) < len(cases) else ()
