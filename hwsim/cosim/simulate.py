"""Running the testbench: a simulator with cocotb inside, in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cocotb_tools.config
import find_libpython

from hwsim import processes
from hwsim.cosim.build import HdlSources, icarus_build, verilator_build
from hwsim.tb.job import FOLDER

TESTBENCH = "hwsim.tb.player"


def environment(top: str, job: Path, seed: int) -> dict[str, str]:
    """What cocotb needs in a simulator's environment."""
    library = find_libpython.find_libpython()
    if library is None:
        raise RuntimeError("cocotb needs Python's shared library, which this Python was built without")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{cocotb_tools.config.pygpi_entry_point()}",
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TEST_MODULES": TESTBENCH,
        "COCOTB_RESULTS_FILE": str(job / "results.xml"),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_LOG_LEVEL": "WARNING",
        # Rewriting assertions takes pytest, whose import takes longer than most simulations.
        "COCOTB_REWRITE_ASSERTION_FILES": "",
        "TOPLEVEL_LANG": "verilog",
        FOLDER: str(job),
    }


def command(simulator: str, hdl: HdlSources, *, trace: bool) -> list[str]:
    """Build for a simulator, and the command that simulates. Raises ToolMissing or BuildFailed."""
    if simulator == "verilator":
        program = verilator_build(hdl, trace=trace)
        return [str(program), *(["--trace", "--trace-file", "dump.vcd"] if trace else [])]
    compiled = icarus_build(hdl, trace=trace)
    return ["vvp", "-m", cocotb_tools.config.lib_entry("vpi", "icarus"), str(compiled), *([] if trace else ["-none"])]


def simulate(simulator: str, program: list[str], top: str, job: Path, seed: int) -> int:
    """Run the testbench on a job that was written; the simulator's exit status.

    Leaves results.xml (JUnit), simulation.log and, where it was built with a trace, dump.vcd in the job's folder.
    """
    variables = environment(top, job, seed)
    if simulator == "verilator":
        variables["COCOTB_TRUST_INERTIAL_WRITES"] = "1"
    return processes.run(program, job / "simulation.log", variables, cwd=job)
