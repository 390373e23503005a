"""A user's design as a circuit: its sources in the adapter that `hwsim cosim --dut` plays into, read by Yosys."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

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
opt_clean{purge}
select -write latches t:$dlatch t:$adlatch t:$dlatchsr t:$sr
async2sync
dffunmap
opt_clean{purge}
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
    clocks = {words[0] for words in inputs if words[3:4] == ["clk"]}
    named = [line.split() for line in text.splitlines() if " uext " in line]  # wires, as Yosys writes their names
    clocks |= {words[0] for words in named if words[3] in clocks and words[4] == "0"}
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


def _copied(design: DutDesign, folder: Path) -> tuple[list[str], list[str]]:
    """The sources and the folders of what they include, as copies: Yosys sees no other folder."""
    dut = design.dut
    sources, folders = [], []
    for at, source in enumerate(dut.sources):
        sources.append(f"source{at}/{source.name}")
        (folder / sources[-1]).parent.mkdir()
        shutil.copyfile(source, folder / sources[-1])
    for at, place in enumerate(dict.fromkeys([*dut.include, *(source.parent for source in dut.sources)])):
        for file in design.module.files:
            if file not in dut.sources and file.is_relative_to(place.resolve()):
                target = folder / f"include{at}" / file.relative_to(place.resolve())
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        folders += [f"include{at}"] if (folder / f"include{at}").exists() else []
    return sources, folders


def _written(design: DutDesign, seconds: float) -> tuple[str, str, list[str]]:
    """A design as BTOR2, the edges of its clocks, and its latches."""
    dut = design.dut
    with scratch_folder() as folder:
        sources, folders = _copied(design, folder)
        options = [f"-I{place} " for place in folders]
        options += [f"-D{name}={value} " for name, value in dut.file.defines.items()]
        (folder / "adapter.v").write_text(design.adapter, encoding="utf-8")
        files = " ".join(f'"{source}"' for source in [*sources, "adapter.v"])
        purge = " -purge" if dut.file.steps is None else ""  # of the names of wires
        script = SCRIPT.format(options="".join(options), files=files, top=ADAPTER, purge=purge)
        (folder / "script").write_text(script, encoding="utf-8")
        try:
            run_tool(YOSYS, ["-q", "-s", "script"], folder, seconds)
        except FlowFailed as error:
            raise _unread(dut, f"Yosys does not read it: {_said(str(error))}") from None
        latches = (folder / "latches").read_text(encoding="utf-8").split()
        made = (folder / "design.btor", folder / "clocks")
        text, edges = (path.read_text(encoding="utf-8") for path in made)
        return text, edges, [name.partition("/")[2] for name in latches]


def _said(error: str) -> str:
    """What Yosys complained of, with the name of the file."""
    found = ERROR.search(error)
    if found is None:
        return error
    return f"{found['where'].partition('/')[2]}: {found['what']}" if found["where"] else found["what"]
