"""The choices of an encoding, and rounding on integers: the bits that are kept, and whether to add 1 to them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rounding(StrEnum):
    """Which of its two neighbouring codes a number is rounded to; a number with a code of its own keeps it.

    IEEE 754-2019, section 4.3, and round to odd (Boldo and Melquiond 2008), on codes: "even" and "odd" are the
    code's last bit. That is the significand's last bit, except where there is no fraction (e8m0).
    """

    RNE = "rne"  # nearest, ties to the even code
    RNA = "rna"  # nearest, ties away from zero
    RZ = "rz"  # towards zero
    RU = "ru"  # towards +infinity
    RD = "rd"  # towards -infinity
    RTO = "rto"  # to the odd code: jam


class Overflow(StrEnum):
    """What replaces infinities, and numbers beyond the largest after rounding with an unbounded exponent."""

    SATURATE = "saturate"
    INFINITY = "infinity"
    NAN = "nan"


class Missing(StrEnum):
    """What replaces a number that the format cannot represent: a NaN, a negative number or a zero."""

    ERROR = "error"
    NAN = "nan"
    ZERO = "zero"
    SATURATE = "saturate"


class Draw(NamedTuple):
    """Stochastic rounding: the number of random bits, and the word drawn for each number."""

    bits: int
    words: Ints


# The part cut off, against half of the last place kept.
NOTHING, BELOW_HALF, HALF, ABOVE_HALF = range(4)


def cut(rounding: Rounding | Draw, sig: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """sig >> shift, and the bits shifted out, in the form that `grows` takes."""
    return split_bits(sig, shift, rounding.bits) if isinstance(rounding, Draw) else split(sig, shift)


def split(sig: Ints, shift: Ints) -> tuple[Ints, Ints]:
    """sig >> shift, and how the bits shifted out compare with half: NOTHING to ABOVE_HALF.

    sig in [0, 2^61); shift at least 1, and without an upper end.
    """
    shift = np.minimum(shift, 62)  # everything out, and less than half
    half = np.left_shift(1, shift - 1)
    out = sig & (2 * half - 1)
    return sig >> shift, compare_half(out > 0, out >= half, out > half)


def split_bits(sig: Ints, shift: Ints, bits: int) -> tuple[Ints, Ints]:
    """sig >> shift, and the highest `bits` of what is shifted out, as an integer; what is below them is dropped.

    sig in [0, 2^61); shift at least 1, and without an upper end; bits at most 32.
    """
    shift = np.minimum(shift, 62 + bits)  # everything out, and below the bits kept
    above = np.where(
        shift >= bits, sig >> np.minimum(np.maximum(shift - bits, 0), 63), sig << np.maximum(bits - shift, 0)
    )
    return sig >> np.minimum(shift, 63), above & ((1 << bits) - 1)


def compare_half(some: Bools, at_least_half: Bools, above_half: Bools) -> Ints:
    """NOTHING to ABOVE_HALF, from three comparisons of the part that is cut off."""
    return some.astype(np.int64) + at_least_half + above_half


def grows(rounding: Rounding | Draw, rest: Ints, steps: Ints, negative: Bools) -> Bools:
    """Which magnitudes are rounded up, to the next larger code.

    rest: from `cut`. steps: the codes below the magnitudes, of which the last bit counts. negative: of the numbers.
    """
    odd, inexact = (steps & 1) == 1, rest != NOTHING
    match rounding:
        case Draw():  # the random bits, added to as many bits below the last place, carry into it
            up = rest + rounding.words >= 1 << rounding.bits
        case Rounding.RNE:
            up = (rest == ABOVE_HALF) | (rest == HALF) & odd
        case Rounding.RNA:
            up = rest >= HALF
        case Rounding.RZ:
            up = np.zeros(rest.shape, dtype=bool)
        case Rounding.RU:
            up = inexact & ~negative
        case Rounding.RD:
            up = inexact & negative
        case Rounding.RTO:
            up = inexact & ~odd
        case _:
            assert_never(rounding)
    return np.asarray(up)
