"""Captured results are what the definition returns, bit for bit."""

import pytest

from hwsim.cases.captured import CAPTURES, captured_cases
from hwsim.model.definition import Definition
from hwsim.spec import load_unit

# All cases of all of them: tests/model/test_model_silicon.py, through hwsim.dot.
COUNTS = {
    "hopper-wgmma-e4m3-f32": 2000,
    "hopper-wgmma-e5m2-f32": 2000,
    "ada-mma-e4m3-f32": 1000,
    "ada-mma-e5m2-f32": 1000,
    "hopper-mma-e5m2-f16": 2000,
    "blackwell-mma-tf32-f32": 1000,
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_definition_is_what_the_gpu_returned(name, silicon):
    unit = load_unit(name)
    cases = captured_cases(unit, silicon)
    definition = Definition(unit)
    wrong = [case.id for case, code in cases if definition.dot(case.a, case.b, case.c).code != code]
    assert (len(cases), wrong) == (COUNTS[name], [])


def test_ids_name_the_gpu(silicon):
    cases = captured_cases(load_unit("hopper-wgmma-e4m3-f32"), silicon)
    ids = [cases[index][0].id for index in (0, 999, 1000, 1999)]
    assert ids == ["h100/0000", "h100/0999", "h200/0000", "h200/0999"]


def test_a_short_k_is_filled(silicon):
    # tf32 was captured with K = 4; the unit's groups have 8 lanes.
    (case, _), *_ = captured_cases(load_unit("hopper-mma-tf32-f32"), silicon)
    assert (len(case.a), len(case.b), case.a[4:], case.b[4:]) == (8, 8, (0,) * 4, (0,) * 4)
    assert all(case.a[:4])


@pytest.mark.parametrize("name", ["deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32", "hopper-mma-e4m3-f32"])
def test_units_that_no_gpu_was_captured_for_have_none(name, silicon):
    assert captured_cases(load_unit(name), silicon) == []


def test_no_folder_means_no_cases(monkeypatch, tmp_path):
    monkeypatch.delenv("HWSIM_SILICON", raising=False)
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32")) == []
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32"), tmp_path) == []


def test_the_environment_names_the_folder(monkeypatch, silicon):
    monkeypatch.setenv("HWSIM_SILICON", str(silicon))
    assert len(captured_cases(load_unit("ada-mma-e4m3-f32"))) == 1000


def test_every_unit_has_a_thousand_cases_from_each_gpu(silicon):
    assert set(COUNTS) < set(CAPTURES)
    for name, (gpus, _, _) in CAPTURES.items():
        ids = [case.id for case, _ in captured_cases(load_unit(name), silicon)]
        assert [ids.count(f"{gpu}/{index:04}") for gpu in gpus for index in (0, 999)] == [1] * 2 * len(gpus)
        assert len(ids) == len(set(ids)) == 1000 * len(gpus)
