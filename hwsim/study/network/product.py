"""The interface by which networks multiply matrices."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Where(NamedTuple):
    """A matrix product of a network.

    layer: from 0. name: what it computes. weight: whether B is a weight, the same in every pass, or an activation.
    """

    layer: int
    name: str
    weight: bool


class Matmul(Protocol):
    """A @ B of numbers, (..., M, K) and (..., K, N), however it is computed."""

    def __call__(self, where: Where, a: Array, b: Array) -> Array:
        """(..., M, N) numbers; the shapes are those of `numpy.matmul`."""
        ...


def exact(where: Where, a: Array, b: Array) -> Array:
    """A @ B in binary64: to about 2^-50 of sum |a||b|, far below any error that is studied."""
    return np.asarray(a @ b)
