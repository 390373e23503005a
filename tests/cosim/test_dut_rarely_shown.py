"""Faults that few inputs show: in a state that few cases leave, in one code of many, in a sticky bit, two at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, play
from cosim.runs_shown import few_pairs
from cosim.small_runs import small_suites
from faults.seeded import FAULTS

import hwsim
from hwsim.cases.bins.covering import covered, directed
from hwsim.cases.random_cases import pair_cases
from hwsim.cli import main
from hwsim.cosim import suites as planning
from hwsim.cosim.suites import PAIR_STEP, expected_codes
from hwsim.explain import read_json
from hwsim.spec import Unit

LANES = 2
INT8X2 = Unit.model_validate(
    {
        "unit": "int8x2", "operands": {"a": "int8", "b": "int8", "addend": "i32"},
        "instruction": {"k": LANES, "lanes": LANES}, "sum": {"method": "exact"},
        "result": {"format": "i32", "rounding": "rz", "overflow": "wrap"},
    }
)  # fmt: skip
SKID = """module skid #(parameter KEPT = 0) (input clk, rst, v, output r, input [15:0] d, output reg ov, input ordy,
                                   output reg [31:0] y);
  reg full = 0;
  reg [15:0] held;
  wire [15:0] now = full ? held : d;
  wire go = (full | v) & (~ov | ordy);
  assign r = ~full;
  always @(posedge clk)
    if (rst) begin
      ov <= 0;
      if (!KEPT) full <= 0;
    end else begin
      if (ordy) ov <= 0;
      if (go) begin
        y <= $signed(now[7:0]) * $signed(now[15:8]);
        ov <= 1;
        full <= 0;
      end else if (v & r) begin
        held <= d;
        full <= 1;
      end
    end
endmodule
"""
MAC = """module mac (input clk, clear, enable, input signed [7:0] a, b, output reg signed [31:0] y);
  initial y = 0;
  always @(posedge clk) if (clear) y <= y & 32'h80000000; else if (enable) y <= y + a * b;
endmodule
"""
UNIT = {
    "unit": "mul", "operands": {"a": "int8", "b": "int8", "addend": "none"}, "instruction": {"k": 1, "lanes": 1},
    "sum": {"method": "exact"}, "result": {"format": "i32", "rounding": "rz", "overflow": "wrap"},
}  # fmt: skip


def played(folder: Path, text: str, keys: dict[str, object], *words: str) -> int:
    (folder / "d.v").write_text(text)
    unit = {**UNIT, "instruction": {"k": 1, "lanes": 1, **({} if "clear" in text else {"chain": "none"})}}
    (folder / "unit.yaml").write_text(yaml.safe_dump(unit))
    (folder / "dut.yaml").write_text(yaml.safe_dump({"unit": "unit.yaml", "sources": ["d.v"], "clock": "clk", **keys}))
    out = str(folder / "run")
    return main(["cosim", "--dut", str(folder / "dut.yaml"), "--sim", "icarus", "--seed", "1", *words, "-o", out])


@pytest.mark.parametrize("kept", others_slow([0, 1], [1]))
@pytest.mark.simulator
def test_a_buffer_that_no_reset_empties_is_found(icarus: None, tmp_path: Path, kept: int) -> None:
    keys: dict[str, object] = {
        "top": "skid", "reset": "rst", "parameters": {"KEPT": kept},
        "protocol": {
            "kind": "stream", "input_valid": "v", "input_ready": "r", "output_valid": "ov", "output_ready": "ordy",
        },
        "ports": {"a": "d[7:0]", "b": "d[15:8]", "result": "y"},
    }  # fmt: skip
    assert played(tmp_path, SKID, keys, "--suite", "reset") == kept


@pytest.mark.slow
@pytest.mark.simulator
def test_what_only_earlier_cases_make_wrong_has_no_minimal_case(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clear = {"port": "clear", "when": "before"}
    keys: dict[str, object] = {
        "top": "mac", "protocol": {"kind": "accumulate", "cycles": 1, "clear": clear, "enable": "enable"},
        "ports": {"a": "a", "b": "b", "result": "y"},
    }  # fmt: skip
    assert played(tmp_path, MAC, keys, "--suite", "random", "--cases", "40") == 1
    printed = capsys.readouterr().out
    assert "\nMINIMAL CASE" not in printed
    assert "fails alone" in printed


@pytest.mark.slow
@pytest.mark.simulator
def test_an_unknown_bit_is_said_beside_the_code_that_should_be(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """module x (input [7:0] a, b, output [31:0] y);
  wire signed [31:0] p = $signed(a) * $signed(b);
  assign y = a == 8'h80 ? 32'bx : p;
endmodule
"""
    keys: dict[str, object] = {
        "top": "x", "clock": None, "protocol": {"kind": "combinational"}, "ports": {"a": "a", "b": "b", "result": "y"},
    }  # fmt: skip
    assert played(tmp_path, text, keys, "--suite", "directed") == 1
    printed = capsys.readouterr().out
    assert re.search(
        r"  an unknown \(X or Z\) output bit: expected 0x[0-9a-f]{8} \(-?\d+\), got an unknown bit\n", printed
    )


def test_pairs_have_every_code_of_the_side_that_is_not_held() -> None:
    unit = Unit.model_validate(
        {
            "unit": "narrow", "operands": {"a": "f16", "b": "e2m1", "addend": "none"},
            "instruction": {"k": 1, "lanes": 1, "chain": "none"}, "sum": {"method": "exact", "zero": "ieee"},
            "result": {"format": "e4m3", "rounding": "rne", "overflow": "saturate"},
        }
    )  # fmt: skip
    assert sorted(case.a[0] for case in pair_cases(unit, held=("b",))) == list(range(1 << 16))


def test_some_pairs_have_every_lane_and_every_code() -> None:
    cases = list(pair_cases(INT8X2, PAIR_STEP["icarus"]))
    lanes = {lane for case in cases for lane in range(LANES) if case.a[lane] or case.b[lane]}
    assert lanes == set(range(LANES))
    for side in ("a", "b"):
        assert {code for case in cases for code in getattr(case, side)} == set(range(256))


def test_results_are_at_both_ends_of_a_fixed_format() -> None:
    cases = directed(INT8X2, 1)
    assert {0x7FFFFFFF, 0x80000000, 0x80000001} <= set(expected_codes(INT8X2, cases))
    hits = covered(INT8X2, 1).counter
    assert all(hits.counts[name] for name in ("the result is the least number", "the result is the largest number"))


TCU = DESIGNS / "tcu-f32.yaml"
# -129 and 49 * 2^-21: the published case, whose result is not the nearest number.
A, B, RESULT = [0xD808, 0x2A20, 0, 0], [0x3C00, 0x1000, 0, 0], 0xC300FFFF


@pytest.mark.simulator
def test_the_published_case_is_what_was_published(icarus: None, tmp_path: Path) -> None:
    assert hwsim.explain(hwsim.load_unit(TCU), A, B, 0).code == RESULT
    (tmp_path / "case.yaml").write_text(yaml.safe_dump({"unit": "tcu", "a": A, "b": B, "c": 0}))
    arguments = ["cosim", "--dut", str(DESIGNS / "tcu.yaml"), "--sim", "icarus", "--case", str(tmp_path / "case.yaml")]
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 0
    report = read_json(tmp_path / "run" / "results.json")
    assert report.passed and report.figures.compared == 1


@pytest.mark.simulator
@pytest.mark.slow
@pytest.mark.parametrize("fault", range(5))
def test_the_suites_find_sticky_bits_that_are_lost(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    small_suites(monkeypatch)
    few_pairs(monkeypatch)
    assert play(tmp_path, "tcu", parameters={"FAULT": fault}).passed == (fault == 0)


@pytest.mark.simulator
@pytest.mark.slow
def test_every_bin_is_hit_on_verilator(verilator: None, tmp_path: Path) -> None:
    report = play(tmp_path, "tcu", "verilator")
    assert report.passed
    assert report.figures.bins.hit == report.figures.bins.reachable > 1000


CAUSES = "overflow gives the largest", "subnormal results flushed"
TWO = "overflow of sums gives the largest number", "subnormal results flushed"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A chain of FMAs with two mistakes."""
    first, second = (one for one in FAULTS if one.design == "chain" and one.cause in CAUSES)
    path = first.written(tmp_path)
    source = tmp_path / "chain.v"
    text = source.read_text()
    ((old, new),) = second.edits
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    return path


@pytest.mark.simulator
@pytest.mark.slow
def test_two_mistakes_have_a_kind_and_a_minimal_case_each(
    icarus: None, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 256))
    out = tmp_path / "run"
    assert main(["cosim", "--dut", str(two), "--sim", "icarus", "--seed", "1", "--cases", "200", "-o", str(out)]) == 1
    kinds = json.loads((out / "results.json").read_text())["kinds"]
    assert {kind["causes"][0]["name"] for kind in kinds} == set(TWO)
    assert sum(kind["wrong"] for kind in kinds) == kinds[0]["of"]
    printed = capsys.readouterr().out
    for number, kind in enumerate(kinds, 1):
        name = kind["causes"][0]["name"]
        minimal = kind["minimal"]
        assert f"MINIMAL CASE OF KIND {number} OF 2" in printed
        part = f"{kind['wrong']} of {kind['of']}"
        assert re.search(
            rf"explains {part} wrong results looked at and agrees with [\d,]+ results that match:\n  {name}: ", printed
        )
        # Of each kind the case is one of its own: an overflow, or a subnormal result.
        expected, got = int(minimal["expected"]["code"], 16), int(minimal["got"]["code"], 16)
        assert (expected & 0x7C00, got & 0x7FFF) == ((0x7C00, 0x7BFF) if name == TWO[0] else (0, 0))
        folder = out / ("minimal" if number == 1 else f"minimal-{number}")
        assert {"case.yaml", "story.txt", "operands.hex", "dump.vcd"} <= {path.name for path in folder.iterdir()}
        assert int((folder / "expected.hex").read_text(), 16) == expected
