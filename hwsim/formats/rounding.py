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
    """What replaces numbers beyond the largest after rounding with an unbounded exponent, and infinities.

    `ieee` is IEEE 754-2019, section 7.4, by `rounds_inward`, and P3109's OvfInf; `saturate` and `propagate` are P3109's
    SatFinite and SatPropagate (IEEE SA P3109 working group, interim report 3.2, Saturate).
    """

    SATURATE = "saturate"  # the largest number
    PROPAGATE = "propagate"  # the largest number; infinities stay, where there are any
    INFINITY = "infinity"  # infinity, in every rounding
    NAN = "nan"  # NaN; infinities stay, where there are any
    IEEE = "ieee"  # the largest number inward, and else infinity, or NaN where there is none; infinities are not finite


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


class Beyond(NamedTuple):
    """Which numbers become infinite and which NaN; any other that is too large becomes the largest."""

    infinite: Bools
    nan: Bools


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


def rounds_inward(rounding: Rounding | Draw | None, negative: Bools, infinity: int | None) -> Bools:
    """Which finite numbers that are too large `Overflow.IEEE` takes to the largest number, not to infinity.

    IEEE 754-2019, section 7.4: of directed roundings, those that do not lead to infinity's side. IEEE 754 has no
    rounding to odd: of the largest number and infinity it takes the one whose code is odd. In IEEE 754's formats that
    is the largest number (as in Boldo and Melquiond 2008, where no finite number becomes infinite); in P3109's it is
    what P3109's ToOdd takes: infinity in signed formats, the largest number in unsigned ones. Stochastic rounding (a
    Draw, or None) goes to infinity, as rounding to nearest does.
    infinity: its magnitude bits; None where there is none, and rounding to odd then does not stay inside.
    """
    match rounding:
        case Rounding.RZ:
            return np.ones(negative.shape, dtype=bool)
        case Rounding.RU:
            return negative
        case Rounding.RD:
            return ~negative
        case Rounding.RTO:
            return np.full(negative.shape, infinity is not None and infinity % 2 == 0)
        case Rounding.RNE | Rounding.RNA | Draw() | None:
            return np.zeros(negative.shape, dtype=bool)
        case _:
            assert_never(rounding)


def go_beyond(overflow: Overflow, over: Bools, infinite: Bools, inward: Bools, infinities: bool) -> Beyond:
    """What becomes of numbers that are too large, by a policy that the format has.

    over: which numbers are too large, infinities among them. infinite: which are infinities. inward: `rounds_inward`.
    infinities: whether the format has any.
    """
    none = np.zeros(over.shape, dtype=bool)
    match overflow:
        case Overflow.SATURATE:
            return Beyond(none, none)
        case Overflow.PROPAGATE:
            return Beyond(infinite & infinities, none)
        case Overflow.INFINITY:
            return Beyond(over, none)
        case Overflow.NAN:
            return Beyond(infinite & infinities, over & ~(infinite & infinities))
        case Overflow.IEEE:
            outside = over & (infinite | ~inward)
            return Beyond(outside & infinities, outside & (not infinities))
        case _:
            assert_never(overflow)
