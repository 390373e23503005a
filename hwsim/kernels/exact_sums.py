"""Exact sums of products, rounded: of rows by columns in vectors, in one float64, in two, or in levels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.kernels.fixed import within
from hwsim.kernels.floats import RD, add_odd, round_in, settled
from hwsim.kernels.levels import collect, spread


@lru_cache(maxsize=64)
def narrow_sums(pair: bool, scaled: bool, ieee: bool, fixed: bool, mode: int) -> Any:
    """Sums that one float64, or with `pair` two, hold. scaled: times a scale. ieee: the signs of zeros."""

    @compiled
    def sums(
        values: Any, room: Any, a: Any, b: Any, of_a: Any, of_b: Any, first: Any, last: Any, count: Any, part: Any,
        alone: Any, t: Any, f: Any,
    ) -> None:  # fmt: skip
        """Values (m, n) become the rounded sums of themselves and `count` products, again and again up to `last`.

        room: two sums so far (2, m, n). of_a, of_b: a scale for each `count` products, (m, ...) and (..., n).
        part: where the sum of products began, -1 for with each `count`, and whether it ends with these. alone: where
        the sum that has no addend begins, or -1.
        """
        origin, ends = part
        total = np.empty(values.shape[1])
        for i in range(values.shape[0]):
            main, errors = room[0, i], room[1, i]
            for start in range(first, last, count):
                stop = min(start + count, last)
                begins = origin < 0 or start == origin
                add_products(main, errors, a[i], b, start, stop, pair, begins)
                if not ends:
                    continue
                addend = values[i]
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
                round_sums(addend, total, ieee, fixed, t, f, mode)

    return sums


@lru_cache(maxsize=64)
def wide_sums(pair: bool, scaled: bool, ieee: bool, fixed: bool, mode: int) -> Any:
    """Sums in levels, to which sums of segments are added, in one float64 or two, each times a scale."""

    @compiled
    def sums(
        values: Any, a: Any, b: Any, of_a: Any, of_b: Any, reach_a: Any, reach_b: Any, reach_c: Any, first: Any,
        last: Any, count: Any, segment: Any, alone: Any, t: Any, f: Any, shifts: Any, high: Any, width: Any,
    ) -> None:  # fmt: skip
        """Values (m, n) become the rounded sums of themselves and `count` products, again and again up to `last`.

        of_a, of_b: a scale for each segment, (m, ...) and (..., n). reach_a (2, m, ...), reach_b (2, ...), reach_c (2):
        every number of a segment, or addend, is below 2^reach[0] and a multiple of 2^reach[1]. high, width: of levels.
        """
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
                round_sums(values[i], main, ieee, fixed, t, f, mode)

    return sums


@inlined
def level_of(exponent: Any, high: Any, width: Any, top: Any) -> Any:
    """The level whose unit is at most 2^exponent, or the last."""
    return min((high - exponent) // width, top)


@inlined
def add_products(main: Any, errors: Any, x: Any, b: Any, first: Any, last: Any, pair: Any, begins: Any) -> None:
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
def sum_of_three(x: Any, y: Any, z: Any) -> Any:
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
def sign_zeros(total: Any, addend: Any, with_addend: Any, x: Any, b: Any, first: Any, last: Any, mode: Any) -> None:
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
def round_sums(result: Any, total: Any, ieee: Any, fixed: Any, t: Any, f: Any, mode: Any) -> None:
    """Write a row of sums, rounded to odd, as results. ieee: zeros have signs; otherwise they are positive."""
    for j in range(total.shape[0]):
        # Minus zero and zero are zero.
        x = total[j] if ieee else total[j] + 0.0
        rounded = round_in(x, t, mode)
        result[j] = within(rounded, f) if fixed else settled(x, rounded, t)
