"""Examples of testbenches run as a user runs them, and what they say of a fault."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from documents import blocks
from verilated import environment, put_runtime

from hwsim.cosim.tools import find_verilator

ROOT = Path(__file__).parents[2]
BENCHES = ROOT / "examples" / "benches"


def ran(name: str, folder: Path, *, simulator: str = "icarus", fault: int = 0) -> tuple[bool, str]:
    """Whether an example's pytest passed in a copy of its folder, and what it printed."""
    copy = folder / name
    shutil.copytree(BENCHES / name, copy, ignore=shutil.ignore_patterns("__pycache__", "sim_build"))
    variables = {**os.environ, "SIM": simulator, "FAULT": str(fault), "PYTHONPATH": str(ROOT)}
    if simulator == "verilator":
        variables |= environment()
        variables["PATH"] = os.pathsep.join((str(Path(find_verilator().program).parent), variables["PATH"]))
        put_runtime(copy / "sim_build" / f"verilator-{fault}")
    words = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(words, cwd=copy, env=variables, capture_output=True, text=True, timeout=300)
    return done.returncode == 0, done.stdout + done.stderr


def assert_said(name: str, printed: str) -> None:
    """The mismatch is told as the page shows it."""
    (text,) = (
        block.text
        for block in blocks("text")
        if block.page == "testbenches.md" and f"Mismatched: {name}: " in block.text
    )
    lines = [re.sub(r"\S+\.yaml", "UNIT", line.strip()) for line in printed.splitlines()]
    for line in text.splitlines():
        assert re.sub(r"\S+\.yaml", "UNIT", line.strip()) in lines, line
