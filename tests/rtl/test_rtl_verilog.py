"""The file that is written: silent under lint, the same bytes every time, the model's bits in the model's cycles."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from amaranth.hdl import Array, Cat, Module, Mux, signed
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import Simulator
from built_presets import BUILDABLE, DISTINCT, one_of_each_family, others_slow
from cosim.mutants import HOPPER, of_lanes
from cosim.plays import played, stream
from odd_units import IN_RTL, units_of
from odd_units import unit as odd
from representatives import with_every_rule
from said_of_verilog import said_of
from unit_keys import odd_unit, window

import hwsim
from hwsim.cases.random_cases import random_cases
from hwsim.cli import main
from hwsim.cosim.bench import PortMap, port_map
from hwsim.cosim.build import bulk_build, find_icarus
from hwsim.cosim.design import FULL, Play, Suite, Traffic
from hwsim.cosim.play import BulkUnit
from hwsim.cosim.unitdesign import unit_design
from hwsim.quantize import get_rule
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.rtl import (
    PLAIN,
    BlockDequantizer,
    BlockQuantizer,
    Converter,
    DotUnit,
    StreamedDatapath,
    Style,
    convert,
    stream_verilog,
    top_name,
    verilog,
)
from hwsim.rtl.converter import Conversion
from hwsim.rtl.hierarchy.expressions import pieces
from hwsim.rtl.hierarchy.modules import modules
from hwsim.spec import NotImplementedYet, Pipeline, Unit, as_yaml, load_unit, pipeline, presets, steps

ODD = units_of(IN_RTL)
TINY, PROMOTED, FEW = odd("tiny"), odd("tiny-promoted"), of_lanes(HOPPER, 2)
WIDE = odd_unit("wide-64", "e2m1", "f32", window(13), "e8m13", 64, rounding="rz")
STYLES = {
    f"{kind}{' low' * low}{' enable' * enable}": Style(reset=kind, reset_low=low, clock_enable=enable, package=low)
    for kind, low, enable in product(("sync", "async"), (False, True), (False, True))
}

DESIGNS: dict[str, tuple[Unit, Pipeline, Style]] = {
    **{name: (load_unit(name), pipeline(load_unit(name)), PLAIN) for name in DISTINCT},
    **{name: (unit, pipeline(unit), PLAIN) for name, unit in ODD.items()},
    "64 lanes": (WIDE, pipeline(WIDE, cuts=("multiply", "maximum.3", "sum.2")), PLAIN),
    **{f"{contexts} contexts": (TINY, pipeline(TINY, contexts=contexts), PLAIN) for contexts in (1, 3, 8)},
    "every cut": (PROMOTED, pipeline(PROMOTED, cuts=steps(PROMOTED)), PLAIN),
    "one register": (PROMOTED, pipeline(PROMOTED, cuts=()), PLAIN),
    "trees": (
        ODD["floor-to-f16"],
        pipeline(ODD["floor-to-f16"], cuts=("maximum.2", "distance", "sum.3"), contexts=5),
        PLAIN,
    ),
    "few lanes": (FEW, pipeline(FEW), PLAIN),
    "registered ready": (FEW, pipeline(FEW, register_ready=True), PLAIN),
    **{name: (FEW, pipeline(FEW), style) for name, style in STYLES.items() if name != "sync"},
    "promoted, low enable": (PROMOTED, pipeline(PROMOTED, register_ready=True), STYLES["async low enable"]),
}
# Every pipeline and style, and units with every rule.
BUILT = [name for name in DESIGNS if name not in DISTINCT and name not in ODD]
BUILT += [*with_every_rule(DISTINCT), *with_every_rule(ODD, DISTINCT)]
LINTED = ["blocks-in-a-beat", "registered ready", "async low enable"]


def ports_of(text: str) -> dict[str, tuple[str, str]]:
    """Direction and type of every port of the first module."""
    declared = text[re.search(r"^module ", text, re.MULTILINE).start() :].partition(");")[0]  # type: ignore[union-attr]
    return {name: (way, kind) for way, kind, name in re.findall(r"^  (input|output) +(.*\S) +(\w+),?$", declared, re.M)}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(DESIGNS, LINTED, BUILT))
def test_tools_take_the_modules_in_silence(verilator: None, icarus: None, name: str, tmp_path: Path) -> None:
    unit, built, style = DESIGNS[name]
    text, top = verilog(unit, built, style), top_name(unit)
    found = re.findall(r"^module (\w+)", text, re.MULTILINE)
    assert found[0] == top and len(set(found)) == len(found) > 4 and all(each.startswith(top) for each in found)
    for trace in ("(*", "src =", ".py", "site-packages", str(Path.home()), os.getcwd(), "/tmp"):
        assert trace not in text
    file = tmp_path / f"{top}.sv"
    file.write_text(text)
    assert said_of(file) == [(0, ""), (0, "")]
    file.write_text(text.replace("endmodule", "  wire [7:0] wide = clk + 4'd1;\nendmodule", 1))
    assert said_of(file)[0][0] == 1  # the lint can complain


def block(name: str) -> BlockQuantization:
    return BlockQuantization(rule=get_rule(name), source="f32", lanes=4, name=name)  # type: ignore[arg-type]


STREAMS: dict[str, Callable[[], StreamedDatapath]] = {
    "stochastic": lambda: Converter(Conversion(source="f32", target="tf32", rounding="stochastic", random_bits=9)),
    "quantizer": lambda: BlockQuantizer(block("mxfp4-e2m1")),
    "divided": lambda: BlockQuantizer(block("nvfp4")),
    "dequantizer": lambda: BlockDequantizer(BlockDequantization.of(block("nvfp4"))),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(list(STREAMS), ["stochastic"]))
def test_tools_take_streams_in_silence(verilator: None, icarus: None, name: str, tmp_path: Path) -> None:
    text = stream_verilog(STREAMS[name]())
    top = re.findall(r"^module (\w+)", text, re.MULTILINE)[0]
    file = tmp_path / f"{top}.sv"
    file.write_text(text)
    assert said_of(file) == [(0, ""), (0, "")]
    made = modules(STREAMS[name](), "top")
    assert len(made.made_up) / made.nets < 0.02, made.made_up


def test_ports_are_the_fields_of_beats_and_results() -> None:
    unit = ODD["blocks-in-a-beat"]  # 4 lanes of 4 bits; a block of 2 lanes of a and one of 8 of b
    built = pipeline(unit, cuts=("sum",), contexts=3)
    assert ports_of(verilog(unit, built)) == {
        "clk": ("input", "logic"),
        "rst": ("input", "logic"),
        "in_valid": ("input", "logic"),
        "in_ready": ("output", "logic"),
        "in_a": ("input", "logic [3:0][3:0]"),
        "in_b": ("input", "logic [3:0][3:0]"),
        "in_scale_a": ("input", "logic [1:0][7:0]"),
        "in_scale_b": ("input", "logic [0:0][7:0]"),
        "in_c": ("input", "logic [31:0]"),
        "in_first": ("input", "logic"),
        "in_last": ("input", "logic"),
        "in_context": ("input", "logic [1:0]"),
        "out_valid": ("output", "logic"),
        "out_ready": ("input", "logic"),
        "out_result": ("output", "logic [15:0]"),
        "out_context": ("output", "logic [1:0]"),
        "misuse": ("output", "logic"),
    }
    text = verilog(FEW, pipeline(FEW), Style(reset_low=True, clock_enable=True, package=True))
    assert ports_of(text) == {
        "clk": ("input", "logic"),
        "rst_n": ("input", "logic"),
        "clk_en": ("input", "logic"),
        "in_valid": ("input", "logic"),
        "in_ready": ("output", "logic"),
        "in_payload": ("input", "beat_t"),
        "out_valid": ("output", "logic"),
        "out_ready": ("input", "logic"),
        "out_payload": ("output", "result_t"),
        "misuse": ("output", "logic"),
    }
    fields = re.findall(r"^    logic ?(\S*) (\w+);$", text[: text.index("} beat_t;")], re.MULTILINE)
    assert fields == [
        ("[1:0]", "context_id"), ("", "last"), ("", "first"), ("[31:0]", "c"), ("[1:0][7:0]", "b"), ("[1:0][7:0]", "a"),
    ]  # fmt: skip


def test_lane_0_is_in_the_low_bits() -> None:
    unit = ODD["jam-5-lanes-f16"]
    ports = port_map(unit, pipeline(unit))
    a, b = ports.input.fields[:2]
    assert (a.offset, a.bits, a.count, b.offset, a.port) == (0, 8, 5, 40, "in_a")
    assert a.place([1, 2, 3, 4, 5]) == 0x0504030201


DIGESTS = """
import hashlib
from odd_units import unit
from hwsim.rtl import verilog
from hwsim.spec import pipeline
names = ("jam-5-lanes-f16", "blocks-in-a-beat", "tiny-promoted")
texts = [verilog(unit(name), pipeline(unit(name))) for name in names]
digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
"""


def test_the_bytes_are_the_same_in_every_process(tmp_path: Path) -> None:
    # Here, and with other hashes of texts in another folder.
    other = subprocess.Popen(
        [sys.executable, "-c", f"{DIGESTS}print(digests)"],
        env={**os.environ, "PYTHONHASHSEED": "20", "PYTHONPATH": str(Path(__file__).parents[1])},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    here: dict[str, list[str]] = {}
    exec(DIGESTS, here)
    assert other.communicate()[0] == f"{here['digests']}\n"
    assert (other.returncode, len(set(here["digests"]))) == (0, 3)


def test_another_pipeline_or_specification_is_other_verilog() -> None:
    usual = verilog(TINY, pipeline(TINY))
    assert usual == verilog(TINY, pipeline(TINY))
    assert usual != verilog(TINY, pipeline(TINY, cuts=("sum",), contexts=4))


def test_the_header_says_what_was_built(tmp_path: Path) -> None:
    unit, style = ODD["promoted-scaled"], Style(reset="async", reset_low=True, clock_enable=True)
    text = verilog(unit, pipeline(unit, cuts=("sum",), contexts=3, register_ready=True), style)
    comment = [line.removeprefix("//").removeprefix(" ") for line in text.splitlines() if line.startswith("//")]
    gap = comment.index("")
    assert comment[:gap] == [
        f"promoted-scaled: a dot-product unit, generated by hwsim {hwsim.__version__}. Do not edit.",
        "SPDX-License-Identifier: Apache-2.0",
        "options: --cuts sum,promote --contexts 3 --register-ready --reset async-low --clock-enable",
        "latency: 2",
    ]
    file = tmp_path / "unit.yaml"
    file.write_text("\n".join(comment[gap + 1 : comment.index("verilator lint_off DECLFILENAME")]))
    assert load_unit(file) == unit


def test_names_are_made_of_what_verilog_allows() -> None:
    assert top_name(odd_unit("a.b-c_d", "e4m3", "f32", window(13), "e8m13")) == "a_b_c_d"
    assert {top_name(load_unit(name)) for name in presets()} == {name.replace("-", "_") for name in presets()}


@pytest.mark.parametrize("name", others_slow(["4x4", "module", "reg", "endmodule"], ["4x4", "reg"]))
def test_a_name_that_verilog_does_not_allow(verilator: None, icarus: None, name: str, tmp_path: Path) -> None:
    unit = odd_unit(name, "e2m1", "f16", window(13), "e8m13", 1, rounding="rz")
    file = tmp_path / f"{top_name(unit)}.sv"
    file.write_text(verilog(unit, pipeline(unit)))
    assert said_of(file) == [(0, ""), (0, "")]


def test_what_no_implementation_has_is_refused_by_name() -> None:
    unit = odd_unit("unsigned", ("ue4m3", "e4m3"), "f32", window(13), "f32", 2)
    for build in (lambda: verilog(unit, pipeline(unit)), lambda: DotUnit(unit, pipeline(unit))):
        with pytest.raises(NotImplementedYet, match="unit unsigned: unsigned factors is not implemented yet"):
            build()
    assert issubclass(NotImplementedYet, ValueError)
    assert hwsim.NotImplementedYet is NotImplementedYet


# What a reader meets.


def test_a_file_has_a_module_a_step_and_lanes_as_instances() -> None:
    unit = of_lanes(HOPPER, 4)
    text, top = verilog(unit, pipeline(unit)), top_name(unit)
    for step in ("decode", "multiply", "maximum", "distance", "align", "sum", "magnitude", "normalize", "round"):
        assert f"module {top}_{step} (" in text
    assert re.search(rf"for \(genvar i = 0; i < 4; i\+\+\) begin : g_lane\n +{top}_multiply_lane u_lane \(", text)
    assert "$" not in re.sub(r"\$(un)?signed", "", text[text.index("module ") :])


FAMILIES = one_of_each_family(BUILDABLE)


@pytest.mark.parametrize(
    "name", others_slow(FAMILIES, ["sequential-e4m3-f16", "volta-mma-f16-f16"], with_every_rule(FAMILIES))
)
def test_few_nets_of_any_family_have_no_name_in_the_source(name: str) -> None:
    unit = load_unit(name)
    made = modules(DotUnit(unit, pipeline(unit)), top_name(unit))
    assert len(made.made_up) / made.nets < 0.02, made.made_up


def test_statements_that_differ_in_indices_alone_become_a_loop() -> None:
    lines = [f"assign x[\x01{at}\x02] = y[\x01{2 * at + 1}\x02];" for at in range(4)]
    assert pieces(lines) == [(0, "assign x[i] = y[2 * i + 1];", 4)]
    # One that goes on otherwise stands by itself.
    lines[3] = lines[3].replace("7", "6")
    assert [count for _, _, count in pieces(lines)] == [3, 1]
    # From the top down.
    down = [f"assign x[\x01{at}\x02] = y[\x01{9 - 2 * at}\x02];" for at in range(3)]
    assert pieces(down) == [(0, "assign x[i] = y[9 - 2 * i];", 3)]


def test_a_registered_ready_depends_on_no_input() -> None:
    text = verilog(FEW, pipeline(FEW, register_ready=True))
    entry = text[text.index(f"module {top_name(FEW)}_entry (") :].partition("endmodule")[0]
    assert re.findall(r"assign entering_ready = (.*);", entry) == ["~full"]
    assert ".entering_ready(in_ready)" in text


class Operations(Component):
    """Every operation, on operands of other widths and signs than what it gives."""

    MADE = (
        lambda a, b, s: a + b,
        lambda a, b, s: a - s,
        lambda a, b, s: s * b,
        lambda a, b, s: -s,
        lambda a, b, s: ~a ^ s,
        lambda a, b, s: a & s | b,
        lambda a, b, s: s < a.as_signed(),
        lambda a, b, s: a >= b,
        lambda a, b, s: a == s,
        lambda a, b, s: a != b,
        lambda a, b, s: a << b,
        lambda a, b, s: s >> b,
        lambda a, b, s: a >> 1,
        lambda a, b, s: Mux(b[0], s, a),
        lambda a, b, s: Cat(a.any(), a.all(), a.xor(), b.any()),
        lambda a, b, s: Array([a, b, s, a + 1])[b],
    )

    def __init__(self) -> None:
        outputs = {f"o_{at:02}": Out(signed(9)) for at in range(len(self.MADE))}
        super().__init__({"a": In(3), "b": In(2), "s": In(signed(3)), **outputs})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for at, made in enumerate(self.MADE):
            m.d.comb += getattr(self, f"o_{at:02}").eq(made(self.a, self.b, self.s))
        return m


@pytest.mark.simulator
def test_every_operation_is_written_as_amaranth_simulates_it(verilator: None, icarus: None, tmp_path: Path) -> None:
    component, wanted = Operations(), list[str]()
    outputs = [name for name in component.signature.members if name.startswith("o_")]

    async def bench(ctx: object) -> None:
        for number in range(256):
            for name, low, bits in (("a", 0, 3), ("b", 3, 2), ("s", 5, 3)):
                value = number >> low & (1 << bits) - 1
                ctx.set(getattr(component, name), value - 8 * (name == "s" and value > 3))  # type: ignore[attr-defined]
            wanted.append(" ".join(str(ctx.get(getattr(component, name))) for name in outputs))  # type: ignore[attr-defined]

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    pins = ", ".join(f".{name}({name})" for name in outputs)
    shown = ", ".join(f"$signed({name})" for name in outputs)
    text = convert(Operations(), "operations") + (
        f"module bench; reg [7:0] n; wire [8:0] {', '.join(outputs)}; integer at;\n"
        f"operations dut (.a(n[2:0]), .b(n[4:3]), .s(n[7:5]), {pins});\n"
        "initial for (at = 0; at < 256; at = at + 1) begin n = at; #1 "
        f'$display("{" ".join(["%0d"] * len(outputs))}", {shown}); end\nendmodule\n'
    )
    file, program = tmp_path / "operations.sv", tmp_path / "program"
    file.write_text(convert(Operations(), "operations"))
    assert said_of(file) == [(0, ""), (0, "")]
    file.write_text(text)
    subprocess.run([find_icarus(), "-g2012", "-s", "bench", "-o", str(program), str(file)], check=True)
    run = [find_icarus().replace("iverilog", "vvp"), str(program)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines() == wanted


# What it does.


def plays_of(name: str) -> tuple[str, PortMap, list[Play]]:
    """A design's Verilog, its ports, and suites of it."""
    unit, built, style = DESIGNS[name]
    design = unit_design(unit, built, style=style)
    suites = [
        Suite("full", tuple(random_cases(unit, 150, 22)), None, FULL, False, False),
        Suite("gaps", tuple(random_cases(unit, 50, 23)), None, Traffic(0.7, 0.6, bursts=True), True, False),
        Suite("resets", tuple(random_cases(unit, 10, 24)), None, FULL, False, True),
    ]
    return design.verilog, design.ports, [design.play(suite, stream()) for suite in suites]


def counts(text: str, ports: PortMap, plays: list[Play]) -> Iterator[tuple[int, int]]:
    with BulkUnit(bulk_build(text, ports), ports) as device:
        for play in plays:
            outcome = played(device, play)
            yield outcome.count, play.script.planned - outcome.results


PLAYED = ["promoted, low enable"]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(DESIGNS, PLAYED, BUILT))
def test_the_file_has_the_models_bits_in_the_models_cycles(verilator: None, name: str) -> None:
    text, ports, plays = plays_of(name)
    assert list(counts(text, ports, plays)) == [(0, 0)] * 3


MUTANTS = {
    "lane": ("few lanes", ".a_sign(a_sign[i])", ".a_sign(b_sign[i])"),
    "enable of the datapath": ("few lanes", "if (enable)", "if (~enable)"),
    "context": ("few lanes", "carried[1] <= ", "carried[2] <= "),
    "buffer overwritten": ("registered ready", "if (entering_ready) begin", "if (1) begin"),
    "buffer forgotten": ("registered ready", "leaving_valid & ~leaving_ready", "1'b0"),
    "clock enable ignored": ("sync enable", "if (clk_en) begin\n      if (accept)", "if (1) begin\n      if (accept)"),
    "clock enable not passed on": ("sync enable", ".clk_en(clk_en)", ".clk_en(1'b1)"),
    "reset ignored": ("sync low", "      valid4 <= 1'b0;\n", ""),
    "other level": ("async low", "!rst_n", "rst_n"),
    "reset that waits for the clock enable": ("sync enable", "if (rst) begin", "if (rst & clk_en) begin"),
    "fields exchanged": ("sync low", "in_payload.first", "in_payload.last"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("kind", others_slow(list(MUTANTS), ["clock enable ignored"]))
def test_a_file_that_is_wrong_is_found(verilator: None, kind: str) -> None:
    name, old, new = MUTANTS[kind]
    text, ports, plays = plays_of(name)
    assert old in text
    assert any(wrong for wrong, _ in counts(text.replace(old, new), ports, plays))


RESET_AT_ONCE = """
module bench;
  reg clk = 0, rst = 1;
  wire waits;
  {top} dut (.clk(clk), .rst(rst), .in_valid(1'b1), .in_ready(), .in_a(16'd0), .in_b(16'd0), .in_c(32'd0),
    .in_first(1'b1), .in_last(1'b1), .in_context(2'd0), .out_valid(waits), .out_ready(1'b0), .out_result(),
    .out_context(), .misuse());
  initial begin
    repeat (10) begin #5 clk = 1; #5 clk = 0; rst = 0; end
    $write("%b", waits);
    #1 rst = 1;
    #1 $display("%b", waits);
  end
endmodule
"""


@pytest.mark.simulator
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_reset_acts_at_the_edge_or_at_once(icarus: None, kind: str, tmp_path: Path) -> None:
    file, program = tmp_path / "bench.sv", tmp_path / "program"
    file.write_text(verilog(FEW, pipeline(FEW), STYLES[kind]) + RESET_AT_ONCE.format(top=top_name(FEW)))
    subprocess.run([find_icarus(), "-g2012", "-s", "bench", "-o", str(program), str(file)], check=True)
    run = [find_icarus().replace("iverilog", "vvp"), str(program)]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert said == {"sync": "11\n", "async": "10\n"}[kind]


@pytest.mark.simulator
def test_the_command_plays_the_file_that_it_is_asked_for(icarus: None, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(as_yaml(TINY))
    asked = ["--register-ready", "--reset", "async-low", "--clock-enable", "--package"]
    words = ["cosim", str(tmp_path / "tiny.yaml"), *asked, "--sim", "icarus", "--suite", "gaps", "--cases", "10"]
    assert main([*words, "--seed", "1", "-o", str(tmp_path / "out")]) == 0
    report = json.loads((tmp_path / "out" / "results.json").read_text())
    assert not report["mismatches"] and " ".join(asked) in report["command"].replace("  ", " ")
