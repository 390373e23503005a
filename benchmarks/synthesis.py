"""Gates, flip-flops, depth and ECP5 clock rate of a unit's datapath, next to published peers.

    python benchmarks/synthesis.py [UNIT ...] [--cuts STEP,STEP,... | --stages 4 | 10 | all] [--flow gates | ecp5]

The datapath alone: operands, addend, NaN and result rounding, without handshake and promotion. Gates are what Yosys
leaves of it as AND, OR, XOR, MUX and NOT; the clock rate is nextpnr's, out of context, so that paths from the inputs
to the first register do not count. Figures are kept by content, in HWSIM_CACHE or the user's cache folder. Needs the
extra `synthesis`. Exit status 1 if a flow failed, 3 if a tool is missing.
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

from hwsim.base.errors import ToolMissing
from hwsim.rtl.synthesis import (
    NEXTPNR,
    STAGES,
    TOP,
    YOSYS,
    FlowFailed,
    datapath_verilog,
    ecp5,
    generic,
    require,
    stage_cuts,
)
from hwsim.spec import Specified, load_specified, pipeline

# Measured with the same tools and commands.
PEERS = (
    ("MX-for-FPGA e4m3, 32 lanes, no addend", "combinational", "17,886", "555", "113", "14,120", "35.7"),
    ("Vortex TCU TFR, 32 FP8 lanes + FP32 addend", "5 stages", "51,068", "1,686", "113", "24,937", "32.1"),
    ("naive Amaranth e4m3, 32 lanes, no NaN, no normalise", "3 stages", "11,200", "988", "111", "7,182", "22.6"),
)


def row(unit: Specified, cuts: tuple[str, ...], flow: str, seconds: float) -> list[str]:
    """One line of the table."""
    text = datapath_verilog(unit, cuts)
    cells = [unit.name, f"{len(cuts)}: {' '.join(cuts)}", "", "", "", "", ""]
    if flow in {"gates", "both"}:
        mapped = generic(text, TOP, seconds)
        cells[2:5] = [f"{mapped.gates:,}", f"{mapped.flipflops:,}", str(mapped.depth)]
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
    try:
        require(YOSYS, *([NEXTPNR] if arguments.flow != "gates" else []))
    except ToolMissing as error:
        print(error, file=sys.stderr)
        return 3
    table = Table("design", "cuts", "gates", "FF", "depth", "ECP5 COMB", "Fmax, MHz")
    failed = False
    for name in arguments.units:
        unit = load_specified(name)
        for stages in arguments.stages or ["4"] + ["10"] * (not arguments.cuts):
            cuts = pipeline(unit, arguments.cuts.split(",")).cuts if arguments.cuts else stage_cuts(unit, stages)
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
