from __future__ import annotations

import itertools
from typing import Any

import pytest
from study.study_cases import HOPPER, study

from hwsim.formats import FixedFormat
from hwsim.formats.yamlfile import SpecError
from hwsim.spec import load_unit, presets
from hwsim.spec.fields import fields, vary
from hwsim.study.plan import study as grid
from hwsim.study.plan.study import points


def entry(**keys: Any) -> dict[str, Any]:
    return {"unit": HOPPER, "label": "H", **keys}


def test_every_combination_is_a_point_once_in_order() -> None:
    made = points(
        study(units=[entry(grid={"fraction_bits": [9, 11], "interval": ["none", 64]}, scaling=["direct", "tensor"])])
    )
    seen = [(p.axes["fraction_bits"], p.axes["interval"], p.axes["scaling"], p.length) for p in made]
    assert seen == list(itertools.product(["9", "11"], ["none", "64"], ["direct", "tensor"], [64, 96]))
    assert [p.index for p in made] == list(range(16))
    for p in made:
        assert p.unit.sum.fraction_bits == int(p.axes["fraction_bits"])
        assert (p.unit.promotion.interval if p.unit.promotion else "none") == (
            64 if p.axes["interval"] == "64" else "none"
        )


CHANGES: dict[str, tuple[Any, str, Any]] = {
    "fraction_bits": (7, "sum.fraction_bits", 7),
    "lost": ("floor", "sum.lost", "floor"),
    "result": ("f32", "result.format.name", "f32"),
    "rounding": ("rne", "result.rounding", "rne"),
    "a": ("e5m2", "operands.a.name", "e5m2"),
    "b": ("e5m2", "operands.b.name", "e5m2"),
    "interval": (64, "promotion.interval", 64),
    "lanes": (16, "instruction.lanes", 16),
    "result.overflow": ("saturate", "result.overflow", "saturate"),
    "operands.addend": ("none", "operands.addend", None),
}


def at(unit: Any, path: str) -> Any:
    for name in path.split("."):
        unit = getattr(unit, name)
    return unit


@pytest.mark.parametrize("field", CHANGES)
def test_a_field_changes_that_alone(field: str) -> None:
    value, path, found = CHANGES[field]
    before, after = load_unit(HOPPER), vary(load_unit(HOPPER), {field: value})
    assert at(after, path) == found
    changed = path.split(".")[0]
    for part in ("operands", "scale", "instruction", "sum", "late", "result", "promotion"):
        assert (getattr(before, part) != getattr(after, part)) == (part == changed), part
    assert after.evidence == "designed" and after.name != before.name


def test_lanes_that_do_not_divide_make_an_instruction_of_so_many() -> None:
    assert vary(load_unit(HOPPER), {"lanes": 16}).instruction.k == 32
    made = vary(load_unit(HOPPER), {"lanes": 48}).instruction
    assert (made.k, made.lanes) == (48, 48)


@pytest.mark.parametrize("bits", [5, 13, 22, 23, 30])
def test_an_accumulator_has_its_bits_everywhere(bits: int) -> None:
    made = vary(load_unit(HOPPER), {"accumulator": bits})
    assert made.sum.fraction_bits == bits
    assert made.result.format.fraction_bits == min(bits, 23)
    assert (made.result.format.exponent_bits, made.result.format.container_bits) == (8, 32)
    chain = vary(load_unit("sequential-e4m3-f16"), {"accumulator": bits})
    assert chain.sum.format == chain.result.format == made.result.format


@pytest.mark.parametrize("method", ["aligned", "sequential", "pairwise", "exact", "even-odd"])
def test_every_method_goes_with_most_units(method: str) -> None:
    for name in presets():
        unit = load_unit(name)
        fixed, promoted = isinstance(unit.result.format, FixedFormat), unit.promotion is not None
        try:
            made = vary(unit, {"method": method})
        except ValueError as error:
            said = str(error)
            # Fixed results are exact ones, subgroups those of `aligned`, and nothing is late with a promotion; what is
            # added late has a format of its own.
            assert (
                (fixed and "format must be a" in said)
                or (getattr(unit.sum, "subgroup", None) and "there is no sum.subgroup" in said)
                or (promoted and method == "even-odd" and "late with a promotion" in said)
                or (isinstance(unit.result.nan, int) and "result.nan must be a NaN of f32" in said)
            ), f"{name}: {said}"
            continue
        assert made.sum.method == method
        assert made.sum == unit.sum or unit.sum.method != method


def test_combinations_that_break_a_rule_are_named_or_left_out() -> None:
    varied = {"interval": [32, 40], "lanes": [8, 32]}
    with pytest.raises(SpecError) as caught:
        points(study(units=[entry(grid=varied)]))
    said = "units.0: H interval=40 lanes=32: promotion.interval must be a multiple of instruction.lanes (32), not 40"
    assert said in str(caught.value) and "invalid: skip" in str(caught.value)
    kept = points(study(units=[entry(grid=varied, invalid="skip")], lengths=64))
    assert [point.label for point in kept] == [
        "H interval=32 lanes=8", "H interval=32 lanes=32", "H interval=40 lanes=8"
    ]  # fmt: skip
    with pytest.raises(SpecError, match="no combination is valid"):
        points(study(units=[entry(grid={"interval": [40]}, invalid="skip")]))


def test_a_length_that_a_unit_does_not_take_is_named() -> None:
    with pytest.raises(SpecError, match=r"rvbna-e4m3-f32-n16: K.* at most instruction.k \(16\).* not 64"):
        points(study(units=["rvbna-e4m3-f32-n16"]))
    with pytest.raises(SpecError, match=r"mxfp8-e4m3-f32: K.* multiple of scale.a.block along K \(32\), not 40"):
        points(study(units=["mxfp8-e4m3-f32"], lengths=[64, 40]))


def test_a_grid_that_is_too_large_says_how_large() -> None:
    large = study(units=[entry(grid={"fraction_bits": list(range(1, 101)), "interval": list(range(32, 32 * 102, 32))})])
    with pytest.raises(SpecError, match=r"has 20,200 points, the limit is 20,000"):
        points(large)
    assert grid.count(large) == 100 * 101 * 2


def test_a_trial_that_is_too_large_says_how_large() -> None:
    with pytest.raises(SpecError, match=r"rows 30,000, columns 30,000 and length 96 takes about 335.\d GiB, the limit"):
        points(study(rows=30_000, columns=30_000))


def test_fields_of_units_are_known_by_their_paths() -> None:
    known = fields()
    for name in ("late.rounding", "sum.combine.lost", "scale.a.block", "promotion", "instruction.k", "operands.daz"):
        assert name in known
    assert not {"summary", "unit", "source"} & set(known)
    with pytest.raises(SpecError, match=r"unknown field of a unit 'sum\.fraction_bit': did you mean"):
        study(units=[entry(grid={"sum.fraction_bit": [3]})])
