"""Examples of testbenches run as a user runs them, and what they say of a fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from documents import blocks
from patience import LIMIT
from verilated import environment, put_runtime

from hwsim.cosim.tools import find_verilator

ROOT = Path(__file__).parents[2]
BENCHES = ROOT / "examples" / "benches"
DESIGNS = ("fp8dot4", "int8mac", "fp6dot4")


def ran(bench: str, design: str, folder: Path, *, simulator: str = "icarus", fault: int = 0) -> tuple[bool, str]:
    """Whether an example's pytest passed, run in a folder, and what it printed."""
    variables = {**os.environ, "SIM": simulator, "FAULT": str(fault)}
    if simulator == "verilator":
        variables |= with_verilator()
        put_runtime(folder / "sim_build" / f"{design}-verilator-{fault}")
    test = BENCHES / f"test_designs.py::test_design[{bench}-{design}]"
    words = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", str(test)]
    return _done(words, folder, variables)


def ran_in_verilator(design: str, folder: Path, *, fault: int = 0) -> tuple[bool, str]:
    """Whether the bench in SystemVerilog passed, and what it printed."""
    put_runtime(folder / "obj_dir")
    variables = {**os.environ, **with_verilator(), "FAULT": str(fault)}
    words = ["sh", str(BENCHES / "run.sh"), design, str(folder)]
    done, printed = _done(words, folder, variables)
    assert done, printed[-3000:]
    return "\nPASS: " in printed, printed


def with_verilator() -> dict[str, str]:
    """The environment in which `verilator`, `hwsim` and `z3` are on the path."""
    variables = environment()
    scripts = [str(Path(find_verilator().program).parent), str(Path(sys.executable).parent)]
    return variables | {"PATH": os.pathsep.join([*scripts, variables["PATH"]])}


def _done(words: list[str], folder: Path, variables: dict[str, str]) -> tuple[bool, str]:
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode == 0, done.stdout + done.stderr


def assert_said(design: str, suite: str, printed: str) -> None:
    """The mismatch is told, as the page shows it where it shows that design in that suite."""
    assert f"Mismatched: {design}: " in printed
    for block in blocks("text"):
        if block.page == "testbenches.md" and re.search(
            rf"^MISMATCH {design} .* · {suite} · ", block.text, re.MULTILINE
        ):
            lines = [_without_path(line) for line in printed.splitlines()]
            for line in block.text.splitlines():
                assert _without_path(line) in lines, line


def _without_path(line: str) -> str:
    return re.sub(r"\S+\.yaml", "UNIT", line.strip())
