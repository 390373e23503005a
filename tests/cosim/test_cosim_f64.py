"""Chains of FMAs in binary64: the RTL against exact rationals that Python rounds once, and against the processor."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from fractions import Fraction

import pytest
from cosim.mutants import Mutant
from cosim.plays import bulk_outcomes, design_of, nothing, recorded, stream

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, batches
from hwsim.cases.case import expected as by_the_processor
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.design import Suite
from hwsim.rtl import addition, normalize
from hwsim.rtl import products as decode
from hwsim.spec import load_unit, pipeline
from hwsim.tb.job import SuiteOutcome

UNIT = load_unit("hopper-mma-f64-f64")
NAN = UNIT.nan


def number(code: int) -> float:
    return float(struct.unpack("<d", code.to_bytes(8, "little"))[0])


def fma(a: float, b: float, c: float) -> float:
    """a * b + c of IEEE 754: the exact rational, rounded once by Python's division of integers."""
    if not all(map(math.isfinite, (a, b, c))):
        # A finite product of two numbers changes no infinity.
        return c if math.isfinite(a) and math.isfinite(b) else a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        signs = {math.copysign(1, a) * math.copysign(1, b), math.copysign(1, c)}
        return -0.0 if signs == {-1.0} else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def by_rationals(case: Case) -> int:
    total = number(case.c)
    for a, b in zip(case.a, case.b, strict=True):
        total = fma(number(a), number(b), total)
    return NAN if math.isnan(total) else int.from_bytes(struct.pack("<d", total), "little")


def cases() -> list[Case]:
    return [*random_cases(UNIT, 2000, 3), *directed(UNIT, 3)[::3]]


def outcome_of(expected: list[int]) -> SuiteOutcome:
    play = design_of(UNIT).play(Suite("suite", tuple(cases()), tuple(expected)), stream(), nothing)
    (outcome,) = bulk_outcomes(design_of(UNIT), [play])
    return outcome


@pytest.mark.simulator
def test_the_rtl_rounds_exact_rationals_once(verilator: None) -> None:
    expected = [by_rationals(case) for case in cases()]
    assert len({code >> 52 for code in expected}) > 500
    outcome = outcome_of(expected)
    assert (outcome.mismatches, outcome.results) == ([], len(expected))
    # A last bit that is wrong, and one above the low word.
    for bit in (0, 40, 63):
        wrong = [*expected]
        wrong[100] ^= 1 << bit
        assert [mismatch.got ^ mismatch.expected for mismatch in outcome_of(wrong).mismatches] == [1 << bit]


def test_the_processor_agrees_with_the_rationals() -> None:
    found = [code for batch in batches(UNIT, cases()) for code in by_the_processor(UNIT, batch).tolist()]
    assert found == [by_rationals(case) for case in cases()]


FAULTS = {
    "the least of the lost bits": (addition.FloatAdder.align, '0, "jam")', '0, "truncate")'),
    "the last bit of a significand": (decode.FloatDecode.elaborate, "Cat(frac, hidden)", "Cat(0, frac[1:], hidden)"),
    "a tie": (normalize.last_place, "guard & (sticky | last)", "guard & sticky"),
}


@pytest.mark.simulator
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (at > 0)) for at, name in enumerate(FAULTS)]
)
def test_a_fault_is_caught(verilator: None, name: str) -> None:
    function, old, new = FAULTS[name]
    play = recorded(UNIT, pipeline(UNIT), cases())
    design = replace(design_of(UNIT))
    with Mutant(name, UNIT.name, (), function, old, new).applied():
        (outcome,) = bulk_outcomes(design, [play])
    assert outcome.count > 0
