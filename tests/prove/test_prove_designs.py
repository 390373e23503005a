"""A user's own RTL is proved as far as it goes; what is wrong with it is refuted, and becomes a case that is played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, design, own_file, variant
from prove.own_verilog import wrapped

from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.casefile import load_case
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.prove import dut as dutcase
from hwsim.prove import summaries
from hwsim.prove.dut import DutProofOptions, prove_dut, refuted_by_a_case
from hwsim.prove.meeting import Meeting
from hwsim.prove.multiplications import in_one_form
from hwsim.prove.products import Placing
from hwsim.prove.summaries import SymbolicOperands
from hwsim.prove.sweeping import Merging, is_one_sum
from hwsim.prove.symbolic import Integer
from hwsim.prove.terms import Evaluated, Kind, Term, ask, constant, nodes_of, op, same, value, width
from hwsim.prove.unrolled import beat_result
from hwsim.spec import Unit

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
@pytest.mark.parametrize("cycles", [2, pytest.param(4, marks=pytest.mark.slow)])
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


@pytest.mark.slow
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


WIRE = "a3 = operands[24:31];"
SMALL = Unit.model_validate(
    {
        "unit": "small",
        "operands": {"a": "e2m3", "b": "e2m3", "addend": "f16"},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {"method": "exact"},
        "result": {"format": "f16", "rounding": "rne"},
    }
)
CHAIN = {"method": "sequential", "format": "f16", "rounding": "rne", "product": "fused"}
TREE = {**CHAIN, "method": "pairwise"}


def with_lane_3(folder: Path, code: str) -> DutDesign:
    """The combinational design with another code in its last lane."""
    text = (DESIGNS / "dot4_comb.v").read_text()
    assert WIRE in text
    (folder / "wrong.v").write_text(text.replace(WIRE, f"a3 = {code};"))
    return design(folder, "comb", sources=["wrong.v", str(DESIGNS / "dot4_core.v")])


def placing(made: DutDesign) -> Placing:
    return Placing(made, beat_result(made))


def small(method: dict[str, str], **result: str) -> Unit:
    data = SMALL.model_dump(mode="json", exclude_none=True)
    return Unit.model_validate(data | {"sum": method, "result": {"format": "f16", "rounding": "rne"} | result})


def test_sums_in_another_order_are_one() -> None:
    x, y, z = (op(Kind.BV_ZERO_EXTEND, constant(name, 8), indices=[4]) for name in "xyz")

    def plus(first: Term, second: Term) -> Term:
        return op(Kind.BV_ADD, first, second)

    assert is_one_sum(plus(plus(x, y), z), plus(x, plus(z, y)))
    assert not is_one_sum(plus(plus(x, y), z), plus(x, plus(z, z)))
    # Where the inner sum of one wraps round, they are two.
    short = op(Kind.BV_ADD, constant("x", 8), constant("y", 8))
    assert not is_one_sum(op(Kind.BV_ZERO_EXTEND, short, indices=[4]), plus(x, y))


def test_terms_are_put_together_only_where_they_are_equal() -> None:
    x, y = constant("x", 8), constant("y", 8)
    merging = Merging(Evaluated({"x": [1, 2, 3], "y": [3, 2, 1]}))
    first, second = (op(Kind.ITE, op(Kind.BV_ULT, p, q), q, p) for p, q in ((x, y), (y, x)))
    assert merging.merged(first).id() == merging.merged(second).id()
    # Equal in all samples, and not elsewhere.
    third = op(Kind.ITE, op(Kind.EQUAL, x, value(77, 8)), y, first)
    assert merging.merged(third).id() != merging.merged(first).id()


def test_a_lane_that_differs_in_one_zero_is_no_other(tmp_path: Path) -> None:
    # 0 times 2^-9 is taken for 2^-9 times 2^-9.
    code = "operands[24:31] == 8'h80 && operands[56:63] == 8'h01 ? 8'h01 : operands[24:31]"
    found = placing(with_lane_3(tmp_path, code))
    assert [found.zero_is_plain(lane, seconds) for lane, seconds in ((0, 10.0), (3, 0.5))] == [True, False]
    ends = [found.alike((lane,)) for lane in range(4)]
    assert ends[0] == ends[1] == ends[2] != ends[3]


@pytest.mark.slow
def test_a_rare_mistake_in_the_last_lane_is_refuted_there(tmp_path: Path) -> None:
    made = with_lane_3(tmp_path, "operands[24:31] == 8'h55 ? 8'h56 : operands[24:31]")
    report = prove_dut(made, DutProofOptions(products=1))
    row = report.rows[-1]
    assert row.word == "refuted"
    assert row.refuting["a[3]"] == 0x55


# Designs of four lanes, a parameter of theirs, and whether all products are the model's then.
WHOLE = {
    **{f"steps, {wrong}": ("steps", wrong, wrong in (0, 9)) for wrong in range(10)},
    "comb": ("comb", 0, True),
    "comb, floored": ("comb", 2, False),
}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (at != 4)) for at, one in enumerate(WHOLE)]
)
def test_all_products_at_once_are_proved_of_a_right_design_alone(name: str, tmp_path: Path) -> None:
    """No case is tried before."""
    design_name, wrong, right = WHOLE[name]
    made = design(tmp_path, design_name, parameters={"WRONG": wrong})
    assert (placing(made).decide((0, 1, 2, 3), False, 60.0).word == "proved") == right


@pytest.mark.slow
def test_a_rare_mistake_is_not_proved_of_all_products(tmp_path: Path) -> None:
    made = with_lane_3(tmp_path, "operands[24:31] == 8'h55 ? 8'h56 : operands[24:31]")
    assert placing(made).decide((0, 1, 2, 3), False, 30.0).word != "proved"


@pytest.mark.slow
def test_every_beat_of_a_design_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--dut", str(variant(tmp_path, "comb"))]) == 0
    assert capsys.readouterr().out.endswith("equal for every beat\n")


# Our own Verilog of one unit, said to be another.
MISTAKEN = {
    "sequential": (small(CHAIN), CHAIN | {"rounding": "rz"}, "rne"),
    "exact": (SMALL, {"method": "exact"}, "rd"),
    "sequential, products rounded": (small(CHAIN | {"product": "rounded"}), CHAIN | {"rounding": "rz"}, "rne"),
    "pairwise": (small(TREE), TREE | {"rounding": "rz"}, "rne"),
    "pairwise, products rounded": (small(TREE | {"product": "rounded"}), TREE | {"rounding": "rd"}, "rne"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (at > 0)) for at, one in enumerate(MISTAKEN)]
)
def test_another_rule_is_refuted_by_a_case(name: str, tmp_path: Path) -> None:
    unit, method, rounding = MISTAKEN[name]
    made = dut_design(load_dut(own_file(tmp_path, unit, small(method, rounding=rounding))))
    assert refuted_by_a_case(made, beat_result(made), 1) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKEN)
def test_the_right_rule_is_not_refuted_by_a_case(name: str, tmp_path: Path) -> None:
    made = dut_design(load_dut(own_file(tmp_path, MISTAKEN[name][0])))
    assert all(refuted_by_a_case(made, beat_result(made), count) is None for count in (1, 2))


@pytest.mark.slow
def test_a_claim_ends_in_its_seconds(tmp_path: Path) -> None:
    made = dut_design(load_dut(own_file(tmp_path, small(TREE | {"product": "rounded"}))))
    rows = prove_dut(made, DutProofOptions(products=1, seconds=1.0)).rows
    (row,) = (row for row in rows if row.name == "1 product")
    assert row.word == "undecided"
    assert row.seconds < 15


# Mistakes of a design of four lanes, by its parameter, one in each of its parts.
MISTAKES = {
    1: "a lane's sign is that of one factor",
    2: "a product of zero takes part in the largest exponent",
    3: "lost bits are floored",
    4: "the addend's sign is not extended",
    5: "NaN beside an infinity",
    6: "a lane is left out",
    7: "rounded to nearest where it is a tie",
    8: "a subnormal addend is zero",
}


@pytest.mark.simulator
@pytest.mark.parametrize("wrong", others_slow(MISTAKES, []))
def test_a_mistake_in_a_step_is_refuted_and_played(
    icarus: None, wrong: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = variant(tmp_path, "steps", parameters={"WRONG": wrong}), tmp_path / "p.json"
    assert main(["prove", "--dut", str(path), "--case", str(tmp_path / "case.yaml"), "--json", str(table)]) == 1
    rows = {row["name"]: row["word"] for row in json.loads(table.read_text())["rows"]}
    assert rows["1 product"] == "refuted"
    assert "played on icarus: it returns the same" in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_step_does_with_what_never_comes_to_it_does_not_matter(tmp_path: Path) -> None:
    assert main(["prove", "--dut", str(variant(tmp_path, "steps", parameters={"WRONG": 9}))]) == 0


def test_a_file_that_names_steps_is_told_that_none_are_needed(tmp_path: Path) -> None:
    path = variant(tmp_path, "steps", steps={"sum": {"total": "sum"}})
    with pytest.raises(InputError, match=r"dut\.yaml:\d+: steps is no longer needed: "):
        load_dut(path)


# Our own Verilog: a term in the window is one vector and a carry, and the sum is put together of high and low bits.
FOUR_LANES = """\
unit: four-lanes
operands: {a: e4m3, b: e4m3, addend: f32}
instruction: {k: 4, lanes: 4}
sum: {method: aligned, fraction_bits: 13, lost: truncate}
result: {format: f32, rounding: rz}
"""
IN_FOUR_LANES = {
    "right": ("{31{terms_sign[i]}}) >> shifts[i]", "{31{terms_sign[i]}}) >> shifts[i]"),
    "another lane's distance": ("{31{terms_sign[i]}}) >> shifts[i]", "{31{terms_sign[i]}}) >> shifts[i ^ 1]"),
    "a carry is lost": ("low = {1'b0, sum2} + {15'd0, count2}", "low = {1'b0, sum2} + {16'd0, count2[2:0] & 3'd6}"),
    "a sign is lost": ("low[18:15] - count2", "low[18:15] - {1'b0, count1}"),
    "a high bit is lost": ("{low[18:15] - count2, low[14:0]}", "{low[18:15] - count2 & 4'd11, low[14:0]}"),
    "a low bit is lost": ("- count2, low[14:0]}", "- count2, low[14:1], 1'b0}"),
    "the largest exponent is a lane's": ("? leads[3] : left4", "? left4 : leads[3]"),
}


@pytest.mark.parametrize("name", others_slow(IN_FOUR_LANES, []))
def test_our_own_verilog_is_proved_where_it_is_right(name: str, tmp_path: Path) -> None:
    (tmp_path / "unit.yaml").write_text(FOUR_LANES)
    made = dut_design(load_dut(wrapped(str(tmp_path / "unit.yaml"), tmp_path, IN_FOUR_LANES[name])))
    word = placing(made).decide((0, 1, 2, 3), False, 120.0).word
    assert (word == "proved") == (name == "right")


# Factors of so many bits that their product is met only as a product of the same factors.
HALVES = """\
unit: halves
operands: {a: f16, b: f16, addend: f32}
instruction: {k: 2, lanes: 2}
sum: {method: aligned, fraction_bits: 13, lost: truncate}
result: {format: f32, rounding: rz}
"""
MULTIPLIED, HIDDEN = "term_sig = {11'd0, a_sig} * {11'd0, b_sig}", "sig = {(code[14:11] != 4'd0) | code[10], "
IN_HALVES = {
    "right": (MULTIPLIED, MULTIPLIED),
    "right, the factors in the other order and wider": (MULTIPLIED, "term_sig = 22'({14'd0, b_sig} * {14'd0, a_sig})"),
    "a significand lacks a bit": (f"{HIDDEN}code[9:0]", f"{HIDDEN}code[9:1], 1'b0"),
    "one subnormal has a hidden bit": (HIDDEN, f"{HIDDEN[:-2]} | (&code[9:0]), "),
    "another lane's factor": (".a_sig(a_sig[i])", ".a_sig(a_sig[i ^ 1])"),
    "a subnormal's exponent is one less": ("code[10] | (code[14:11] == 4'd0)", "code[10]"),
    "the product of one factor is one more": (MULTIPLIED, f"{MULTIPLIED} + {{21'd0, a_sig == 11'h555}}"),
    "one factor's exponent is one more": ("{1'b0, a_bexp} +", "{1'b0, a_bexp} + {5'd0, b_bexp == 5'd19} +"),
}


@pytest.mark.parametrize("name", others_slow(IN_HALVES, []))
def test_long_products_are_proved_where_their_factors_are_right(name: str, tmp_path: Path) -> None:
    (tmp_path / "unit.yaml").write_text(HALVES)
    made = dut_design(load_dut(wrapped(str(tmp_path / "unit.yaml"), tmp_path, IN_HALVES[name])))
    word = placing(made).decide((0, 1), False, 60.0 if name.startswith("right") else 20.0).word
    assert (word == "proved") == name.startswith("right")


def test_a_products_numbers_have_the_bounds_of_all_classes() -> None:
    codes = [Integer.unsigned(constant(name, 16)) for name in "ab"]
    unit = Unit.model_validate(yaml.safe_load(HALVES))
    (case, *_) = summaries.Specified(unit).cases(SymbolicOperands([codes[0], 0], [codes[1], 0]))
    bounds = {met.name: (met.number.low, met.number.high) for met in case.met if met.of_product}
    assert bounds == {"factor.sig": (0, 2047), "product.sig": (0, 2047 * 2047), "product.exp": (-28, 30)}


X, Y = constant("x", 3), constant("y", 4)
FULL = op(Kind.BV_MUL, op(Kind.BV_ZERO_EXTEND, X, indices=[4]), op(Kind.BV_ZERO_EXTEND, Y, indices=[3]))


def _product(bits: int, kind: Kind = Kind.BV_ZERO_EXTEND) -> Term:
    return op(Kind.BV_MUL, *(op(kind, factor, indices=[bits - width(factor)]) for factor in (Y, X)))


def test_products_of_the_same_factors_are_one_term_whatever_their_widths() -> None:
    zeros = op(Kind.BV_CONCAT, value(0, 5), X), op(Kind.BV_CONCAT, value(0, 2), value(0, 2), Y)
    wide = op(Kind.BV_MUL, *(op(Kind.BV_SIGN_EXTEND, factor, indices=[3]) for factor in zeros))
    for term in (_product(9), _product(7), _product(5), wide):
        one = in_one_form(term)
        assert ask(same(one, term)).word == "proved"
        assert in_one_form(FULL) in nodes_of([one])
    signed = _product(9, Kind.BV_SIGN_EXTEND)
    assert in_one_form(FULL) not in nodes_of([in_one_form(signed)])
    assert ask(same(in_one_form(signed), signed)).word == "proved"


def _wrong_form(number: Integer, complement: Integer) -> tuple[Integer, ...]:
    whole, itself, _ = OF_COMPLEMENT(number, complement)
    return whole, itself, whole


OF_COMPLEMENT = summaries._of_complement


@pytest.mark.slow
def test_a_form_that_does_not_follow_from_what_stands_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unit.yaml").write_text(FOUR_LANES)
    made = dut_design(load_dut(wrapped(str(tmp_path / "unit.yaml"), tmp_path)))
    followed: list[bool] = []
    follows = Meeting._follows
    monkeypatch.setattr(Meeting, "_follows", lambda *it: followed.append(follows(*it)) or followed[-1])
    monkeypatch.setattr(summaries, "_of_complement", _wrong_form)
    assert placing(made).decide((0, 1, 2, 3), False, 15.0).word != "proved"
    assert False in followed


# Text of our Verilog of 32 lanes, and what stands there instead.
IN_MANY_LANES = {
    "what does not lead stays": ("? leads[3] : left4", "? left4 : leads[3]"),
    "another lane's distance": ("{31{terms_sign[i]}}) >> shifts[i]", "{31{terms_sign[i]}}) >> shifts[i ^ 1]"),
    "a bit too few": ("{1'b0, aligned_ones[2 * i][14:0]}", "{1'b0, aligned_ones[2 * i][14:1], 1'b0}"),
    "another place": ("bexp, sig[18:6]", "bexp, sig[17:5]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_MANY_LANES)
def test_a_mistake_in_many_lanes_is_not_proved(name: str, tmp_path: Path) -> None:
    made = dut_design(load_dut(wrapped("hopper-wgmma-e4m3-f32", tmp_path, IN_MANY_LANES[name])))
    assert refuted_by_a_case(made, beat_result(made), 32) is not None


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "hopper-wgmma-f16-f32"])
def test_many_lanes_of_our_own_verilog_are_proved(
    unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "--dut", str(wrapped(unit, tmp_path)), "--seconds", "900"]) == 0
    assert capsys.readouterr().out.endswith("equal for every beat\n")
