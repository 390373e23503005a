"""pytest builds int8mac.sv and runs its testbench, by cocotb's runner."""

import os
from pathlib import Path

from cocotb_tools.runner import get_runner

HERE = Path(__file__).parent


def test_int8mac() -> None:
    """The design is right. FAULT=1 in the environment builds one that is not; SIM chooses the simulator."""
    simulator, fault = os.environ.get("SIM", "icarus"), int(os.environ.get("FAULT", "0"))
    runner = get_runner(simulator)
    build = Path("sim_build") / f"{simulator}-{fault}"
    runner.build(
        sources=[HERE / "int8mac.sv"],
        hdl_toplevel="int8mac",
        parameters={"FAULT": fault},
        timescale=("1ns", "1ps"),
        build_dir=build,
    )
    runner.test(hdl_toplevel="int8mac", test_module="bench_int8mac", build_dir=build, test_dir=build)
