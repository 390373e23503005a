"""What a run did not compare: it never says `all equal`, names what is missing, and fails unless the user named it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import DESIGNS, SEED, variant
from cosim.small_runs import small_suites

import hwsim.cosim.suites as planning
from hwsim.cli import main
from hwsim.cosim.report import refusal
from hwsim.explain import read_json
from hwsim.spec import NotImplementedYet

pytestmark = pytest.mark.simulator

ASSERTED = """
module asserted (input clk, input [0:63] operands, input [0:31] addend, output [0:31] y);
  dot4_comb dut (.operands(operands), .addend(addend), .y(y));
  property same; @(posedge clk) addend == 0 |-> y == y; endproperty
  assert property (same);
endmodule
"""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 512))


def cosim(dut: Path, folder: Path, *more: str) -> int:
    return main(["cosim", "--dut", str(dut), "--seed", str(SEED), "--cases", "40", "-o", str(folder / "run"), *more])


def last_lines(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """All that was printed, and the line of the verdict."""
    said = capsys.readouterr().out
    (verdict,) = [line for line in said.splitlines() if re.search(r"comparisons? in \d+ s", line)]
    return said, verdict


def test_suites_that_are_chosen_pass_and_the_others_are_named(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dut = variant(tmp_path, "comb")
    assert cosim(dut, tmp_path, "--sim", "icarus", "--suite", "random", "--suite", "gemm") == 0
    said, verdict = last_lines(capsys)
    assert verdict.startswith("equal in 2 suites, 4 left out: ")
    assert "not compared: dot directed on icarus, dot random, gaps and back-pressure on icarus, " in verdict
    assert "again: hwsim cosim --dut" in said and "--suite gemm --suite random" in said
    report = read_json(tmp_path / "run" / "results.json")
    assert report.passed and len(report.rows) == 2 and not report.lacking


def test_a_suite_that_cannot_be_made_fails_the_run_unless_it_is_named(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_yet(*_: Any) -> Any:
        raise NotImplementedYet("no directed cases of this unit")

    monkeypatch.setattr(planning, "directed", not_yet)
    asked = ["--sim", "icarus", "--suite", "random", "--suite", "directed"]
    assert cosim(variant(tmp_path, "comb"), tmp_path, *asked) == 1
    _, verdict = last_lines(capsys)
    assert verdict.startswith("incomplete: equal in 1 suite, 1 required suite did not run: ")
    assert "; not compared: dot directed on icarus, " in verdict
    text = (tmp_path / "run" / "results.xml").read_text()
    assert '<failure message="left out: no directed cases of this unit" type="incomplete">' in text
    # A file may say why a suite is not run, and so may a command line.
    named = variant(tmp_path, "comb", without={"directed": "they come with the next release"})
    assert cosim(named, tmp_path, "--sim", "icarus", "--without", "pairs") == 0
    said, verdict = last_lines(capsys)
    assert "dot directed on icarus: left out: they come with the next release" in said
    assert "code pairs through every lane on icarus: left out: left out by --without" in said
    assert verdict.startswith("equal in 3 suites, 3 left out: ")


def test_what_a_command_line_asks_for_is_run_though_a_file_leaves_it_out(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dut = variant(tmp_path, "comb", without={"random": "slow"})
    assert cosim(dut, tmp_path, "--sim", "icarus", "--suite", "random") == 0
    assert last_lines(capsys)[1].startswith("equal in 1 suite, ")
    assert cosim(dut, tmp_path, "--suite", "random", "--without", "random") == 2
    assert "suite random must not be asked for and left out at once" in capsys.readouterr().err


@pytest.fixture
def asserted(tmp_path: Path) -> Path:
    """A design with assertions in its module, which Icarus does not take."""
    (tmp_path / "asserted.sv").write_text(ASSERTED)
    sources = [str(tmp_path / "asserted.sv"), str(DESIGNS / "dot4_core.v"), str(DESIGNS / "dot4_comb.v")]
    return variant(tmp_path, "comb", sources=sources, top="asserted", constants={"clk": 0})


def test_a_simulator_that_refuses_ends_its_own_part_only(
    verilator: None, icarus: None, asserted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cosim(asserted, tmp_path, "--suite", "random") == 1
    said, verdict = last_lines(capsys)
    assert "asserted: every suite on icarus: left out: icarus does not take concurrent assertions (SVA): " in said
    assert re.search(r"asserted\.sv:4: property same; .*; leave it out for Icarus \(the end of its log: ", said)
    assert verdict.startswith("incomplete: equal in 1 suite, 1 required suite did not run: ")
    report = read_json(tmp_path / "run" / "results.json")
    assert {row.driver for row in report.rows} == {"verilator"}
    assert "syntax error" in (tmp_path / "run" / "asserted-icarus" / "build.log").read_text()
    # Named, it is no failure; alone, it is bad input.
    assert cosim(asserted, tmp_path, "--suite", "random", "--sim", "verilator") == 0
    capsys.readouterr()
    assert cosim(asserted, tmp_path, "--suite", "random", "--sim", "icarus") == 2
    alone = capsys.readouterr()
    assert "icarus does not take concurrent assertions (SVA): " in alone.out.splitlines()[-1]
    assert "no simulator that was asked for takes the design" in alone.err


@pytest.mark.slow
def test_a_wrong_design_that_one_simulator_refuses_has_its_minimal_case(
    verilator: None, icarus: None, asserted: Path, tmp_path: Path
) -> None:
    """The waveform is then of the simulator that takes it."""
    source = tmp_path / "asserted.sv"
    source.write_text(ASSERTED.replace(".addend(addend)", ".addend(addend ^ 32'h80000000)"))
    assert cosim(asserted, tmp_path, "--suite", "random") == 1
    report = read_json(tmp_path / "run" / "results.json")
    assert {row.driver for row in report.rows} == {"verilator"} and report.kinds[0].minimal is not None
    assert (tmp_path / "run" / "minimal" / "dump.vcd").stat().st_size > 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("  ap: assert property (@(posedge clk) a |-> b);", "concurrent assertions (SVA)"),
        ("  property p;", "concurrent assertions (SVA)"),
        ("module t #(parameter type T = logic) (input T a);", "type parameters"),
        ("module t (bus_if.m b);  modport m;", "interfaces"),
        ("module t #(parameter pkg::cfg_t C = '0) ();", "parameters of a struct's type"),
        ("bind t checker u (.*);", "bind"),
        ("  if (i == 1) break;", "break and continue"),
        ("  assign y = {<<{x}};", "streaming operators"),
    ],
)
def test_what_icarus_does_not_take_is_named(tmp_path: Path, source: str, words: str) -> None:
    path = tmp_path / "t.sv"
    path.write_text(f"// first\n{source} // property\n")
    log = f"iverilog failed:\n{path}:2: syntax error\nI give up."
    assert refusal("icarus", log).startswith(f"icarus does not take {words}: {path}:2: {source.strip()[:20]}")


def test_what_nobody_knows_is_said_as_the_simulator_says_it(tmp_path: Path) -> None:
    path = tmp_path / "t.v"
    path.write_text("wire x = y;\n")
    log = f"Verilator failed:\n%Error: {path}:1:10: Can't find definition of variable: 'y'\n%Error: Exiting"
    said = f"verilator refuses the design: {path}:1: Can't find definition of variable: 'y': wire x = y;"
    assert refusal("verilator", log) == said
    crash = "ivl: netmisc.cc:1637: NetExpr* f(): Assertion `rc' failed."
    said = refusal("icarus", f"dut.sv:14: error: Array index expressions must be constant here.\n{crash}\nAborted\n")
    assert said == (
        f"icarus crashes on the design, a defect of its own: {crash}, after dut.sv:14: error: Array index expressions "
        "must be constant here."
    )
    assert (
        refusal("icarus", "iverilog failed:\nerror: out of memory") == "icarus refuses the design: error: out of memory"
    )
