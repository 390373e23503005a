"""What the ranges of a specification leave out of the hardware is not missed."""

from __future__ import annotations

import pytest
from amaranth.hdl import Shape
from built_presets import others_slow
from cosim.plays import bulk_outcomes, design_of, recorded
from odd_units import unit

from hwsim.cases.case import Case
from hwsim.rtl.numbers import signed_shape
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import Unit, pipeline

SMALL_SCALED = unit("small-scaled")


def ranged(name: str, lost: str, fraction_bits: int, result: str, rounding: str) -> Unit:
    return Unit.model_validate(
        {
            "unit": name,
            "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
            "instruction": {"k": 2, "lanes": 2},
            "sum": {"method": "aligned", "fraction_bits": fraction_bits, "lost": lost},
            "result": {"format": result, "rounding": rounding},
        }
    )


# What the ranges leave out of the hardware: subnormal sums, overflow, sums that round to zero.
RANGES = [
    (ranged("cut", "truncate", 13, "e8m13", "rz"), (False, False, False)),
    (ranged("rounded", "rne", 23, "bf16", "ru"), (False, True, True)),
    (SMALL_SCALED, (True, True, True)),
]


@pytest.mark.parametrize(("unit", "expected"), RANGES, ids=lambda value: getattr(value, "name", ""))
def test_ranges(unit: Unit, expected: tuple[bool, bool, bool]) -> None:
    numbers = WindowRanges(unit)
    assert (numbers.subnormal_sums, numbers.overflows, numbers.vanishes) == expected


@pytest.mark.simulator
@pytest.mark.usefixtures("verilator")
@pytest.mark.parametrize(
    "unit", others_slow([unit for unit, _ in RANGES[:2]], [RANGES[0][0]]), ids=lambda unit: unit.name
)
def test_what_the_ranges_leave_out_is_not_missed(unit: Unit) -> None:
    # Addends at every edge (zero, subnormals, bits below the window, least and largest normal, Inf, NaN), with
    # products that are zero, least, largest, and that cancel.
    edges = [0, 1, 0x3FF, 0x400, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000]
    edges += [0x7F7FFC00, 0x7F7FFFFF, 0x7F800000, 0x7F800001]
    pairs = [(0, 0), (1, 1), (1, 0x81), (0x7E, 0x7E), (0x7E, 0xFE), (0x38, 0x01)]
    cases = [
        Case(f"{a} {b} {c | sign:#x}", a, b, c | sign)
        for a in pairs
        for b in pairs
        for c in edges
        for sign in (0, 1 << 31)
    ]
    built = pipeline(unit)
    (outcome,) = bulk_outcomes(design_of(unit, built), [recorded(unit, built, cases)])
    assert (outcome.count, outcome.results) == (0, len(cases))


def test_a_shape_holds_a_range_of_any_length() -> None:
    for low in range(-9, 10):
        for high in range(low, 10):
            assert signed_shape(low, high) == Shape.cast(range(low, high + 1))
    assert signed_shape(-(1 << 300), (1 << 300) - 1) == Shape(301, signed=True)
    assert signed_shape(0, 1 << 300) == Shape(301)
