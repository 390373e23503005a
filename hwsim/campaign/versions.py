"""Versions of simulators, by which jobs are known: another version is another job."""

from __future__ import annotations

import subprocess
from functools import cache

from hwsim.campaign.matrix import Simulator
from hwsim.cosim.build import verilator_version
from hwsim.cosim.tools import find_icarus, find_verilator
from hwsim.errors import ToolMissing

SECONDS = 60  # that a program may take to say its version


@cache
def simulator_version(simulator: Simulator) -> str:
    """The version of an installed simulator, as it says it. Raises ToolMissing."""
    if simulator == "verilator":
        return verilator_version(find_verilator())
    program = find_icarus()
    try:
        done = subprocess.run([program, "-V"], capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{program} does not say its version: {error}") from None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "")
