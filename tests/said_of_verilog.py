"""What tools say of Verilog."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hwsim.cosim.tools import find_icarus, find_verilator


def said_of(file: Path) -> list[tuple[int, str]]:
    """What Verilator, with every rule, and Icarus say of a file."""
    tool = find_verilator()
    lint = [tool.program, "--lint-only", "--quiet", "-Wall", str(file)]
    icarus = [find_icarus(), "-g2012", "-o", os.devnull, str(file)]
    environment = {**os.environ, **tool.environment}
    done = [
        subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        for command in (lint, icarus)
    ]
    return [(one.returncode, one.stdout + one.stderr) for one in done]
