"""Designs of users that never end, or never answer: each run ends, says what was waited for and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import play
from cosim.runs_shown import few_pairs
from cosim.small_runs import processes_in, small_suites
from patience import wait_until

from hwsim.cli import main
from hwsim.explain import RunReport, read_json

pytestmark = pytest.mark.simulator
LIMIT = 1  # seconds without the end of a cycle

DESIGN = """module m (input clk, input [7:0] a, b, output [31:0] y, output reg valid);
  reg signed [31:0] sum, noise;
  initial noise = 0;
  always @(posedge clk) sum <= $signed(a) * $signed(b);
  assign y = sum ^ noise;
  {more}
endmodule
"""
UNIT = {
    "unit": "one-product",
    "operands": {"a": "int8", "b": "int8", "addend": "none"},
    "instruction": {"k": 1, "lanes": 1, "chain": "none"},
    "sum": {"method": "exact"},
    "result": {"format": "i32", "rounding": "rz", "overflow": "wrap"},
}
COUNTING = "counting forever"
LOOPS = {
    "forever": "initial forever ;",
    COUNTING: "initial forever noise = noise + 1;",
    "a loop at an edge": "always @(posedge clk) while (noise == 0 || a != b) noise = 1 - noise;",
    "an oscillation without a delay": "reg turn; initial #3 turn = 0; always @(turn) turn <= ~turn;",
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites."""
    small_suites(monkeypatch)
    few_pairs(monkeypatch)


def design(folder: Path, more: str, **keys: object) -> Path:
    """A design with some more Verilog in it, and its file with some more keys."""
    (folder / "m.v").write_text(DESIGN.format(more=more))
    (folder / "unit.yaml").write_text(yaml.safe_dump(UNIT))
    data = {
        "unit": "unit.yaml",
        "sources": ["m.v"],
        "top": "m",
        "clock": "clk",
        "protocol": {"kind": "latency", "cycles": 1},
        "ports": {"a": "a", "b": "b", "result": "y"},
    }
    (folder / "dut.yaml").write_text(yaml.safe_dump(data | keys))
    return folder / "dut.yaml"


def run(folder: Path, path: Path, simulator: str, *more: str) -> tuple[int, RunReport]:
    """The status of a run with few cases, and its report."""
    arguments = ["cosim", "--dut", str(path), "--sim", simulator, "--seed", "1", "--cases", "20", *more]
    status = main([*arguments, "-o", str(folder / "out")])
    return status, read_json(folder / "out" / "results.json")


ENDLESS = [(loop, "icarus") for loop in LOOPS if loop != COUNTING] + [(COUNTING, "verilator")]


@pytest.mark.parametrize(
    ("loop", "simulator"),
    others_slow(ENDLESS, ENDLESS[:1]),
)
def test_a_design_that_never_ends_is_ended(
    request: pytest.FixtureRequest, tmp_path: Path, loop: str, simulator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(simulator)
    path = design(tmp_path, LOOPS[loop], stuck_after=LIMIT)
    status, report = run(tmp_path, path, simulator)
    assert status == 1
    assert not any(row.passed or row.compared for row in report.rows)
    assert report.figures.not_compared == report.figures.planned > 0
    (said,) = [note for note in report.notes if "was ended" in note]
    assert re.match(rf"m: {simulator} was ended: .*cycles?.* ended for {LIMIT} s\. ", said)
    assert "initial forever" in said and f"--stuck-after {2 * LIMIT}" in said and "stuck_after:" in said
    for row in report.failed:
        assert "the simulator was ended, as a note below says" in row.notes
    # The terminal says it too, and nothing is left behind.
    assert said in capsys.readouterr().out
    wait_until(lambda: not processes_in(tmp_path))
    assert not list(tmp_path.rglob("progress")) and not list(tmp_path.rglob("payloads.hex"))


@pytest.mark.slow
def test_what_hangs_while_a_failing_case_is_made_simpler_is_ended_too(icarus: None, tmp_path: Path) -> None:
    # It is wrong, and hangs at a beat of zeros, to which simpler cases come.
    loop = "always @(posedge clk) if (a == 0) forever ;"
    path = design(tmp_path, f"initial #1 noise = 1; {loop}", stuck_after=LIMIT)
    status, report = run(tmp_path, path, "icarus")
    assert status == 1 and not report.minimal
    assert [note for note in report.notes if "was ended" in note]
    assert sorted(one.name for one in (tmp_path / "out").iterdir() if one.name.startswith(".")) == [".hwsim-cosim"]


SILENT = [
    (4, "a result within 1,000 cycles", "none, where", "out_valid (protocol.output_valid) never rose"),
    (6, "a beat taken within 1,000 cycles", "none", "in_ready (protocol.input_ready) never rose"),
]


@pytest.mark.parametrize(("fault", "expected", "got", "look"), others_slow(SILENT, SILENT[:1]))
def test_a_handshake_that_never_comes_says_what_was_waited_for(
    icarus: None, tmp_path: Path, fault: int, expected: str, got: str, look: str
) -> None:
    report = play(tmp_path, "faulty", parameters={"FAULT": fault})
    assert not report.passed
    first = report.mismatches[0]
    assert first.expected.code == expected and first.got.code.startswith(got)
    assert first.remedy.startswith(look) and "rst is active high" in first.remedy


LATE = [
    ("valid <= second", "after 3 cycles", "where 3 cycles are right, write protocol.cycles: 3"),
    ("valid <= 0", "not within 1,000 cycles", "valid (protocol.output_valid) never rose: look whether it needs"),
]


@pytest.mark.parametrize(("valid", "got", "look"), others_slow(LATE, LATE[:1]))
def test_a_valid_that_comes_late_says_by_how_much(
    icarus: None, tmp_path: Path, valid: str, got: str, look: str
) -> None:
    path = design(tmp_path, "", protocol={"kind": "latency", "cycles": 1, "input_valid": "go", "output_valid": "valid"})
    text = (tmp_path / "m.v").read_text()
    stages = f"reg first = 0, second = 0; always @(posedge clk) begin first <= go; second <= first; {valid}; end"
    (tmp_path / "m.v").write_text(
        text.replace("input clk,", "input clk, go,").replace("endmodule", f"{stages} endmodule")
    )
    status, report = run(tmp_path, path, "icarus")
    assert status == 1 and len(report.failed) == len(report.rows)
    for first in report.mismatches:
        assert (first.what, first.expected.code) == ("cycles to the result", "a result after 1 cycle")
        assert first.got.code == got and first.remedy.startswith(look)


@pytest.mark.slow
def test_signals_that_never_settle_are_said_to_be_that(verilator: None, tmp_path: Path) -> None:
    # Icarus would go on for ever; Verilator gives up by itself.
    path = design(tmp_path, LOOPS["an oscillation without a delay"].replace("initial #3 turn = 0", "initial turn = 0"))
    status, report = run(tmp_path, path, "verilator")
    assert status == 1 and not any(row.compared for row in report.rows)
    for row in report.rows:
        assert any("did not converge" in note for note in row.notes)
        assert "signals of the design never settle: a loop of them needs a register" in row.notes
