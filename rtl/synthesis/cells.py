"""Area, delay and power of some Verilog in standard cells: Yosys maps it, OpenSTA reads what it made.

The cells are OSU's of 0.18 micrometres, at their one corner (typical, 1.8 V, 25 degrees). There is no layout: wires
have neither length nor load, and the clock reaches all registers at once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hwsim.base import processes
from hwsim.base.errors import InputError, ToolMissing
from hwsim.rtl.synthesis.flows import YOSYS, FlatModule, FlowFailed, ecp5, generic, kept, require, yosys

LIBERTY = "osu018_stdcells.lib"
PLACES = tuple(Path(root) / "share/qflow/tech/osu018" / LIBERTY for root in ("/usr", "/usr/local"))
VARIABLE = "HWSIM_CELLS"  # a liberty file of the same cells elsewhere
STA = "sta"

PERIOD, ACTIVITY, LOAD, DRIVER = 10.0, 0.1, 0.05, "BUFX4"  # ns, changes of a signal a cycle, pF, and a cell
CONDITIONS = (
    f"OSU 0.18 cells, typical corner, 1.8 V, 25 C, no wires; inputs driven by {DRIVER}, outputs loaded with {LOAD} pF; "
    f"power at {1000 / PERIOD:g} MHz, {ACTIVITY} changes of a signal a cycle"
)
# Without a limit a register's enable drives a thousand gates, and takes longer than all that it enables.
FANOUT = 12
ABC = f"""strash
&get -n
&fraig -x
&put
scorr
dc2
dretime
strash
&get -n
&dch -f
&nf
&put
buffer -p -N {FANOUT}
upsize
dnsize
"""
# OpenSTA reads neither vectors that are cut nor assignments of several bits; `insbuf` leaves none between ports.
MAP = "; ".join(
    (
        "synth -flatten -top {top}",
        "dfflibmap -liberty cells.lib",
        "abc -liberty cells.lib -script abc.script",
        "setundef -zero",
        "splitnets -ports",
        "opt_clean -purge",
        "insbuf -buf BUFX2 A Y",
        "clean -purge",
        "tee -o stat stat -liberty cells.lib",
        "write_verilog -noattr -noexpr netlist.v",
    )
)
TIMING = f"""read_liberty cells.lib
read_verilog netlist.v
link_design {{top}}
create_clock -name clk -period {PERIOD} [get_ports clk]
set inputs {{{{}}}}
foreach port [all_inputs] {{{{ if {{{{ [get_property $port full_name] ne "clk" }}}} {{{{ lappend inputs $port }}}} }}}}
set_input_delay 0 -clock clk $inputs
set_output_delay 0 -clock clk [all_outputs]
set_driving_cell -lib_cell {DRIVER} $inputs
set_load {LOAD} [all_outputs]
report_checks -path_delay max -digits 6
set_power_activity -global -activity {ACTIVITY} -duty 0.5
report_power -digits 9
"""


@dataclass(frozen=True)
class Mapped:
    """Size, delay and power of a design in standard cells, under `CONDITIONS`.

    area, register_area: square micrometres, the latter of the flip-flops alone. cells: how many there are.
    delay: nanoseconds of the longest path, from an input or a register to a register or an output, set-up included.
    power: milliwatts.
    """

    area: float
    register_area: float
    cells: int
    delay: float
    power: float


def liberty() -> Path:
    """The file of the cells. Raises ToolMissing, and InputError for a file that HWSIM_CELLS names and is not there."""
    named = os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InputError(f"{VARIABLE} must be a liberty file of the OSU 0.18 cells, not {named}")
        return Path(named)
    cells = next((place for place in PLACES if place.is_file()), None)
    if cells is None:
        raise ToolMissing(
            f"the OSU 0.18 cells are missing ({PLACES[0]}); install with: apt-get install qflow-tech-osu018, "
            f"or name the file {LIBERTY} in {VARIABLE}"
        )
    return cells


def require_cells() -> None:
    """Raise ToolMissing unless Yosys, OpenSTA and the cells are there."""
    require(YOSYS)
    liberty()
    if shutil.which(STA) is None:
        raise ToolMissing(f"OpenSTA ({STA}) is missing; install with: apt-get install opensta")


def mapped(text: str, top: str, seconds: float = 900) -> Mapped:
    """Area, delay and power of some Verilog whose clock is `clk`. seconds: for each tool.

    Raises ToolMissing or FlowFailed.
    """
    require_cells()
    cells, script, timing = liberty().read_text(), MAP.format(top=top), TIMING.format(top=top)

    def make(folder: Path) -> Mapped:
        stat = map_to_cells(text, top, folder, seconds)
        (folder / "sta.tcl").write_text(timing)
        return _figures(stat, _sta(folder, seconds))

    return kept(Mapped, (YOSYS.package,), (_version(), ABC, script, timing, cells, text), make)


def map_to_cells(text: str, top: str, folder: Path, seconds: float) -> str:
    """Leave `netlist.v`, of cells alone, in a folder. Returns Yosys' statistics."""
    (folder / "cells.lib").write_text(liberty().read_text())
    (folder / "abc.script").write_text(ABC)
    yosys(text, MAP.format(top=top), folder, seconds)
    return (folder / "stat").read_text()


def _version() -> str:
    done = subprocess.run([STA, "-version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _sta(folder: Path, seconds: float) -> str:
    """OpenSTA's output. It ends with status 0 even where a command of its script fails."""
    log = folder / "sta.log"
    try:
        processes.run([STA, "-no_splash", "-exit", "sta.tcl"], log, os.environ, folder, seconds)
    except subprocess.TimeoutExpired:
        raise FlowFailed(f"OpenSTA was not done in {seconds:g} seconds") from None
    output = log.read_text(errors="replace")
    error = re.search(r"^Error: .*", output, re.MULTILINE)
    if error:
        raise FlowFailed(f"OpenSTA failed: {error.group()}")
    return output


def _figures(stat: str, timing: str) -> Mapped:
    """Figures from what Yosys' `stat` and OpenSTA print."""
    area = re.search(r"Chip area for (?:top )?module .*?: ([\d.]+)", stat)
    cells = re.search(r"^\s*(\d+)\s+\S+\s+cells$", stat, re.MULTILINE)
    registers = re.search(r"used for sequential elements: ([\d.]+)", stat)
    slack = re.search(r"(-?[\d.]+)\s+slack", timing)
    power = re.search(r"^Total\s+\S+\s+\S+\s+\S+\s+(\S+)", timing, re.MULTILINE)
    if area is None or cells is None or slack is None or power is None:
        raise FlowFailed("Yosys and OpenSTA printed no figures: is there anything in the design?")
    sequential = float(registers.group(1)) if registers else 0.0
    delay, watts = PERIOD - float(slack.group(1)), float(power.group(1))
    return Mapped(float(area.group(1)), sequential, int(cells.group(1)), round(delay, 4), round(watts * 1000, 4))


@dataclass(frozen=True)
class Area:
    """Gates, flip-flops and, where it was asked for, an ECP5's cells and clock rate.

    gates, flipflops, comb: of all modules. depth: of the deepest. megahertz: of the slowest.
    """

    gates: int
    flipflops: int
    depth: int
    comb: int | None = None
    megahertz: float | None = None


def area(parts: Sequence[FlatModule], fmax: bool, seconds: float = 900) -> Area:
    """The area of some modules, each by itself. fmax: on an ECP5 too, which takes ten times as long.

    seconds: for each tool. Raises ToolMissing or FlowFailed.
    """
    mapped = [generic(part.text, part.top, seconds) for part in parts]
    gates, flipflops = sum(figures.gates for figures in mapped), sum(figures.flipflops for figures in mapped)
    depth = max(figures.depth for figures in mapped)
    if not fmax:
        return Area(gates, flipflops, depth)
    placed = [ecp5(part.text, part.top, seconds) for part in parts]
    slowest = min((figures.megahertz for figures in placed if figures.megahertz is not None), default=None)
    return Area(gates, flipflops, depth, sum(figures.comb for figures in placed), slowest)
