"""Every mistake that is looked for makes a result of every case, of any unit: else nothing is named at all."""

from __future__ import annotations

import pytest
from random_units.random_unit_files import SMALL

from hwsim.cases.case import Case
from hwsim.explain.candidate import addend_rounded, results
from hwsim.explain.discriminate import lengths_of, stimuli
from hwsim.explain.known import candidates
from hwsim.explain.readings import READINGS, read_unit, supports
from hwsim.formats import FloatFormat, get_format
from hwsim.fuzz.draw import Size, drawn_unit
from hwsim.model.definition import definition_of
from hwsim.spec import Unit, load_unit

# A window of no place; an addend that is rounded to a format of another container; addends and results of binary64;
# a carry of a result that is too large; late additions in formats without infinity, and without subnormals.
ONCE = (
    (2029, 0, SMALL), (2030, 24, None), (2030, 44, None), (2030, 116, None), (2030, 88, None), (2030, 216, None),
    (2031, 15, SMALL),
)  # fmt: skip


def ask(unit: Unit) -> int:
    cases = [case for length in lengths_of(unit)[-1:] for case in stimuli(unit, 1, 0, 3, length).cases()]
    asked = list(candidates(unit))
    for one in asked:
        assert len(results(one.candidate, cases, whole=True)) == len(cases), one.name
    return len(asked)


@pytest.mark.parametrize(("seed", "number", "size"), ONCE)
def test_every_mistake_of_a_unit_has_results(seed: int, number: int, size: Size | None) -> None:
    assert ask(drawn_unit(seed, number, size).unit) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 25))
def test_every_mistake_of_many_units_has_results(first: int) -> None:
    for number in range(first, first + 25):
        unit = drawn_unit(2031, number, SMALL if number % 2 else None).unit
        if unit.instruction.lanes * unit.instruction.k <= 300:
            ask(unit)


@pytest.mark.parametrize(
    ("name", "code", "rounded"),
    [
        ("e4m3", 0x3F880001, 0x3F900000),  # just above 1.0625, which is half of a step
        ("e4m3", 0x3F880000, 0x3F800000),
        ("e4m3", 0x7F000000, 0x43E00000),  # 2^127: 448, the largest
        ("e5m2", 0xFF000000, 0xFF800000),  # -2^127: -infinity
        ("e5m2", 0x80000001, 0x80000000),
        ("e5m2", 0x7FC00000, 0x7FC00000),
        ("e8m13", 0x3F800001, 0x3F800000),
    ],
)
def test_an_addend_is_rounded_first_by_value(name: str, code: int, rounded: int) -> None:
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    case = addend_rounded(fmt).case(load_unit("hopper-wgmma-e4m3-f32"), Case("", (), (), code))
    assert hex(case.c) == hex(rounded)


@pytest.mark.parametrize(("seed", "number", "size"), [(2030, 216, None), (2031, 15, SMALL), (2033, 1956, SMALL)])
def test_each_reading_of_a_late_addition_is_a_unit(seed: int, number: int, size: Size | None) -> None:
    unit = drawn_unit(seed, number, size).unit
    assert supports(unit)
    for reading in READINGS:
        definition_of(read_unit(unit, reading))
