"""`hwsim cosim --dut`: foreign designs, right and wrong, on both simulators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, SEED, own_file, play, variant
from cosim.runs_shown import few_cases
from cosim.small_runs import small_suites
from unit_keys import exact_sum, odd_unit, order

from hwsim.cli import main
from hwsim.cocotb.told import KINDS
from hwsim.cosim import dutdesign
from hwsim.cosim import suites as planning
from hwsim.cosim.casefile import load_case
from hwsim.cosim.design import AskedSuites, SuiteKind
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.heldoperands import HeldOperands
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.suites import expected_codes
from hwsim.explain import RunReport
from hwsim.spec import Unit, as_yaml, load_unit

pytestmark = pytest.mark.simulator


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small suites, whose coverage is not counted."""
    few_cases(monkeypatch)


EXPLAINS = r"explains ([\d,]+) of \1 wrong results? looked at and agrees with [\d,]+ results that match:"
ALWAYS = {"dot directed", "dot random", "dot random, gaps and back-pressure", "code pairs through every lane"}
# Small, so that it compiles fast; with scales, an addend and contexts all the same.
OURS = Unit.model_validate(
    {
        "unit": "ours",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "scale": {"a": {"format": "e8m0", "block": [1, 2]}, "b": {"format": "e8m0", "block": [2, 1]}},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {"method": "aligned", "fraction_bits": 6},
        "result": {"format": "f16", "rounding": "rz"},
    }
)


def suites(report: RunReport) -> set[str]:
    return {re.sub(r" \d+ x .*", "", row.suite) for row in report.rows}


@pytest.mark.parametrize("name", others_slow(["latency", "stream", "comb"], ["latency"]))
def test_a_right_design_passes_on_icarus(
    request: pytest.FixtureRequest, icarus: None, tmp_path: Path, name: str
) -> None:
    if name != "stream":  # which is put through whole suites; the arithmetic of all three is one module
        request.getfixturevalue("few")
    report = play(tmp_path, name)
    assert report.passed
    assert not report.kinds
    assert suites(report) == ALWAYS | {"GEMM"} | ({"handshake and reset"} if name == "stream" else set())
    assert [str(one) for one in report.left_out if not one.cases] == (
        [] if name == "stream" else [f"dot4_{name}: handshake and reset on icarus: left out: the design has no reset"]
    )
    directed = next(row for row in report.rows if row.suite == "dot directed")
    assert directed.planned > (1000 if name == "stream" else 20)


@pytest.mark.slow
def test_a_right_design_passes_on_verilator(verilator: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_suites(monkeypatch)
    report = play(tmp_path, "stream", "verilator")
    assert report.passed
    pairs = next(row for row in report.rows if row.suite.startswith("code pairs"))
    assert pairs.compared == 1 << 16


WRONG = [("stream", 1, "leading-one exponents"), ("comb", 2, "lost bits floored")]


@pytest.mark.parametrize(("name", "wrong", "semantics"), others_slow(WRONG, []))
def test_a_published_mistake_is_found_shrunk_and_named(
    icarus: None,
    few: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    wrong: int,
    semantics: str,
) -> None:
    path = variant(tmp_path, name, parameters={"WRONG": wrong})
    out = tmp_path / "run"
    arguments = ["cosim", "--dut", str(path), "--sim", "icarus", "--seed", str(SEED), "--cases", "60", "-o", str(out)]
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    assert re.search(rf"{EXPLAINS}\n  {semantics}: ", printed)
    minimal = printed.split("MINIMAL CASE")[1]
    assert re.search(r"where the model has -?\d+: [+-][\d.]+ in the window's last place", minimal)
    assert "window 2^" in minimal
    # The simplest: one product beside the addend, or the addend alone, where its own bits below the window are lost.
    dut = dut_design(load_dut(path))
    case = load_case(out / "minimal/case.yaml", dut)
    assert sum(bool(a or b) for a, b in zip(case.a, case.b, strict=True)) <= 1
    # The vectors reproduce it: as words, and as a case to play.
    (want,) = expected_codes(dut.unit, [case])
    assert int((out / "minimal/expected.hex").read_text(), 16) == want
    (word,) = (out / "minimal/operands.hex").read_text().split()
    codes = [int(word, 16) >> 8 * lane & 0xFF for lane in range(8)]
    assert (tuple(codes[:4]), tuple(codes[4:])) == (case.a, case.b)
    data = yaml.safe_load((out / "minimal/case.yaml").read_text())
    assert data["got"] != data["expected"] == want
    again = ["cosim", "--dut", str(path), "--sim", "icarus", "--case", str(out / "minimal/case.yaml")]
    assert main([*again, "-o", str(tmp_path / "again")]) == 1
    assert f"got {data['got']:#010x}" in capsys.readouterr().out
    # The waveform holds the wrong result, and the right design passes the same case.
    waves = (out / "minimal/dump.vcd").read_text()
    assert re.search(rf"^b{data['got']:b} ", waves, re.MULTILINE)
    right = variant(tmp_path, name)
    assert main(["cosim", "--dut", str(right), *again[3:], "-o", str(tmp_path / "right")]) == 0


@pytest.mark.parametrize("simulator", others_slow(["icarus", "verilator"], ["icarus"]))
def test_our_own_verilog_passes_as_a_foreign_design(
    request: pytest.FixtureRequest, few: None, tmp_path: Path, simulator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(simulator)
    path = own_file(tmp_path, OURS)
    options = ["--sim", simulator, "--seed", "1", "--cases", "60", "--assertions", "-o", str(tmp_path / "run")]
    assert main(["cosim", "--dut", str(path), *options]) == 0
    printed = capsys.readouterr().out
    assert "all equal: " in printed
    assert "handshake and reset" in printed


def test_a_lane_that_is_not_where_the_file_says_is_found(icarus: None, few: None, tmp_path: Path) -> None:
    # The mutant of the port map itself: b's lanes the other way round.
    places = {"a": "a", "b": {"port": "b", "lane0": "high"}, "c": "c", "result": "d"}
    report = play(tmp_path, "latency", ports=places)
    assert not any(row.passed for row in report.rows)


@pytest.mark.parametrize("cycles", others_slow([2, 4], [2]))
def test_a_result_in_another_cycle_is_a_mismatch(icarus: None, few: None, tmp_path: Path, cycles: int) -> None:
    report = play(tmp_path, "latency", protocol={"kind": "latency", "cycles": cycles})
    assert not any(row.passed for row in report.rows)


BROKEN = [(0, None), (1, "dropped"), (2, "changed"), (3, "result"), (4, "hang"), (5, "unknown"), (6, "refused")]


@pytest.mark.parametrize(
    ("fault", "kind"),
    others_slow(BROKEN, [BROKEN[2], BROKEN[5]]),
)
def test_a_broken_handshake_is_found(icarus: None, few: None, tmp_path: Path, fault: int, kind: str | None) -> None:
    report = play(tmp_path, "faulty", parameters={"FAULT": fault})
    found = {mismatch.what for mismatch in report.mismatches}
    assert report.passed == (kind is None)
    assert kind is None or KINDS.get(kind, kind) in found
    changed = [mismatch for mismatch in report.mismatches if mismatch.what == KINDS["changed"]]
    assert all(code.code.startswith("0x") for one in changed for code in (one.expected, one.got))


ASSERTED = [(1, "output_valid_stays"), (2, "output_payload_stays"), (3, "result_was_asked_for")]


@pytest.mark.parametrize(("fault", "label"), others_slow(ASSERTED, ASSERTED[1:2]))
def test_an_assertion_catches_it_too(verilator: None, few: None, tmp_path: Path, fault: int, label: str) -> None:
    report = play(tmp_path, "faulty", "verilator", assertions=True, parameters={"FAULT": fault})
    assert not report.passed
    logs = "".join(log.read_text() for log in (tmp_path / "run").rglob("simulation.log"))
    assert f"checks.{label}: {label}" in logs
    # The suite that it ended is not compared whole; the others are played all the same.
    ended = [row for row in report.rows if row.compared < row.planned]
    assert ended and all(row.compared or row.mismatches for row in report.rows)
    after = report.rows[report.rows.index(ended[0]) + 1 :]
    assert after


@pytest.mark.slow
def test_cases_that_are_left_out_are_said(icarus: None, few: None, tmp_path: Path, monkeypatch: Any) -> None:
    # Stimuli of a unit that chains, and that has an addend, for a design that has neither.
    monkeypatch.setattr(dutdesign, "drawn_for", lambda dut: (dut.unit, HeldOperands()))
    places = {"a": {"port": "operands[0:31]", "lane0": "high"}, "b": {"port": "operands[32:63]", "lane0": "high"}}
    report = play(tmp_path, "comb", ports={**places, "result": "y"}, constants={"addend": 0})
    assert report.passed
    row = next(row for row in report.rows if row.suite == "dot random")
    left = {one.reason: one.cases for one in report.not_given(row)}
    assert left.keys() == {"they take more than one beat", "they take an addend other than +0"}
    assert row.planned + sum(left.values()) == 30
    assert report.figures.cases_left_out == sum(one.cases for one in report.left_out) > 30 - row.planned


ARRAYS = """module m (
  input logic [7:0] a [0:3], input logic [3:0][7:0] b, input logic [31:0] c, output logic [31:0] d [0:1]);
  dot4_core core (.a({a[3], a[2], a[1], a[0]}), .b(b), .c(c), .d(d[0]));
  assign d[1] = 32'd0;
endmodule
"""


def of_arrays(folder: Path) -> dict[str, Any]:
    (folder / "m.sv").write_text(ARRAYS)
    return {
        "sources": [str(folder / "m.sv"), str(DESIGNS / "dot4_core.v")],
        "top": "m",
        "ports": {"a": "a", "b": "b", "c": "c", "result": "d[0]"},
    }


def test_arrays_as_ports_are_wired_on_icarus(icarus: None, few: None, tmp_path: Path) -> None:
    assert play(tmp_path, "comb", **of_arrays(tmp_path)).passed


def test_arrays_that_icarus_does_not_take_are_refused_there(icarus: None, tmp_path: Path) -> None:
    changes = of_arrays(tmp_path)
    (tmp_path / "m.sv").write_text(ARRAYS.replace("input logic [7:0] a", "input bit [7:0] a"))
    said = r"dut\.yaml: Icarus takes no arrays of two-state words as ports \(a\); or --sim verilator"
    with pytest.raises(ValueError, match=said):
        play(tmp_path, "comb", **changes)


def test_sources_that_a_simulator_refuses_are_the_users(
    icarus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # slang knows final assertions; Icarus 11 does not.
    (tmp_path / "m.sv").write_text(
        "module dot4_comb(input [0:63] operands, input [0:31] addend, output [0:31] y);\n"
        "  assign y = 0;\n  always_comb assert final (addend == addend);\nendmodule\n"
    )
    path = variant(tmp_path, "comb", sources=["m.sv"])
    status = main(["cosim", "--dut", str(path), "--sim", "icarus", "--cases", "3", "-o", str(tmp_path / "run")])
    printed = capsys.readouterr()
    assert status == 2
    assert "no simulator that was asked for takes the design" in printed.err
    assert "m.sv" in printed.out


@pytest.mark.parametrize("sim", others_slow(["verilator", "icarus"], []))
def test_folders_may_have_any_names(request: pytest.FixtureRequest, few: None, tmp_path: Path, sim: str) -> None:
    request.getfixturevalue(sim)
    folder = tmp_path / "a $HOME, 'b' \"c\" (d); ü\\ #%20 ~"
    folder.mkdir()
    options = ["--sim", sim, "--seed", "1", "--cases", "60", "-o", str(folder / "run")]
    assert main(["cosim", "--dut", str(own_file(folder, OURS)), *options]) == 0


INTEGERS = """module four_products (input [31:0] a, input [31:0] b, output [31:0] y);
  wire signed [7:0] a0 = a[7:0], a1 = a[15:8], a2 = a[23:16], a3 = a[31:24];
  wire signed [7:0] b0 = b[7:0], b1 = b[15:8], b2 = b[23:16], b3 = b[31:24];
  wire signed [31:0] sum = a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3;
  assign y = sum;
endmodule
"""


@pytest.mark.usefixtures("few")
def test_a_beat_has_all_products_of_an_instruction_in_the_order_of_k(icarus: None, tmp_path: Path) -> None:
    four = odd_unit(
        "four", ("int8", "int8"), "none", exact_sum(), "i32", 2, k=4, chain="none", order=order(2, [1], [0]),
        rounding="rz", overflow="wrap",
    )  # fmt: skip
    (tmp_path / "four.yaml").write_text(as_yaml(four))
    (tmp_path / "four.v").write_text(INTEGERS)
    places = {"a": "a", "b": "b", "result": "y"}
    file = {"unit": "four.yaml", "sources": ["four.v"], "top": "four_products", "ports": places}
    (tmp_path / "dut.yaml").write_text(yaml.safe_dump(file | {"protocol": {"kind": "combinational"}}))
    made = dut_design(load_dut(tmp_path / "dut.yaml"))
    assert made.products == 4
    report = run(CosimOptions((made,), ("icarus",), SEED, 60, folder=tmp_path / "run", minimize=False))
    assert report.passed and sum(row.compared for row in report.rows) > 100


@pytest.mark.parametrize("cycles", others_slow([0, 1, 2], []))
def test_a_wrong_latency_shows_in_a_run_of_one_case(icarus: None, tmp_path: Path, cycles: int) -> None:
    (tmp_path / "unit.yaml").write_bytes((DESIGNS / "int8.yaml").read_bytes())
    (tmp_path / "behind.v").write_text(
        "module behind(input clk, input signed [7:0] a, b, output reg signed [31:0] y);\n"
        "  always @(posedge clk) y <= a * b;\nendmodule\n"
    )
    keys = f"unit: unit.yaml\nsources: [behind.v]\ntop: behind\nprotocol: {{kind: latency, cycles: {cycles}}}\n"
    (tmp_path / "dut.yaml").write_text(keys + "clock: clk\nports: {a: a, b: b, result: y}\n")
    made, asked = dut_design(load_dut(tmp_path / "dut.yaml")), AskedSuites(frozenset({SuiteKind.RANDOM}))
    report = run(CosimOptions((made,), ("icarus",), 1, 1, folder=tmp_path / "run", minimize=False, suites=asked))
    assert [row.planned for row in report.rows] == [1]
    assert report.passed == (cycles == 1)


# Right; an addend so far below the product is dropped; a product so far below the addend.
@pytest.mark.parametrize("fault", others_slow([{}, {"FAR": 24}, {"FAR": 38}, {"NEAR": 12}], [{"FAR": 38}]))
def test_a_multiply_add_that_drops_a_far_term_is_found(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, int]
) -> None:
    every = planning.directed
    deciding = [case for case in every(load_unit(DESIGNS / "f16-fma.yaml"), SEED) if case.id.startswith("decide/")]
    monkeypatch.setattr(planning, "directed", lambda *_: deciding)
    made = dut_design(load_dut(variant(tmp_path, "fma-far", parameters={"FAR": 0, "NEAR": 0} | fault)))
    asked, folder = AskedSuites(frozenset({SuiteKind.DIRECTED})), tmp_path / "run"
    report = run(CosimOptions((made,), ("icarus",), SEED, folder=folder, minimize=False, suites=asked, coverage=False))
    assert report.passed == (not fault)
    assert report.rows[0].planned == len(deciding) > 150
