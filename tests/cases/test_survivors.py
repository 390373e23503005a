"""Which likely mistakes the directed cases leave open, unit by unit of every method: none but those that are named; of
drawn units next to none that cases tell which are looked for once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from built_presets import DISTINCT, others_slow
from unit_keys import odd_unit

from hwsim.cases.bins.covering import covering
from hwsim.cases.case import Case
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.explain.candidate import by_model, changed
from hwsim.explain.mistakes import catalogue
from hwsim.explain.mistakes.kills import SEARCHED, Known, Passages, killer, kills, known, search
from hwsim.explain.record import Kills
from hwsim.spec import Unit, load_unit

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
    "deepseek-v3-e4m3-f32-scaled": {
        "shift distance at most 63, in the promotion",
        *(
            f"{bits} bits below the last place and the sticky bit in additions, in the promotion"
            for bits in (24, 25, 26)
        ),
    }
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
SOON = ["integers"]


@pytest.mark.parametrize("method", others_slow(UNITS, SOON))
def test_the_directed_cases_of_each_method_leave_no_likely_mistake_open(method: str) -> None:
    unit = UNITS[method]
    counted = kills(unit, covering(unit, 1))
    assert set(counted.open) == OPEN.get(unit.name, set())
    assert len(counted.killed) > len(counted.equivalent)


def unsound(unit: Unit, cases: Sequence[Case], counted: Kills | Known) -> list[str]:
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
    cases = covering(unit, 1)
    assert not unsound(unit, cases, kills(unit, cases))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_drawn_units_leave_nothing_open_that_cases_tell(first: int, record_property: pytest.RecordProperty) -> None:
    """What is open is looked for once more, among twice as many other cases, of which few in a thousand are killed."""
    left, told, every, units = 0, list[str](), 0, 0
    for number in range(first, first + 10):
        unit = drawn_unit(2031, number).unit
        found = known(unit)
        assert not unsound(unit, covering(unit, 1), found), unit.name
        mistakes = {mistake.name: mistake for mistake in catalogue(unit)}
        more, _ = search(unit, [mistakes[name] for name in found.open], seed=3, most=2 * SEARCHED)
        assert not set(more) & set(found.killers)
        told += [f"{unit.name}: {name}" for name in more]
        left, every, units = left + len(found.open), every + len(mistakes), units + bool(found.open)
    record_property("units with open mistakes", units)
    record_property("open mistakes", left)
    record_property("told by other cases", len(told))
    assert len(told) <= every // 200, told


def test_an_addend_that_is_dropped_far_below_the_product_is_killed_at_every_distance() -> None:
    killed = kills(FMA, covering(FMA, 1)).killed
    assert {f"the addend dropped from {least} places below" for least in range(13, 37)} <= set(killed)


def test_a_multiplier_that_flushes_after_rounding_with_an_exponent_without_end_is_told() -> None:
    after = changed(MULTIPLIER, {"result": {"tininess": "after"}})
    results = [by_model(each, covering(MULTIPLIER, 1)) for each in (MULTIPLIER, after)]
    assert sum(first != second for first, second in zip(*results, strict=True)) >= 4
