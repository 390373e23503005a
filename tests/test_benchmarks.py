"""Every benchmark runs: in small, so that what it calls is still there. What it measures is not looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
HOPPER, SMALL = "hopper-wgmma-e4m3-f32", "rvbna-e4m3-f32-n4"
# The arguments that make each one small.
RUNS = {
    "codecs": ["--rounds", "1", "--large", "32768", "--only", "e2m1"],
    "export": [HOPPER, "--rounds", "1", "--seconds", "0.01"],
    "gemm": [HOPPER, "--rounds", "1", "--seconds", "0.01"],
    "simulation": [HOPPER, "--rounds", "1", "--cases", "40"],
    "study": [HOPPER, "--rounds", "1"],
    "synthesis": [SMALL, "--stages", "4", "--flow", "gates"],
    "torch_layer": ["fp8-tensorwise"],
    "torch_step": ["fp8-tensorwise", "--rounds", "1", "--tokens", "16", "--width", "64"],
    "vectors": [HOPPER, "--cases", "4000"],
}


def test_every_benchmark_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py") if "\ndef main(" in path.read_text()} == RUNS.keys()


@pytest.mark.parametrize("name", RUNS)
def test_a_benchmark_measures(name: str) -> None:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *RUNS[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout), done.stdout
