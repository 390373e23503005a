"""Results of 64 bits and more: the RTL against exact rationals, the processor too, port words and files of a job."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.plays import bulk_outcomes, design_of, recorded, stream
from model.witness_numbers import Form, fixed, read
from odd_units import unit

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, batches
from hwsim.cases.case import expected as by_the_processor
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import words_of
from hwsim.cosim.design import Suite
from hwsim.rtl import addition, normalize, products
from hwsim.spec import Unit, load_unit, pipeline
from hwsim.tb.fields import Field
from hwsim.tb.job import (
    COPY,
    FLAG,
    ExtraOutputs,
    SuiteOutcome,
)
from hwsim.tb.order import ExtraOutputsBoard

BINARY64, LONG = load_unit("hopper-mma-f64-f64"), unit("long-73")
NAN = BINARY64.nan
RESULT = Form(0, 32, 0, "fixed", 73)


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


def chain_of_fmas(case: Case) -> int:
    total = number(case.c)
    for a, b in zip(case.a, case.b, strict=True):
        total = fma(number(a), number(b), total)
    return NAN if math.isnan(total) else int.from_bytes(struct.pack("<d", total), "little")


def sum_of_products(case: Case) -> int:
    products = (
        read("e5m2-finite", a).value * read("e5m2-finite", b).value for a, b in zip(case.a, case.b, strict=True)
    )
    return fixed(RESULT, sum(products) + read("fixed73", case.c).value, "rne", "wrap")


@cache
def cases(unit: Unit) -> list[Case]:
    return [*random_cases(unit, 500, 3), *directed(unit, 3)[::10]]


def outcome_of(unit: Unit, expected: list[int]) -> SuiteOutcome:
    design = design_of(unit)
    play = design.play(Suite("suite", tuple(cases(unit)), tuple(expected)), stream())
    (outcome,) = bulk_outcomes(design, [play])
    return outcome


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "by_rationals", "bits", "low", "least"),
    [
        pytest.param(BINARY64, chain_of_fmas, (0, 63), 52, 200, marks=pytest.mark.slow),
        (LONG, sum_of_products, (0, 63, 72), 64, 4),
    ],
    ids=["chains of binary64", "sums of 73 bits"],
)
def test_the_rtl_has_every_bit_of_exact_rationals(
    verilator: None, unit: Unit, by_rationals: Callable[[Case], int], bits: tuple[int, ...], low: int, least: int
) -> None:
    expected = [by_rationals(case) for case in cases(unit)]
    assert len({code >> low for code in expected}) >= least
    # A last bit that is expected wrong, and those about the low word's end: of all results no others differ.
    for at, bit in enumerate(bits, 100):
        expected[at] ^= 1 << bit
    outcome = outcome_of(unit, expected)
    assert [mismatch.got ^ mismatch.expected for mismatch in outcome.mismatches] == [1 << bit for bit in bits]
    assert outcome.results == len(expected)


def test_the_processor_agrees_with_the_rationals() -> None:
    every = cases(BINARY64)
    found = [code for batch in batches(BINARY64, every) for code in by_the_processor(BINARY64, batch).tolist()]
    assert found == list(map(chain_of_fmas, every))


FAULTS = {
    "the least of the lost bits": (addition.FloatAdder.align, '0, "jam")', '0, "truncate")'),
    "the last bit of a significand": (products.FloatDecode.elaborate, "Cat(frac, hidden)", "Cat(0, frac[1:], hidden)"),
    "a tie": (normalize.last_place, "guard & (sticky | last)", "guard & sticky"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(FAULTS, ["the least of the lost bits"]))
def test_a_fault_is_caught(verilator: None, name: str) -> None:
    function, old, new = FAULTS[name]
    play = recorded(BINARY64, pipeline(BINARY64), cases(BINARY64))
    design = replace(design_of(BINARY64))
    with Mutant(name, BINARY64.name, (), function, old, new).applied():
        (outcome,) = bulk_outcomes(design, [play])
    assert outcome.count > 0


@pytest.mark.parametrize("offset", [0, 1, 31, 33])
@pytest.mark.parametrize("bits", [63, 64, 65, 73, 200])
def test_a_field_of_any_width_is_taken(bits: int, offset: int) -> None:
    field, values = Field("result", offset, bits), [0, 1, 1 << bits - 1, (1 << bits) - 1]
    low = (1 << offset) - 1
    words = words_of([field.place([value]) | low for value in values], -(-(offset + bits) // 32))
    assert field.take(words).tolist() == values


def test_copies_of_long_results_are_compared_in_every_bit() -> None:
    bits, codes = 73, [(1 << 72) + 5, 3]
    again = ExtraOutputs([(COPY, "copy", bits), (FLAG, "inexact", 1)], [(codes[0], 1), (codes[1], 1)])
    board = ExtraOutputsBoard(again, lambda index, code: False)
    assert not list(board.wrong(0, 1 << bits | codes[0]))
    assert list(board.wrong(0, 1 << bits | 5)) == [(COPY, "copy", 5, codes[0])]
    assert list(board.wrong(1, 3)) == [(FLAG, "inexact", 0, 1)]
