"""`sum.method: exact`: sums without any error, rounded at the end or after each group.

Products are float64s without an error. So are sums of few of them, in units of the least; with each sum's error beside
it, sums of many; and what is left, sums over scales of their own or over all of binary32's range, goes into `levels`.
`plan_of` says which, from the widths of the factors and the number of products alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import Callback, call, compiled, inlined, row_at
from hwsim.compute.kernels import fixed
from hwsim.compute.kernels.fixed import FixedKernel
from hwsim.compute.kernels.float_kernel import FloatKernel, Partial, float_lacks
from hwsim.compute.kernels.floats import (
    ANY_RANGE,
    FIXED_BITS,
    MODES,
    RD,
    TARGET_NUMBERS,
    FixedRange,
    add_odd,
    binary32_target,
    fixed_range,
    result_target,
    round_in,
    settled,
    target_at,
    within,
)
from hwsim.compute.kernels.kernel import Int64s, int64
from hwsim.compute.kernels.values import Carried, FloatOperand, Floats, each
from hwsim.formats import FixedFormat
from hwsim.spec import ExactSum, Unit
from hwsim.spec.ranges import Extent, extent, products_of, scaled_products

MOST_WIDTH = 40


class Levels(NamedTuple):
    """Levels of a sum.

    shifts: 1.5 * 2^52 units of each level. high: every number is below 2^high. width: bits from unit to unit.
    """

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
    for j in range(total.shape[0]):
        total[j] = levels[last, j]
    for i in range(last - 1, -1, -1):
        level = levels[i]
        for j in range(total.shape[0]):
            total[j] = add_odd(level[j], total[j])
    for j in range(total.shape[0]):
        total[j] = total[j] if special[j] == 0 else special[j]


# Exponents: every number is below 2^reach[0] and a multiple of 2^reach[1].
Reach = Int64s


class Segments(NamedTuple):
    """Packed values, and a scale for each segment of products: a (m, segments), b (segments, n)."""

    a: Carried
    b: Carried
    scale_a: Floats
    scale_b: Floats


class RowFinish(NamedTuple):
    """The code that makes results of a row of sums: addresses of `rounding_of` and of its numbers.

    ieee: zeros have the signs of IEEE 754; otherwise they are positive. down: the rounding is.
    """

    code: int
    target: int
    ends: int
    ieee: bool
    down: bool


@lru_cache(maxsize=64)
def rounding_of(fixed: bool, native: bool, mode: int) -> Callback:
    """Rounds a row of sums, themselves rounded to odd.

    fixed: results are brought into a fixed format's range. native: they are binary32's, by a conversion. mode: of the
    rounding. Its arguments: the addresses of results and sums; how many; the addresses of the target's numbers, and of
    the range's.
    """

    def finish(results: int, sums: int, count: int, target: int, ends: int) -> None:
        result, total = row_at(results, count, np.float64), row_at(sums, count, np.float64)
        t, end = target_at(row_at(target, TARGET_NUMBERS, np.float64)), row_at(ends, 3, np.float64)
        f = FixedRange(end[0], end[1], end[2])
        for j in range(count):
            x = total[j]
            if native:
                result[j] = np.float32(x)
                continue
            rounded = round_in(x, t, mode)
            result[j] = within(rounded, f) if fixed else settled(x, rounded, t)

    return Callback(finish, 5)


# values, room, factors, first, last, count, part, alone, finish
NarrowSums = Callable[[Floats, Floats, Segments, int, int, int, tuple[int, bool], int, RowFinish], None]


@lru_cache(maxsize=4)
def narrow_sums(pair: bool, scaled: bool) -> NarrowSums:
    """Sums that one float64, or with `pair` two: the sum and its errors' sum, hold. scaled: times a scale."""

    @compiled
    def sums(
        values: Floats, room: Floats, factors: Segments, first: int, last: int, count: int, part: tuple[int, bool],
        alone: int, finish: RowFinish,
    ) -> None:  # fmt: skip
        """Values (m, n) become the rounded sums of themselves and `count` products, again and again up to `last`.

        room: two sums so far (2, m, n). factors: with a scale for each `count` products.
        part: where the sum of products began, -1 for with each `count`, and whether it ends with these. alone: where
        the sum that has no addend begins, or -1.
        """
        a, b, of_a, of_b = factors
        origin, ends = part
        n, total = values.shape[1], np.empty(values.shape[1])
        for i in range(values.shape[0]):
            main, errors = room[0, i], room[1, i]
            for start in range(first, last, count):
                stop = min(start + count, last)
                begins = origin < 0 or start == origin
                addend = values[i]
                if pair and not scaled and begins and ends and stop - start == 2:
                    add_two_products(addend, a[i], b, start, total)
                    sign_zeros(total, addend, start != alone, a[i], b, start, stop, finish)
                    call(finish.code, (addend.ctypes.data, total.ctypes.data, n, finish.target, finish.ends))
                    continue
                add_products(main, errors, a[i], b, start, stop, pair, begins)
                if not ends:
                    continue
                scale_b = of_b[start // count if scaled else 0]
                scale_a = of_a[i, start // count if scaled else 0]
                for j in range(n):
                    scale = scale_a * scale_b[j] if scaled else 1.0
                    if pair:
                        total[j] = sum_of_three(main[j] * scale, errors[j] * scale, addend[j])
                    else:
                        total[j] = add_odd(main[j] * scale, addend[j])
                began = start if origin < 0 else origin
                sign_zeros(total, addend, began != alone, a[i], b, began, stop, finish)
                call(finish.code, (addend.ctypes.data, total.ctypes.data, n, finish.target, finish.ends))

    return sums


Reaches = tuple[Reach, Reach, tuple[int, int]]
# values, factors, reaches, first, last, count, segment, alone, finish, levels
WideSums = Callable[[Floats, Segments, Reaches, int, int, int, int, int, RowFinish, Levels], None]


@lru_cache(maxsize=4)
def wide_sums(pair: bool, scaled: bool) -> WideSums:
    """Sums in levels, to which sums of segments are added, in one float64 or two, each times a scale."""

    @compiled
    def sums(
        values: Floats, factors: Segments, reaches: Reaches, first: int, last: int,
        count: int, segment: int, alone: int, finish: RowFinish, given: Levels,
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
                for j in range(n):
                    main[j] = values[i, j]
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
                sign_zeros(main, values[i], start != alone, a[i], b, start, stop, finish)
                call(finish.code, (values[i].ctypes.data, main.ctypes.data, n, finish.target, finish.ends))

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
    total: Floats, addend: Floats, with_addend: bool, x: Carried, b: Carried, first: int, last: int, finish: RowFinish
) -> None:
    """Give sums of zero their sign: plus, or that of IEEE 754.

    That is the sign of all terms; where they differ, positive, and negative under rd.
    """
    down = finish.down
    for j in range(total.shape[0]):
        total[j] += 0.0
        if total[j] != 0 or not finish.ieee:
            continue
        # Rounding down, one negative term is enough; else one positive term.
        decided = with_addend and (np.copysign(1.0, addend[j]) < 0) == down
        k = first
        while not decided and k < last:
            decided = (np.copysign(1.0, x[k]) != np.copysign(1.0, b[k, j])) == down
            k += 1
        total[j] = -0.0 if decided == down else 0.0


# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 128
# Products of a segment for which one float64, or two, are worth their while.
WORTH_ONE, WORTH_TWO = 64, 8
# A unit whose sums wrap has a kernel only if this holds sums of so many products.
LONG = 1 << 20
# Of what is zero, or special: it reaches nothing.
NOWHERE = 1 << 20


class SumPlan(NamedTuple):
    """A plan for the sum of products that are rounded together.

    segment: products whose sum is one float64, or two: with `pair` the sum and its errors' sum. wide: sums of segments
    go into levels; otherwise there is one segment.
    """

    segment: int
    pair: bool
    wide: bool


def plan_of(span: int, products: int, shared: int | None = None) -> SumPlan:
    """A plan for so many products of `span` bits. shared: products that have their scales in common; None: all.

    One float64 holds the sum of n products if span + log2(n) is at most 53. The error of an addition is at most half an
    ulp of such a sum, and a multiple of the same unit: with errors in a second float64, span + 2 log2(n) may be 104.
    The one error of two products is always a float64.
    """
    one, two = 1 << max(53 - span, 0), max(1 << max(104 - span, 0) // 2, 2)
    if shared is None or products <= shared:
        if products <= one:
            return SumPlan(products, False, False)
        if products <= two:
            return SumPlan(products, True, False)
    for most, pair, worth in ((one, False, WORTH_ONE), (two, True, WORTH_TWO)):
        segment = most if shared is None else max(n for n in range(1, shared + 1) if shared % n == 0 and n <= most)
        if segment >= min(worth, shared or worth):
            return SumPlan(segment, pair, True)
    return SumPlan(1, False, True)


def lacks(unit: Unit, rule: ExactSum) -> Iterator[str]:
    """Yield the settings that neither of the kernels holds, as keys with their values."""
    if not as_integers(unit):
        yield from _float_sums_lack(unit, rule)


def as_integers(unit: Unit) -> bool:
    """True if a unit's sums are integers: where floats do not hold them, and two words do."""
    if isinstance(unit.sum, ExactSum) and not any(_float_sums_lack(unit, unit.sum)):
        return False
    return not any(fixed.lacks(unit))


def _float_sums_lack(unit: Unit, rule: ExactSum) -> Iterator[str]:
    if rule.subgroup is not None:
        yield "sum.subgroup"
    if rule.product_limit is not None:
        yield f"sum.product_limit: {rule.product_limit}"
    yield from float_lacks(unit)
    yield from products_of(unit, False).not_float64s("operands: products")
    yield from numbers_of(unit).not_float64s("operands: products and addends")
    if longest_of(unit) < LONG:
        yield f"result.overflow: wrap (of sums of {LONG} products, which do not fit {FIXED_BITS} bits)"


def kernel(unit: Unit, rule: ExactSum) -> ExactKernel | FixedKernel:
    """The kernel of a unit of this method that lacks nothing."""
    if isinstance(unit.result.format, FixedFormat) and as_integers(unit):
        return FixedKernel(unit, unit.result.format)
    return ExactKernel(unit, rule)


def addends_of(unit: Unit) -> Extent:
    """The numbers that sums start from: c, or the result of a group."""
    results = extent(unit.result.format)
    return results if unit.operands.addend is None else results.with_(extent(unit.operands.addend))


def numbers_of(unit: Unit) -> Extent:
    """The terms of sums: products, scaled where scales enter there, and addends."""
    return products_of(unit, scaled_products(unit)).with_(addends_of(unit))


def longest_of(unit: Unit) -> int:
    """The largest K whose sums are right to their last bits: any, unless they wrap."""
    if unit.result.overflow != "wrap":
        return sys.maxsize
    high = FIXED_BITS - 1 + numbers_of(unit).low
    growth = high - products_of(unit, scaled_products(unit)).high
    return (1 << growth) - 1 if growth > 0 and addends_of(unit).high <= high else 0


def shared_scales(unit: Unit) -> int | None:
    """Products next to one another that share their scales; None where too few do, and factors take the scales."""
    if unit.scale is None or not scaled_products(unit) or unit.instruction.order != "sequential":
        return None
    shared = gcd(unit.instruction.lanes, unit.scale.length("a"), unit.scale.length("b"))
    return shared if plan_of(products_of(unit, False).span, 2 * shared, shared).segment >= 2 else None


class ExactKernel(FloatKernel):
    rows, columns = 32, 256

    def __init__(self, unit: Unit, rule: ExactSum):
        self.shared = shared_scales(unit)
        super().__init__(unit, scaled_products(unit) and self.shared is None)
        self.rule, self.longest = rule, longest_of(unit)
        self.products, self.addends, self.numbers = products_of(unit, self.fold), addends_of(unit), numbers_of(unit)
        self.target, fmt = result_target(unit.result), unit.result.format
        self.range = fixed_range(fmt, unit.result.overflow == "wrap") if isinstance(fmt, FixedFormat) else ANY_RANGE

    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        k = a.values.shape[1]
        count = self.unit.instruction.lanes if self.rule.rounded == "group" else self.span(k)
        plan = plan_of(self.products.span, count, self.shared)
        scale_a, scale_b = np.ones((len(a.values), 1)), np.ones((1, b.values.shape[1]))
        if self.shared is not None and a.scales is not None and b.scales is not None:
            segments = k // plan.segment
            scale_a = each(a.scales, a.block // plan.segment, segments, 1)
            scale_b = each(b.scales, b.block // plan.segment, segments, 0)
        factors = Segments(a.values, b.values, scale_a, scale_b)
        if not plan.wide:
            return self._narrow(factors, plan, count)
        single = (a.bits, b.bits) if plan.segment == 1 else None
        return self._wide(factors, plan, count, self._reach(factors, plan.segment, single))

    def _finish(self, numbers: Floats, ends: Floats) -> RowFinish:
        """The finish of rows. numbers, ends: of the target and of the range, which must live as long."""
        fixed, mode = isinstance(self.unit.result.format, FixedFormat), self.target.mode
        code = rounding_of(fixed, self.target == binary32_target(), mode).address
        return RowFinish(code, numbers.ctypes.data, ends.ctypes.data, self.rule.zero == "ieee", mode & MODES == RD)

    def _narrow(self, factors: Segments, plan: SumPlan, count: int) -> Partial:
        """Sums that need no levels. count: products that are rounded together."""
        compiled = narrow_sums(plan.pair, self.shared is not None)
        room = np.empty((2, len(factors.a), factors.b.shape[1]))
        numbers, ends = np.array(self.target), np.array(self.range)

        def sums(values: Floats, first: int, last: int, count: int, part: tuple[int, bool], alone: int) -> None:
            compiled(values, room, factors, first, last, count, part, alone, self._finish(numbers, ends))

        def partial(values: Floats, first: int, last: int) -> None:
            alone = -1 if self.starts_from_addend(first) else first
            if count <= PASS or self.shared:
                step = max(PASS // count, 1) * count
                for low in range(first, last, step):
                    sums(values, low, min(low + step, last), count, (-1, True), alone)
                return
            for start in range(first, last, count):
                stop = min(start + count, last)
                for low in range(start, stop, PASS):
                    high = min(low + PASS, stop)
                    sums(values, low, high, PASS, (start, high == stop), alone)

        return partial

    def _wide(self, factors: Segments, plan: SumPlan, count: int, reaches: tuple[Reach, Reach]) -> Partial:
        """Sums in levels. count: products that are rounded together. reaches: of the rows' segments, the columns'."""
        compiled = wide_sums(plan.pair, self.shared is not None)
        numbers, ends = np.array(self.target), np.array(self.range)
        growth = plan.segment.bit_length()
        levels = levels_for(self.numbers._replace(high=self.numbers.high + growth), 2 * -(-count // plan.segment) + 1)
        reach_b = reaches[1]
        reach_a = reaches[0] + np.array([growth, 0]).reshape(2, 1, 1)
        reach_c = self.addends.high, self.addends.low

        def partial(values: Floats, first: int, last: int) -> None:
            alone = -1 if self.starts_from_addend(first) else first
            reaches, finish = (reach_a, reach_b, reach_c), self._finish(numbers, ends)
            compiled(values, factors, reaches, first, last, count, plan.segment, alone, finish, levels)

        return partial

    def _reach(self, factors: Segments, segment: int, single: tuple[int, int] | None) -> tuple[Reach, Reach]:
        """The reach of a segment's products, high and low: sums of a row's (2, m, ...) and a column's (2, ...).

        single: where a segment is one product, the bits of its factors, which then tell; else the scales do.
        """
        if single is not None:
            return reach_of(factors.a, single[0]), over_columns(reach_of(factors.b, single[1]))
        if self.shared is not None:
            of_products = np.array([self.products.high, self.products.low]).reshape(2, 1, 1)
            return reach_of(factors.scale_a, 1) + of_products, over_columns(reach_of(factors.scale_b, 1))
        segments = -(-factors.a.shape[1] // segment)
        whole = np.broadcast_to(
            np.array([self.products.high, self.products.low])[:, None, None], (2, len(factors.a), segments)
        )
        return whole.copy(), np.zeros((2, segments), np.int64)


def reach_of(values: Carried, bits: int) -> Reach:
    """An exponent that each value of at most `bits` bits is below, and one that it is a multiple of."""
    exponents = np.frexp(values)[1].astype(np.int64)
    counts = np.isfinite(values) & (values != 0)
    return np.array([np.where(counts, exponents, -NOWHERE), np.where(counts, exponents - bits, NOWHERE)])


def over_columns(reach: Reach) -> Reach:
    """The highest and the lowest of every row."""
    return np.array([reach[0].max(axis=1), reach[1].min(axis=1)])
