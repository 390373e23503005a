"""What a run says of a design that is right in other cycles than its file promises, or with the reset the other way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from built_presets import others_slow
from cosim.dut_files import play
from cosim.runs_shown import busy_suite, few_cases
from cosim.test_dut_protocols import E3M2, scaled

from hwsim.cosim import run as running
from hwsim.cosim.minimal import Minimized

pytestmark = pytest.mark.simulator


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small suite, whose coverage is not counted, and no minimal case, which other tests have."""
    few_cases(monkeypatch)
    busy_suite(monkeypatch)
    monkeypatch.setattr(running.Minimizer, "minimize", lambda self, played: Minimized())


def said(folder: Path, name: str, **changes: Any) -> list[str]:
    """The notes of a run that fails, without those of coverage."""
    report = play(folder, name, minimize=True, **changes)
    assert not report.passed
    return [note for note in report.notes if not note.startswith("coverage")]


def sums(cycles: int) -> dict[str, Any]:
    clear = {"port": "clear_n", "active": "low"}
    return {"kind": "accumulate", "cycles": cycles, "clear": clear, "load": "load", "enable": "enable"}


def read_in(first: int) -> dict[str, Any]:
    """The serial protocol with the result in other cycles."""
    results = {"uo_out": {f"{first}..{first + 3}": {"field": "result", "first": "high"}}}
    return scaled(results=results, cycles=max(41, first + 4))


@pytest.mark.parametrize(
    ("name", "changes", "right"),
    [
        ("latency", {"protocol": {"kind": "latency", "cycles": 1}}, "2 cycles later than promised: {}cycles: 3"),
        pytest.param(
            "latency",
            {"protocol": {"kind": "latency", "cycles": 7}},
            "4 cycles earlier than promised: {}cycles: 3",
            marks=pytest.mark.slow,
        ),
        pytest.param("mac", {"protocol": sums(1)}, "1 cycle later than promised: {}cycles: 2", marks=pytest.mark.slow),
        pytest.param(
            "mac",
            {"protocol": sums(2), "parameters": {"FAULT": 4}},
            "1 cycle later than promised: {}cycles: 3",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "serial",
            {"unit": E3M2, "protocol": read_in(34)},
            "3 cycles later than promised: {}results be of cycles 37 to 40",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "serial",
            {"unit": E3M2, "protocol": read_in(39)},
            "2 cycles earlier than promised: {}results be of cycles 37 to 40",
        ),
    ],
)
def test_the_cycle_in_which_results_are_right_is_said(
    icarus: None, tmp_path: Path, name: str, changes: dict[str, Any], right: str
) -> None:
    (note,) = said(tmp_path, name, **changes)
    where = "where that is meant, let protocol." if name == "serial" else "where that is meant, write protocol."
    assert note.endswith(f": results are right, {right.format(where)}")


VALID = """module m (input clk, go, input [7:0] a, b, output [31:0] y, output valid);
  reg signed [31:0] product, second, third;
  reg [2:0] went = 0;
  always @(posedge clk) begin
    product <= $signed(a) * $signed(b);
    {third, second} <= {second, product};
    went <= {went[1:0], go};
  end
  assign y = third;
  assign valid = went[PLACE];
endmodule
"""


VALIDS = [
    (2, 1, "results are right, 2 cycles later than promised: where that is meant, write protocol.cycles: 3"),
    (1, 3, "results are right in the promised cycle, but valid (protocol.output_valid) says another"),
]


@pytest.mark.parametrize(("place", "cycles", "right"), others_slow(VALIDS, VALIDS[1:]))
def test_a_valid_is_not_believed(icarus: None, tmp_path: Path, place: int, cycles: int, right: str) -> None:
    (tmp_path / "m.v").write_text(VALID.replace("PLACE", str(place)))
    protocol = {"kind": "latency", "cycles": cycles, "input_valid": "go", "output_valid": "valid"}
    keys = {"sources": [str(tmp_path / "m.v")], "top": "m", "reset": None, "protocol": protocol}
    (note,) = said(tmp_path, "faulty", ports={"a": "a", "b": "b", "result": "y"}, **keys)
    assert note == f"m: {right}"


@pytest.mark.parametrize("name", others_slow(["stream", "pulsed", "serial", "faulty"], ["faulty"]))
def test_a_reset_that_is_the_other_way_round_is_said(icarus: None, tmp_path: Path, name: str) -> None:
    top = {"stream": "dot4_stream", "serial": "serial_dot", "faulty": "faulty_stream"}.get(name, name)
    port, active = ("rst_ni" if name == "stream" else "rst_n", "low") if name != "faulty" else ("rst", "high")
    other = "high" if active == "low" else "low"
    (note,) = said(tmp_path, name, reset={"port": port, "active": other})
    assert note == f"{top}: every result is right with reset.active: {active}, not {other}"


WRONG = [("latency", {"WRONG": 2}), ("faulty", {"FAULT": 4})]


@pytest.mark.parametrize(("name", "parameters"), others_slow(WRONG, WRONG[:1]))
def test_a_wrong_result_is_not_taken_for_a_wrong_cycle(
    icarus: None, tmp_path: Path, name: str, parameters: dict[str, int]
) -> None:
    assert said(tmp_path, name, parameters=parameters) == []
