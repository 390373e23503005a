"""Exact sums of integers in two words of 64 bits, rounded to two's complement of up to 64 bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.floats import RD, RNA, RNE, RTO, RU, RZ

S, U = np.int64, np.uint64
HALF = 64  # bits of a word
MOST = 126  # bits of a sum's magnitude


class FixedSum(NamedTuple):
    """How products become a result, in places of the sum's unit.

    products: that are rounded together; the last of them may be fewer. of_product, of_addend, of_result: places by
    which a product, c, and the result of a group are shifted up. drop: places by which the sum is shifted down to the
    result's unit; negative ones up. bits: of the result. wraps: what is too large wraps; otherwise it saturates. mode:
    of the rounding.
    """

    products: int
    of_product: int
    of_addend: int
    of_result: int
    drop: int
    bits: int
    wraps: bool
    mode: int


@inlined
def _up(high: Any, low: Any, places: Any) -> Any:
    """Two words, shifted up by 0 to 126 places."""
    if places == 0:
        return high, low
    if places >= HALF:
        return S(low << U(places - HALF)), U(0)
    return S(U(high) << U(places) | low >> U(HALF - places)), low << U(places)


@inlined
def _added(high: Any, low: Any, other_high: Any, other_low: Any) -> Any:
    total = U(low + other_low)
    return S(high + other_high + (S(1) if total < other_low else S(0))), total


@inlined
def _grows(kept: Any, half: Any, below: Any, negative: Any, mode: Any) -> Any:
    """Whether a magnitude is rounded up. half: the first bit that is lost. below: whether others are 1."""
    if mode == RNE:
        return half and (below or kept & U(1) == 1)
    if mode == RNA:
        return half
    if mode == RZ:
        return False
    lost = half or below
    if mode == RU:
        return lost and not negative
    if mode == RD:
        return lost and negative
    assert mode == RTO
    return lost and kept & U(1) == 0


@inlined
def _rounded(high: Any, low: Any, rule: Any) -> Any:
    """A sum of two words as an integer of the result's width."""
    negative = high < 0
    big, small = U(high), low
    if negative:
        small = U(~low + U(1))
        big = U(~big + (U(1) if small == 0 else U(0)))
    half, below, drop = False, False, rule.drop
    if drop < 0:
        shifted, small = _up(S(big), small, -drop)
        big = U(shifted)
    elif drop >= 2 * HALF:
        below = big != 0 or small != 0
        big, small = U(0), U(0)
    elif drop >= HALF:
        lost = drop - HALF
        word = small if lost == 0 else big << U(HALF - lost) | small >> U(lost)
        half = word >> U(HALF - 1) == 1
        below = word << U(1) != 0 or (lost > 0 and small << U(HALF - lost) != 0)
        big, small = U(0), big >> U(lost)
    elif drop > 0:
        half = small >> U(drop - 1) & U(1) == 1
        below = drop > 1 and small << U(HALF - drop + 1) != 0
        big, small = big >> U(drop), big << U(HALF - drop) | small >> U(drop)
    if _grows(small, half, below, negative, rule.mode):
        small = U(small + U(1))
        big = U(big + (U(1) if small == 0 else U(0)))
    if rule.wraps:
        word = U(~small + U(1)) if negative else small
        spare = S(HALF - rule.bits)
        return S(word << U(spare)) >> spare
    most = U(U(1) << U(rule.bits - 1))
    if negative:
        small = most if big != 0 or small > most else small
        return S(~small + U(1))
    return S(most - U(1)) if big != 0 or small >= most else S(small)


@inlined
def _one(a: Any, b: Any, addend: Any, rule: Any) -> Any:
    """The result of one dot product: a, b (K,)."""
    value, of_value = addend, rule.of_addend
    for first in range(0, a.shape[0], rule.products):
        high, low = S(0), U(0)
        for k in range(first, min(first + rule.products, a.shape[0])):
            product = S(a[k] * b[k])
            high, low = _added(high, low, S(product >> S(HALF - 1)), U(product))
        high, low = _up(high, low, rule.of_product)
        start_high, start_low = _up(S(value >> S(HALF - 1)), U(value), of_value)
        high, low = _added(high, low, start_high, start_low)
        value, of_value = _rounded(high, low, rule), rule.of_result
    return value


@compiled
def fixed_sums(a: Any, b: Any, addends: Any, rule: Any, out: Any) -> None:
    """Write results (m, n) of rows of a (m, K) by rows of b (n, K). addends, out: int64 (m, n)."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = _one(a[i], b[j], addends[i, j], rule)


@compiled
def fixed_pairs(a: Any, b: Any, addends: Any, rule: Any, out: Any) -> None:
    """Write results (n,) of row i of a with row i of b, (n, K) both. addends, out: int64 (n,)."""
    for i in range(a.shape[0]):
        out[i] = _one(a[i], b[i], addends[i], rule)
