"""A user's design as a circuit: its sources in the adapter that `hwsim cosim --dut` plays into, read by Yosys."""

from __future__ import annotations

import re

from hwsim.cosim.adapter import ADAPTER
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.dutfile import Dut
from hwsim.errors import InputError
from hwsim.leftovers import scratch_folder
from hwsim.prove.btor import Circuit, read_btor
from hwsim.prove.logic import Term
from hwsim.prove.reach import constants_of
from hwsim.rtl.synthesis.tools import YOSYS, FlowFailed, run_tool

SCRIPT = """read_verilog -sv {options}{files}
hierarchy -check -top {top}
proc -norom
flatten -separator .
memory -nordff
opt_expr -keepdc
opt_merge
opt_clean -purge
select -write latches t:$dlatch t:$adlatch t:$dlatchsr t:$sr
async2sync
dffunmap
opt_clean -purge
write_btor -i clocks design.btor
"""
EDGE = re.compile(r"^(posedge|negedge|event) (\d+)$", re.MULTILINE)
ERROR = re.compile(r"^(?:(?P<where>.*): )?ERROR: (?P<what>.*)$", re.MULTILINE)


def check_language(dut: Dut) -> None:
    """Raise InputError for a source in another language than Verilog."""
    for source in dut.sources:
        if source.suffix.lower() in (".vhd", ".vhdl"):
            raise InputError(f"{dut.path}: {source.name} is VHDL: proofs take what Yosys reads, Verilog")


def design_circuit(design: DutDesign, prefix: str = "dut.", seconds: float = 600.0) -> Circuit:
    """A design in its adapter. prefix: of its constants' names.

    Raises ToolMissing, and InputError for what Yosys does not read and for what is no circuit of one clock whose
    registers all change at its rising edge.
    """
    text, edges, latches = _written(design, seconds)
    if latches:
        raise _unread(design.dut, f"it has latches ({', '.join(latches)})")
    circuit = read_btor(text, prefix)
    inputs = [line.split() for line in text.splitlines() if " input " in line]
    clocks = [words[0] for words in inputs if words[3:4] == ["clk"]]
    if any(kind != "posedge" or number not in clocks for kind, number in EDGE.findall(edges)):
        raise _unread(design.dut, "not all of its registers change at the rising edge of its clock, as it comes in")
    if "clk" in circuit.inputs and circuit.inputs["clk"] in constants_of(_all_terms(circuit)):
        raise _unread(design.dut, "its clock is used as data")
    return circuit


def _all_terms(circuit: Circuit) -> list[Term]:
    following = [state.next for state in circuit.states.values() if state.next is not None]
    return [*circuit.outputs.values(), *following]


def _unread(dut: Dut, why: str) -> InputError:
    return InputError(f"{dut.path}: {dut.file.top} cannot be proved: {why}")


def _written(design: DutDesign, seconds: float) -> tuple[str, str, list[str]]:
    """A design as BTOR2, the edges of its clocks, and its latches."""
    dut = design.dut
    options = [f'-I"{folder}" ' for folder in dut.include]
    options += [f"-D{name}={value} " for name, value in dut.file.defines.items()]
    files = " ".join(f'"{source}"' for source in dut.sources)
    with scratch_folder() as folder:
        (folder / "adapter.v").write_text(design.adapter, encoding="utf-8")
        script = SCRIPT.format(options="".join(options), files=f"{files} adapter.v", top=ADAPTER)
        (folder / "script").write_text(script, encoding="utf-8")
        try:
            run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        except FlowFailed as error:
            found = ERROR.search(str(error))
            said = f"{found['where']}: {found['what']}" if found and found["where"] else found["what"] if found else error
            raise _unread(dut, f"Yosys does not read it: {said}") from None
        latches = (folder / "latches").read_text(encoding="utf-8").split()
        made = (folder / "design.btor", folder / "clocks")
        text, edges = (path.read_text(encoding="utf-8") for path in made)
        return text, edges, [name.partition("/")[2] for name in latches]
