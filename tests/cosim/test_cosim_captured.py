"""The suite of captured results: what GPUs returned, held against the RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hwsim.cases.captured import captured_cases
from hwsim.cosim.build import bulk_build
from hwsim.cosim.bulk import BulkUnit
from hwsim.cosim.compare import compare
from hwsim.cosim.ports import port_map
from hwsim.cosim.suites import Planner, Suite
from hwsim.cosim.trace import words_of
from hwsim.rtl import verilog
from hwsim.spec import Unit, load_unit, pipeline
from hwsim.tb.job import Outcome

ADA = load_unit("ada-mma-e4m3-f32")


def planner(unit: Unit) -> Planner:
    built = pipeline(unit)
    return Planner(unit, built, port_map(unit, built), 1, lambda: None)


def played(unit: Unit, suite: Suite) -> Outcome:
    built = pipeline(unit)
    ports, trace = port_map(unit, built), suite.trace
    words = words_of([ports.pack(item.beat) for item in trace.beats], ports.input.words)
    with BulkUnit(bulk_build(verilog(unit, built), ports), ports) as device:
        return compare(trace, device.run(trace.drive, trace.offered, words), ports)


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["ada-mma-e4m3-f32", "hopper-wgmma-e5m2-f32"])
def test_the_rtl_returns_what_the_gpu_returned(verilator: None, silicon: Path, name: str) -> None:
    unit = load_unit(name)
    suite = planner(unit).captured(10**6)
    assert suite is not None and suite.name == "captured"
    known = captured_cases(unit)
    # A thousand from each GPU: Ada; H100 and H200.
    assert suite.planned == len(known) == (1000 if name.startswith("ada") else 2000)
    outcome = played(unit, suite)
    assert (outcome.mismatches, outcome.results) == ([], len(known))


def test_the_expected_codes_are_the_gpus(silicon: Path) -> None:
    for most in (10**6, 200):
        suite = planner(ADA).captured(most)
        assert suite is not None
        ports = port_map(ADA, pipeline(ADA))
        known = {case.id: code for case, code in captured_cases(ADA)}
        assert suite.planned == min(most, len(known))
        expected = {suite.cases[number].id: ports.unpack(payload).code for number, payload in suite.trace.results}
        assert expected == {name: known[name] for name in expected}


@pytest.mark.simulator
def test_a_corrupted_capture_is_a_mismatch(
    verilator: None, silicon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with np.load(silicon / "captured.npz") as data:
        arrays: dict[str, Any] = {name: data[name].copy() for name in data.files if name.startswith("ada/e4m3/")}
    arrays["ada/e4m3/d_f32"][[3, 50, 700]] ^= np.array([1 << 10, 1 << 31, 1 << 23], arrays["ada/e4m3/d_f32"].dtype)
    np.savez(tmp_path / "captured.npz", **arrays)
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    suite = planner(ADA).captured(10**6)
    assert suite is not None
    outcome = played(ADA, suite)
    assert {suite.cases[suite.trace.results[mismatch.index][0]].id for mismatch in outcome.mismatches} == {
        "ada/0003", "ada/0050", "ada/0700"
    }  # fmt: skip
    assert {mismatch.kind for mismatch in outcome.mismatches} == {"result"}
    assert outcome.count == 3


def test_without_captures_there_is_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWSIM_SILICON", str(tmp_path))
    assert planner(ADA).captured(100) is None
    monkeypatch.delenv("HWSIM_SILICON")
    assert planner(ADA).captured(100) is None


def test_units_without_captures_have_no_suite(silicon: Path) -> None:
    assert planner(load_unit("mxfp4-e2m1-f32")).captured(100) is None
