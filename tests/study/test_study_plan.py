from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from study.study_cases import HOPPER, SMALL, study

from hwsim.formats.yamlfile import SpecError
from hwsim.spec import as_yaml, load_unit
from hwsim.study.plan import load_study
from hwsim.study.plan.study import points

FILE = """study: mine
trials: 2
lengths: 128
units:
  - unit: hopper-wgmma-e4m3-f32
    grid: {interval: [none, 64]}
data: normal
"""


def wrong(text: str, folder: Path) -> str:
    path = folder / "s.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        points(load_study(path))
    return str(caught.value).replace(str(folder), "")


def test_a_file_is_read_with_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(FILE)
    made = load_study(tmp_path / "s.yaml")
    assert (made.name, made.trials, made.lengths, made.seed, made.explained) == ("mine", 2, (128,), 1, 1)
    assert [point.label for point in points(made)] == [f"{HOPPER} interval=none", f"{HOPPER} interval=64"]


ERRORS = {
    "trials: 2": ("trails: 2", "/s.yaml:2: unknown key 'trails': did you mean trials"),
    "grid: {interval": ("gird: {interval", "/s.yaml:6: units.0: unknown key 'gird': did you mean grid"),
    "hopper-wgmma-e4m3-f32": ("hopper-wgmma-e4m3", "/s.yaml:5: units.0.unit: unknown unit 'hopper-wgmma-e4m3': did"),
    "interval: [none": ("intervals: [none", "/s.yaml:6: units.0.grid.intervals: unknown field of a unit 'intervals'"),
    "[none, 64]": ("[none, 63]", "units.0: hopper-wgmma-e4m3-f32 interval=63: promotion.interval must be a multiple"),
    "none, 64]}": ("none, 64]}\n    scaling: tensors", "/s.yaml:7: units.0.scaling: unknown scaling 'tensors': did"),
    "lengths: 128": ("lengths: [0]", "/s.yaml:3: lengths.0 must be greater than or equal to 1, not 0"),
    "data: normal": ("data: nromal", "/s.yaml:7: data.0: "),
    "study: mine": ("study: [mine", "/s.yaml:2: not YAML: "),
    "units:\n": ("unit:\n", "/s.yaml:4: unknown key 'unit': did you mean units"),
}


@pytest.mark.parametrize("right", ERRORS)
def test_what_is_wrong_is_named_with_its_line(right: str, tmp_path: Path) -> None:
    instead, said = ERRORS[right]
    assert right in FILE
    assert said in wrong(FILE.replace(right, instead, 1), tmp_path)


def test_a_unit_may_be_a_path_a_mapping_or_a_unit(tmp_path: Path) -> None:
    unit = load_unit(HOPPER)
    (tmp_path / "u.yaml").write_text(as_yaml(unit))
    mapping = yaml.safe_load(as_yaml(unit))
    for given in (HOPPER, "./u.yaml", mapping, unit, {"unit": mapping}, {"unit": "./u.yaml"}):
        (point,) = points(study(tmp_path, units=[given], lengths=64))
        assert point.unit == unit
    broken = {**mapping, "instruction": {"k": 32, "lanes": 12}}
    with pytest.raises(SpecError, match=r"units\.0\.instruction\.lanes must divide instruction\.k \(32\), not 12"):
        study(tmp_path, units=[broken])


def test_what_is_written_is_the_same_study() -> None:
    units: list[Any] = [*SMALL["units"], {"unit": load_unit("mxint8-f32"), "scaling": ["block", "direct"]}]
    made = study(units=units)
    again = load_study(yaml.safe_load(made.as_yaml()))
    assert points(again) == points(made)
    assert again.as_yaml() == made.as_yaml()


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(SpecError, match="two are called 'hopper-wgmma-e4m3-f32'; give one another label"):
        study(units=[HOPPER, HOPPER])
    with pytest.raises(SpecError, match="two are called 'normal'; give one another name"):
        study(data=["normal", "normal"])
    with pytest.raises(SpecError, match="two points are called Hopper fraction_bits=9, normal, K = 64"):
        points(study(units=[SMALL["units"][0]] * 2))
