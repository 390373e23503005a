"""The Pareto front of points: those that no other point dominates."""

from __future__ import annotations

import math
from collections.abc import Sequence


def front(points: Sequence[tuple[float, ...]]) -> list[bool]:
    """Whether each point is on the front: no other point is as small in every number and smaller in one.

    points: all of one length. Equal points are on it together. A point with a NaN is not on it, and keeps none from it.
    """
    there = {point for point in points if not any(map(math.isnan, point))}
    best = {point for point in there if not any(_dominates(other, point) for other in there)}
    return [point in best for point in points]


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))
