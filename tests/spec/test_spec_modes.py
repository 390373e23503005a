"""Units of several modes: their files, each mode as a unit of its own, and what is wrong in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from odd_modes import ODD_MODES
from spec.spec_files import write

import hwsim
from hwsim.spec import ModalUnit, Unit, as_yaml, load_specified, load_unit, modal_presets, modes_of, presets

GOOD = """\
unit: mine
operands: {addend: f32}
scale: {a: {format: e8m0, block: [1, 32]}, b: {format: e8m0, block: [32, 1]}}
instruction: {k: 32, lanes: 32}
sum: {method: aligned, fraction_bits: 20}
result: {format: f32, rounding: rz}
modes:
  scaled: {a: e4m3, b: e2m1}
  plain: {a: e4m3, b: e5m2, scales: false}
"""


def modal(name: Any) -> ModalUnit:
    unit = load_specified(name)
    assert isinstance(unit, ModalUnit)
    return unit


def arithmetic(unit: Unit) -> dict[str, Any]:
    """All keys but those that say nothing of what a unit returns."""
    return unit.model_dump(exclude={"unit", "summary", "evidence", "source"})


# Presets of one mode whose arithmetic a mode has.
SAME = {
    "fp8-any": {mode: f"hopper-wgmma-{mode}-f32" for mode in ("e4m3", "e5m2", "e4m3xe5m2", "e5m2xe4m3")},
    "mxf8f6f4-any": {mode: f"blackwell-mxf8f6f4-{mode}-f32" for mode in modal("mxf8f6f4-any").modes},
    "mx-any": {
        "e2m1": "mxfp4-e2m1-f32", "e2m3": "mxfp6-e2m3-f32", "e3m2": "mxfp6-e3m2-f32", "e4m3": "mxfp8-e4m3-f32",
        "e5m2": "mxfp8-e5m2-f32", "mxint8": "mxint8-f32", "e2m1xe3m2": "mx-e2m1xe3m2-f32",
    },
    "hfp8-hybrid": {
        "forward": "hfp8-forward-e4m3-dlfloat16", "backward": "hfp8-backward-e4m3xe5m2-dlfloat16",
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "count"), [("fp8-any", 4), ("mxf8f6f4-any", 25), ("mx-any", 36), ("hfp8-hybrid", 2)])
def test_a_mode_has_the_arithmetic_of_the_preset_of_one_mode(name: str, count: int) -> None:
    assert len(modal(name).modes) == count
    for mode, preset in SAME[name].items():
        assert arithmetic(load_unit(f"{name}:{mode}")) == arithmetic(load_unit(preset))


def test_there_are_four_presets_of_several_modes_and_none_is_of_one() -> None:
    assert modal_presets() == sorted(SAME)
    assert not set(modal_presets()) & set(presets())


@pytest.mark.parametrize("unit", [*map(modal, modal_presets()), *ODD_MODES.values()], ids=lambda unit: unit.name)
def test_a_unit_of_several_modes_survives_being_written(unit: ModalUnit, tmp_path: Path) -> None:
    text = as_yaml(unit)
    again = load_specified(write(tmp_path, text))
    assert again == unit
    assert as_yaml(again) == text
    assert list(yaml.safe_load(text)["modes"]) == list(unit.modes) == [
        one.name.removeprefix(f"{unit.name}-") for one in modes_of(unit)
    ]  # fmt: skip
    assert all(as_yaml(load_unit(write(tmp_path, as_yaml(one)))) == as_yaml(one) for one in unit.units[:3])


def test_a_mode_is_named_behind_a_colon(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    plain = load_unit(f"{path}:plain")
    assert (plain.name, plain.scale, plain.operands.b.name) == ("mine-plain", None, "e5m2")
    assert load_unit(f"{path}:scaled").scale is not None
    assert hwsim.dot(f"{path}:plain", [[0x38]], [[0x3C]]).tolist() == [1.0]
    # 1 in E2M1 is 0x2; the scales are 2 and 1/4.
    assert hwsim.dot(f"{path}:scaled", [[0x38] + [0] * 31], [[0x2] + [0] * 31], None, [[128]], [[125]]).tolist() == [
        0.5
    ]


def test_formats_beside_a_unit_of_several_modes_are_found(tmp_path: Path) -> None:
    write(tmp_path, "kind: float\nexponent_bits: 3\nfraction_bits: 4\nbias: 3\n", "e3m4.yaml")
    any_of = GOOD.partition("modes:")[0] + "modes: {any: [e4m3, ./e3m4.yaml]}\n"
    assert list(modal(write(tmp_path, any_of)).modes) == ["e4m3", "e4m3xe3m4", "e3m4xe4m3", "e3m4"]
    own = GOOD.replace("b: e2m1", "b: ./e3m4.yaml")
    assert load_unit(f"{write(tmp_path, own)}:scaled").operands.b.name == "e3m4"


WRONG = [
    ("b: e5m2, scales: false", "b: e4m3x", r"unit\.yaml:9: modes\.plain\.b unknown format 'e4m3x'"),
    ("b: e5m2, scales: false", "b: e2m1", r"unit\.yaml:9: modes\.plain must differ from mode scaled"),
    ("b: e5m2, scales: false", "b: e5m2, lanes: 4", r"unit\.yaml:9: modes\.plain\.lanes is not a key here"),
    ("scaled: {", "'a b': {", r"unit\.yaml:8: modes\.a b"),
    ("  scaled: {a: e4m3, b: e2m1}\n", "", r"unit\.yaml:7: modes must have at least 2 items"),
    ("b: e2m1}", "b: e2m1, scales: false}", r"unit\.yaml:3: scale must be none: no mode has scales"),
    ("operands: {addend: f32}", "operands: {a: e4m3, addend: f32}", r"unit\.yaml:2: operands\.a is not a key here"),
    (
        "operands: {addend: f32}", "operands: {addend: f32, convert: e4m3}",
        r"unit\.yaml:9: modes\.plain must make a unit: operands\.convert must hold every e5m2",
    ),
    ("lanes: 32}", "lanes: 5}", r"unit\.yaml:8: modes\.scaled must make a unit: instruction\.lanes must divide"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_what_is_wrong_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(hwsim.SpecError, match=message):
        load_specified(write(tmp_path, GOOD.replace(old, new)))


def test_a_mode_without_scales_needs_a_scale_of_one(tmp_path: Path) -> None:
    unscaled = re.sub(r"scale: .*\n", "", GOOD)
    with pytest.raises(hwsim.SpecError, match=r"modes\.plain\.scales must be true: there is no scale"):
        load_specified(write(tmp_path, unscaled))
    tiny = "{name: tiny, kind: exponent, exponent_bits: 3, bias: 9}"
    with pytest.raises(hwsim.SpecError, match=r"modes\.plain\.scales must be true: tiny has no 1"):
        load_specified(write(tmp_path, GOOD.replace("format: e8m0", f"format: {tiny}")))


def test_one_mode_is_asked_for_where_one_is_wanted(tmp_path: Path) -> None:
    wanted = r"unit fp8-any has modes, and one is wanted here, as fp8-any:e4m3; its modes: e4m3, e4m3xe5m2, "
    with pytest.raises(hwsim.SpecError, match=wanted):
        load_unit("fp8-any")
    with pytest.raises(hwsim.SpecError, match=r"as mx-any:e2m1; `hwsim units mx-any` lists its 36 modes"):
        hwsim.dot("mx-any", [[1]], [[1]])
    with pytest.raises(hwsim.SpecError, match=r"unit fp8-any: unknown mode 'e4m4': did you mean e4m3"):
        load_unit("fp8-any:e4m4")
    with pytest.raises(hwsim.SpecError, match=r"unit hopper-wgmma-e4m3-f32 has no modes, and so no mode 'e4m3'"):
        load_unit("hopper-wgmma-e4m3-f32:e4m3")
    with pytest.raises(hwsim.SpecError, match=r"unknown unit 'fp8-an:e4m3': did you mean fp8-any"):
        load_unit("fp8-an:e4m3")
