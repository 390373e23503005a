"""pytest builds fp8dot4.sv and runs its testbench, by cocotb's runner."""

import os
from pathlib import Path

from cocotb_tools.runner import get_runner

HERE = Path(__file__).parent


def test_fp8dot4() -> None:
    """The design is right. FAULT=1 in the environment builds one that is not; SIM chooses the simulator."""
    simulator, fault = os.environ.get("SIM", "icarus"), int(os.environ.get("FAULT", "0"))
    runner = get_runner(simulator)
    build = Path("sim_build") / f"{simulator}-{fault}"
    runner.build(
        sources=[HERE / "fp8dot4.sv"],
        hdl_toplevel="fp8dot4",
        parameters={"FAULT": fault},
        timescale=("1ns", "1ps"),
        build_dir=build,
    )
    runner.test(hdl_toplevel="fp8dot4", test_module="bench_fp8dot4", build_dir=build, test_dir=build)
