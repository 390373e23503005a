"""pytest builds each design and runs each testbench of it, by cocotb's runner."""

import os
from itertools import product
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

HERE = Path(__file__).parent
DESIGNS = ("fp8dot4", "int8mac", "fp6dot4")


@pytest.mark.parametrize(("bench", "design"), [*product(("plain", "uvm"), DESIGNS), ("axis", "int8axis")])
def test_design(bench: str, design: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The design is right. FAULT=1 in the environment builds one that is not; SIM chooses the simulator."""
    monkeypatch.syspath_prepend(HERE)  # which the runner hands to the simulator
    simulator, fault = os.environ.get("SIM", "icarus"), int(os.environ.get("FAULT", "0"))
    build = Path("sim_build") / f"{design}-{simulator}-{fault}"
    runner = get_runner(simulator)
    runner.build(
        sources=[HERE / "designs" / f"{design}.sv"],
        hdl_toplevel=design,
        parameters={"FAULT": fault},
        timescale=("1ns", "1ps"),
        build_dir=build,
    )
    runner.test(hdl_toplevel=design, test_module=f"bench_{bench}", build_dir=build, test_dir=build / bench)
