"""Numbers beside ties: significands by arithmetic, and the mistakes of additions that only they kill."""

from __future__ import annotations

import pytest
from unit_keys import odd_unit

from hwsim.cases.bins.nearties import beside, near_rows, significands
from hwsim.cases.case import Case, Rows, dot
from hwsim.explain.mistakes.kills import kills
from hwsim.model.definition import Definition
from hwsim.model.rounding import add
from hwsim.model.terms import addend_term
from hwsim.spec import Unit, load_unit

ROUNDED = {"format": "f16", "rounding": "rne"}
FMA = odd_unit("fma16", "f16", "f16", {"method": "sequential", "product": "fused", **ROUNDED}, "f16", 1)


def near(unit: Unit) -> list[Case]:
    rows = Rows(unit)
    near_rows(rows)
    return list(rows.cases.values())


@pytest.mark.parametrize("odd", [0, 1])
@pytest.mark.parametrize("off", [-1, 1])
def test_significands_have_the_low_bits_that_are_asked_for(off: int, odd: int) -> None:
    for places in range(2, 11):
        low = (1 << places - 1) + off
        for sig, factors in significands((11, 11), 22, low, places, odd):
            assert factors is not None
            assert factors[0] * factors[1] == sig and sig.bit_length() == 22
            assert sig % (1 << places) == low and sig >> places & 1 == odd


def test_the_nearest_product_is_the_nearest() -> None:
    every = sorted({x * y for x in range(8, 16) for y in range(8, 16)})
    for target in range(64, 226):
        above, below = beside(4, 4, target, True), beside(4, 4, target, False)
        larger, smaller = [each for each in every if each > target], [each for each in every if each < target]
        assert (above and above[0] * above[1]) == (larger[0] if larger else None)
        assert (below and below[0] * below[1]) == (smaller[-1] if smaller else None)


def test_factors_without_fraction_bits_have_cases_too() -> None:
    power = {"name": "power", "kind": "float", "exponent_bits": 5, "fraction_bits": 0, "bias": 19}
    unit = odd_unit("powers", (power, power), "none", {"method": "exact"}, "f16", 2)
    assert all(case.id.startswith("near/") for case in near(unit))


def test_what_is_beside_a_tie_stays_there() -> None:
    # The smaller term is there, and the result is that of the product alone: to decide is what it must not.
    fmt, definition = FMA.output, Definition(FMA)
    cases = [case for case in near(FMA) if case.id.startswith("near/addition-product")]
    assert len(cases) > 40
    for case in cases:
        (product,) = dot(definition, case).groups[0].products
        assert addend_term(fmt, case.c).sig
        assert dot(definition, case).code == add(fmt, (product,), "rne")


@pytest.mark.slow
def test_near_ties_kill_what_stops_a_shifter_within_the_product() -> None:
    killed = kills(FMA, near(FMA)).killed
    # A product of 22 bits ends 21 places below its first one: a term that stops there takes it to a tie.
    assert {f"shift distance at most {most}" for most in range(13, 22)} <= set(killed)
    assert "4 bits below the last place and the sticky bit in additions" in killed


@pytest.mark.slow
def test_one_bit_of_the_smaller_term_decides_below_a_power_of_two() -> None:
    name = "24 bits below the last place and no sticky bit in additions"
    assert name in kills(load_unit("cdna2-mfma-f16-f32"), near(load_unit("cdna2-mfma-f16-f32"))).killed
