"""Which likely mistakes the standard set leaves open, unit by unit of every method: none but those that are named."""

from __future__ import annotations

import pytest
from built_presets import DISTINCT, others_slow
from unit_keys import odd_unit

from hwsim.cases.bins.covering import covering
from hwsim.cases.case import Case
from hwsim.cases.sensitive import sensitive
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.explain.candidate import by_model, changed
from hwsim.explain.mistakes import catalogue
from hwsim.explain.mistakes.kills import Passages, killer, kills
from hwsim.explain.record import Kills
from hwsim.spec import NotImplementedYet, Unit, load_unit

ROUNDED = {"format": "f16", "rounding": "rne"}
FMA = odd_unit("fma16", "f16", "f16", {"method": "sequential", "product": "fused", **ROUNDED}, "f16", 1)
MULTIPLIER = Unit.model_validate(
    {
        "unit": "bf16-multiplier", "operands": {"a": "bf16", "b": "bf16", "addend": "none", "daz": True},
        "instruction": {"k": 1, "lanes": 1, "chain": "none"}, "sum": {"method": "exact", "zero": "ieee"},
        "result": {"format": "bf16", "rounding": "rne", "subnormals": "flush", "nan": 0x7FC0},
    }
)  # fmt: skip
# Mistakes of which neither a case that kills them is known nor a proof that none does.
OPEN = {
    "fma16": {f"low {places} places of the whole sum lost, floored" for places in (1, 2, 3)},
    "deepseek-v3-e4m3-f32-scaled": {"subnormal results rounded ties away from zero, in the promotion"},
    "bf16-multiplier": {
        "subnormal results rounded ties away from zero",
        *(f"sticky bit of {places} places alone in the rounding" for places in (7, 11, 15)),
    },
}
UNITS = {
    "fused additions": FMA,
    "a multiplier": MULTIPLIER,
    "an exact sum": load_unit("cdna1-mfma-f16-f32"),
    "integers": load_unit("int8-i32"),
    "even and odd lanes": load_unit("cdna3-mfma-e4m3fnuz-f32"),
    "a window": load_unit("hopper-wgmma-e4m3-f32"),
    "a tree": load_unit("cdna2-mfma-f16-f32"),
    "a late addition": load_unit("hopper-mma-e4m3-f32"),
    "a promotion": load_unit("deepseek-v3-e4m3-f32"),
    "a scaled promotion": load_unit("deepseek-v3-e4m3-f32-scaled"),
    "scales and a window": load_unit("mxfp8-e4m3-f32"),
    "scales and an exact sum": load_unit("exact-e4m3-f32"),
}
SOON = ["fused additions", "a multiplier", "an exact sum", "integers", "even and odd lanes"]


def standard(unit: Unit) -> list[Case]:
    """The directed cases of a set."""
    cases = covering(unit, 1)
    try:
        return [*cases, *sensitive(unit, 1)]
    except NotImplementedYet:
        return cases


@pytest.mark.parametrize("method", others_slow(UNITS, SOON))
def test_the_directed_cases_of_each_method_leave_no_likely_mistake_open(method: str) -> None:
    unit = UNITS[method]
    counted = kills(unit, standard(unit))
    assert set(counted.open) == OPEN.get(unit.name, set())
    assert len(counted.killed) > len(counted.equivalent)


def unsound(unit: Unit, cases: list[Case], counted: Kills) -> list[str]:
    """The mistakes that are called equivalent, and that a case kills."""
    passages = Passages(unit, cases)
    return [
        mistake.name
        for mistake in catalogue(unit)
        if mistake.name in counted.equivalent and killer(passages, mistake.flaw) is not None
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTINCT)
def test_no_case_of_a_preset_kills_what_is_called_equivalent(name: str) -> None:
    unit = load_unit(name)
    cases = standard(unit)
    assert not unsound(unit, cases, kills(unit, cases))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_no_case_of_a_drawn_unit_kills_what_is_called_equivalent(first: int) -> None:
    for number in range(first, first + 10):
        unit = drawn_unit(2031, number).unit
        cases = standard(unit)
        assert not unsound(unit, cases, kills(unit, cases)), unit.name


def test_an_addend_that_is_dropped_far_below_the_product_is_killed_at_every_distance() -> None:
    killed = kills(FMA, covering(FMA, 1)).killed
    assert {f"the addend dropped from {least} places below" for least in range(13, 37)} <= set(killed)


def test_a_multiplier_that_flushes_after_rounding_with_an_exponent_without_end_is_told() -> None:
    after = changed(MULTIPLIER, {"result": {"tininess": "after"}})
    results = [by_model(each, covering(MULTIPLIER, 1)) for each in (MULTIPLIER, after)]
    assert sum(first != second for first, second in zip(*results, strict=True)) >= 4
