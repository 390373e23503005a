"""Captured results are what the definition returns, bit for bit."""

import pytest

from hwsim.model.definition import Definition
from hwsim.spec import load_unit
from hwsim.vectors.captured import CAPTURES, captured_cases

COUNTS = {
    "hopper-wgmma-e4m3-f32": 2000,
    "hopper-wgmma-e5m2-f32": 2000,
    "ada-mma-e4m3-f32": 1000,
    "ada-mma-e5m2-f32": 1000,
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


@pytest.mark.parametrize("name", ["deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"])
def test_units_that_no_gpu_was_captured_for_have_none(name, silicon):
    assert captured_cases(load_unit(name), silicon) == []


def test_no_folder_means_no_cases(monkeypatch, tmp_path):
    monkeypatch.delenv("HWSIM_SILICON", raising=False)
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32")) == []
    assert captured_cases(load_unit("hopper-wgmma-e4m3-f32"), tmp_path) == []


def test_the_environment_names_the_folder(monkeypatch, silicon):
    monkeypatch.setenv("HWSIM_SILICON", str(silicon))
    assert len(captured_cases(load_unit("ada-mma-e4m3-f32"))) == 1000


def test_counts_are_known_for_all():
    assert set(COUNTS) == set(CAPTURES)
