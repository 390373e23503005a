"""Verilog of several modules: taken by tools in silence, with the model's bits in the model's cycles, and proved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out
from built_presets import BUILDABLE, DISTINCT, one_of_each_family, others_slow
from cosim.mutants import DEEPSEEK, HOPPER, of_lanes
from cosim.plays import played, recorded
from odd_units import unit as odd
from said_of_verilog import said_of
from unit_keys import odd_unit, promoted, window

from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import port_map
from hwsim.cosim.build import bulk_build
from hwsim.cosim.design import Traffic
from hwsim.cosim.play import BulkUnit
from hwsim.prove.readback import readback_claims
from hwsim.rtl import DotUnit, beat_layout, modular_verilog, top_name
from hwsim.rtl.hierarchy.loops import pieces
from hwsim.rtl.hierarchy.modules import modules
from hwsim.spec import Pipeline, Unit, load_unit, pipeline

FEW = of_lanes(HOPPER, 2)
UNITS = {
    "hopper": load_unit(HOPPER),
    "deepseek": load_unit(DEEPSEEK),
    "mxfp8": load_unit("mxfp8-e4m3-f32"),
    "sequential": load_unit("sequential-e4m3-f16"),
    "pairwise": load_unit("cdna2-mfma-bf16-f32"),
    "even-odd": load_unit("cdna3-mfma-e4m3fnuz-f32"),
    "hfp8": load_unit("hfp8-forward-e4m3-dlfloat16"),
    "late": load_unit("blackwell-mma-e4m3-f32"),
    "promoted": odd("tiny-promoted"),
    "scaled": odd("promoted-scaled"),
    "few lanes": FEW,
    **{name: load_unit(name) for name in DISTINCT},
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(list(UNITS), ["promoted", "few lanes", "sequential"]))
def test_tools_take_the_modules_in_silence(verilator: None, icarus: None, name: str, tmp_path: Path) -> None:
    unit = UNITS[name]
    text = modular_verilog(unit, pipeline(unit))
    top = top_name(unit)
    found = re.findall(r"^module (\w+)", text, re.MULTILINE)
    assert found[0] == top and len(set(found)) == len(found) > 8
    assert all(module.startswith(top) for module in found)
    file = tmp_path / f"{top}.sv"
    file.write_text(text)
    assert said_of(file) == [(0, ""), (0, "")]
    file.write_text(text.replace("endmodule", "  wire [7:0] wide = clk + 4'd1;\nendmodule", 1))
    assert said_of(file)[0][0] == 1  # the lint can complain


def test_a_file_has_a_module_a_step_lanes_as_instances_and_few_nets_without_a_name() -> None:
    unit = UNITS["hopper"]
    built = pipeline(unit)
    text, top = modular_verilog(unit, built), top_name(unit)
    for step in ("decode", "multiply", "maximum", "distance", "align", "sum", "magnitude", "normalize", "round"):
        assert f"module {top}_{step} (" in text
    assert re.search(rf"for \(genvar i = 0; i < 32; i\+\+\) begin : g_lane\n +{top}_multiply_lane u_lane \(", text)
    ports = text[text.index(f"module {top} (") :].partition(");")[0]
    assert re.findall(r"\w+(?=,|\n$)", ports) == [
        "clk", "rst", "i__valid", "i__ready", "i__payload", "o__valid", "o__ready", "o__payload", "misuse"
    ]  # fmt: skip
    assert f"[{beat_layout(unit, built).size - 1}:0] i__payload" in ports
    assert "$" not in re.sub(r"\$(un)?signed", "", text[text.index("module ") :])
    made = modules(DotUnit(unit, built), top)
    assert len(made.made_up) / made.nets < 0.02
    assert text == modular_verilog(unit, built)


FAMILIES = one_of_each_family(BUILDABLE)


@pytest.mark.parametrize("name", others_slow(FAMILIES, ["sequential-e4m3-f16", "volta-mma-f16-f16"]))
def test_few_nets_of_any_family_have_no_name_in_the_source(name: str) -> None:
    unit = load_unit(name)
    made = modules(DotUnit(unit, pipeline(unit)), top_name(unit))
    assert len(made.made_up) / made.nets < 0.02, made.made_up


def test_an_expression_that_is_read_twice_and_has_no_name_is_counted() -> None:
    class Unnamed(Component):
        def __init__(self) -> None:
            super().__init__({"a": In(8), "b": In(8), "o": Out(16)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            total = self.a + self.b
            m.d.comb += self.o.eq(total * (total ^ 5))
            return m

    made = modules(Unnamed(), "top")
    assert made.made_up == ("top.sum",) and made.nets == 4


def test_statements_that_differ_in_indices_alone_become_a_loop() -> None:
    lines = [f"assign x[\x01{at}\x02] = y[\x01{2 * at + 1}\x02];" for at in range(4)]
    assert pieces(lines) == [(0, "assign x[i] = y[2 * i + 1];", 4)]
    # One that goes on otherwise stands by itself.
    lines[3] = lines[3].replace("7", "6")
    assert [count for _, _, count in pieces(lines)] == [3, 1]
    # From the top down.
    down = [f"assign x[\x01{at}\x02] = y[\x01{9 - 2 * at}\x02];" for at in range(3)]
    assert pieces(down) == [(0, "assign x[i] = y[9 - 2 * i];", 3)]


def test_registers_of_contexts_are_read_and_written_by_their_number() -> None:
    few = modular_verilog(FEW, pipeline(FEW))  # four contexts
    assert "carried_code = chain ? carried[payload_context] : 22'd0;" in few
    assert "carried[flight3_context] <= datapath_next_code;" in few
    # Of three, no fourth may be read: the model has the last one there.
    three = modular_verilog(FEW, pipeline(FEW, contexts=3))
    assert "carried[payload_context]" not in three and "carried[flight3_context] <= " in three


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(list(UNITS), ["few lanes", "promoted"]))
def test_the_modules_return_the_models_bits_in_the_models_cycles(verilator: None, name: str) -> None:
    unit = UNITS[name]
    built = pipeline(unit)
    ports = port_map(unit, built)
    with BulkUnit(bulk_build(modular_verilog(unit, built), ports), ports) as device:
        for play in (
            recorded(unit, built, random_cases(unit, 200, 22)),
            recorded(unit, built, random_cases(unit, 60, 23), Traffic(0.7, 0.6, bursts=True), shuffled=True),
        ):
            outcome = played(device, play)
            assert outcome.mismatches == []
            assert outcome.results == play.script.planned > 0


def words(unit: Unit, built: Pipeline, text: str, seconds: float = 60.0) -> dict[str, str]:
    return {claim.name: claim.decide(seconds).word for claim in readback_claims(unit, built, text)}


PROVED = ["few lanes", "promoted", "hopper", *one_of_each_family(DISTINCT)]


@pytest.mark.parametrize("name", others_slow(PROVED, ["few lanes"]))
def test_the_modules_are_proved(name: str) -> None:
    demand_proof(UNITS[name], pipeline(UNITS[name]))


def test_modules_with_a_register_of_promotion_are_proved() -> None:
    small = odd_unit("promoted-e5m2", "e2m1", "e5m2", window(5), "e5m2", 2, **promoted(4, "e5m2"))
    demand_proof(small, pipeline(small, ("multiply",)))


def demand_proof(unit: Unit, built: Pipeline) -> None:
    found = words(unit, built, modular_verilog(unit, built), seconds=600.0)
    assert len(found) >= 13 and set(found.values()) == {"proved"}


MUTANTS = {
    "lane": (".a_sign(a_sign[i])", ".a_sign(b_sign[i])"),
    "product": ("a_sig & {4{b_sig[i]}}", "a_sig | {4{b_sig[i]}}"),
    "shift": (" >> ", " << "),
    "enable": ("if (enable)", "if (~enable)"),
    "context": ("carried[flight3_context] <= ", "carried[~flight3_context] <= "),
    "reset": ("valid1 <= 1'b0", "valid1 <= 1'b1"),
}


def test_every_change_of_a_module_changes_it() -> None:
    text = modular_verilog(FEW, pipeline(FEW))
    assert [kind for kind, (old, _) in MUTANTS.items() if old not in text] == []


@pytest.mark.parametrize("kind", others_slow(list(MUTANTS), ["lane", "enable"]))
def test_a_changed_module_is_refuted(kind: str) -> None:
    old, new = MUTANTS[kind]
    text = modular_verilog(FEW, pipeline(FEW))
    assert old in text
    assert "refuted" in words(FEW, pipeline(FEW), text.replace(old, new, 1)).values()
