"""A window with one sticky bit of all that is lost, in the style of a published unit: right, and with bits unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from cosim.dut_files import DESIGNS, play
from cosim.runs_shown import few_pairs
from cosim.small_runs import small_suites

import hwsim
from hwsim.cli import main
from hwsim.explain import read_json

pytestmark = pytest.mark.simulator

UNIT = DESIGNS / "tcu-f32.yaml"
# -129 and 49 * 2^-21: the published case, whose result is not the nearest number.
A, B, RESULT = [0xD808, 0x2A20, 0, 0], [0x3C00, 0x1000, 0, 0], 0xC300FFFF


def test_the_published_case_is_what_was_published(icarus: None, tmp_path: Path) -> None:
    assert hwsim.explain(hwsim.load_unit(UNIT), A, B, 0).code == RESULT
    (tmp_path / "case.yaml").write_text(yaml.safe_dump({"unit": "tcu", "a": A, "b": B, "c": 0}))
    arguments = ["cosim", "--dut", str(DESIGNS / "tcu.yaml"), "--sim", "icarus", "--case", str(tmp_path / "case.yaml")]
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 0
    report = read_json(tmp_path / "run" / "results.json")
    assert report.passed and report.figures.compared == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", range(5))
def test_the_suites_find_sticky_bits_that_are_lost(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    small_suites(monkeypatch)
    few_pairs(monkeypatch)
    assert play(tmp_path, "tcu", parameters={"FAULT": fault}).passed == (fault == 0)


@pytest.mark.slow
def test_every_bin_is_hit_on_verilator(verilator: None, tmp_path: Path) -> None:
    report = play(tmp_path, "tcu", "verilator")
    assert report.passed
    assert report.figures.bins.hit == report.figures.bins.reachable > 1000
