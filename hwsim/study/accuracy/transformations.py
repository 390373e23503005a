"""Error-free transformations of float64: sums and products with what rounding took from them.

Ogita, Rump and Oishi 2005, SIAM Journal on Scientific Computing 26(6); Dekker 1971; Knuth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPLITTER = float((1 << 27) + 1)  # cuts 53 bits in 26 and 26, with a sign (Veltkamp)


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y rounded, and the error: their sum is x + y (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def fast_two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """`two_sum` where x is zero or |x| >= |y| (Dekker)."""
    total = x + y
    return total, y - (total - x)


def split_product(x: Array, y: Array) -> tuple[Array, Array]:
    """x * y rounded, and the error: their sum is x * y (Dekker). |x| and |y|: from 2^-100 to 2^100, or zero."""
    product = x * y
    high_x, low_x = _split(x)
    high_y, low_y = _split(y)
    error = low_x * low_y - (((product - high_x * high_y) - low_x * high_y) - high_x * low_y)
    return product, error


def _split(x: Array) -> tuple[Array, Array]:
    scaled = SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high
