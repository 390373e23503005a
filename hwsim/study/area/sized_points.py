"""The points of a study with the error and the area of their units, and which are on a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hwsim.rtl.synthesis import Area
from hwsim.study.area.areas import Areas
from hwsim.study.area.front import front
from hwsim.study.plan.grid import Point


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
        """The label of the study's entry that its unit is of."""
        return self.point.axes["unit"]

    @property
    def gates_per_lane(self) -> float:
        """Gates for each product a cycle; NaN where there is no area."""
        return self.area.gates / self.point.unit.instruction.lanes if isinstance(self.area, Area) else math.nan

    @property
    def megahertz(self) -> float | None:
        """The clock rate; None where the unit was not placed and routed."""
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
    found = [SizedPoint(point, row, sized[point.unit]) for point, row in zip(planned, rows, strict=True)]
    marked = list(found)
    for data, length in dict.fromkeys((place.point.data.name, place.point.length) for place in found):
        at = [n for n, place in enumerate(found) if (place.point.data.name, place.point.length) == (data, length)]
        best = front([(found[n].gates_per_lane, found[n].row[f"{measure}_rms"]) for n in at])
        for n, on_front in zip(at, best, strict=True):
            marked[n] = replace(found[n], on_front=on_front)
    return marked
