"""From Verilog to figures, kept by content: a design is synthesised once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hwsim.rtl.synthesis.kept import kept
from hwsim.rtl.synthesis.tools import NEXTPNR, YOSYS, FlowFailed, run_tool

GATES = ("$_AND_", "$_OR_", "$_XOR_", "$_MUX_", "$_NOT_")
GENERIC = "synth -flatten -top {top}; abc -g AND,OR,XOR,MUX; opt_clean; tee -o stat stat; tee -o ltp ltp -noff"
ECP5 = "synth_ecp5 -nodsp -top {top} -json design.json"
DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6", "--json", "design.json")
OPTIONS = ("--out-of-context", "--freq", "200", "--seed", "1", "--timing-allow-fail")


@dataclass(frozen=True)
class Generic:
    """What Yosys makes of a design without a technology.

    gates: AND, OR, XOR, MUX and NOT. depth: gates on the longest path that no register cuts.
    """

    gates: int
    flipflops: int
    depth: int


@dataclass(frozen=True)
class Ecp5:
    """What Yosys and nextpnr make of a design on an ECP5-85F, speed 6, without multipliers of its own.

    comb: LUTs of four inputs, carries' among them. megahertz: the highest clock rate, out of context: paths from the
    inputs to the first register, and from the last to the outputs, are not timed.
    """

    comb: int
    flipflops: int
    megahertz: float


def yosys(text: str, script: str, folder: Path, seconds: float) -> None:
    """Run a Yosys script on some Verilog, in a folder where it leaves what it writes.

    Always quietly: without -q, 0.70 ends in the middle of ABC, with status 0. Raises ToolMissing or FlowFailed.
    """
    (folder / "design.v").write_text(text)
    run_tool(YOSYS, ["-q", "-p", f"read_verilog -sv design.v; {script}"], folder, seconds)


def generic(text: str, top: str, seconds: float = 600) -> Generic:
    """Gates of some Verilog. Raises ToolMissing or FlowFailed."""
    script = GENERIC.format(top=top)

    def make(folder: Path) -> Generic:
        yosys(text, script, folder, seconds)
        return _generic((folder / "stat").read_text(), (folder / "ltp").read_text())

    return kept(Generic, (YOSYS.package,), (script, text), make)


def _generic(stat: str, ltp: str) -> Generic:
    """Figures from what Yosys' `stat` and `ltp` print."""
    cells = {name: int(count) for count, name in re.findall(r"^\s*(\d+)\s+(\$_\w+_)$", stat, re.MULTILINE)}
    length = re.search(r"length=(\d+)", ltp)
    if not cells or length is None:
        raise FlowFailed("Yosys printed no statistics: is there anything in the design?")
    flipflops = sum(count for name, count in cells.items() if "DFF" in name)
    return Generic(sum(cells.get(gate, 0) for gate in GATES), flipflops, int(length.group(1)))


def ecp5(text: str, top: str, seconds: float = 900) -> Ecp5:
    """Cells and clock rate of some Verilog on an ECP5. seconds: for each of two tools.

    Raises ToolMissing or FlowFailed.
    """
    script = ECP5.format(top=top)

    def make(folder: Path) -> Ecp5:
        yosys(text, script, folder, seconds)
        return _ecp5(run_tool(NEXTPNR, [*DEVICE, *OPTIONS], folder, seconds))

    return kept(Ecp5, (YOSYS.package, NEXTPNR.package), (script, *DEVICE, *OPTIONS, text), make)


def _ecp5(output: str) -> Ecp5:
    """Figures from what nextpnr prints; the clock rate after routing is the last that it names."""
    rates = re.findall(r"Max frequency for clock.*?: ([\d.]+) MHz", output)
    used = dict(re.findall(r"(TRELLIS_\w+):\s+(\d+)/", output))
    if not rates or "TRELLIS_COMB" not in used:
        raise FlowFailed("nextpnr printed no clock rate: is there a register in the design?")
    return Ecp5(int(used["TRELLIS_COMB"]), int(used.get("TRELLIS_FF", 0)), float(rates[-1]))
