"""Exact sums of products, rounded: of rows by columns in vectors, in one float64, in two, or in levels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.codes import Floats
from hwsim.kernels.floats import RD, FixedRange, RoundingTarget, add_odd, round_in, settled, within
from hwsim.kernels.integers import Int64s, int64
from hwsim.kernels.levels import Levels, collect, spread
from hwsim.kernels.values import Carried

# Exponents: every number is below 2^reach[0] and a multiple of 2^reach[1].
Reach = Int64s


class Segments(NamedTuple):
    """Packed values, and a scale for each segment of products: a (m, segments), b (segments, n)."""

    a: Carried
    b: Carried
    scale_a: Floats
    scale_b: Floats


class SumKind(NamedTuple):
    """What sums are compiled for. pair: with the sum of their errors. scaled: times a scale. ieee: the signs of zeros.

    fixed: results are brought into a fixed format's range. native: they are binary32's, by a conversion. mode: of their
    rounding.
    """

    pair: bool
    scaled: bool
    ieee: bool
    fixed: bool
    native: bool
    mode: int


# values, room, factors, first, last, count, part, alone, target, range
NarrowSums = Callable[
    [Floats, Floats, Segments, int, int, int, tuple[int, bool], int, RoundingTarget, FixedRange], None
]


@lru_cache(maxsize=64)
def narrow_sums(kind: SumKind) -> NarrowSums:
    """Sums that one float64, or with `pair` two, hold."""
    pair, scaled, ieee, fixed, native, mode = kind

    @compiled
    def sums(
        values: Floats, room: Floats, factors: Segments, first: int, last: int, count: int, part: tuple[int, bool],
        alone: int, t: RoundingTarget, f: FixedRange,
    ) -> None:  # fmt: skip
        """Values (m, n) become the rounded sums of themselves and `count` products, again and again up to `last`.

        room: two sums so far (2, m, n). factors: with a scale for each `count` products.
        part: where the sum of products began, -1 for with each `count`, and whether it ends with these. alone: where
        the sum that has no addend begins, or -1.
        """
        a, b, of_a, of_b = factors
        origin, ends = part
        total = np.empty(values.shape[1])
        for i in range(values.shape[0]):
            main, errors = room[0, i], room[1, i]
            for start in range(first, last, count):
                stop = min(start + count, last)
                begins = origin < 0 or start == origin
                addend = values[i]
                if pair and not scaled and begins and ends and stop - start == 2:
                    add_two_products(addend, a[i], b, start, total)
                    if ieee:
                        sign_zeros(total, addend, start != alone, a[i], b, start, stop, mode)
                    round_sums(addend, total, ieee, fixed, native, t, f, mode)
                    continue
                add_products(main, errors, a[i], b, start, stop, pair, begins)
                if not ends:
                    continue
                scale_b = of_b[start // count if scaled else 0]
                scale_a = of_a[i, start // count if scaled else 0]
                for j in range(total.shape[0]):
                    scale = scale_a * scale_b[j] if scaled else 1.0
                    if pair:
                        total[j] = sum_of_three(main[j] * scale, errors[j] * scale, addend[j])
                    else:
                        total[j] = add_odd(main[j] * scale, addend[j])
                if ieee:
                    began = start if origin < 0 else origin
                    sign_zeros(total, addend, began != alone, a[i], b, began, stop, mode)
                round_sums(addend, total, ieee, fixed, native, t, f, mode)

    return sums


Reaches = tuple[Reach, Reach, tuple[int, int]]
# values, factors, reaches, first, last, count, segment, alone, target, range, levels
WideSums = Callable[[Floats, Segments, Reaches, int, int, int, int, int, RoundingTarget, FixedRange, Levels], None]


@lru_cache(maxsize=64)
def wide_sums(kind: SumKind) -> WideSums:
    """Sums in levels, to which sums of segments are added, in one float64 or two, each times a scale."""
    pair, scaled, ieee, fixed, native, mode = kind

    @compiled
    def sums(
        values: Floats, factors: Segments, reaches: Reaches, first: int, last: int,
        count: int, segment: int, alone: int, t: RoundingTarget, f: FixedRange, given: Levels,
    ) -> None:  # fmt: skip
        """Values (m, n) become the rounded sums of themselves and `count` products, again and again up to `last`.

        factors: with a scale for each segment. reaches: of the segments of a (2, m, ...) and of b (2, ...), and of the
        addends. given: the levels.
        """
        a, b, of_a, of_b = factors
        reach_a, reach_b, reach_c = reaches
        shifts, high, width = given
        n, top = values.shape[1], shifts.shape[0] - 1
        main, errors, special, lost = np.empty(n), np.empty(n), np.empty(n), np.zeros(n)
        levels = np.empty((shifts.shape[0], n))
        for i in range(values.shape[0]):
            for start in range(first, last, count):
                stop = min(start + count, last)
                levels[:] = 0.0
                special[:] = 0.0
                main[:] = values[i]
                below = level_of(reach_c[1], high, width, top)
                spread(main, special, levels, shifts, (high - reach_c[0]) // width, below)
                for k in range(start, stop, segment):
                    s = k // segment
                    add_products(main, errors, a[i], b, k, min(k + segment, stop), pair, True)
                    if scaled:
                        for j in range(n):
                            main[j] *= of_a[i, s] * of_b[s, j]
                    above = max((high - reach_a[0, i, s] - reach_b[0, s]) // width, 0)
                    below = level_of(reach_a[1, i, s] + reach_b[1, s], high, width, top)
                    spread(main, special, levels, shifts, above, below)
                    if pair:
                        if scaled:
                            for j in range(n):
                                errors[j] *= of_a[i, s] * of_b[s, j]
                        # What a special sum leaves here is a NaN that means nothing.
                        spread(errors, lost, levels, shifts, above, below)
                collect(main, special, levels, shifts)
                if ieee:
                    sign_zeros(main, values[i], start != alone, a[i], b, start, stop, mode)
                round_sums(values[i], main, ieee, fixed, native, t, f, mode)

    return sums


@inlined
def level_of(exponent: int, high: int, width: int, top: int) -> int:
    """The level whose unit is at most 2^exponent, or the last."""
    return min((high - exponent) // width, top)


@inlined
def add_products(
    main: Floats, errors: Floats, x: Carried, b: Carried, first: int, last: int, pair: bool, begins: bool
) -> None:
    """Add products of x and rows of b to sums, with `pair` their errors to a second row. begins: the sums are zero."""
    n = main.shape[0]
    if begins:
        factor, row = x[first], b[first]
        for j in range(n):
            main[j] = factor * row[j]
        if pair:
            errors[:] = 0.0
        first += 1
    if pair:
        for k in range(first, last):
            factor, row = x[k], b[k]
            for j in range(n):
                before, product = main[j], factor * row[j]
                total = before + product
                of_product = total - before
                errors[j] += (before - (total - of_product)) + (product - of_product)
                main[j] = total
        return
    # Four at a time, because a sum is loaded and stored in between.
    fours = first + (last - first) // 4 * 4
    for k in range(first, fours, 4):
        p, q, r, s = x[k], x[k + 1], x[k + 2], x[k + 3]
        of_p, of_q, of_r, of_s = b[k], b[k + 1], b[k + 2], b[k + 3]
        for j in range(n):
            main[j] = (((main[j] + p * of_p[j]) + q * of_q[j]) + r * of_r[j]) + s * of_s[j]
    for k in range(fours, last):
        factor, row = x[k], b[k]
        for j in range(n):
            main[j] += factor * row[j]


@inlined
def add_two_products(addend: Floats, x: Carried, b: Carried, first: int, total: Floats) -> None:
    """Addends and two products, rounded to odd. Most are exact, and those that are not are found for all together."""
    p, q, of_p, of_q, inexact = x[first], x[first + 1], b[first], b[first + 1], int64(0)
    for j in range(total.shape[0]):
        one, two, three = p * of_p[j], q * of_q[j], addend[j]
        both = one + two
        of_two = both - one
        rest = (one - (both - of_two)) + (two - of_two)
        every = both + three
        of_three = every - both
        left = (both - (every - of_three)) + (three - of_three)
        # All but their signs. NaNs are not zero either.
        errors = np.float64(rest).view(np.int64) | np.float64(left).view(np.int64)
        inexact = int64(inexact | errors << 1)
        total[j] = every
    for j in range(total.shape[0] if inexact != 0 else 0):
        odd = sum_of_three(p * of_p[j], q * of_q[j], addend[j])
        total[j] = odd if abs(total[j]) < np.inf else total[j]


@inlined
def sum_of_three(x: float, y: float, z: float) -> float:
    """x + y + z, rounded to odd (Boldo and Melquiond 2008, section 5). Where x is special, y may be a NaN."""
    plain = x + z
    xy = x + y
    of_y = xy - x
    rest_xy = (x - (xy - of_y)) + (y - of_y)
    total = z + xy
    of_xy = total - z
    rest = (z - (total - of_xy)) + (xy - of_xy)
    odd = add_odd(total, add_odd(rest, rest_xy))
    return odd if abs(plain) < np.inf else plain


@inlined
def sign_zeros(
    total: Floats, addend: Floats, with_addend: bool, x: Carried, b: Carried, first: int, last: int, mode: int
) -> None:
    """Give sums of zero the sign of IEEE 754: that of all terms; where they differ, positive, and negative under rd."""
    down = mode & 7 == RD
    for j in range(total.shape[0]):
        if total[j] != 0:
            continue
        # Rounding down, one negative term is enough; else one positive term.
        decided = with_addend and (np.copysign(1.0, addend[j]) < 0) == down
        k = first
        while not decided and k < last:
            decided = (np.copysign(1.0, x[k]) != np.copysign(1.0, b[k, j])) == down
            k += 1
        total[j] = -0.0 if decided == down else 0.0


@inlined
def round_sums(
    result: Floats, total: Floats, ieee: bool, fixed: bool, native: bool, t: RoundingTarget, f: FixedRange, mode: int
) -> None:
    """Write a row of sums, rounded to odd, as results. ieee: zeros have signs; otherwise they are positive."""
    for j in range(total.shape[0]):
        # Minus zero and zero are zero.
        x = total[j] if ieee else total[j] + 0.0
        if native:
            result[j] = np.float32(x)
            continue
        rounded = round_in(x, t, mode)
        result[j] = within(rounded, f) if fixed else settled(x, rounded, t)
