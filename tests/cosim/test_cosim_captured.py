"""The suite of captured results: what GPUs returned, held against the RTL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cosim.plays import bulk_outcomes, codes_of, design_of, planner, stream
from representatives import with_every_format

from hwsim.cases.captured import CAPTURES, captured_cases
from hwsim.cosim.design import Play
from hwsim.explain.silicon.results import known_cases
from hwsim.rtl import supports
from hwsim.spec import Unit, load_unit
from hwsim.tb.job import SuiteOutcome

ADA = load_unit("ada-mma-e4m3-f32")
PER_GPU = 1000


def captured(unit: Unit, most: int) -> Play | None:
    suites = list(planner(unit).captured(most))
    assert [suite.name for suite in suites] in ([], ["captured"])
    return design_of(unit).play(suites[0], stream()) if suites else None


def played(unit: Unit, play: Play) -> SuiteOutcome:
    (outcome,) = bulk_outcomes(design_of(unit), [play])
    return outcome


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(CAPTURES, [ADA.name], with_every_format(CAPTURES)))
def test_the_rtl_returns_what_the_gpu_returned(verilator: None, silicon: Path, name: str) -> None:
    unit = load_unit(name)
    play = captured(unit, 10**6)
    assert play is not None
    known = captured_cases(unit)
    assert play.script.planned == len(known) == PER_GPU * len(CAPTURES[name][0])
    outcome = played(unit, play)
    assert (outcome.mismatches, outcome.results) == ([], len(known))


OURS = Path(__file__).parents[2] / "vectors" / "silicon"
CAPTURED_HERE = yaml.safe_load((OURS / "h200" / "manifest.yaml").read_text())["instructions"]
OUR_CAPTURES = [one["unit"] for one in CAPTURED_HERE.values()]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(OUR_CAPTURES, [], with_every_format(OUR_CAPTURES)))
def test_the_rtl_returns_what_hopper_returned(verilator: None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that were designed for every rule, chains and specials among them."""
    monkeypatch.setenv("HWSIM_SILICON", str(OURS))
    unit = load_unit(name)
    play = captured(unit, 10**6)
    assert play is not None
    outcome = played(unit, play)
    assert (outcome.mismatches, outcome.results) == ([], 3000)


def test_several_folders_are_looked_into(silicon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_SILICON", os.pathsep.join([str(silicon), str(OURS)]))
    names = [case.id.split("/")[0] for case, _ in known_cases(load_unit("hopper-mma-f16-f32"))]
    assert [names.count(name) for name in ("h100", "h200")] == [1000, 1000 + 3000]


def test_every_captured_result_goes_through_the_rtl_of_its_unit(silicon: Path) -> None:
    assert all(supports(load_unit(name)) for name in CAPTURES)
    with np.load(silicon / "captured.npz") as data:
        results = {name: data[name].size for name in data.files if name.split("/")[-1].startswith("d_")}
    played = [f"{gpu}/{factors}/d_{result}" for gpus, factors, result in CAPTURES.values() for gpu in gpus]
    assert sorted(played) == sorted(results)
    assert sum(results.values()) == PER_GPU * len(played) == 42_000


def test_the_expected_codes_are_the_gpus(silicon: Path) -> None:
    for most in (10**6, 200):
        play = captured(ADA, most)
        assert play is not None
        known = {case.id: code for case, code in captured_cases(ADA)}
        assert play.script.planned == min(most, len(known))
        expected = {play.suite.cases[owner].id: code for owner, code in zip(play.owners, codes_of(play), strict=True)}
        assert expected == {name: known[name] for name in expected}


@pytest.mark.slow
@pytest.mark.simulator
def test_a_corrupted_capture_is_a_mismatch(
    verilator: None, silicon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with np.load(silicon / "captured.npz") as data:
        arrays: dict[str, Any] = {name: data[name].copy() for name in data.files if name.startswith("ada/e4m3/")}
    arrays["ada/e4m3/d_f32"][[3, 50, 700]] ^= np.array([1 << 10, 1 << 31, 1 << 23], arrays["ada/e4m3/d_f32"].dtype)
    np.savez(tmp_path / "captured.npz", **arrays)
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    play = captured(ADA, 10**6)
    assert play is not None
    outcome = played(ADA, play)
    assert {play.suite.cases[play.owners[mismatch.index]].id for mismatch in outcome.mismatches} == {
        "ada/0003", "ada/0050", "ada/0700"
    }  # fmt: skip
    assert {mismatch.kind for mismatch in outcome.mismatches} == {"result"}
    assert outcome.count == 3


def test_without_captures_there_is_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    assert captured(ADA, 100) is None
    monkeypatch.delenv("HWSIM_SILICON")
    assert captured(ADA, 100) is None


def test_units_without_captures_have_no_suite(silicon: Path) -> None:
    assert captured(load_unit("mxfp4-e2m1-f32"), 100) is None
