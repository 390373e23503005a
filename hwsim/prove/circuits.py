"""The steps of a datapath as circuits: each elaborated by itself, written by Amaranth and Yosys, and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from hwsim.leftovers import scratch_folder
from hwsim.prove.btor import Circuit, read_btor
from hwsim.prove.logic import Term, substituted
from hwsim.rtl.synthesis.tools import YOSYS, run_tool

SCRIPT = """design -reset
read_rtlil {name}.il
hierarchy -top top
proc -noopt -norom
flatten -separator .
async2sync
opt_clean -purge
write_btor {name}.btor
"""


def circuits(components: Mapping[str, Component], seconds: float = 600) -> dict[str, Circuit]:
    """Components, each by itself, by their names; constants are named `name.port`.

    Raises ToolMissing, and FlowFailed with what Yosys said.
    """
    with scratch_folder() as folder:
        script = []
        for index, component in enumerate(components.values()):
            text = rtlil.convert(component, name="top", emit_src=False)
            (folder / f"c{index}.il").write_text(text, encoding="utf-8")
            script.append(SCRIPT.format(name=f"c{index}"))
        (folder / "script").write_text("".join(script), encoding="utf-8")
        run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        return {
            name: read_btor((folder / f"c{index}.btor").read_text(encoding="utf-8"), f"{name}.")
            for index, name in enumerate(components)
        }


def connected(steps: Sequence[Circuit]) -> Circuit:
    """Steps one after another, as one circuit: the inputs `i__x` of each are the outputs `o__x` of the one before."""
    whole = steps[0]
    for step in steps[1:]:
        by = {term: whole.outputs[f"o{name[1:]}"] for name, term in step.inputs.items()}
        outputs = {name: substituted(term, by) for name, term in step.outputs.items()}
        whole = replace(whole, outputs=outputs)
    return whole


def fixed(circuit: Circuit, values: Mapping[str, Term]) -> Circuit:
    """A circuit some of whose inputs are given."""
    by = {circuit.inputs[name]: term for name, term in values.items()}
    outputs = {name: substituted(term, by) for name, term in circuit.outputs.items()}
    return replace(circuit, outputs=outputs)
