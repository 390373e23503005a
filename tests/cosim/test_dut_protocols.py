"""Protocols of users' designs: right designs pass, and each promise that a design breaks is a mismatch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from built_presets import others_slow
from cosim.dut_files import design, play
from cosim.runs_shown import busy_suite, few_cases

from hwsim.cocotb.told import KINDS
from hwsim.cosim import suites as planning
from hwsim.explain import RunReport

pytestmark = pytest.mark.simulator


WITH = {"clear": {"port": "clear_n", "active": "low", "when": "first"}, "load": {"port": "load", "when": "first"}}
LEVEL = {"clear": {"port": "clear_n", "active": "low", "when": "between"}, "load": "load"}


DESIGNS_OF_PROTOCOLS = ("mac", "pulsed", "late-ready", "serial-mul", "overlapped", "by-tag", "staged")
WHOLE = planning.Planner.simulated
E3M2 = "serial-e3m2.yaml"


def scaled(**keys: Any) -> dict[str, Any]:
    """The protocol of a serial dot product with scales."""
    inputs = {
        "ui_in": {"0": 0x81, "1": "scale_a", "2": "scale_b", "3..18": "a[0..15]", "19..34": "a[16..31]"},
        "uio_in": {"3..34": "b", "otherwise": 0x5A},
    }
    results = {"uo_out": {"37..40": {"field": "result", "first": "high"}}}
    return {"kind": "serial", "cycles": 41, "inputs": inputs, "results": results, "enables": ["ena"], **keys}


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single suite, of gaps and back-pressure, whose coverage is not counted."""
    few_cases(monkeypatch)
    busy_suite(monkeypatch)


def wrong(report: RunReport) -> set[str]:
    """What of a run is not as promised."""
    return {mismatch.what for mismatch in report.mismatches}


SUMS: list[tuple[dict[str, Any], int]] = [(LEVEL, 1), ({}, 1), ({**WITH, "cycles": 1}, 0)]


class TestAccumulate:
    """A register that is cleared, and adds while it is enabled."""

    def protocol(self, **keys: Any) -> dict[str, Any]:
        pulses = {"clear": {"port": "clear_n", "active": "low"}, "load": "load"}
        return {"kind": "accumulate", "cycles": 2, "enable": "enable", **pulses, **keys}

    @pytest.mark.parametrize(("keys", "pulse"), others_slow(SUMS, SUMS[:1]), ids=["a level", "pulses", "with a beat"])
    def test_a_right_register_passes(self, icarus: None, tmp_path: Path, keys: dict[str, Any], pulse: int) -> None:
        report = play(tmp_path, "mac", parameters={"PULSE": pulse}, protocol=self.protocol(**keys))
        assert report.passed

    @pytest.mark.parametrize("fault", others_slow([0, 2], [2]))
    def test_clear_alone_begins_a_sum(self, icarus: None, tmp_path: Path, fault: int) -> None:
        protocol, constants = self.protocol(), {"run": 3, "load": 0, "c": 0}
        del protocol["load"]
        places = {"a": "a", "b": "b", "result": "sum"}
        faulty = {"FAULT": fault}
        report = play(tmp_path, "mac", parameters=faulty, protocol=protocol, constants=constants, ports=places)
        assert report.passed == (fault == 0)

    @pytest.mark.parametrize("fault", others_slow([1, 3, 4, 5, 6], [3]))
    def test_a_broken_promise_is_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "mac", parameters={"FAULT": fault}, protocol=self.protocol())
        assert not report.passed and wrong(report) == {"result"}

    @pytest.mark.parametrize("fault", others_slow([0, 7, 8], [7]))
    def test_each_clock_enable_is_low_alone(self, icarus: None, tmp_path: Path, fault: int) -> None:
        protocol = self.protocol(enables=["run[0]", "run[1]"])
        report = play(tmp_path, "mac", parameters={"FAULT": fault}, protocol=protocol, constants=None)
        assert report.passed == (fault == 0)


class TestStages:
    """Controls of a later stage than the operands, and one clock at two ports."""

    @pytest.mark.parametrize("fault", others_slow(range(6), [2]))
    def test_a_broken_promise_is_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        assert play(tmp_path, "staged", parameters={"FAULT": fault}).passed == (fault == 0)

    @pytest.mark.parametrize("at", others_slow([0, 1, 2, 3], [3]))
    def test_a_clear_of_another_stage_is_another_sum(self, icarus: None, tmp_path: Path, at: int) -> None:
        clear = {"port": "clear", "when": "first", "at": at}
        protocol = {"kind": "accumulate", "cycles": 3, "clear": clear, "enable": {"port": "add", "at": 2}}
        report = play(tmp_path, "staged", protocol=protocol, constants={"valid": 0, "last": 0, "run": 1})
        assert report.passed == (at == 2)

    @pytest.mark.parametrize("fault", others_slow([0, 1, 2, 3], [2]))
    def test_so_may_first_be_of_a_latency(self, icarus: None, tmp_path: Path, fault: int) -> None:
        protocol = {"kind": "latency", "cycles": 3, "input_valid": "valid", "enable": "run"}
        places = {"a": "a", "b": "b", "first": {"port": "clear", "at": 2}, "last": "last", "result": "sum"}
        keys = {"protocol": protocol, "ports": places, "constants": {"add": 0}}
        report = play(tmp_path, "staged", parameters={"FAULT": fault, "PIPED": 1}, **keys)
        assert report.passed == (fault == 0)

    def test_a_clock_may_be_inverted(self, icarus: None, tmp_path: Path) -> None:
        keys = {"parameters": {"INVERTED": 1}, "clock": ["clk", {"port": "clk_sum", "active": "low"}]}
        assert "assign port_clk_sum = ~clk;" in design(tmp_path, "staged", **keys).adapter
        assert play(tmp_path, "staged", **keys).passed


PULSES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"port": "clear_n", "active": "low", "at": -1}, {"port": "done", "at": 1}),
    ({"port": "clear_n", "active": "low"}, {"port": "done", "at": 2}),
    ({"port": "clear_n", "at": -1}, {"port": "done", "at": 2}),
]


class TestPulses:
    """First and last in cycles of their own, controls that are active low, two clock enables."""

    @pytest.mark.parametrize("fault", others_slow(range(6), [3]))
    def test_a_broken_promise_is_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "pulsed", parameters={"FAULT": fault})
        assert report.passed == (fault == 0)

    @pytest.mark.parametrize(
        ("first", "last"),
        others_slow(PULSES, PULSES[:1]),
        ids=["last too early", "first with the beat", "first active high"],
    )
    def test_each_key_counts(self, icarus: None, tmp_path: Path, first: dict[str, Any], last: dict[str, Any]) -> None:
        places = {"a": "a", "b": "b", "first": first, "last": last, "result": "sum"}
        assert not play(tmp_path, "pulsed", ports=places).passed

    @pytest.mark.parametrize(("fault", "latency"), others_slow([(0, 1), (1, 1), (2, 1), (0, 0)], [(2, 1)]))
    def test_a_ready_may_be_that_of_a_later_cycle(self, icarus: None, tmp_path: Path, fault: int, latency: int) -> None:
        keys = {"input_valid": "in_valid", "input_ready": "in_ready", "ready_latency": latency}
        protocol = {"kind": "stream", **keys, "output_valid": "out_valid", "output_ready": "out_ready"}
        report = play(tmp_path, "late-ready", parameters={"FAULT": fault}, protocol=protocol)
        assert report.passed == (fault == 0 and latency == 1)


class TestSerial:
    """Operands and results in several cycles."""

    @pytest.mark.parametrize("fault", others_slow(range(8), [6]))
    def test_bytes_in_the_wrong_cycle_are_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "serial", parameters={"FAULT": fault})
        assert report.passed == (fault in (0, 4))  # the fourth is of scales, which e4m3 has none of here

    @pytest.mark.parametrize("fault", others_slow([0, 4], [4]))
    def test_scales_are_sent(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "serial", parameters={"FAULT": fault}, unit=E3M2, protocol=scaled())
        assert report.passed == (fault == 0)

    @pytest.mark.parametrize("cycles", others_slow([41, 42], [41]))
    def test_a_design_that_repeats_is_met_in_step(self, icarus: None, tmp_path: Path, cycles: int) -> None:
        keys = {"between": "repeats", "cycles": cycles}
        report = play(tmp_path, "serial", parameters={"FREE": 1}, unit=E3M2, protocol=scaled(**keys))
        assert report.passed == (cycles == 41)

    @pytest.mark.parametrize("fault", others_slow(range(4), [2]))
    def test_a_result_may_come_while_the_next_operands_do(self, icarus: None, tmp_path: Path, fault: int) -> None:
        assert play(tmp_path, "overlapped", parameters={"FAULT": fault}).passed == (fault == 0)

    @pytest.mark.parametrize("fault", others_slow(range(7), [2, 4]))
    def test_a_result_is_read_when_it_is_done(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "serial-mul", parameters={"FAULT": fault})
        assert report.passed == (fault == 0)
        # What comes again may meet a dot product that is under way by then.
        expected = {1: {"hang"}, 2: {"unasked", "result"}, 3: {"unasked", "result"}, 4: {"refused"}}
        if fault in expected:
            assert report.mismatches[0].what in {KINDS.get(kind, kind) for kind in expected[fault]}
        if fault == 4:
            assert report.mismatches[0].remedy.startswith("busy (protocol.busy) never fell")


class TestTags:
    """Results in any order, each with its tag."""

    @pytest.mark.parametrize("fault", others_slow(range(7), [3]))
    def test_a_result_is_that_of_its_tag(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "by-tag", parameters={"FAULT": fault})
        assert report.passed == (fault == 0)
        kinds = {1: {"tag", "unasked"}, 2: {"tag", "result"}, 3: {"tag"}, 4: {"hang"}, 6: {"result"}}
        if fault in kinds:
            assert wrong(report) & {KINDS.get(kind, kind) for kind in kinds[fault]}
        if fault == 3:
            first = next(one for one in report.mismatches if one.what == "a result's tag")
            assert re.fullmatch(r"a tag of \d dot products? under way", first.expected.code)
            assert first.got.code == "tag 4, which is of none"


NAMES = [(name, sim) for sim in ("icarus", "verilator") for name in DESIGNS_OF_PROTOCOLS]


@pytest.mark.parametrize(("name", "simulator"), others_slow(NAMES, [NAMES[3], NAMES[5]]))
def test_a_right_design_passes_all_suites(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, simulator: str
) -> None:
    request.getfixturevalue(simulator)
    monkeypatch.setattr(planning.Planner, "simulated", WHOLE)
    report = play(tmp_path, name, simulator)
    assert report.passed and len(report.rows) > 4
