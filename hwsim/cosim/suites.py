"""The plan: which cases a unit is put through on which driver."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from hwsim.cases.captured import captured_cases
from hwsim.cases.case import Case
from hwsim.cases.directed import directed
from hwsim.cases.matrices import gemm_cases, gemm_problem
from hwsim.cases.pairs import pair_cases
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import DEPTH
from hwsim.cosim.coverage import covering_or_directed
from hwsim.cosim.ports import PortMap
from hwsim.cosim.trace import FULL, Tagged, Trace, Traffic, alone, interleave, record, record_handshake
from hwsim.formats import codes_of
from hwsim.products import gemm
from hwsim.spec import Pipeline, Unit

BUSY = Traffic(offer=0.75, take=0.7, bursts=True)


@dataclass(frozen=True)
class DriverSize:
    """How much a driver is given. gemm: rows, columns and K. captured: at most so many cases."""

    random: int
    gemm: tuple[int, int, int]
    captured: int


@dataclass(frozen=True)
class Suite:
    """A trace, and the cases that it plays."""

    trace: Trace
    cases: Sequence[Case]

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.trace.suite

    def answered(self, codes: Sequence[int], ports: PortMap) -> Suite:
        """The same suite, held against codes that do not come from the cycle-level model."""
        return Suite(self.trace.answered(codes, ports), self.cases)

    @property
    def planned(self) -> int:
        """Results that must be compared."""
        return len(self.trace.results)


SIZES = {
    "verilator": DriverSize(random=3000, gemm=(32, 32, 512), captured=4000),
    "icarus": DriverSize(random=300, gemm=(6, 6, 512), captured=200),
}
BULK_RANDOM = 20_000
MOST_CASES = 20_000
MOST_GEMM_BEATS = 1 << 15

T = TypeVar("T")


def fitting(items: Iterable[T], beats: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in parts of at most `most`, and of no more beats than the bench can hold."""
    part: list[T] = []
    held = 0
    for item in items:
        if part and (len(part) == most or held + beats(item) > DEPTH):
            yield part
            part, held = [], 0
        part.append(item)
        held += beats(item)
    if part:
        yield part


class Planner:
    """Makes one unit's suites.

    seed: of everything random. tick: called now and then while cases are worked out.
    """

    def __init__(self, unit: Unit, pipeline: Pipeline, ports: PortMap, seed: int, tick: Callable[[], None]):
        self.unit, self.pipeline, self.ports, self.seed, self.tick = unit, pipeline, ports, seed, tick

    def _rng(self, name: str) -> np.random.Generator:
        entropy = [self.seed, zlib.crc32(self.unit.name.encode()), zlib.crc32(name.encode())]
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))

    def _suite(self, name: str, cases: Sequence[Case], traffic: Traffic, *, shuffled: bool = False) -> Suite:
        rng = self._rng(name)
        order = interleave(self.unit, cases, self.pipeline.contexts, rng if shuffled else None)
        return self._recorded(name, cases, order, traffic, rng)

    def _recorded(
        self, name: str, cases: Sequence[Case], order: Iterable[Tagged], traffic: Traffic, rng: np.random.Generator
    ) -> Suite:
        trace = record(name, self.unit, self.pipeline, self.ports, cases, order, traffic, rng, self.tick)
        return Suite(trace, cases)

    def cocotb(self, simulator: str, cases: int | None) -> Iterator[Suite]:
        """What cocotb plays, every cycle of it checked."""
        size = SIZES[simulator]
        count = size.random if cases is None else cases
        # Icarus takes its time: there the cases that are solved for bins that the directed ones miss are left out.
        known = (covering_or_directed if simulator == "verilator" else directed)(self.unit, self.seed)
        yield from self._parts("dot directed", known, FULL)
        drawn = random_cases(self.unit, count, self.seed)
        half = len(drawn) // 2
        yield from self._parts("dot random", drawn[:half], FULL)
        yield from self._parts("dot random, gaps and back-pressure", drawn[half:], BUSY, shuffled=True)
        yield self._handshake(drawn)
        yield self.gemm(self._within(size.gemm))
        captured = self.captured(size.captured)
        if captured is not None:
            yield captured

    def bulk(self, cases: int | None) -> Iterator[Suite]:
        """What the bulk driver plays: too many for cocotb."""
        yield self._suite("code pairs through every lane", list(pair_cases(self.unit)), FULL)
        count = BULK_RANDOM if cases is None else cases
        drawn = random_cases(self.unit, count, self.seed + 1)
        yield from self._parts("dot random, many", drawn, Traffic(offer=0.9, take=0.9, bursts=True), shuffled=True)

    def _parts(self, name: str, cases: Sequence[Case], traffic: Traffic, *, shuffled: bool = False) -> Iterator[Suite]:
        """Suites of no more cases, and no more beats, than one run holds well."""
        lanes = self.unit.instruction.lanes
        parts = list(fitting(cases, lambda case: len(case.a) // lanes, MOST_CASES))
        for number, part in enumerate(parts):
            called = f"{name}, part {number + 1}" if len(parts) > 1 else name
            yield self._suite(called, part, traffic, shuffled=shuffled)

    def _handshake(self, cases: Sequence[Case]) -> Suite:
        rng = self._rng("handshake")
        known = directed(self.unit, self.seed)
        longer = [case for case in known if len(case.a) > self.unit.instruction.lanes]
        some = list(islice(chain(longer[:1], cases, known), 64))
        trace = record_handshake(self.unit, self.pipeline, self.ports, some, rng)
        return Suite(trace, [*some, *(alone(self.unit, case) for case in some)])

    def _within(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """A matrix product's shape, with K no longer than the unit and the time of a run allow."""
        m, n, k = shape
        instruction = self.unit.instruction
        most = instruction.lanes * (MOST_GEMM_BEATS // (m * n))
        return m, n, min(k, most, k if instruction.chain else instruction.k)

    def gemm(self, shape: tuple[int, int, int]) -> Suite:
        """A matrix product, an element a case, streamed with interleaved contexts; it must equal `hwsim.gemm`."""
        m, n, k = shape
        problem = gemm_problem(self.unit, m, n, k, self.seed)
        suite = self._suite(f"GEMM {m} x {n} x {k}", gemm_cases(self.unit, problem), FULL)
        product = gemm(self.unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
        return suite.answered(codes_of(self.unit.output, product).ravel().tolist(), self.ports)

    def captured(self, most: int) -> Suite | None:
        """What hardware was asked; None where no captures of this unit are at hand."""
        known = captured_cases(self.unit)
        if not known:
            return None
        step = max(1, len(known) // most)
        chosen = known[::step][:most]
        suite = self._suite("captured", [case for case, _ in chosen], FULL)
        return suite.answered([code for _, code in chosen], self.ports)
