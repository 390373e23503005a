"""Rationals beside what studies compute in float64."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.study.accuracy.exact import DoubleDouble


def fraction(x: Any) -> Fraction:
    """A float64 as it is."""
    return Fraction(float(x))


def rational(x: DoubleDouble, at: Any) -> Fraction:
    """An element of an unevaluated sum."""
    return fraction(x.hi[at]) + fraction(x.lo[at])


def product_of(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.object_]:
    """The matrix product in rationals."""
    rows, columns = ([[Fraction(x) for x in row] for row in side.tolist()] for side in (a, b.T))
    made = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            made[i, j] = sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
    return made
