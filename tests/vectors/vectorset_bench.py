"""Plain simulators on a vector set: no Python, no cocotb."""

from __future__ import annotations

import subprocess
from pathlib import Path

from patience import LIMIT
from verilated import BINARY, environment, put_runtime

from hwsim.cosim.tools import find_icarus, find_verilator

BENCH = ("vectors_pkg.sv", "replay_dut.sv", "replay_tb.sv")


def icarus(folder: Path, design: list[Path], into: Path) -> list[str]:
    """Build with Icarus; the command that simulates."""
    sources = [str(folder / name) for name in BENCH]
    made = into / "replay.vvp"
    subprocess.run([find_icarus(), "-g2012", "-Wall", "-o", str(made), *sources, *map(str, design)], check=True)
    return ["vvp", "-n", str(made)]


def verilator(folder: Path, design: list[Path], into: Path) -> list[str]:
    """Build with Verilator, every warning an error as it is by itself; the command that simulates."""
    tool = find_verilator()
    sources = [str(folder / name) for name in BENCH]
    put_runtime(into / "obj")
    done = subprocess.run(
        [tool.program, *BINARY, "-Mdir", str(into / "obj"), "--top-module", "replay_tb", *sources, *map(str, design)],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "%Warning" not in done.stderr + done.stdout, done.stderr
    return [str(into / "obj" / "Vreplay_tb")]


def replay(command: list[str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Replay a set."""
    return subprocess.run([*command, f"+dir={folder}", *arguments], capture_output=True, text=True, timeout=LIMIT)
