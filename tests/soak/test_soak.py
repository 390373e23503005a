"""Long runs: every preset that the RTL can build on both simulators, and many random cases of each arithmetic.

`make soak`. What runs on both is `hwsim cosim UNIT --cases 250 --seed 7`, without the tables, which are others' tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import BUILDABLE, DISTINCT

from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.unitdesign import unit_design
from hwsim.report import RunReport, failure_lines
from hwsim.spec import load_unit, pipeline

pytestmark = [pytest.mark.soak, pytest.mark.simulator]
SEEDS = (101, 202)
FEW = 250


def agrees(result: RunReport) -> None:
    failed = [row for row in result.rows if not row.passed]
    assert result.passed, "\n".join(line for row in failed for line in failure_lines(row, result.of(row)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", DISTINCT)
def test_every_arithmetic_agrees_on_many_cases(verilator: None, tmp_path: Path, name: str, seed: int) -> None:
    unit = load_unit(name)
    options = CosimOptions(
        (unit_design(unit, pipeline(unit)),),
        simulators=("verilator",),
        seed=seed,
        cases=40_000,
        folder=tmp_path / "out",
    )
    agrees(run(options))


@pytest.mark.parametrize("name", BUILDABLE)
def test_presets_agree_on_both_simulators(verilator: None, icarus: None, tmp_path: Path, name: str) -> None:
    unit = load_unit(name)
    report = run(CosimOptions((unit_design(unit, pipeline(unit)),), seed=7, cases=FEW, folder=tmp_path / "out"))
    agrees(report)
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
