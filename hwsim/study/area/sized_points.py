"""Where a study's units stand between accuracy and area."""

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
    """A point of a study where its unit stands: its error, its area, and whether both are on the front.

    row: the point's summary. area: or the reason why there is none. Fronts are those of one kind of data and one
    length, of gates for each lane and of the error.
    """

    point: Point
    row: dict[str, Any]
    area: Area | str
    on_front: bool = False

    @property
    def gates_per_lane(self) -> float:
        """Gates for each product a cycle; NaN where there is no area."""
        return self.area.gates / self.point.unit.instruction.lanes if isinstance(self.area, Area) else math.nan


def error_kind(planned: Sequence[Point]) -> str:
    """The error to compare: that of the accumulation where all units multiply the same numbers, else the whole."""
    taken = {(point.unit.operands.a, point.unit.operands.b, point.scaling.name) for point in planned}
    return "accumulation" if len(taken) == 1 else "total"


def places(planned: Sequence[Point], rows: Sequence[dict[str, Any]], sized: Areas, measure: str) -> list[SizedPoint]:
    """Where each point of a study stands, fronts marked."""
    found = [SizedPoint(point, row, sized[point.unit]) for point, row in zip(planned, rows, strict=True)]
    marked = list(found)
    for data, length in dict.fromkeys((place.point.data.name, place.point.length) for place in found):
        at = [n for n, place in enumerate(found) if (place.point.data.name, place.point.length) == (data, length)]
        best = front([(found[n].gates_per_lane, found[n].row[f"{measure}_rms"]) for n in at])
        for n, on_front in zip(at, best, strict=True):
            marked[n] = replace(found[n], on_front=on_front)
    return marked
