"""The Pareto front of points: those that no other point dominates."""

from __future__ import annotations

import math
from collections.abc import Sequence


def front(points: Sequence[Sequence[float]], minimise: Sequence[bool] | None = None) -> list[bool]:
    """Whether each point is on the front: no other point is as good in every number and better in one.

    minimise: for each number, whether less is better; all unless given. Equal points are on it together. A point with
    a NaN is not on it, and keeps none from it. Raises ValueError for points of different lengths.
    """
    ways = [True] * len(points[0]) if minimise is None and points else list(minimise or ())
    for point in points:
        if len(point) != len(ways):
            raise ValueError(f"points must have {len(ways)} numbers each, not {len(point)}")
    costs = [
        tuple(value if less else -value for value, less in zip(point, ways, strict=True))
        for point in points
        if not any(map(math.isnan, point))
    ]
    best = {cost for cost in costs if not any(_dominates(other, cost) for other in costs)}
    there = iter(costs)
    return [not any(map(math.isnan, point)) and next(there) in best for point in points]


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))
