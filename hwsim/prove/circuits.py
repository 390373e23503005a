"""The steps of a datapath as circuits: each elaborated by itself, written by Amaranth and Yosys, and read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from hwsim.leftovers import scratch_folder
from hwsim.prove.btor import Circuit, read_btor
from hwsim.prove.logic import Term, all_substituted
from hwsim.prove.reach import constants_of
from hwsim.rtl.synthesis.tools import YOSYS, run_tool

READ_RTLIL = """design -reset
read_rtlil {name}.il
hierarchy -top {top}
proc -noopt -norom
"""
# Instances in the top become ports of it, named `instance.port`, and are gone.
CUT_OUT = """expose -evert -sep . {instances}
hierarchy -top {top}
"""
READ_VERILOG = """read_verilog -sv {name}.sv
hierarchy -auto-top
proc -noopt -norom
"""
CLEAN = """flatten -separator .
async2sync
opt_clean -purge
"""
# What nothing drives as registers that nothing writes: else bits of ports beside it are taken for bits of it.
UNDRIVEN = "setundef -undriven -anyseq\n"
NAMELESS = re.compile(r"input\d+")  # as read_btor calls them
WRITE = f"{CLEAN}write_btor {{name}}.btor\n"


def circuits(components: Mapping[str, Component], seconds: float = 600) -> dict[str, Circuit]:
    """Components, each by itself, by their names; constants are named `name.port`.

    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    with scratch_folder() as folder:
        script = []
        for index, component in enumerate(components.values()):
            text = rtlil.convert(component, name="top", emit_src=False)
            (folder / f"c{index}.il").write_text(text, encoding="utf-8")
            script.append((READ_RTLIL + WRITE).format(name=f"c{index}", top="top"))
        (folder / "script").write_text("".join(script), encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        return {
            name: read_btor((folder / f"c{index}.btor").read_text(encoding="utf-8"), f"{name}.")
            for index, name in enumerate(components)
        }


def surroundings(text: str, top: str, parts: Sequence[str], prefix: str = "", seconds: float = 600) -> Circuit:
    """A component, as RTLIL, without some of its submodules, whose ports it has instead, named `part.port`.

    What they give is an input, and may be anything in each cycle; what they take is an output.
    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    instances = " ".join(f"{top}/c:{part}" for part in parts)
    script = (READ_RTLIL + CUT_OUT + WRITE).format(name="c", top=top, instances=instances)
    return _written("c.il", text, script, prefix, seconds)


def verilog_circuit(text: str, prefix: str = "", seconds: float = 600, undriven: bool = False) -> Circuit:
    """A file of Verilog with one module. undriven: what nothing drives is a register that nothing writes.

    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    script = READ_VERILOG + CLEAN + UNDRIVEN * undriven + "write_btor {name}.btor\n"
    return _written("c.sv", text, script.format(name="c"), prefix, seconds)


def without_undriven(circuit: Circuit) -> Circuit:
    """A circuit without inputs that have no name and that nothing depends on.

    Yosys makes them of bits of nets that nothing drives: of fields that a unit has no use for.
    """
    nexts = (state.next for state in circuit.states.values() if state.next is not None)
    used = {term.symbol() for term in constants_of([*circuit.outputs.values(), *nexts])}
    kept = {
        name: term for name, term in circuit.inputs.items() if not NAMELESS.fullmatch(name) or term.symbol() in used
    }
    return replace(circuit, inputs=kept)


def _written(file: str, text: str, script: str, prefix: str, seconds: float) -> Circuit:
    with scratch_folder() as folder:
        (folder / file).write_text(text, encoding="utf-8")
        (folder / "script").write_text(script, encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        return read_btor((folder / "c.btor").read_text(encoding="utf-8"), prefix)


def connected(steps: Sequence[Circuit]) -> Circuit:
    """Steps one after another, as one circuit: the inputs `i__x` of each are the outputs `o__x` of the one before."""
    whole = steps[0]
    for step in steps[1:]:
        by = {term: whole.outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
        whole = replace(whole, outputs=_substituted(step, by))
    return whole


def fixed(circuit: Circuit, values: Mapping[str, Term]) -> Circuit:
    """A circuit some of whose inputs are given."""
    by = {circuit.inputs[name]: term for name, term in values.items()}
    return replace(circuit, outputs=_substituted(circuit, by))


def _substituted(circuit: Circuit, by: Mapping[Term, Term]) -> dict[str, Term]:
    """A circuit's outputs with other terms in the place of some."""
    return dict(zip(circuit.outputs, all_substituted(circuit.outputs.values(), by), strict=True))
