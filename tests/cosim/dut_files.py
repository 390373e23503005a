"""The designs of the tests, with other settings, and what a design of software is in their place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from hwsim.cosim.bench import port_map
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.explain import RunReport
from hwsim.rtl import module_name, verilog
from hwsim.spec import Unit, as_yaml, pipeline

DESIGNS = Path(__file__).with_name("designs")
SEED = 1


def variant(folder: Path, name: str, **changes: Any) -> Path:
    """A design's file in another folder, with other keys; None takes one away."""
    data = yaml.safe_load((DESIGNS / f"{name}.yaml").read_text())
    data["unit"] = str(DESIGNS / data["unit"])
    data["sources"] = [str(DESIGNS / source) for source in data["sources"]]
    if (DESIGNS / changes.get("unit", "")).is_file():
        changes["unit"] = str(DESIGNS / changes["unit"])
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
    return run(CosimOptions((made,), (simulator,), SEED, 30, folder=folder / "run", minimize=minimize))


def own_file(folder: Path, unit: Unit, claimed: Unit | None = None, **places: object) -> Path:
    """Our own Verilog of a unit, described as a stranger's. claimed: the unit that it is said to be."""
    built = pipeline(unit)
    ports = port_map(unit, built)
    (folder / "ours.sv").write_text(verilog(unit, built))
    (folder / "ours.yaml").write_text(as_yaml(claimed or unit))
    data = {
        "unit": "ours.yaml",
        "sources": ["ours.sv"],
        "top": module_name(unit.name),
        "clock": "clk",
        "reset": "rst",
        "protocol": {
            "kind": "stream",
            "input_valid": "in_valid",
            "input_ready": "in_ready",
            "output_valid": "out_valid",
            "output_ready": "out_ready",
        },
        "contexts": built.contexts,
        "ports": {
            **{field.name: field.port for field in ports.input.fields},
            "result": "out_result",
            "result_context": "out_context",
            **places,
        },
    }
    path = folder / "dut.yaml"
    path.write_text(yaml.safe_dump(data))
    return path
