"""The kernel of exact sums: `sum.method` exact.

Products are float64s without an error. So are sums of few of them, in units of the least; with each sum's error beside
it, sums of many; and what is left, sums over scales of their own or over all of binary32's range, goes into `levels`.
`plan_of` says which, from the widths of the factors and the number of products alone.
"""

from __future__ import annotations

from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FixedFormat, FloatFormat
from hwsim.kernels.codes import Floats
from hwsim.kernels.exact_sums import narrow_sums, wide_sums
from hwsim.kernels.extents import Extent, as_float64, extent, products_of, scales_of
from hwsim.kernels.fixed import ANY, HELD_BITS, fixed_target_of
from hwsim.kernels.floats import target_of
from hwsim.kernels.kernel import Unsuited
from hwsim.kernels.levels import levels_for
from hwsim.kernels.paired import run_pairs
from hwsim.kernels.spans import Partial, Scales, Spans
from hwsim.kernels.values import Packed, block_of, each, pack
from hwsim.spec import Unit

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 128
# Products of a segment for which one float64, or two, are worth their while.
WORTH_ONE, WORTH_TWO = 64, 8
# K that a unit is asked to hold when it is made.
LONG = 1 << 20
# Of what is zero, or special: it reaches nothing.
NOWHERE = 1 << 20

Reach = NDArray[np.int64]


class Plan(NamedTuple):
    """How products are summed that are rounded together.

    segment: products whose sum is one float64, or two: with `pair` the sum and its errors' sum. wide: sums of segments
    go into levels; otherwise there is one segment.
    """

    segment: int
    pair: bool
    wide: bool


def plan_of(span: int, products: int, shared: int | None = None) -> Plan:
    """A plan for so many products of `span` bits. shared: products that have their scales in common; None: all.

    One float64 holds the sum of n products if span + log2(n) is at most 53. The error of an addition is at most half an
    ulp of such a sum, and a multiple of the same unit: with errors in a second float64, span + 2 log2(n) may be 104.
    The one error of two products is always a float64.
    """
    one, two = 1 << max(53 - span, 0), max(1 << max(104 - span, 0) // 2, 2)
    if shared is None or products <= shared:
        if products <= one:
            return Plan(products, False, False)
        if products <= two:
            return Plan(products, True, False)
    for most, pair, worth in ((one, False, WORTH_ONE), (two, True, WORTH_TWO)):
        segment = most if shared is None else max(n for n in range(1, shared + 1) if shared % n == 0 and n <= most)
        if segment >= min(worth, shared or worth):
            return Plan(segment, pair, True)
    return Plan(1, False, True)


class Factors(NamedTuple):
    """Packed values, and a scale for each segment of products: a (m, segments), b (segments, n)."""

    a: Floats
    b: Floats
    scale_a: Floats
    scale_b: Floats


class ExactKernel:
    """Exact sums. Raises Unsuited."""

    rows, columns = 32, 256

    def __init__(self, unit: Unit):
        result = unit.result
        if unit.sum.product_limit is not None:
            raise Unsuited("sum.product_limit")
        self.unit, self.spans, self.fixed = unit, Spans(unit), ANY
        self.products = products_of(unit)
        scaled = unit.scale is not None and unit.scale.at == "product"
        self.shared = self._shared() if scaled else None
        self.fold = scaled and self.shared is None
        numbers = self.products.times(scales_of(unit)) if scaled else self.products
        self.products = numbers if self.fold else self.products
        self.addends = self._addends()
        self.numbers = as_float64(numbers.with_(self.addends), "products and addends")
        if isinstance(result.format, FixedFormat):
            self.target, self.fixed = fixed_target_of(result.format, result.rounding, result.overflow)
            self._check_wrap(LONG)
        else:
            assert isinstance(result.format, FloatFormat)
            flush = result.subnormals == "flush"
            self.target = target_of(result.format, result.rounding, result.overflow, result.tiny, flush)

    def _shared(self) -> int | None:
        """Products next to one another that share their scales; None where too few do, and factors take the scales."""
        shared = gcd(self.unit.instruction.lanes, block_of(self.unit, "a"), block_of(self.unit, "b"))
        plan = plan_of(self.products.span, 2 * shared, shared)
        return None if plan.segment < 2 or self.unit.instruction.order != "sequential" else shared

    def _addends(self) -> Extent:
        """What sums start from: c, or the result of a group."""
        made = extent(self.unit.result.format)
        return made if self.unit.operands.addend is None else made.with_(extent(self.unit.operands.addend))

    def _check_wrap(self, k: int) -> None:
        """What wraps must be right to its last bit."""
        low, high = self.numbers.low, max(self.products.high + k.bit_length(), self.addends.high)
        if self.fixed.turn and high + 1 - low > HELD_BITS:
            raise Unsuited(f"sums of {k} products that wrap and do not fit {HELD_BITS} bits")

    def pack_a(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Packed:
        """As in `Kernel`."""
        return pack(self.unit, "a", codes, scales, self.fold)

    def pack_b(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Packed:
        """As in `Kernel`."""
        return pack(self.unit, "b", codes, scales, self.fold)

    def run(self, a: Packed, b: Packed, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        """As in `Kernel`. Raises Unsuited where so long a sum wraps that its last bits are lost."""
        k = a.values.shape[1]
        self._check_wrap(k)
        count = self.unit.instruction.lanes if self.unit.sum.rounded == "group" else self.spans.length(k)
        plan = plan_of(self.products.span, count, self.shared)
        scale_a, scale_b, promoted = np.ones((len(a.values), 1)), np.ones((1, b.values.shape[1])), None
        if a.scales is not None and b.scales is not None:
            if self.shared is None:
                promoted = Scales(a.scales, b.scales, a.block, b.block)
            else:
                segments = k // plan.segment
                scale_a = each(a.scales, a.block // plan.segment, segments, 1)
                scale_b = each(b.scales, b.block // plan.segment, segments, 0)
        factors = Factors(a.values, b.values, scale_a, scale_b)
        partial = self._wide(factors, plan, count) if plan.wide else self._narrow(factors, plan, count)
        self.spans.run(partial, k, promoted, c, out)

    def pairs(
        self, a: tuple[NDArray[Any], Any], b: tuple[NDArray[Any], Any], c: NDArray[np.uint32], out: NDArray[np.uint32]
    ) -> None:
        """As in `Kernel`."""
        run_pairs(self, a, b, c, out)

    def _flags(self, plan: Plan) -> tuple[bool, bool, bool, bool, int]:
        """What the compiled sums are made for."""
        return plan.pair, self.shared is not None, self.unit.sum.zero == "ieee", self.fixed is not ANY, self.target.mode

    def _narrow(self, factors: Factors, plan: Plan, count: int) -> Partial:
        """Sums that need no levels. count: products that are rounded together."""
        compiled = narrow_sums(*self._flags(plan))
        room = np.empty((2, len(factors.a), factors.b.shape[1]))

        def sums(values: Floats, first: int, last: int, count: int, part: tuple[int, bool], alone: int) -> None:
            compiled(values, room, *factors, first, last, count, part, alone, self.target, self.fixed)

        def partial(values: Floats, first: int, last: int) -> None:
            alone = -1 if self.spans.starts_from_addend(first) else first
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

    def _wide(self, factors: Factors, plan: Plan, count: int) -> Partial:
        """Sums in levels. count: products that are rounded together."""
        compiled = wide_sums(*self._flags(plan))
        growth = plan.segment.bit_length()
        levels = levels_for(self.numbers._replace(high=self.numbers.high + growth), 2 * -(-count // plan.segment) + 1)
        reach_a, reach_b = self._reach(factors, plan.segment)
        reach_a += np.array([growth, 0]).reshape(2, 1, 1)

        def partial(values: Floats, first: int, last: int) -> None:
            alone = -1 if self.spans.starts_from_addend(first) else first
            compiled(
                values, *factors, reach_a, reach_b, (self.addends.high, self.addends.low), first, last, count,
                plan.segment, alone, self.target, self.fixed, *levels,
            )  # fmt: skip

        return partial

    def _reach(self, factors: Factors, segment: int) -> tuple[Reach, Reach]:
        """How high and how low the products of a segment reach: the sum of a row's (2, m, ...) and a column's (2, ...).

        Of single products the factors tell, of others the scales.
        """
        a, b = (extent(fmt).bits for fmt in self.unit.operands.multiplied)
        if segment == 1:
            return reach_of(factors.a, a), over_columns(reach_of(factors.b, b))
        if self.shared is not None:
            own = np.array([self.products.high, self.products.low]).reshape(2, 1, 1)
            return reach_of(factors.scale_a, 1) + own, over_columns(reach_of(factors.scale_b, 1))
        segments = -(-factors.a.shape[1] // segment)
        whole = np.broadcast_to(
            np.array([self.products.high, self.products.low])[:, None, None], (2, len(factors.a), segments)
        )
        return whole.copy(), np.zeros((2, segments), np.int64)


def reach_of(values: Floats, bits: int) -> Reach:
    """Of each value of at most `bits` bits: an exponent that it is below, and one that it is a multiple of."""
    exponents = np.frexp(values)[1].astype(np.int64)
    counts = np.isfinite(values) & (values != 0)
    return np.array([np.where(counts, exponents, -NOWHERE), np.where(counts, exponents - bits, NOWHERE)])


def over_columns(reach: Reach) -> Reach:
    """The highest and the lowest of every row."""
    return np.array([reach[0].max(axis=1), reach[1].min(axis=1)])


def kernel(unit: Unit) -> ExactKernel:
    """The kernel of a unit of method exact. Raises Unsuited."""
    return ExactKernel(unit)
