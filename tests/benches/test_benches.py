"""Testbenches of users' own, in cocotb's runner: the right design passes, the one with a fault is found and named."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benches.ran import DESIGNS, assert_said, ran
from built_presets import others_slow
from cocotb_tools.runner import get_runner


@pytest.mark.slow
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
    assert len(cases) == 9
    assert not [case.get("name") for case in cases if case.find("failure") is not None]


@pytest.mark.simulator
@pytest.mark.parametrize("simulator", others_slow(["icarus", "verilator"], ["icarus"]))
@pytest.mark.parametrize("design", others_slow(DESIGNS, DESIGNS[:1]))
def test_a_plain_bench_passes(design: str, simulator: str, icarus: None, verilator: None, tmp_path: Path) -> None:
    passed, printed = ran("plain", design, tmp_path, simulator=simulator)
    assert passed, printed
    assert re.search(r"[\d,]+ of [\d,]+ reachable bins hit", printed)


@pytest.mark.simulator
@pytest.mark.parametrize("design", others_slow(DESIGNS, []))
def test_a_plain_bench_finds_the_fault_and_names_it(design: str, icarus: None, tmp_path: Path) -> None:
    passed, printed = ran("plain", design, tmp_path, fault=1)
    assert not passed
    assert_said(design, "dot", printed)
