"""Random bits for each number that is drawn: a uniform number and two signs, from two random words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.drawing import Stream
from hwsim.study.data.elementary import Floats

BLOCK = 1 << 14  # numbers that are drawn together: what they need stays in the cache
WORDS = 2  # of 32 bits, for a number
LOW_BITS = 12  # of the second word, that are no part of the fraction


class Bits(NamedTuple):
    """The random bits that numbers are made of.

    unit: odd multiples of 2^-53 in (0, 1). negative, other: one bit each, and so three that are drawn apart.
    """

    unit: Floats
    negative: NDArray[np.bool_]
    other: NDArray[np.bool_]

    @property
    def half(self) -> Floats:
        """Odd multiples of 2^-54 in (0, 1/2)."""
        return self.unit * 0.5

    def signed(self, magnitude: Floats) -> Floats:
        """Magnitudes with random signs."""
        return np.where(self.negative, -magnitude, magnitude)


def drawn(count: int, make: Callable[..., Floats], *streams: Stream) -> Floats:
    """float64[count]: what `make` gives of the Bits of each stream, which must be new.

    A number depends on its place alone, not on the count.
    """
    found = np.empty(count)
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        found[first : first + size] = make(*(_bits(stream, size) for stream in streams))
    return found


def _bits(stream: Stream, count: int) -> Bits:
    words = stream.words(WORDS * count).reshape(count, WORDS)
    high, low = words[:, 0], words[:, 1]
    # 52 bits of fraction, and a one below them: below 2^53, and so exact.
    odd = (high << 21) | (low >> LOW_BITS << 1) | 1
    unit = odd.astype(np.float64) * 2.0**-53
    return Bits(unit, (low & 1).astype(bool), (low & 2).astype(bool))
