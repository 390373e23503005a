"""The areas of a study's units, each different design synthesised once, and the points on a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from typing import Any, Literal

from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.rtl.synthesis import NEXTPNR, STAGES, YOSYS, Area, FlatModule, FlowFailed, area, require, unit_parts
from hwsim.runners import cores
from hwsim.spec import NotImplementedYet, Unit
from hwsim.study.plan.study import Point
from hwsim.study.results import Progress, nothing


def front(points: Sequence[tuple[float, ...]]) -> list[bool]:
    """One flag a point, True on the front: no other point is as small in every number and smaller in one.

    points: all of one length. Equal points are on it together. A point with a NaN is not on it, and keeps none from it.
    """
    there = {point for point in points if not any(map(math.isnan, point))}
    best = {point for point in there if not any(_dominates(other, point) for other in there)}
    return [point in best for point in points]


def _dominates(point: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return point != other and all(mine <= theirs for mine, theirs in zip(point, other, strict=True))


Areas = dict[Unit, Area | str]
Fmax = Literal["none", "front", "all"]
SECONDS = 1800.0  # for each tool


@dataclass(frozen=True)
class SynthesisOptions:
    """Options of synthesis. stages: registers of the datapath (`hwsim.rtl.synthesis.STAGES`). fmax: which units are
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
    outcomes: Areas = {}
    designs: dict[Unit, tuple[FlatModule, ...]] = {}
    running: dict[tuple[FlatModule, ...], Future[Area]] = {}
    with processes.threads(options.workers or cores()) as pool:  # each waits for a process
        # The generator of Verilog is one at a time, while tools are at work on what it has written.
        for unit in wanted:
            progress(sum(future.done() for future in running.values()), len(wanted), f"Verilog of {unit.name}")
            try:
                parts = unit_parts(unit, options.stages)
            except NotImplementedYet as error:
                outcomes[unit] = str(error)
                continue
            designs[unit] = parts
            if parts not in running:
                running[parts] = pool.submit(area, parts, fmax, SECONDS)
        activity = "place and route" if fmax else "synthesis"
        progress(sum(future.done() for future in running.values()), len(running), activity)
        for done, _ in enumerate(as_completed(running.values()), 1):
            progress(done, len(running), activity)
        for unit, parts in designs.items():
            outcomes[unit] = _outcome(running[parts])
    return {unit: outcomes[unit] for unit in wanted}


def _outcome(ended: Future[Area]) -> Area | str:
    try:
        return ended.result()
    except FlowFailed as error:
        return f"synthesis failed: {error}"


@dataclass(frozen=True)
class SizedPoint:
    """A point of a study with the error and the area of its unit, and whether it is on the front of both.

    row: the point's summary. area: or the reason why there is none. Fronts are those of one kind of data and one
    length, of gates for each lane and of the error.
    """

    point: Point
    row: dict[str, Any]
    area: Area | str
    on_front: bool = False

    @property
    def entry(self) -> str:
        return self.point.axes["unit"]

    @property
    def gates_per_lane(self) -> float:
        """Gates for each product a cycle; NaN where there is no area."""
        return self.area.gates / self.point.unit.instruction.lanes if isinstance(self.area, Area) else math.nan

    @property
    def megahertz(self) -> float | None:
        return self.area.megahertz if isinstance(self.area, Area) else None

    @property
    def depth(self) -> float:
        """Gates between registers; NaN where there is no area."""
        return float(self.area.depth) if isinstance(self.area, Area) else math.nan


def error_kind(planned: Sequence[Point]) -> str:
    """The error to compare: that of the accumulation where all units multiply the same numbers, else the whole."""
    taken = {(point.unit.operands.a, point.unit.operands.b, point.scaling.name) for point in planned}
    return "accumulation" if len(taken) == 1 else "total"


def sized_points(
    planned: Sequence[Point], rows: Sequence[dict[str, Any]], sized: Areas, measure: str
) -> list[SizedPoint]:
    """The points of a study with their areas, fronts marked."""
    points = [SizedPoint(point, row, sized[point.unit]) for point, row in zip(planned, rows, strict=True)]
    marked = list(points)
    for data, length in dict.fromkeys((place.point.data.name, place.point.length) for place in points):
        indices = [n for n, place in enumerate(points) if (place.point.data.name, place.point.length) == (data, length)]
        best = front([(points[n].gates_per_lane, points[n].row[f"{measure}_rms"]) for n in indices])
        for n, on_front in zip(indices, best, strict=True):
            marked[n] = replace(points[n], on_front=on_front)
    return marked
