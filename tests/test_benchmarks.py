"""Every benchmark runs: in small, so that what it calls is still there. What it measures is not looked at."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
from built_presets import others_slow

FOLDER = Path(__file__).parents[1] / "benchmarks"
HOPPER, SMALL = "hopper-wgmma-e4m3-f32", "rvbna-e4m3-f32-n4"
# The arguments that make each one small.
RUNS = {
    "codecs": ["--rounds", "1", "--large", "32768", "--only", "e2m1"],
    "export": [HOPPER, "--rounds", "1", "--seconds", "0.01"],
    "engine": ["--rounds", "1", "--tiles", "1", "--products", "64"],
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


@pytest.mark.parametrize("name", others_slow(RUNS, ["codecs", "export"]))
def test_a_benchmark_measures(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *RUNS[name]])
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)  # this process is the tests'
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert not module.main()
    assert re.search(r"\d", capsys.readouterr().out)
