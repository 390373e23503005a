"""Reset, clock enable and types of ports: the same bits, in the cycles in which the clock counts."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from built_presets import others_slow
from cosim.mutants import HOPPER, of_lanes
from cosim.plays import played, recorded
from odd_units import unit as odd
from said_of_verilog import said_of

from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import port_map
from hwsim.cosim.build import bulk_build
from hwsim.cosim.design import Traffic
from hwsim.cosim.play import BulkUnit
from hwsim.cosim.tools import find_icarus
from hwsim.rtl import Style, modular_verilog, top_name, typed, verilog
from hwsim.spec import Unit, pipeline

FEW = of_lanes(HOPPER, 2)
STYLES = {
    f"{kind}{' low' * low}{' enable' * enable}": Style(reset=kind, reset_low=low, clock_enable=enable)
    for kind, low, enable in product(("sync", "async"), (False, True), (False, True))
}

# The flat module, whose clock stands still where the other's enable is low, beside that one.
BENCH = """
module bench;
  reg clk = 0, rst = 1, en = 1, i_valid = 0, o_ready = 0;
  reg [{i}:0] i_payload = 0;
  wire ready, other_ready, valid, other_valid, misuse, other_misuse;
  wire [{o}:0] result, other_result;
  integer cycle, seed = 7, wrong = 0, taken = 0, stopped = 0;
  {top} base (
    .clk(clk & (en | rst)), .rst(rst), .i__valid(i_valid), .i__ready(ready), .i__payload(i_payload),
    .o__valid(valid), .o__ready(o_ready), .o__payload(result), .misuse(misuse));
  styled dut (
    .clk(clk), {reset}, {enable} .i__valid(i_valid), .i__ready(other_ready), .i__payload(i_payload),
    .o__valid(other_valid), .o__ready(o_ready), .o__payload(other_result), .misuse(other_misuse));
  task edge_of_clock; begin #5 clk = 1; #5 clk = 0; end endtask
  initial begin
    for (cycle = 0; cycle < 1200; cycle = cycle + 1) begin
      rst = cycle < 2 || cycle % 300 == 299;
      en = !{stops} || $urandom(seed) % 3 != 0;
      i_valid = $urandom(seed) % 4 != 0;
      o_ready = $urandom(seed) % 4 != 0;
      i_payload = {{{words}{{$urandom(seed)}}}};
      // After a reset every context begins with a beat that opens a sum: no other is promised anything.
      if (cycle % 300 < 150 || cycle == 299) i_payload[{first}] = 1;
      #1 if (!rst) begin
        wrong = wrong + (valid !== other_valid || (valid && result !== other_result) || misuse !== other_misuse);
        wrong = wrong + (i_valid && ready !== other_ready);
        taken = taken + (valid && o_ready && en);
        stopped = stopped + !en;
      end
      edge_of_clock;
    end
    // A reset between two edges of the clock, while a result waits.
    rst = 1; en = 1; edge_of_clock;
    rst = 0; i_valid = 1; o_ready = 0; i_payload = 0; i_payload[{first}] = 1; i_payload[{last}] = 1;
    repeat (10) edge_of_clock;
    $write("%0d wrong, %0d taken, %0d stopped, waits %0d, ", wrong, taken, stopped, other_valid);
    #1 rst = 1;
    #1 $display("after reset %0d", other_valid);
  end
endmodule
"""


def simulated(unit: Unit, style: Style, text: str, tmp_path: Path) -> tuple[int, ...]:
    """What the bench counts of modules: wrong, taken, stopped; whether a result waits before a reset and after it."""
    built, top = pipeline(unit), top_name(unit)
    ports = port_map(unit, built)
    offsets = {field.name: field.offset for field in ports.input.fields}
    bench = BENCH.format(
        top=top,
        i=ports.input.width - 1,
        o=ports.output.width - 1,
        words=ports.input.words,
        reset=".rst_n(~rst)" if style.reset_low else ".rst(rst)",
        enable=".clk_en(en)," if style.clock_enable else "",
        stops=int(style.clock_enable),
        first=offsets["first"],
        last=offsets["last"],
    )
    file, program = tmp_path / "bench.sv", tmp_path / "bench.vvp"
    file.write_text(verilog(unit, built) + re.sub(rf"\b{top}(?=_|\b)", "styled", text) + bench)
    subprocess.run([find_icarus(), "-g2012", "-s", "bench", "-o", str(program), str(file)], check=True)
    done = subprocess.run(
        [find_icarus().replace("iverilog", "vvp"), str(program)], capture_output=True, text=True, check=True
    )
    return tuple(map(int, re.findall(r"\d+", done.stdout)))


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(list(STYLES), ["sync enable", "async low", "async low enable"]))
def test_a_style_has_the_bits_of_the_flat_module_in_the_cycles_that_count(
    icarus: None, name: str, tmp_path: Path
) -> None:
    style = STYLES[name]
    wrong, taken, stopped, waits, after = simulated(FEW, style, modular_verilog(FEW, pipeline(FEW), style), tmp_path)
    assert (wrong, waits, after) == (0, 1, int(style.reset == "sync"))
    assert taken > 100 and (stopped > 200) == style.clock_enable


MUTANTS = {
    "enable ignored": ("if (clk_en) begin\n      if (accept)", "if (1) begin\n      if (accept)"),
    "reset ignored": ("      valid4 <= 1'b0;\n", ""),
    "other level": ("!rst_n", "rst_n"),
    "enable of the datapath": (".clk_en(clk_en)", ".clk_en(1'b1)"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("kind", others_slow(list(MUTANTS), ["enable of the datapath", "reset ignored"]))
def test_a_style_that_is_wrong_is_found(icarus: None, kind: str, tmp_path: Path) -> None:
    style = Style(reset_low=True, clock_enable=True)
    text = modular_verilog(FEW, pipeline(FEW), style)
    old, new = MUTANTS[kind]
    assert old in text
    assert simulated(FEW, style, text.replace(old, new), tmp_path)[0] > 0


@pytest.mark.simulator
def test_ports_of_a_packages_types_are_taken_in_silence_and_are_the_same_bits(
    verilator: None, icarus: None, tmp_path: Path
) -> None:
    built = pipeline(FEW)
    text = modular_verilog(FEW, built, typed(Style(), FEW, built))
    file = tmp_path / "f.sv"
    file.write_text(text)
    assert said_of(file) == [(0, ""), (0, "")]
    assert "assign payload_first = i__payload.first;" in text
    fields = re.findall(r"^    logic ?(\S*) (\w+);$", text[: text.index("} beat_t;")], re.MULTILINE)
    assert fields == [
        ("[1:0]", "context_id"), ("", "last"), ("", "first"), ("[31:0]", "c"), ("[1:0][7:0]", "b"), ("[1:0][7:0]", "a"),
    ]  # fmt: skip
    assert simulated(FEW, Style(), text.replace("i__payload.first", "i__payload.last"), tmp_path)[0] > 0
    assert simulated(FEW, Style(), text, tmp_path)[0] == 0


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(["few lanes", "promoted"], ["few lanes"]))
def test_a_registered_ready_is_that_of_the_model_in_every_cycle(verilator: None, name: str) -> None:
    unit = {"few lanes": FEW, "promoted": odd("tiny-promoted")}[name]
    built = pipeline(unit, register_ready=True)
    ports = port_map(unit, built)
    plays = [
        recorded(unit, built, random_cases(unit, 100, 22)),
        recorded(unit, built, random_cases(unit, 60, 23), Traffic(0.7, 0.6, bursts=True), shuffled=True),
    ]
    text = modular_verilog(unit, built)
    with BulkUnit(bulk_build(text, ports), ports) as device:
        for play in plays:
            outcome = played(device, play)
            assert outcome.mismatches == [] and outcome.results == play.script.planned > 0
    # What is kept is overwritten, or forgotten.
    for old, new in (("if (entering_ready) begin", "if (1) begin"), ("leaving_valid & ~leaving_ready", "1'b0")):
        assert old in text
        with BulkUnit(bulk_build(text.replace(old, new), ports), ports) as device:
            assert any(played(device, play).count for play in plays)


def test_a_registered_ready_depends_on_no_input() -> None:
    text = modular_verilog(FEW, pipeline(FEW, register_ready=True))
    entry = text[text.index(f"module {top_name(FEW)}_entry (") :].partition("endmodule")[0]
    assert re.findall(r"assign entering_ready = (.*);", entry) == ["~full"]
    assert ".entering_ready(i__ready)" in text
