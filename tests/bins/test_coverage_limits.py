"""What no case can do, by ranges: no case of any kind of unit contradicts it, as it does what says too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from odd_units import ODD, unit

from hwsim.cases.bins import outcomes as limits
from hwsim.cases.bins import outcomes as negativezeros
from hwsim.cases.bins.covering import covered, directed
from hwsim.cases.bins.outcomes import Addends, RoundingPlace
from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import one_window
from hwsim.cases.palette import exact_code
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.fuzz.draw import Size, drawn_unit
from hwsim.formats import FloatFormat
from hwsim.spec import Unit, load_unit

OTHERS = [name for name in ODD if not one_window(unit(name))]
SMALL = Size(lanes=4, groups=2)


def contradicted(some: Unit, random: int = 300) -> list[str]:
    """The bins that directed or random cases hit though a proof says that none can."""
    plan.cache_clear()
    counter = Counter(plan(some))
    for case in [*directed(some, 1), *random_cases(some, random, 5)]:
        counter.sample(case)
    return [bin_.name for bin_ in counter.contradicted()]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_no_case_of_an_odd_unit_contradicts_a_proof(name: str) -> None:
    assert contradicted(unit(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_no_case_of_a_drawn_unit_contradicts_a_proof(number: int) -> None:
    assert contradicted(drawn_unit(41, number, SMALL).unit, 60) == []


def too_much(_unit: Any, _place: RoundingPlace, _added: Addends) -> str:
    return "never"


MUTANTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "nothing vanishes": ("_vanishes", lambda one, added: "never", "blackwell-mxf4-e2m1-f32"),
    "no addend takes a sum out of range": ("_overflows", too_much, "hopper-mma-e4m3-f16"),
    "integers never leave the range": ("_overflows", too_much, "int8-i32"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_proof_that_says_too_much_is_contradicted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrong, preset = MUTANTS[name]
    monkeypatch.setattr(limits, function, wrong)
    try:
        assert contradicted(load_unit(preset), 0)
    finally:
        plan.cache_clear()


def test_the_least_power_of_two_of_a_format_without_subnormals_is_none_of_its_numbers() -> None:
    fmt = load_unit("hfp8-forward-e4m3-dlfloat16").result.format
    assert isinstance(fmt, FloatFormat) and not fmt.subnormals
    addition = RoundingPlace("addition", fmt, "rna")
    assert exact_code(fmt, 0, 1, fmt.emin) is None and exact_code(fmt, 0, 1, fmt.emin + 1) is not None
    assert limits._vanishes(addition, Addends(fmt.emin, None, None, "sums")) is None
    assert limits._vanishes(addition, Addends(fmt.emin + 1, None, None, "sums")) is not None


def test_a_negative_zero_that_is_denied_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_unit: Unit, *, zeros_make_one: bool) -> str:
        return "never"

    monkeypatch.setattr(negativezeros, "negative_zero", never)
    try:
        assert all(contradicted(unit(name), 0) for name in ("chain-rd", "tree-f16-7"))
    finally:
        plan.cache_clear()


def test_each_preset_that_had_open_bins_has_none() -> None:
    # One of every kind of proof: ranges of windows, of late additions, of promotions, of trees and of integers.
    for name in ("blackwell-mma-e4m3-f16", "hfp8-forward-e4m3-dlfloat16", "int8-i32"):
        assert [bin_.name for bin_ in covered(load_unit(name), 1).open] == []
