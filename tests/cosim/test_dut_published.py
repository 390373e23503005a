"""Designs in the style of published ones, from their documented arithmetic: right, and with their published bugs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import play, variant
from cosim.runs_shown import few_cases, few_pairs
from cosim.small_runs import small_suites

from hwsim.cli import main
from hwsim.explain import RunReport, read_json

pytestmark = pytest.mark.simulator

BF16, E4M3, FMA = "bf16-mac", "serial", "fma-chain"
# Products of two bf16 numbers, and what the unit returns for their sum: 4 * 2^127; 8192 - 1.0625 * 1.0078125.
OVERFLOW = {"a": [0x4080], "b": [0x7F00]}, 0x7F800000
GUARD = {"a": [0x4600, 0xBF88], "b": [0x3F80, 0x3F81]}, 0x45FFF76F


def case_run(folder: Path, parameters: dict[str, int], operands: dict[str, Any]) -> tuple[int, RunReport]:
    """A case of the bf16 register alone: the status, and the report."""
    (folder / "case.yaml").write_text(yaml.safe_dump({"unit": "bf16-mac", **operands}))
    path = variant(folder, BF16, parameters=parameters)
    arguments = ["cosim", "--dut", str(path), "--sim", "icarus", "--case", str(folder / "case.yaml")]
    status = main([*arguments, "-o", str(folder / "case")])
    return status, read_json(folder / "case" / "results.json")


@pytest.mark.parametrize(
    ("bug", "operands", "right", "got"),
    [
        pytest.param({"OVERFLOW": 1}, *OVERFLOW, 0, marks=pytest.mark.slow),
        ({"GUARD": 0}, *GUARD, 0x45FFF770),
    ],
    ids=["an overflow taken for an underflow", "no guard bits"],
)
def test_the_published_case_shows_the_bug(
    icarus: None, tmp_path: Path, bug: dict[str, int], operands: dict[str, Any], right: int, got: int
) -> None:
    status, report = case_run(tmp_path, {}, operands)
    assert status == 0 and report.figures.compared == 1
    status, report = case_run(tmp_path, bug, operands)
    assert status == 1
    assert (report.mismatches[0].expected.code, report.mismatches[0].got.code) == (f"{right:#010x}", f"{got:#010x}")


BUGS = [
    (name, bug, simulator)
    for name, bug in (
        (BF16, {"OVERFLOW": 1}),
        (BF16, {"GUARD": 0}),
        *((FMA, {"FAULT": fault}) for fault in range(1, 5)),
    )
    for simulator in ("icarus", "verilator")
]


@pytest.mark.parametrize(("name", "bug", "simulator"), others_slow(BUGS, [BUGS[0]]))
def test_the_suites_find_a_bug(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    bug: dict[str, int],
    simulator: str,
) -> None:
    request.getfixturevalue(simulator)
    few_cases(monkeypatch)
    assert not play(tmp_path, name, simulator, parameters=bug).passed


RIGHT = [(name, simulator) for name in (BF16, FMA, E4M3) for simulator in ("icarus", "verilator")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "simulator"), others_slow(RIGHT, RIGHT[:1]))
def test_a_right_design_passes_and_reaches_its_bins(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, simulator: str
) -> None:
    request.getfixturevalue(simulator)
    small_suites(monkeypatch)
    few_pairs(monkeypatch)
    report = play(tmp_path, name, simulator)
    assert report.passed
    directed = next(row for row in report.rows if row.suite == "dot directed")
    assert directed.compared == directed.planned > 100
    assert sum(group.counts.hit for group in report.coverage) > 100
