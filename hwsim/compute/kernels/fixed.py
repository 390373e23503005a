"""`sum.method: exact` with a result of up to 64 bits in two's complement: integers, and sums in two words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from hwsim.base.compiled import compiled, inlined
from hwsim.compute.kernels.floats import grows, mode_of
from hwsim.compute.kernels.kernel import Int64s, Rows, Words, lane_indices
from hwsim.compute.kernels.values import OperandName, factor_values
from hwsim.formats import FixedFormat
from hwsim.formats.codes import Codes
from hwsim.spec import ExactSum, Unit
from hwsim.spec.ranges import FLOAT64_BITS, Extent, extent, products_of

S, U = np.int64, np.uint64
HALF = 64  # bits of a word
MOST = 126  # bits of a sum's magnitude


class FixedSum(NamedTuple):
    """The way from products to a result, in places of the sum's unit.

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
    if grows(small, half, below, negative, rule.mode):
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


WORD_BITS = 64
INTEGER_BITS = 62  # of a product's magnitude
LONG = 1 << 20  # products of which a sum must fit


class SumPlaces(NamedTuple):
    """Exponents of the units of a sum, of products, of c and of the result."""

    sum: int
    product: int
    addend: int
    result: int


def lacks(unit: Unit) -> Iterator[str]:
    """Yield the settings that this kernel does not hold, as keys with their values."""
    result, addend = unit.result.format, unit.operands.addend
    if not isinstance(result, FixedFormat) or result.bits > WORD_BITS:
        yield f"result.format: {result.name}"
        return
    for key, there in (("scale", unit.scale), ("promotion", unit.promotion), ("late", unit.late)):
        if there is not None:
            yield key
    if unit.subgroup is not None:
        yield "sum.subgroup"
    if unit.sum.product_limit is not None:
        yield f"sum.product_limit: {unit.sum.product_limit}"
    if addend is not None and not (isinstance(addend, FixedFormat) and addend.bits <= WORD_BITS):
        yield f"operands.addend: {addend.name}"
    products = products_of(unit, False)
    if products.span > INTEGER_BITS or max(extent(fmt).span for fmt in unit.operands.multiplied) > FLOAT64_BITS:
        yield f"operands: products of {products.span} bits (more than {INTEGER_BITS})"
    if longest_of(unit) < LONG:
        yield f"a sum of {LONG:,} products (more than {MOST} bits)"


def places_of(unit: Unit) -> SumPlaces:
    """The units of a sum's numbers."""
    product, result = products_of(unit, False).low, extent(unit.result.format).low
    addend = product if unit.operands.addend is None else extent(unit.operands.addend).low
    # A result is an addend where each group is rounded.
    begins = [result] if _by_group(unit) else []
    return SumPlaces(min(product, addend, *begins), product, addend, result)


def longest_of(unit: Unit) -> int:
    """The largest K whose sums, and what they are shifted to, two words hold; 0 for none."""
    places, result = places_of(unit), unit.result.format
    others = [] if unit.operands.addend is None else [extent(unit.operands.addend)]
    others += [extent(result)] if _by_group(unit) else []
    start = sum(1 << _span(numbers, places.sum) for numbers in others)
    # To a unit far below their own, sums are shifted by all bits that there are.
    shift = min(max(places.sum - places.result, 0), MOST)
    room = (1 << MOST - shift) - 1 - start
    return max(room >> _span(products_of(unit, False), places.sum), 0)


def _span(numbers: Extent, low: int) -> int:
    return numbers.high - low


def _by_group(unit: Unit) -> bool:
    return isinstance(unit.sum, ExactSum) and unit.sum.rounded == "group"


class FixedKernel:
    """Every product, and every sum, as an integer."""

    rows, columns = 32, 64

    def __init__(self, unit: Unit, result: FixedFormat):
        self.unit, self.result, self.at = unit, result, places_of(unit)
        self.longest, self.word = longest_of(unit), np.dtype(np.uint64)

    @property
    def general(self) -> Self:
        return self

    def pack_a(self, codes: Codes, scales: Codes | None) -> Int64s:
        return self._integers("a", codes)

    def pack_b(self, codes: Codes, scales: Codes | None) -> Int64s:
        return self._integers("b", np.ascontiguousarray(codes.T))

    def run(self, a: Int64s, b: Int64s, c: Words, out: Words) -> None:
        results = np.empty(c.shape, np.int64)
        fixed_sums(a, b, self._addends(c), self._rule(a.shape[1]), results)
        out[...] = self._codes(results)

    def pairs(self, a: Rows, b: Rows, c: Words, out: Words) -> None:
        rows, others, results = self._integers("a", a[0]), self._integers("b", b[0]), np.empty(c.shape, np.int64)
        fixed_pairs(rows, others, self._addends(c), self._rule(rows.shape[1]), results)
        out[...] = self._codes(results)

    def _integers(self, side: OperandName, codes: Codes) -> Int64s:
        """Factors (n, K) as multiples of their format's unit, in the order of lanes."""
        low = extent(self.unit.operands.multiplied[side == "b"]).low
        values = np.ldexp(factor_values(self.unit, side, codes), -low).astype(np.int64)
        if self.unit.instruction.order != "sequential":
            values = values[:, lane_indices(self.unit, values.shape[1]).reshape(-1)]
        return np.ascontiguousarray(values)

    def _addends(self, c: Words) -> Int64s:
        fmt = self.unit.operands.addend
        if fmt is None:
            return np.zeros(c.shape, np.int64)
        spare = np.int64(WORD_BITS - fmt.bits)
        signed: Int64s = np.ascontiguousarray(c, np.uint64).view(np.int64) << spare >> spare
        return signed

    def _codes(self, values: Int64s) -> Words:
        return values.view(np.uint64) & np.uint64((1 << self.result.bits) - 1)

    def _rule(self, k: int) -> FixedSum:
        places, unit = self.at, self.unit
        return FixedSum(
            products=unit.instruction.lanes if _by_group(unit) else max(k, 1),
            of_product=places.product - places.sum,
            of_addend=places.addend - places.sum,
            of_result=places.result - places.sum if _by_group(unit) else 0,
            drop=places.result - places.sum,
            bits=self.result.bits,
            wraps=unit.result.overflow == "wrap",
            mode=mode_of(unit.result.rounding),
        )
