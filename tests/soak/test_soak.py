"""Long runs: every preset that the RTL can build on both simulators, and many random cases of each arithmetic.

`make soak`. What runs on both is `hwsim cosim UNIT --cases 250 --seed 7`, without the tables, which are others' tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from built_presets import BUILDABLE, DISTINCT

from hwsim.cosim.run import Options, run
from hwsim.spec import load_unit, pipeline

pytestmark = [pytest.mark.soak, pytest.mark.simulator]
SEEDS = (101, 202)
FEW = 250


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", DISTINCT)
def test_every_arithmetic_agrees_on_many_cases(verilator: None, tmp_path: Path, name: str, seed: int) -> None:
    unit = load_unit(name)
    options = Options(
        units=((unit, pipeline(unit)),),
        simulators=("verilator",),
        seed=seed,
        cases=40_000,
        folder=tmp_path / "out",
        tables=False,
    )
    report = run(options)
    assert report.passed, "\n".join(line for row in report.rows for line in row.report)


@pytest.mark.parametrize("name", BUILDABLE)
def test_every_preset_agrees_on_both_simulators(verilator: None, icarus: None, tmp_path: Path, name: str) -> None:
    unit = load_unit(name)
    options = Options(units=((unit, pipeline(unit)),), seed=7, cases=FEW, folder=tmp_path / "out", tables=False)
    report = run(options)
    assert report.passed, "\n".join(line for row in report.rows for line in row.report)
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
