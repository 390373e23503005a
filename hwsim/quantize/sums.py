"""Exact sums of float64s: magnitudes as integers in pieces of 30 bits, so that prefix sums lose nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats.exact import SIG_BITS, exact

PIECE = 30  # bits; a sum of 2^33 pieces stays within int64


class Prefixes(NamedTuple):
    """Sums of the first 0, 1, ... n magnitudes, in units of 2^unit.

    pieces: int64[pieces, n + 1], of weights 1, 2^30, 2^60...
    """

    pieces: NDArray[np.int64]
    unit: int

    def between(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> list[int]:
        """Sums of the magnitudes from start to end, as integers."""
        totals = [0] * len(start)
        for weight, piece in enumerate(self.pieces):
            part = (piece[end] - piece[start]).tolist()
            totals = [total + (value << PIECE * weight) for total, value in zip(totals, part, strict=True)]
        return totals


def prefixes(magnitudes: NDArray[np.float64]) -> Prefixes:
    """Prefix sums of finite numbers of at least 0, one dimension."""
    number = exact(magnitudes)
    sig, exp = _trimmed(number.sig, number.exp)
    some = sig != 0
    unit = int(exp[some].min()) if some.any() else 0
    shift = np.where(some, exp - unit, 0)
    count = (int(shift.max(initial=0)) + 53) // PIECE + 1
    pieces = np.zeros((count, len(sig) + 1), np.int64)
    low, high = sig & ((1 << PIECE) - 1), sig >> PIECE
    for part, base in ((low, 0), (high, 1)):
        place, up = base + shift // PIECE, shift % PIECE
        shifted = part << up  # at most 59 bits
        for weight in range(count):
            piece = np.where(place == weight, shifted & ((1 << PIECE) - 1), 0)
            piece += np.where(place + 1 == weight, shifted >> PIECE, 0)
            pieces[weight, 1:] += np.cumsum(piece)
    return Prefixes(pieces, unit)


def square_sum(magnitudes: NDArray[np.float64]) -> tuple[int, int]:
    """The sum of squares as an integer and the exponent of its unit."""
    number = exact(magnitudes)
    sig, exp = _trimmed(number.sig, number.exp)
    total, some = 0, sig != 0
    unit = int(exp[some].min()) if some.any() else 0
    low, high = sig & ((1 << 27) - 1), sig >> 27
    for shift in np.unique(exp[some]).tolist():
        here = some & (exp == shift)
        part = 0
        for first, second, weight in ((low, low, 0), (low, high, 28), (high, high, 54)):
            product = first[here] * second[here]  # at most 54 bits
            part += (int((product >> 27).sum()) << 27) + int((product & ((1 << 27) - 1)).sum()) << weight
        total += part << 2 * (shift - unit)
    return total, 2 * unit


def _trimmed(sig: NDArray[np.int64], exp: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers as integers and exponents of their units; with 24 bits, and so fewer pieces, where all are binary32's."""
    sig = sig >> SIG_BITS - 53  # what is below binary64's bits is zero
    cut = 29 if not (sig & ((1 << 29) - 1)).any() else 0
    return sig >> cut, exp - 52 + cut
