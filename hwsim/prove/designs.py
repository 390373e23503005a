"""A user's design as a circuit: its sources in the adapter that `hwsim cosim --dut` plays into, read by Yosys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hwsim.cosim.adapter import ADAPTER
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.dutfile import Dut
from hwsim.errors import InputError
from hwsim.files import write_texts
from hwsim.leftovers import scratch_folder
from hwsim.prove.btor import Circuit, read_btor
from hwsim.prove.logic import Term
from hwsim.prove.reach import constants_of
from hwsim.rtl.synthesis.tools import YOSYS, FlowFailed, run_tool

SCRIPT = """read_verilog -sv {options} {files}
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
    for source in dut.sources.files:
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


@dataclass(frozen=True)
class YosysSources:
    """A design's files for Yosys, which sees its own folder alone. texts: by paths in it. options: of read_verilog."""

    texts: Mapping[str, str]
    names: Sequence[str]
    options: Sequence[str]


def yosys_sources(design: DutDesign) -> YosysSources:
    """The sources, and what they include."""
    dut = design.dut
    sources = design.module.ordered
    names = [f"source{at}/{source.name}" for at, source in enumerate(sources)]
    texts = {name: _text(source) for name, source in zip(names, sources, strict=True)}
    folders = list[str]()
    for at, place in enumerate(dict.fromkeys([*dut.sources.searched, *(source.parent for source in sources)])):
        inside = [file for file in design.module.files if file.is_relative_to(place.resolve())]
        found = {
            f"include{at}/{file.relative_to(place.resolve())}": _text(file) for file in inside if file not in sources
        }
        texts |= found
        folders += [f"include{at}"] if found else []
    options = [*(f"-I{place}" for place in folders), *(f"-D{define}" for define in dut.sources.defines)]
    return YosysSources(texts, names, options)


def _text(file: Path) -> str:
    """A file's text; what is no UTF-8 in it stays as it is."""
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def _written(design: DutDesign, seconds: float) -> tuple[str, str, list[str]]:
    """A design as BTOR2, the edges of its clocks, and its latches."""
    dut = design.dut
    with scratch_folder() as folder:
        given = yosys_sources(design)
        write_texts(folder, {**given.texts, "adapter.v": design.adapter})
        files = " ".join(f'"{source}"' for source in [*given.names, "adapter.v"])
        purge = " -purge" if dut.file.steps is None else ""  # of the names of wires
        script = SCRIPT.format(options=" ".join(given.options), files=files, top=ADAPTER, purge=purge)
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
