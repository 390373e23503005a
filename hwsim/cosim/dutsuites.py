"""The suites that a user's design is put through: our own, as far as it takes them, and what is left out and why."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from pydantic import ValidationError

from hwsim.cases.captured import captured_cases
from hwsim.cases.case import Case, block_lengths, term_scales
from hwsim.cases.directed import directed
from hwsim.cases.matrices import gemm_cases, gemm_problem
from hwsim.cases.pairs import pair_cases
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.coverage import covering_or_directed
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.suites import BUSY, MOST_CASES, MOST_GEMM_BEATS, SIZES, fitting
from hwsim.cosim.trace import FULL, Traffic
from hwsim.formats import ExponentFormat, codes_of
from hwsim.model import Definition
from hwsim.products import dot, gemm
from hwsim.spec import NotImplementedYet, Unit

HANDSHAKE_CASES = 48
PAIR_STEP = {"verilator": 1, "icarus": 16}


@dataclass(frozen=True)
class DutSuite:
    """Cases, the codes that are expected of them, and how busy the ports are.

    resets: whether resets come in flight. isolated: whether each case is played alone, after a reset.
    left_out: cases of the suite that the design does not take, by reason.
    """

    name: str
    cases: tuple[Case, ...]
    expected: tuple[int, ...]
    traffic: Traffic = FULL
    shuffled: bool = False
    resets: bool = False
    isolated: bool = False
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass
class Filter:
    """What a design takes. reasons: cases that were left out, by reason."""

    dut: Dut
    reasons: Counter[str] = field(default_factory=Counter)

    def take(self, cases: Sequence[Case]) -> Iterator[tuple[int, Case]]:
        """The cases that the design takes, filled up to whole beats, and their places."""
        for index, case in enumerate(cases):
            filled = fill(self.dut, case)
            if len(filled.a) > self.dut.products and not self.dut.chains:
                self.reasons["more than one beat"] += 1
            elif case.c and self.dut.file.ports.c is None:
                self.reasons["an addend other than +0"] += 1
            else:
                yield index, filled


def fill(dut: Dut, case: Case) -> Case:
    """The case with zero terms up to whole beats, under scales of 1."""
    rest = -len(case.a) % dut.products
    scales = (case.scale_a, case.scale_b)
    if rest and dut.unit.scale is not None:
        terms, sides = len(case.a) + rest, (dut.unit.scale.a, dut.unit.scale.b)
        made = []
        for codes, side, length in zip(scales, sides, block_lengths(dut.unit), strict=True):
            more = max(0, -(-terms // length) - len(codes))
            made.append((*codes, *[_one(side.format)] * more))
        scales = (made[0], made[1])
    zeros = (0,) * rest
    return replace(case, a=(*case.a, *zeros), b=(*case.b, *zeros), scale_a=scales[0], scale_b=scales[1])


def _one(fmt: object) -> int:
    """The code of a scale of 1, or of the nearest to it."""
    if isinstance(fmt, ExponentFormat):
        return min(max(fmt.bias, fmt.min_code), fmt.max_code)
    return int(np.asarray(fmt.encode(1.0)).item())  # type: ignore[attr-defined]


def expected_codes(unit: Unit, cases: Sequence[Case]) -> tuple[int, ...]:
    """What the definition returns for each case, as codes of the output's container."""
    definition = Definition(unit)
    return tuple(definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases)


def taken_unit(dut: Dut) -> Unit:
    """The unit that stimuli are drawn for: the claimed one, with dot products no longer than the design takes.

    What it returns for these is what the claimed unit returns; where a specification of them breaks a rule, the
    claimed unit itself, whose cases are then filtered.
    """
    data = dut.unit.model_dump(mode="json", exclude_unset=True)
    if not dut.chains:
        data["instruction"] = {**data["instruction"], "chain": "none", "k": dut.products}
    if dut.file.ports.c is None:
        data["operands"]["addend"] = "none"
    try:
        return Unit.model_validate(data)
    except ValidationError:
        return dut.unit


class DutPlanner:
    """Makes a design's suites. seed: of everything random. skipped: suites that cannot be made, and why."""

    def __init__(self, dut: Dut, seed: int):
        self.dut, self.seed = dut, seed
        self.drawn_for = taken_unit(dut)
        self.skipped: list[tuple[str, str]] = []

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for each suite."""
        entropy = [self.seed, zlib.crc32(self.dut.unit.name.encode()), zlib.crc32(name.encode())]
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))

    def suites(self, simulator: str, cases: int | None) -> Iterator[DutSuite]:
        """What one simulator plays."""
        size = SIZES[simulator]
        known = covering_or_directed if simulator == "verilator" else directed
        yield from self._made("dot directed", lambda: known(self.drawn_for, self.seed))
        count = size.random if cases is None else cases
        drawn = self._drawn(count)
        half = len(drawn) // 2
        yield from self._made("dot random", lambda: drawn[:half])
        busy = "dot random, gaps and back-pressure"
        yield from self._made(busy, lambda: drawn[half:], BUSY, shuffled=True)
        if self.dut.file.reset is not None:
            yield from self._made("handshake and reset", lambda: drawn[:HANDSHAKE_CASES], BUSY, resets=True)
        yield from self._gemm(size.gemm)
        yield from self._captured(size.captured)
        step = PAIR_STEP[simulator]
        yield from self._made(
            "code pairs through every lane", lambda: list(islice(pair_cases(self.drawn_for), 0, None, step)), fast=True
        )

    def _drawn(self, count: int) -> list[Case]:
        try:
            return random_cases(self.drawn_for, count, self.seed)
        except NotImplementedYet:
            return []

    def _made(
        self,
        name: str,
        make: Callable[[], list[Case]],
        traffic: Traffic = FULL,
        *,
        shuffled: bool = False,
        resets: bool = False,
        fast: bool = False,
    ) -> Iterator[DutSuite]:
        """A suite in parts that one run holds, with what the definition returns; or a note of why there is none."""
        try:
            made = make()
        except NotImplementedYet as error:
            self.skipped.append((name, str(error)))
            return
        taken = Filter(self.dut)
        cases = [case for _, case in taken.take(made)]
        if not cases:
            self.skipped.append((name, _reasons(taken.reasons) or "there are no such cases of this unit"))
            return
        codes = self._fast(cases) if fast else expected_codes(self.dut.unit, cases)
        yield from self._parts(name, cases, codes, taken.reasons, traffic, shuffled=shuffled, resets=resets)

    def _fast(self, cases: list[Case]) -> tuple[int, ...]:
        """What the fast path returns; all cases have the same length and the same scales."""
        a, b = (np.array([getattr(case, side) for case in cases]) for side in "ab")
        scales = [np.array([getattr(case, side) for case in cases]) for side in ("scale_a", "scale_b")]
        unit = self.dut.unit
        if unit.scale is None:
            return tuple(codes_of(unit.output, dot(unit, a, b)).ravel().tolist())
        return tuple(codes_of(unit.output, dot(unit, a, b, None, *scales)).ravel().tolist())

    def _parts(
        self,
        name: str,
        cases: Sequence[Case],
        codes: Sequence[int],
        reasons: Counter[str],
        traffic: Traffic = FULL,
        *,
        shuffled: bool = False,
        resets: bool = False,
    ) -> Iterator[DutSuite]:
        both = list(zip(cases, codes, strict=True))
        most = len(both) if len(both[0][0].a) == self.dut.products else MOST_CASES
        parts = list(fitting(both, lambda one: len(one[0].a) // self.dut.products, most))
        for number, part in enumerate(parts):
            called = f"{name}, part {number + 1}" if len(parts) > 1 else name
            left = tuple(sorted(reasons.items())) if number == 0 else ()
            some, wanted = zip(*part, strict=True)
            yield DutSuite(called, some, wanted, traffic, shuffled, resets, left_out=left)

    def _gemm(self, shape: tuple[int, int, int]) -> Iterator[DutSuite]:
        """A matrix product, an element a case; it must equal `hwsim.gemm`."""
        dut, unit = self.dut, self.dut.unit
        m, n, k = shape
        k = min(k, dut.products * (MOST_GEMM_BEATS // (m * n)), k if dut.chains else dut.products)
        k = k if unit.instruction.chain else min(k, unit.instruction.k)
        name = f"GEMM {m} x {n} x {k}"
        try:
            problem = gemm_problem(unit, m, n, k, self.seed)
        except NotImplementedYet as error:
            self.skipped.append((name, str(error)))
            return
        if dut.file.ports.c is None:
            problem = replace(problem, C=None)
        product = gemm(unit, problem.A, problem.B, problem.C, problem.scale_a, problem.scale_b)
        codes = codes_of(unit.output, product).ravel().tolist()
        yield from self._known(name, gemm_cases(unit, problem), codes)

    def _captured(self, most: int) -> Iterator[DutSuite]:
        """What hardware was asked and returned, where captures of this unit are at hand."""
        known = captured_cases(self.dut.unit)
        chosen = known[:: max(1, len(known) // most)][:most]
        if chosen:
            cases, codes = zip(*chosen, strict=True)
            yield from self._known("captured", cases, codes)

    def _known(self, name: str, cases: Sequence[Case], codes: Sequence[int]) -> Iterator[DutSuite]:
        """A suite whose results come from elsewhere than the definition."""
        taken = Filter(self.dut)
        kept = list(taken.take(cases))
        if not kept:
            self.skipped.append((name, _reasons(taken.reasons)))
            return
        yield from self._parts(
            name, [case for _, case in kept], [codes[index] for index, _ in kept], taken.reasons, FULL
        )


def _reasons(reasons: Counter[str]) -> str:
    return "; ".join(f"{count:,} take {reason}" for reason, count in sorted(reasons.items()))
