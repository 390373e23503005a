"""A user's own RTL is proved as far as it goes; what is wrong with it becomes a case that a simulator plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cosim.dut_files import variant

from hwsim.cli import main
from hwsim.cosim.casefile import load_case
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.prove import dut as dutcase

# A design's file, its mistake, what is said of it, and how it is named.
WRONG = {
    "lost bits floored": ("comb", 2, "-8193 * 2^-13, where the model has -8192"),
    "leading-one exponents": ("latency", 1, "where the model has"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * at) for at, one in enumerate(WRONG)])
def test_a_mistake_is_refuted_with_one_product(
    icarus: None, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design, wrong, said = WRONG[name]
    path, case, page = (
        variant(tmp_path, design, parameters={"WRONG": wrong}),
        tmp_path / "case.yaml",
        tmp_path / "p.html",
    )
    arguments = ["--products", "1", "--case", str(case), "--html", str(page)]
    assert main(["prove", "--dut", str(path), *arguments]) == 1
    printed = capsys.readouterr().out
    assert said in printed
    assert "played on icarus: it returns the same" in printed
    assert f"  {name}: " in printed
    found = load_case(case, dut_design(load_dut(path)))
    assert sum(bool(a and b) for a, b in zip(found.a, found.b, strict=True)) <= 1
    assert "<svg" in page.read_text()


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("cycles", [2, 4])
def test_a_latency_that_is_not_the_designs_is_refuted(
    cycles: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = variant(tmp_path, "latency", protocol={"kind": "latency", "cycles": cycles})
    assert main(["prove", "--dut", str(path), "--products", "1", "--case", str(tmp_path / "case.yaml")]) == 1
    assert "its latency seems to be 3 cycles" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["comb", "latency"])
def test_a_right_design_is_proved_and_says_up_to_where(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = variant(tmp_path, name), tmp_path / "proof.json"
    assert main(["prove", "--dut", str(path), "--products", "1", "--json", str(table)]) == 1
    words = {row["name"]: row["word"] for row in json.loads(table.read_text())["rows"]}
    left = [one for one, word in words.items() if word != "proved"]
    assert left[0] == "beats with more than 1 product other than zero"
    assert {words[one] for one in left} == {"not proved"}
    ends = f"equal for every beat with at most 1 product other than zero; not proved: {'; '.join(left)}\n"
    assert capsys.readouterr().out.endswith(ends)


def test_what_goes_with_a_unit_does_not_go_with_a_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = variant(tmp_path, "comb")
    assert main(["prove", "--dut", str(path), "--cuts", "sum"]) == 2
    assert main(["prove", "hopper-wgmma-e4m3-f32", "--products", "2"]) == 2
    assert main(["prove"]) == 2
    assert capsys.readouterr().err.count("error:") == 3


MEMORY = """
module memory (input clk, input rst, input [7:0] a, b, input [8:0] acc, output reg [8:0] y);
  wire signed [10:0] p0 = $signed(a[3:0]) * $signed(b[3:0]);
  wire signed [10:0] p1 = $signed(a[7:4]) * $signed(b[7:4]);
  wire signed [10:0] s = p0 + p1 + $signed(acc);
  wire [8:0] sat = s > 255 ? 9'd255 : s < -256 ? 9'h100 : s[8:0];
  reg [15:0] seen;
  always @(posedge clk) begin
    if (rst) seen <= 0; else seen <= NEXT;
    y <= sat ^ WRONG;
  end
endmodule
"""
INTEGERS = """
unit: integers
operands:
  a: {name: i3f0, kind: fixed, integer_bits: 3, fraction_bits: 0}
  b: {name: i3f0, kind: fixed, integer_bits: 3, fraction_bits: 0}
  addend: {name: i8f0, kind: fixed, integer_bits: 8, fraction_bits: 0}
instruction: {k: 2, lanes: 2}
sum: {method: exact}
result: {format: {name: i8f0, kind: fixed, integer_bits: 8, fraction_bits: 0}, rounding: rz, overflow: saturate}
"""
DESIGN = """
unit: unit.yaml
sources: [memory.v]
top: memory
clock: clk
reset: rst
protocol: {kind: latency, cycles: 1}
ports: {a: a, b: b, c: acc, result: y}
"""
OTHERS = "beats that follow others, or are not the first after a reset"


def with_memory(folder: Path, seen: str, wrong: str) -> Path:
    """A design that sums integers, and what it keeps beside its result."""
    (folder / "unit.yaml").write_text(INTEGERS)
    (folder / "memory.v").write_text(MEMORY.replace("NEXT", seen).replace("WRONG", wrong))
    (folder / "dut.yaml").write_text(DESIGN)
    return folder / "dut.yaml"


# What a design keeps from cycle to cycle, where its result is wrong, and whether a beat shows it that follows another.
KEEPS = {
    "the beat before": ("{a, b}", "((seen == 16'h8877) ? 9'd1 : 9'd0)", True),
    "a count of cycles": ("seen + 16'd1", "((seen == 16'hffff) ? 9'd1 : 9'd0)", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KEEPS)
def test_what_a_design_does_among_other_beats_is_not_proved(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen, wrong, shown = KEEPS[name]
    path = with_memory(tmp_path, seen, wrong)
    assert main(["prove", "--dut", str(path), "--products", "1", "--case", str(tmp_path / "case.yaml")]) == 1
    printed = capsys.readouterr().out
    assert f"not proved: beats with more than 1 product other than zero; {OTHERS}" in printed.splitlines()[-1]
    assert "alone, right after a reset" in printed.splitlines()[-1]
    assert ("a beat changes the result of the one that follows it" in printed) == shown


def test_what_is_kept_and_changes_nothing_is_seen_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Terms alone do not show it: the register is in the result."""
    path = with_memory(tmp_path, "{a, b}", "((seen * seen & 16'd2) != 0 ? 9'd1 : 9'd0)")
    assert main(["prove", "--dut", str(path), "--products", "1"]) == 1
    assert OTHERS not in capsys.readouterr().out  # a square is 0 or 1 modulo 4


def test_a_refutation_that_no_simulator_shows_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dutcase, "_played", lambda *_: ("played: it returns what is expected", dutcase.DIFFER))
    path = with_memory(tmp_path, "{a, b}", "9'd1")
    assert main(["prove", "--dut", str(path), "--products", "1", "--case", str(tmp_path / "case.yaml")]) == 1
    printed = capsys.readouterr().out
    assert "refuted " not in printed
    assert f"the netlist refutes it; {dutcase.DIFFER}" in printed
    assert printed.splitlines()[-1].endswith("not proved: 1 product")
