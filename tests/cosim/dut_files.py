"""The designs of the tests, with other settings, and what a design of software is in their place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.report import RunReport

DESIGNS = Path(__file__).with_name("designs")
SEED = 1


def variant(folder: Path, name: str, **changes: Any) -> Path:
    """A design's file in another folder, with other keys; None takes one away."""
    data = yaml.safe_load((DESIGNS / f"{name}.yaml").read_text())
    data["unit"] = str(DESIGNS / data["unit"])
    data["sources"] = [str(DESIGNS / source) for source in data["sources"]]
    for key, value in changes.items():
        data.pop(key, None)
        data |= {} if value is None else {key: value}
    path = folder / "dut.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def design(folder: Path, name: str, **changes: Any) -> DutDesign:
    return dut_design(load_dut(variant(folder, name, **changes)))


def play(
    folder: Path,
    name: str,
    simulator: str = "icarus",
    *,
    assertions: bool = False,
    minimize: bool = False,
    **changes: Any,
) -> RunReport:
    """A run with few random cases."""
    made = replace(design(folder, name, **changes), assertions=assertions)
    return run(CosimOptions((made,), (simulator,), SEED, 60, folder=folder / "run", minimize=minimize))
