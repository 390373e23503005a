"""Which units have bins and directed cases: one plain window; of others the first setting that is lacking is named."""

import pytest

from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.plan import plan
from hwsim.cases.support import supports, window_of
from hwsim.spec import NotImplementedYet, load_unit, presets


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
def test_units_of_other_rules_have_no_bins(name, lacks):
    unit = load_unit(name)
    assert lacks in supports(unit).lacks
    for refused in (plan, window_of, lambda unit: directed(unit, 1)):
        with pytest.raises(NotImplementedYet, match=f"unit {name}: .* is in the model, but has no coverage bins yet"):
            refused(unit)


def test_every_preset_with_bins_has_one_window():
    supported = [unit for unit in map(load_unit, presets()) if supports(unit)]
    assert len(supported) > 50
    assert all(window_of(unit) is unit.sum for unit in supported)
    assert {"hopper-wgmma-e4m3-f32", "mxint8-f32", "deepseek-v3-e4m3-f32"} <= {unit.name for unit in supported}
