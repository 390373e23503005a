"""What all of a group's sums in 64-bit integers are made of: its lanes, its terms, special ones among them, powers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.integers import Int64s, int64
from hwsim.kernels.lost import cut, loses
from hwsim.kernels.windows import NO_LIMIT, WindowNumbers
from hwsim.kernels.words import (
    CLASS_SHIFT,
    EXP_MASK,
    EXP_OFFSET,
    EXP_SHIFT,
    FINITE,
    NAN,
    NEGATIVE_SHIFT,
    SIG_MASK,
    Words,
)

# The exponent of a scale that is NaN.
NAN_EXP = 1 << 20
# Exponents of float64 that a power of two is made of.
F64_BIAS, F64_FRACTION = 1023, 52
# A float64 holds a sum at that exponent, and at its negative; results are within MOST_EXPONENT of `floats`.
FAR = 900


class GroupTerms(NamedTuple):
    """A group's products, or scaled sums: significands, exponents, and signs, 1 of negative ones. int64 of lanes."""

    sigs: Int64s
    exps: Int64s
    signs: Int64s


class Lanes(NamedTuple):
    """A group's factors and scales. a, b: words. scales: exponents of products' scales, NAN_EXP for NaN.

    scale_a, scale_b: words of the scales, for subgroups.
    """

    a: Words
    b: Words
    scales: Int64s
    scale_a: Words
    scale_b: Words


@inlined
def power(exp: int) -> float:
    """2^exp as a float64, exp within -1022 and 1023."""
    return np.int64((exp + F64_BIAS) << F64_FRACTION).view(np.float64)


@compiled
def leading(sig: int) -> int:
    """Where the leading one of a number above 0 stands. sig below 2^62."""
    exp = math.frexp(float(sig))[1] - 1
    # The conversion may have rounded up to the next power of two.
    return exp - 1 if sig >> exp == 0 else exp


@compiled
def number_exp(x: float, emin: int) -> int:
    """The exponent of a finite number other than zero, at least emin."""
    return max(math.frexp(x)[1] - 1, emin)


@compiled
def cut_number(x: float, shift: int, lost: int) -> int:
    """x * 2^shift as an integer, its lost bits as `sum.lost` says, with its sign. Below 2^62; x is a float64."""
    if x == 0:
        return 0
    fraction, exp = math.frexp(abs(x))
    return cut(int(fraction * 2.0**53), 53 - exp - shift, x < 0, lost)


@compiled
def number_loses(x: float, shift: int) -> bool:
    """Whether `cut_number` cuts a 1 off the magnitude of x * 2^shift."""
    if x == 0:
        return False
    fraction, exp = math.frexp(abs(x))
    return loses(int(fraction * 2.0**53), 53 - exp - shift)


@compiled
def wide_number(total: int, exp: int, sticky: bool) -> float:
    """total * 2^exp as a float64, rounded to odd. |total| below 2^62.

    One more rounding, to 51 bits or fewer, is then as if it were the only one.
    sticky: the magnitude is more than that, by less than any place that such a rounding looks at.
    """
    size, up = abs(total), int64(0)
    if size >= 1 << 53:
        low = size & 1023
        size = (size >> 10 | int(low != 0 or sticky)) << 10
    elif sticky:
        up = int64(52 - leading(size))
        size = size << up | 1
    # So far away, nothing but the sign tells in a result: all formats end long before.
    value = math.ldexp(float(size), min(max(exp, -FAR), FAR) - up)
    return -value if total < 0 else value


@compiled
def special(a: int, b: int) -> int:
    """What a product with an infinite or NaN factor is: 2 for NaN, 1 or -1 for an infinity, 0 for a number."""
    kind_a, kind_b = a >> CLASS_SHIFT, b >> CLASS_SHIFT
    if kind_a == FINITE and kind_b == FINITE:
        return 0
    if kind_a == NAN or kind_b == NAN:
        return 2
    if (kind_a == FINITE and a & SIG_MASK == 0) or (kind_b == FINITE and b & SIG_MASK == 0):
        return 2
    return -1 if ((a ^ b) >> NEGATIVE_SHIFT) & 1 else 1


@compiled
def merged(before: int, new: int) -> int:
    """Two special terms together; 0 is none."""
    if before == 0 or new == 0:
        return before + new
    return before if before == new else 2


@inlined
def special_number(x: float) -> int:
    """What a float64 is, as `special` has it."""
    return 2 if x != x else 0 if not math.isinf(x) else 1 if x > 0 else -1


@compiled
def as_number(kind: int) -> float:
    """A special term as a float64."""
    return np.nan if kind == 2 else np.inf if kind == 1 else -np.inf


@inlined
def beyond_limit(rule: WindowNumbers, sig: int, exp: int, minus: bool) -> int:
    """What a product of numbers is: an infinity from `sum.product_limit` on, as `special` has it; 0 for a number."""
    if rule.limit == NO_LIMIT or sig == 0 or leading(sig) + exp - rule.product_fraction < rule.limit:
        return 0
    return -1 if minus else 1


@inlined
def product_exp(x: int, y: int) -> int:
    """The exponent of a product, of words."""
    return ((x >> EXP_SHIFT) & EXP_MASK) + ((y >> EXP_SHIFT) & EXP_MASK) - 2 * EXP_OFFSET
