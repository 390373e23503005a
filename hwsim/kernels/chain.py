"""The kernel of rounded additions: `sum.method` sequential and pairwise.

Products and sums stand in floats that hold them exactly, columns in vectors. Where a sum of one product and the sum so
far may have more bits than the carrier, it is rounded to odd there (`Widths.exact` says when it need not be).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled
from hwsim.formats import FloatFormat
from hwsim.kernels.codes import Floats
from hwsim.kernels.extents import Extent, as_float64, extent, products_of, scales_of
from hwsim.kernels.floats import NATIVE, NEARBY, Target, round_in, sum_in, target_of
from hwsim.kernels.kernel import Unsuited
from hwsim.kernels.paired import run_pairs
from hwsim.kernels.spans import Scales, Spans, round_all
from hwsim.kernels.values import Packed, pack
from hwsim.spec import Unit
from hwsim.spec.registers import holds

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 256
PLACES = {np.float32: 24, np.float64: 53}


class Carrier(NamedTuple):
    """What sums stand in. target: of every addition, in that type. exact: sums need no rounding to odd."""

    kind: type[np.floating[Any]]
    target: Target
    mode: int
    exact: bool


class ChainKernel:
    """Sums by rounded additions. Raises Unsuited."""

    rows, columns = 64, 256

    def __init__(self, unit: Unit):
        rule = unit.sum
        assert isinstance(rule.format, FloatFormat) and rule.rounding is not None
        if rule.product_limit is not None:
            raise Unsuited("sum.product_limit")
        self.unit, self.spans = unit, Spans(unit)
        self.fold = unit.scale is not None and unit.scale.at == "product"
        self.carrier = carrier_of(unit, self.fold)
        self.target = target_of(rule.format, rule.rounding, flush=rule.flush)
        self.result = target_of_result(unit)
        additions = _trees if rule.method == "pairwise" else _chains
        self.additions = additions(self.carrier.mode, self.carrier.exact, rule.product == "fused")

    def pack_a(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Packed:
        """As in `Kernel`."""
        return self._pack(pack(self.unit, "a", codes, scales, self.fold))

    def pack_b(self, codes: NDArray[Any], scales: NDArray[Any] | None) -> Packed:
        """As in `Kernel`."""
        return self._pack(pack(self.unit, "b", codes, scales, self.fold))

    def _pack(self, packed: Packed) -> Packed:
        return packed._replace(values=packed.values.astype(self.carrier.kind, copy=False))

    def run(self, a: Packed, b: Packed, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        """As in `Kernel`."""
        scales = None
        if a.scales is not None and b.scales is not None:
            scales = Scales(a.scales, b.scales, a.block, b.block)

        def partial(values: Floats, first: int, last: int) -> None:
            self._sum(values, a.values, b.values, first, last)

        self.spans.run(partial, a.values.shape[1], scales, c, out)

    def pairs(
        self, a: tuple[NDArray[Any], Any], b: tuple[NDArray[Any], Any], c: NDArray[np.uint32], out: NDArray[np.uint32]
    ) -> None:
        """As in `Kernel`."""
        run_pairs(self, a, b, c, out)

    def _sum(self, values: Floats, a: NDArray[Any], b: NDArray[Any], first: int, last: int) -> None:
        """Values (m, n) become the result of groups that start from them: of products from `first` to `last`."""
        lanes, kind = self.unit.instruction.lanes, self.carrier.kind
        step = lanes if self.result is not None else max(PASS // lanes, 1) * lanes
        sums = values
        for start in range(first, last, step):
            if start == first or self.result is not None:
                round_all(values, self.target)
                sums = values.astype(kind, copy=False)
            bare = start == first and not self.spans.starts_from_addend(first)
            self.additions(sums, a, b, start, min(start + step, last), lanes, bare, self.carrier.target)
            if self.result is not None:
                round_all(values, self.result)
        if sums is not values:
            values[...] = sums


def target_of_result(unit: Unit) -> Target | None:
    """The rounding between groups; None where it, and that of the next group's addend, change nothing."""
    rule, fmt = unit.result, unit.sum.format
    assert isinstance(rule.format, FloatFormat) and isinstance(fmt, FloatFormat)
    if holds(fmt, rule.format) and rule.overflow != "saturate" and rule.subnormals == "keep":
        return None
    return target_of(rule.format, rule.rounding, rule.overflow, rule.tiny, rule.subnormals == "flush")


def carrier_of(unit: Unit, fold: bool) -> Carrier:
    """The narrowest float that products and sums of a unit fit."""
    factors = [extent(fmt) for fmt in unit.operands.multiplied]
    products = products_of(unit)
    if fold:
        assert unit.scale is not None
        products = as_float64(products.times(scales_of(unit)), "scaled products")
        factors = [
            factor.times(extent(side.format))
            for factor, side in zip(factors, (unit.scale.a, unit.scale.b), strict=True)
        ]
    if target_of_result(unit) is None and all(_in_float32(numbers) for numbers in factors):
        try:
            return _in(np.float32, unit, products)
        except Unsuited:
            pass
    return _in(np.float64, unit, products)


def _in_float32(numbers: Extent) -> bool:
    return numbers.bits <= 24 and numbers.low >= -149 and numbers.high <= 128


def _in(kind: type[np.floating[Any]], unit: Unit, products: Extent) -> Carrier:
    """The carrier of that type. Raises Unsuited."""
    rule = unit.sum
    fmt = rule.format
    assert isinstance(fmt, FloatFormat) and rule.rounding is not None
    if kind is np.float32:
        native = (fmt.exponent_bits, fmt.fraction_bits, fmt.bias, fmt.nan, rule.rounding) == (8, 23, 127, "ieee", "rne")
        if native and fmt.subnormals and (rule.product == "rounded" or _in_float32(products)):
            return Carrier(kind, _native(fmt, rule.flush), NATIVE, True)
        if not _in_float32(products):
            raise Unsuited("products that are not float32s")
    target = target_of(fmt, rule.rounding, flush=rule.flush, carrier=kind)
    terms = extent(fmt) if rule.product == "rounded" else products
    return Carrier(kind, target, target.mode, _sums_are_exact(kind, fmt, terms, target.mode, rule.rounding))


def _native(fmt: FloatFormat, flush: bool) -> Target:
    """Binary32 in float32: nothing but its subnormals may have to go."""
    wide = target_of(fmt, "rne", flush=flush)
    with np.errstate(over="ignore", under="ignore"):
        floats: dict[str, Any] = {name: np.float32(getattr(wide, name)) for name in Target._fields[:-3]}
    return wide._replace(**floats)


def _sums_are_exact(kind: type[np.floating[Any]], fmt: FloatFormat, terms: Extent, mode: int, rounding: str) -> bool:
    """Whether a sum of two terms, or of a term and a rounded sum, may be left to the carrier's own rounding.

    Either every such sum is a number of the carrier: multiples of 2^low below 2^(high + 1). Or the rounding is to
    nearest, both operands have at most the format's p bits, and the carrier at least 2p + 1: then the carrier's
    rounding moves no sum onto a midpoint of the format (Figueroa 1995: double rounding is innocuous). For a midpoint
    is at least a quarter ulp of the format away from the larger operand; the smaller, which brings the sum so near to
    it, then has its last bit within 2p + 1 places of the sum's first, and the sum is exact.
    """
    every = terms.with_(extent(fmt))
    if every.span + 1 <= PLACES[kind]:
        return True
    return rounding in ("rne", "rna") and not mode & NEARBY and terms.bits <= fmt.precision < PLACES[kind] / 2


@lru_cache(maxsize=64)
def _chains(mode: int, exact: bool, fused: bool) -> Any:
    """One addition after the other, of products from `first` to `last` to sums (m, n)."""

    @compiled
    def chains(sums: Any, a: Any, b: Any, first: Any, last: Any, lanes: Any, bare: Any, t: Any) -> None:
        for i in range(sums.shape[0]):
            total = sums[i]
            for k in range(first, last):
                x, row = a[i, k], b[k]
                for j in range(total.shape[0]):
                    product = x * row[j]
                    if not fused:
                        product = round_in(product, t, mode)
                    total[j] = round_in(sum_in(total[j], product, mode, exact), t, mode)

    return chains


@lru_cache(maxsize=64)
def _trees(mode: int, exact: bool, fused: bool) -> Any:
    """A tree for each group of lanes, and its root to sums (m, n). bare: the first group's root is the sum."""

    @compiled
    def trees(sums: Any, a: Any, b: Any, first: Any, last: Any, lanes: Any, bare: Any, t: Any) -> None:
        level, above = np.empty((lanes, sums.shape[1]), sums.dtype), np.empty((lanes, sums.shape[1]), sums.dtype)
        for i in range(sums.shape[0]):
            for group in range(first, last, lanes):
                for lane in range(lanes):
                    x, row, leaf = a[i, group + lane], b[group + lane], level[lane]
                    for j in range(row.shape[0]):
                        product = x * row[j]
                        leaf[j] = product if fused else round_in(product, t, mode)
                count = lanes
                while count > 1:
                    for pair in range(count // 2):
                        x, y, made = level[2 * pair], level[2 * pair + 1], above[pair]
                        for j in range(made.shape[0]):
                            made[j] = round_in(sum_in(x[j], y[j], mode, exact), t, mode)
                    if count % 2:
                        above[count // 2] = level[count - 1]
                    level, above, count = above, level, (count + 1) // 2
                root, total = level[0], sums[i]
                if bare and group == first:
                    for j in range(total.shape[0]):
                        total[j] = round_in(root[j], t, mode)
                else:
                    for j in range(total.shape[0]):
                        total[j] = round_in(sum_in(root[j], total[j], mode, exact), t, mode)

    return trees


def kernel(unit: Unit) -> ChainKernel:
    """The kernel of a unit of method sequential or pairwise. Raises Unsuited."""
    return ChainKernel(unit)
