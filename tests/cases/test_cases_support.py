"""Which units have the bins of one plain window; of others, which have bins of outcomes, the setting is named."""

import pytest
from unit_keys import odd_unit, window

from hwsim.cases.case import draws, one_window, supports, window_of, windows
from hwsim.cases.matrices import gemm_problem
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.vectors.plan import plan as set_plan
from hwsim.spec import NotImplementedYet, Unit, load_unit, presets


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("cdna3-mfma-e4m3fnuz-f32", "sum.method: even-odd"),
        ("cdna2-mfma-bf16-f32", "sum.method: pairwise"),
        ("exact-e4m3-f32", "sum.method: exact"),
        ("hfp8-forward-e4m3-dlfloat16", "sum.method: sequential"),
        ("hopper-mma-e4m3-f16", "operands.convert"),
        ("blackwell-mma-e4m3-f32", "sum.addend: late"),
        ("blackwell-mxf4nvf4-e2m1-f32", "sum.subgroup"),
    ],
)
def test_units_of_other_rules_have_no_window_bins(name, lacks):
    unit = load_unit(name)
    assert lacks in windows(unit).lacks
    assert supports(unit)
    assert not one_window(unit)
    with pytest.raises(NotImplementedYet, match=f"unit {name}: .* is in the model, but has no window bins"):
        window_of(unit)


def test_every_preset_with_window_bins_has_one_window():
    supported = [unit for unit in map(load_unit, presets()) if one_window(unit)]
    assert len(supported) > 50
    assert all(window_of(unit) is unit.sum for unit in supported)
    assert {"hopper-wgmma-e4m3-f32", "mxint8-f32", "deepseek-v3-e4m3-f32"} <= {unit.name for unit in supported}


def test_units_with_codes_of_64_bits_have_cases_and_no_window_bins():
    unit = odd_unit("wide", "f64", "f64", window(60), "f64", 2)
    assert draws(unit) and supports(unit)
    assert windows(unit).lacks == ("operands.a: f64", "operands.b: f64", "operands.addend: f64", "result.format: f64")
    with pytest.raises(NotImplementedYet, match=r"unit wide: operands\.a: f64 is in the model, but has no window bins"):
        window_of(unit)
    assert all(draws(load_unit(name)) for name in presets())


def test_what_no_implementation_has_has_no_cases():
    data = load_unit("hopper-wgmma-e4m3-f32").model_dump(mode="json", exclude_unset=True)
    unit = Unit.model_validate({**data, "operands": {"a": "ue4m3", "b": "e4m3", "addend": "f32"}})
    message = "unit hopper-wgmma-e4m3-f32: unsigned factors is not implemented yet"
    of_sets = [lambda suite=suite: set_plan(unit, suite, 1) for suite in ("smoke", "random", "gemm")]
    for refused in (lambda: random_cases(unit, 1, 1), lambda: gemm_problem(unit, 2, 2, 2, 1), *of_sets):
        with pytest.raises(NotImplementedYet, match=message):
            refused()
