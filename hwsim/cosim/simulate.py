"""Running the testbench: a simulator with cocotb inside, in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cocotb_tools.config
import find_libpython

from hwsim import processes
from hwsim.cosim.build import HdlSources, icarus_build, verilator_build
from hwsim.tb.job import FOLDER, PROGRESS, read_progress
from hwsim.words import counted

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


class SimulatorStuck(Exception):
    """Raised where a simulator was ended because no cycle ended for so long. The message says what to do."""


def simulate(simulator: str, program: list[str], top: str, job: Path, seed: int, stuck_after: float) -> int:
    """Run the testbench on a job that was written; the simulator's exit status.

    Leaves results.xml (JUnit), simulation.log and, where it was built with a trace, dump.vcd in the job's folder.
    Raises SimulatorStuck where no cycle ended for `stuck_after` seconds, after the simulator was ended.
    """
    variables = environment(top, job, seed)
    if simulator == "verilator":
        variables["COCOTB_TRUST_INERTIAL_WRITES"] = "1"
    progress = job / PROGRESS
    try:
        return processes.run(
            program, job / "simulation.log", variables, cwd=job, progress=progress, silence=stuck_after
        )
    except processes.Silent:
        raise SimulatorStuck(_stuck(simulator, read_progress(job), stuck_after)) from None
    finally:
        progress.unlink(missing_ok=True)


def _stuck(simulator: str, reached: tuple[str, int] | None, seconds: float) -> str:
    """What was waited for, and what to do."""
    name, cycles = reached or ("", 0)
    where = f"in suite {name}, " if name else ""
    none = f"after {counted(cycles, 'cycle')}, no" if cycles else "not one"
    ended = f"{where}{none} cycle ended for {seconds:g} s"
    delays = ", and delays count for nothing on Verilator" if simulator == "verilator" else ""
    return (
        f"{simulator} was ended: {ended}. A loop without a delay never lets one end (initial forever, while, a signal "
        f"that inverts itself{delays}): give it a clock edge, or an end. A design that is only slow needs more time: "
        f"--stuck-after {2 * seconds:g}, or stuck_after: {2 * seconds:g} in the design's file"
    )
