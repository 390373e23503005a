"""Designs whose ports are structs, arrays, wider lanes and copies, played on simulators, right and wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import DESIGNS, play, variant
from cosim.runs_shown import few_cases

from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.play import command

pytestmark = pytest.mark.simulator

# The core of the tests behind a struct, in which every second bit of a lane must be what the file says, and a result
# that stands in two ports together and in a struct once more.
STRUCTS = """package ports_pkg;
  typedef struct packed { logic [3:0] mode; logic [3:0][15:0] a; logic [31:0] c; } req_t;
  typedef struct packed { logic ok; logic [31:0] data; } resp_t;
endpackage
module structs import ports_pkg::*; #(parameter WRONG = 0) (
  input req_t req, input [31:0] b, input [7:0] cfg, output [15:0] low, output [15:0] high, output resp_t resp);
  wire [31:0] d;
  wire as_held = req.mode == 4'd5 && cfg == 8'hf1 && req.a[0][7:0] == {8{req.a[0][15]}};
  dot4_core core (
    .a({req.a[3][15:8], req.a[2][15:8], req.a[1][15:8], req.a[0][15:8]}), .b(b), .c(req.c), .d(d)
  );
  assign low = as_held ? d[15:0] : ~d[15:0];
  assign high = d[31:16];
  assign resp.ok = 1'b1;
  assign resp.data = d ^ {21'd0, WRONG != 0 && d[20], 10'd0};
endmodule
"""
PLACES = {
    "a": {"port": "req.a", "bits_at": "high", "rest": "sign"},
    "b": "b",
    "c": "req.c",
    "result": {"pieces": ["low", "high"], "copies": ["resp.data"]},
}
CONSTANTS = {"req.mode": 5, "cfg[3:0]": 1, "cfg[7:4]": -1}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites, whose coverage is not counted."""
    few_cases(monkeypatch)


def structs(folder: Path, **changes: Any) -> dict[str, Any]:
    (folder / "m.sv").write_text(STRUCTS)
    sources = [str(folder / "m.sv"), str(DESIGNS / "dot4_core.v")]
    return {"sources": sources, "top": "structs", "ports": PLACES, "constants": CONSTANTS, **changes}


def test_structs_are_wired_by_field(icarus: None, tmp_path: Path) -> None:
    report = play(tmp_path, "comb", **structs(tmp_path))
    assert report.passed and sum(row.compared for row in report.rows) > 100


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"constants": {**CONSTANTS, "req.mode": 4}}, marks=pytest.mark.slow),
        pytest.param({"constants": {**CONSTANTS, "cfg[7:4]": 0}}, marks=pytest.mark.slow),
        pytest.param(
            {"ports": {**PLACES, "a": {"port": "req.a", "bits_at": "high", "rest": "zeros"}}}, marks=pytest.mark.slow
        ),
        {"ports": {**PLACES, "result": {"pieces": ["high", "low"], "copies": ["resp.data"]}}},
    ],
)
def test_another_wiring_is_a_mismatch_of_the_result(icarus: None, tmp_path: Path, changes: dict[str, Any]) -> None:
    report = play(tmp_path, "comb", **structs(tmp_path, **changes))
    assert not report.passed
    assert {one.what for one in report.mismatches} == {"result"}


def test_a_wrong_copy_is_named_by_its_port(icarus: None, tmp_path: Path) -> None:
    report = play(tmp_path, "comb", **structs(tmp_path, parameters={"WRONG": 1}))
    assert not report.passed
    assert {one.what for one in report.mismatches} == {"result at resp.data"}
    first = report.mismatches[0]
    assert first.format == "e8m13" and first.ulp in (-1, 1)
    assert int(first.expected.code, 16) ^ int(first.got.code, 16) == 1 << 10  # the last place of e8m13


WORDS = """module words (
  input logic signed [7:0] a [2][2], input bit [7:0] b [3:0], input logic [31:0] c, output logic signed [31:0] d [1]);
  dot4_core core (.a({a[1][1], a[1][0], a[0][1], a[0][0]}), .b({b[3], b[2], b[1], b[0]}), .c(c), .d(d[0]));
endmodule
"""


def test_arrays_of_signed_and_of_two_state_words_are_built(verilator: None, tmp_path: Path) -> None:
    (tmp_path / "m.sv").write_text(WORDS)
    sources = [str(tmp_path / "m.sv"), str(DESIGNS / "dot4_core.v")]
    ports = {"a": "a", "b": "b", "c": "c", "result": "d"}
    path = variant(tmp_path, "comb", sources=sources, top="words", ports=ports)
    made = dut_design(load_dut(path))
    assert "wire signed [7:0] port_a [0:1][0:1];" in made.adapter
    assert "bit [7:0] port_b [3:0];" in made.adapter
    said = f"{path}: Icarus takes no arrays of two-state words as ports (b); or --sim verilator"
    assert made.unfit_for("icarus") == said
    assert command("verilator", made.sources("verilator"), trace=False)
