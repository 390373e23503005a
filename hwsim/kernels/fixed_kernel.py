"""`sum.method: exact` with a result of up to 64 bits in two's complement: integers, and sums in two words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from hwsim.formats import FixedFormat
from hwsim.formats.codes import Codes
from hwsim.kernels.extents import FLOAT64_BITS, Extent, extent, products_of
from hwsim.kernels.fixed_sums import MOST, FixedSum, fixed_pairs, fixed_sums
from hwsim.kernels.floats import mode_of
from hwsim.kernels.integers import Int64s
from hwsim.kernels.kernel import Rows, Words
from hwsim.kernels.order import lane_indices
from hwsim.kernels.values import OperandName, factor_values
from hwsim.spec import ExactSum, Unit

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
    """What this kernel does not hold, as keys with their values."""
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
    at, result = places_of(unit), unit.result.format
    others = [] if unit.operands.addend is None else [extent(unit.operands.addend)]
    others += [extent(result)] if _by_group(unit) else []
    start = sum(1 << _span(numbers, at.sum) for numbers in others)
    # To a unit far below their own, sums are shifted by all bits that there are.
    shift = min(max(at.sum - at.result, 0), MOST)
    room = (1 << MOST - shift) - 1 - start
    return max(room >> _span(products_of(unit, False), at.sum), 0)


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
        """As in `Kernel`: its code is compiled for all units."""
        return self

    def pack_a(self, codes: Codes, scales: Codes | None) -> Int64s:
        """As in `Kernel`."""
        return self._integers("a", codes)

    def pack_b(self, codes: Codes, scales: Codes | None) -> Int64s:
        """As in `Kernel`: columns of B are rows here."""
        return self._integers("b", np.ascontiguousarray(codes.T))

    def run(self, a: Int64s, b: Int64s, c: Words, out: Words) -> None:
        """As in `Kernel`."""
        found = np.empty(c.shape, np.int64)
        fixed_sums(a, b, self._addends(c), self._rule(a.shape[1]), found)
        out[...] = self._codes(found)

    def pairs(self, a: Rows, b: Rows, c: Words, out: Words) -> None:
        """As in `Kernel`."""
        rows, others, found = self._integers("a", a[0]), self._integers("b", b[0]), np.empty(c.shape, np.int64)
        fixed_pairs(rows, others, self._addends(c), self._rule(rows.shape[1]), found)
        out[...] = self._codes(found)

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
        at, unit = self.at, self.unit
        return FixedSum(
            products=unit.instruction.lanes if _by_group(unit) else max(k, 1),
            of_product=at.product - at.sum,
            of_addend=at.addend - at.sum,
            of_result=at.result - at.sum if _by_group(unit) else 0,
            drop=at.result - at.sum,
            bits=self.result.bits,
            wraps=unit.result.overflow == "wrap",
            mode=mode_of(unit.result.rounding),
        )
