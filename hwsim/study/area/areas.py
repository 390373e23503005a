"""The area of many units: each different design synthesised once, several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from typing import Literal

from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.rtl.synthesis import NEXTPNR, STAGES, YOSYS, Area, FlatModule, FlowFailed, area, require, unit_parts
from hwsim.runners import cores
from hwsim.spec import NotImplementedYet, Unit
from hwsim.study.parts import Progress, nothing

Areas = dict[Unit, Area | str]
Fmax = Literal["none", "front", "all"]
SECONDS = 1800.0  # for each tool


@dataclass(frozen=True)
class SynthesisOptions:
    """What is synthesised. stages: registers of the datapath (`hwsim.rtl.synthesis.STAGES`). fmax: which units are
    placed and routed on an ECP5 too: none, those on a front, or all. workers: tools at once; as many as there are cores
    unless given.
    """

    stages: str = "4"
    fmax: Fmax = "none"
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.stages not in STAGES:
            raise InputError(f"stages must be one of {', '.join(STAGES)}, not {self.stages!r}")
        if self.fmax not in ("none", "front", "all"):
            raise InputError(f"fmax must be none, front or all, not {self.fmax!r}")


def require_tools(fmax: bool) -> None:
    """Raise ToolMissing unless what synthesises, and with `fmax` what places and routes, is there."""
    require(YOSYS, *([NEXTPNR] if fmax else []))


def areas(units: Sequence[Unit], options: SynthesisOptions, fmax: bool, progress: Progress = nothing) -> Areas:
    """The area of each unit, or the reason why it has none: the RTL does not have it, or a tool failed.

    fmax: on an ECP5 too. Designs are told apart by their Verilog, whatever units are called. What is done is kept
    (`hwsim.rtl.synthesis`): after Ctrl-C, the same call goes on where it stopped. Raises ToolMissing.
    """
    require_tools(fmax)
    wanted = list(dict.fromkeys(units))
    found: Areas = {}
    designs: dict[Unit, tuple[FlatModule, ...]] = {}
    running: dict[tuple[FlatModule, ...], Future[Area]] = {}
    with processes.threads(options.workers or cores()) as pool:  # each waits for a process
        # The generator of Verilog is one at a time, while tools are at work on what it has written.
        for unit in wanted:
            progress(sum(one.done() for one in running.values()), len(wanted), f"Verilog of {unit.name}")
            try:
                parts = unit_parts(unit, options.stages)
            except NotImplementedYet as error:
                found[unit] = str(error)
                continue
            designs[unit] = parts
            if parts not in running:
                running[parts] = pool.submit(area, parts, fmax, SECONDS)
        told = "place and route" if fmax else "synthesis"
        progress(sum(one.done() for one in running.values()), len(running), told)
        for done, _ in enumerate(as_completed(running.values()), 1):
            progress(done, len(running), told)
        for unit, parts in designs.items():
            found[unit] = _outcome(running[parts])
    return {unit: found[unit] for unit in wanted}


def _outcome(ended: Future[Area]) -> Area | str:
    try:
        return ended.result()
    except FlowFailed as error:
        return f"synthesis failed: {error}"
