"""`sum.method: exact`: sums without any error, rounded at the end or after each group.

Products are float64s without an error. So are sums of few of them, in units of the least; with each sum's error beside
it, sums of many; and what is left, sums over scales of their own or over all of binary32's range, goes into `levels`.
`plan_of` says which, from the widths of the factors and the number of products alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

import numpy as np

from hwsim.formats import FixedFormat
from hwsim.kernels import fixed_kernel
from hwsim.kernels.codes import Floats
from hwsim.kernels.exact_sums import Reach, Segments, SumKind, narrow_sums, wide_sums
from hwsim.kernels.extents import Extent, extent, products_of, scaled_products
from hwsim.kernels.fixed_kernel import FixedKernel
from hwsim.kernels.float_kernel import FloatKernel, Partial, float_lacks
from hwsim.kernels.floats import ANY_RANGE, FIXED_BITS, fixed_range
from hwsim.kernels.levels import levels_for
from hwsim.kernels.targets import binary32_target, result_target
from hwsim.kernels.values import Carried, FloatOperand, each
from hwsim.spec import ExactSum, Unit

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 128
# Products of a segment for which one float64, or two, are worth their while.
WORTH_ONE, WORTH_TWO = 64, 8
# A unit whose sums wrap has a kernel only if this holds sums of so many products.
LONG = 1 << 20
# Of what is zero, or special: it reaches nothing.
NOWHERE = 1 << 20


class SumPlan(NamedTuple):
    """How products are summed that are rounded together.

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
    """What neither of the kernels holds, as keys with their values."""
    if not as_integers(unit):
        yield from _float_sums_lack(unit, rule)


def as_integers(unit: Unit) -> bool:
    """Whether a unit's sums are integers: where floats do not hold them, and two words do."""
    if isinstance(unit.sum, ExactSum) and not any(_float_sums_lack(unit, unit.sum)):
        return False
    return not any(fixed_kernel.lacks(unit))


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
    """What sums start from: c, or the result of a group."""
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
    """Exact sums."""

    rows, columns = 32, 256

    def __init__(self, unit: Unit, rule: ExactSum):
        self.shared = shared_scales(unit)
        super().__init__(unit, scaled_products(unit) and self.shared is None)
        self.rule, self.longest = rule, longest_of(unit)
        self.products, self.addends, self.numbers = products_of(unit, self.fold), addends_of(unit), numbers_of(unit)
        self.target, fmt = result_target(unit.result), unit.result.format
        self.range = fixed_range(fmt, unit.result.overflow == "wrap") if isinstance(fmt, FixedFormat) else ANY_RANGE

    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        """As in `FloatKernel`."""
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

    def _kind(self, plan: SumPlan) -> SumKind:
        """What the compiled sums are made for."""
        fixed = isinstance(self.unit.result.format, FixedFormat)
        ieee, native = self.rule.zero == "ieee", self.target == binary32_target()
        return SumKind(plan.pair, self.shared is not None, ieee, fixed, native, self.target.mode)

    def _narrow(self, factors: Segments, plan: SumPlan, count: int) -> Partial:
        """Sums that need no levels. count: products that are rounded together."""
        compiled = narrow_sums(self._kind(plan))
        room = np.empty((2, len(factors.a), factors.b.shape[1]))

        def sums(values: Floats, first: int, last: int, count: int, part: tuple[int, bool], alone: int) -> None:
            compiled(values, room, factors, first, last, count, part, alone, self.target, self.range)

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
        compiled = wide_sums(self._kind(plan))
        growth = plan.segment.bit_length()
        levels = levels_for(self.numbers._replace(high=self.numbers.high + growth), 2 * -(-count // plan.segment) + 1)
        reach_b = reaches[1]
        reach_a = reaches[0] + np.array([growth, 0]).reshape(2, 1, 1)
        reach_c = self.addends.high, self.addends.low

        def partial(values: Floats, first: int, last: int) -> None:
            alone = -1 if self.starts_from_addend(first) else first
            reaches = reach_a, reach_b, reach_c
            compiled(values, factors, reaches, first, last, count, plan.segment, alone, self.target, self.range, levels)

        return partial

    def _reach(self, factors: Segments, segment: int, single: tuple[int, int] | None) -> tuple[Reach, Reach]:
        """How high and how low the products of a segment reach: the sum of a row's (2, m, ...) and a column's (2, ...).

        single: where a segment is one product, the bits of its factors, which then tell; else the scales do.
        """
        if single is not None:
            return reach_of(factors.a, single[0]), over_columns(reach_of(factors.b, single[1]))
        if self.shared is not None:
            own = np.array([self.products.high, self.products.low]).reshape(2, 1, 1)
            return reach_of(factors.scale_a, 1) + own, over_columns(reach_of(factors.scale_b, 1))
        segments = -(-factors.a.shape[1] // segment)
        whole = np.broadcast_to(
            np.array([self.products.high, self.products.low])[:, None, None], (2, len(factors.a), segments)
        )
        return whole.copy(), np.zeros((2, segments), np.int64)


def reach_of(values: Carried, bits: int) -> Reach:
    """Of each value of at most `bits` bits: an exponent that it is below, and one that it is a multiple of."""
    exponents = np.frexp(values)[1].astype(np.int64)
    counts = np.isfinite(values) & (values != 0)
    return np.array([np.where(counts, exponents, -NOWHERE), np.where(counts, exponents - bits, NOWHERE)])


def over_columns(reach: Reach) -> Reach:
    """The highest and the lowest of every row."""
    return np.array([reach[0].max(axis=1), reach[1].min(axis=1)])
