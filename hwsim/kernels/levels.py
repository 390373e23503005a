"""Exact sums of any float64s, for columns at once: an accumulator as long as float64's exponents need.

It is a row of levels, each a float64: level i holds multiples of 2^(top - W * i), as many as fit 53 bits. A number is
spread over the levels from the highest down: each takes what is a multiple of its unit, to nearest, and leaves at most
half a unit to the next. Nothing is lost, whatever the order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hwsim.compiled import inlined
from hwsim.kernels.codes import Floats
from hwsim.kernels.extents import Extent
from hwsim.kernels.floats import add_odd

MOST_WIDTH = 40


class Levels(NamedTuple):
    """shifts: 1.5 * 2^52 units of each level. high: every number is below 2^high. width: bits from unit to unit."""

    shifts: Floats
    high: int
    width: int


def levels_for(numbers: Extent, count: int) -> Levels:
    """The levels for sums of at most `count` numbers."""
    # A level takes at most 2^(width - 1) of its units at a time, and its sum must stay below 2^51 of them.
    width = min(51 - (2 * count).bit_length(), MOST_WIDTH)
    units = range(numbers.high - width + 1, numbers.low - width, -width)
    return Levels(np.array([1.5 * 2.0 ** (52 + unit) for unit in units]), numbers.high, width)


@inlined
def spread(x: Floats, special: Floats, levels: Floats, shifts: Floats, first: int, last: int) -> None:
    """Add numbers x, a row, which is spent, to levels (levels, columns); infinities and NaNs to `special`.

    first, last: the levels that the numbers reach.
    """
    for j in range(x.shape[0]):
        finite = abs(x[j]) < np.inf
        special[j] += 0.0 if finite else x[j]
        x[j] = x[j] if finite else 0.0
    for i in range(first, last + 1):
        level, shift = levels[i], shifts[i]
        for j in range(x.shape[0]):
            part = (x[j] + shift) - shift
            level[j] += part
            x[j] -= part


@inlined
def collect(total: Floats, special: Floats, levels: Floats, shifts: Floats) -> None:
    """Write the sums, rounded to odd, to `total`, a row; the levels are spent."""
    last = shifts.shape[0] - 1
    for i in range(last, 0, -1):
        level, above, shift = levels[i], levels[i - 1], shifts[i - 1]
        for j in range(total.shape[0]):
            part = (level[j] + shift) - shift
            above[j] += part
            level[j] -= part
    # Every level is now at most about half a unit of the one above: no sum cancels more than a bit.
    total[:] = levels[last]
    for i in range(last - 1, -1, -1):
        level = levels[i]
        for j in range(total.shape[0]):
            total[j] = add_odd(level[j], total[j])
    for j in range(total.shape[0]):
        total[j] = total[j] if special[j] == 0 else special[j]
