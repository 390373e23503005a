"""Protocols of users' designs: right designs pass, and each promise that a design breaks is a mismatch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import play
from cosim.runs_shown import few_pairs
from cosim.small_runs import small_suites

from hwsim.report import RunReport

pytestmark = pytest.mark.simulator


WITH = {"clear": {"port": "clear_n", "active": "low", "when": "first"}, "load": {"port": "load", "when": "first"}}
LEVEL = {"clear": {"port": "clear_n", "active": "low", "when": "between"}, "load": "load"}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites."""
    small_suites(monkeypatch)
    few_pairs(monkeypatch)


def wrong(report: RunReport) -> set[str]:
    """What of a run is not as promised."""
    return {mismatch.what for mismatch in report.mismatches}


class TestAccumulate:
    """A register that is cleared, and adds while it is enabled."""

    def protocol(self, **keys: Any) -> dict[str, Any]:
        pulses = {"clear": {"port": "clear_n", "active": "low"}, "load": "load"}
        return {"kind": "accumulate", "cycles": 2, "enable": "enable", **pulses, **keys}

    @pytest.mark.parametrize(
        ("keys", "pulse"), [({}, 1), (LEVEL, 1), ({**WITH, "cycles": 1}, 0)], ids=["pulses", "a level", "with a beat"]
    )
    def test_a_right_register_passes(self, icarus: None, tmp_path: Path, keys: dict[str, Any], pulse: int) -> None:
        report = play(tmp_path, "mac", parameters={"PULSE": pulse}, protocol=self.protocol(**keys))
        assert report.passed

    @pytest.mark.parametrize("fault", [0, 2])
    def test_clear_alone_begins_a_sum(self, icarus: None, tmp_path: Path, fault: int) -> None:
        protocol, constants = self.protocol(), {"run": 3, "load": 0, "c": 0}
        del protocol["load"]
        places = {"a": "a", "b": "b", "result": "sum"}
        faulty = {"FAULT": fault}
        report = play(tmp_path, "mac", parameters=faulty, protocol=protocol, constants=constants, ports=places)
        assert report.passed == (fault == 0)

    @pytest.mark.parametrize("fault", [1, 3, 4, 5, 6])
    def test_a_broken_promise_is_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "mac", parameters={"FAULT": fault}, protocol=self.protocol())
        assert not report.passed and wrong(report) == {"result"}

    @pytest.mark.parametrize("fault", [0, 7, 8])
    def test_each_clock_enable_is_low_alone(self, icarus: None, tmp_path: Path, fault: int) -> None:
        protocol = self.protocol(enables=["run[0]", "run[1]"])
        report = play(tmp_path, "mac", parameters={"FAULT": fault}, protocol=protocol, constants=None)
        assert report.passed == (fault == 0)


class TestPulses:
    """First and last in cycles of their own, controls that are active low, two clock enables."""

    @pytest.mark.parametrize("fault", range(6))
    def test_a_broken_promise_is_found(self, icarus: None, tmp_path: Path, fault: int) -> None:
        report = play(tmp_path, "pulsed", parameters={"FAULT": fault})
        assert report.passed == (fault == 0)

    @pytest.mark.parametrize(
        ("first", "last"),
        [
            ({"port": "clear_n", "active": "low"}, {"port": "done", "at": 2}),
            ({"port": "clear_n", "at": -1}, {"port": "done", "at": 2}),
            ({"port": "clear_n", "active": "low", "at": -1}, {"port": "done", "at": 1}),
        ],
        ids=["first with the beat", "first active high", "last too early"],
    )
    def test_each_key_counts(self, icarus: None, tmp_path: Path, first: dict[str, Any], last: dict[str, Any]) -> None:
        places = {"a": "a", "b": "b", "first": first, "last": last, "result": "sum"}
        assert not play(tmp_path, "pulsed", ports=places).passed
