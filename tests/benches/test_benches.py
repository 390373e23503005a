"""Testbenches of users' own, in cocotb's runner: the right design passes, the one with a fault is found and named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cocotb_tools.runner import get_runner
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


@pytest.mark.simulator
def test_handshakes_are_watched(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, runner = Path(__file__).parent, get_runner("icarus")
    monkeypatch.syspath_prepend(here)  # which the runner hands to the simulator
    runner.build(
        sources=[here / "handshake.sv"], hdl_toplevel="handshake", timescale=("1ns", "1ps"), build_dir=tmp_path
    )
    results = runner.test(
        hdl_toplevel="handshake", test_module="bench_handshake", build_dir=tmp_path, test_dir=tmp_path
    )
    cases = ElementTree.parse(results).findall(".//testcase")
    assert len(cases) == 5
    assert not [case.get("name") for case in cases if case.find("failure") is not None]


@pytest.mark.simulator
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_plain_bench_passes(simulator: str, icarus: None, verilator: None, tmp_path: Path) -> None:
    passed, printed = ran("plain", tmp_path, simulator=simulator)
    assert passed, printed
    assert re.search(r"[\d,]+ of [\d,]+ reachable bins hit", printed)


@pytest.mark.simulator
def test_a_plain_bench_finds_the_fault_and_names_it(icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("plain", tmp_path, fault=1)
    assert not passed
    assert_said("fp8dot4", printed)


def assert_said(name: str, printed: str) -> None:
    """The mismatch is told as the page shows it."""
    (text,) = (
        block.text
        for block in blocks("text")
        if block.page == "testbenches.md" and f"AssertionError: {name}: " in block.text
    )
    lines = [re.sub(r"\S+\.yaml", "UNIT", line.strip()) for line in printed.splitlines()]
    for line in text.splitlines():
        assert re.sub(r"\S+\.yaml", "UNIT", line.strip()) in lines, line
