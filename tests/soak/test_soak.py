"""Long runs: every preset on both simulators, and many random cases through the bulk driver. `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.cosim.run import Options, run
from hwsim.spec import NotImplementedYet, load_unit, pipeline, presets, refuse_unimplemented_in_hardware

pytestmark = [pytest.mark.soak, pytest.mark.simulator]
SEEDS = (101, 202)


def buildable(name: str) -> bool:
    try:
        refuse_unimplemented_in_hardware(load_unit(name))
    except NotImplementedYet:
        return False
    return True


UNITS = [name for name in presets() if buildable(name)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", UNITS)
def test_every_preset_agrees_on_many_cases(verilator: None, tmp_path: Path, name: str, seed: int) -> None:
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


@pytest.mark.parametrize("name", UNITS)
def test_every_preset_agrees_on_both_simulators(verilator: None, icarus: None, tmp_path: Path, name: str) -> None:
    unit = load_unit(name)
    options = Options(units=((unit, pipeline(unit)),), seed=7, folder=tmp_path / "out", tables=False)
    report = run(options)
    assert report.passed, "\n".join(line for row in report.rows for line in row.report)
    assert {row.driver for row in report.rows} == {"verilator", "icarus", "verilator, bulk"}
