"""`sum.method: sequential` and `pairwise`: rounded additions in a chain or in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from hwsim.base.compiled import compiled
from hwsim.compute.kernels.float_kernel import FloatKernel, Partial, float_lacks, round_all
from hwsim.compute.kernels.floats import (
    NATIVE,
    NEARBY,
    CarrierType,
    RoundingTarget,
    fma,
    has_room,
    result_target,
    round_in,
    sum_in,
    target_of,
)
from hwsim.compute.kernels.kernel import Rows
from hwsim.compute.kernels.values import Carried, FloatOperand, Floats, addend_values, carried
from hwsim.formats import FloatFormat
from hwsim.formats.codes import Codes, container_dtype
from hwsim.spec import PairwiseSum, RoundedSum, SequentialSum, Unit
from hwsim.spec.keys import Tininess
from hwsim.spec.ranges import FLOAT64_BITS, Extent, extent, factors_of, products_of, scaled_products
from hwsim.spec.rules import holds

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 256
PLACES = {np.float32: 24, np.float64: 53}

# Adds products from `first` to `last` to sums (m, n), of rows a and columns b, in groups of so many lanes.
# bare: the first group has no addend.  (sums, a, b, first, last, lanes, bare, target)
Additions = Callable[[Carried, Carried, Carried, int, int, int, bool, RoundingTarget], None]


class Carrier(NamedTuple):
    """The type that sums stand in. target: of every addition, in that type. exact: sums need no rounding to odd."""

    kind: CarrierType
    target: RoundingTarget
    mode: int
    exact: bool


def additions_lack(unit: Unit, rule: RoundedSum) -> Iterator[str]:
    """Yield the settings that these kernels do not hold, as keys with their values."""
    if rule.product_limit is not None:
        yield f"sum.product_limit: {rule.product_limit}"
    if not has_room(rule.format, rule.rounding, flush=rule.flushes):
        yield f"sum.format: {rule.format.name}"
    yield from float_lacks(unit)
    yield from products_of(unit, scaled_products(unit)).not_float64s("operands: products")


class AdditionsKernel(FloatKernel):
    rows, columns = 64, 256

    def __init__(self, unit: Unit, rule: RoundedSum, additions: Callable[[int, bool, bool], Additions]):
        """additions: the method's, for a mode; whether sums are exact; and whether products are not rounded."""
        self.carrier = carrier_of(unit, rule)
        super().__init__(unit, scaled_products(unit), self.carrier.kind)
        self.between_groups = target_between_groups(unit, rule)
        self.target = target_of(rule.format, rule.rounding, rule.overflow, flush=rule.flushes)
        self.additions = additions(self.carrier.mode, self.carrier.exact, rule.product == "fused")

    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        return partial(self._sum, a.values, b.values)

    def _sum(self, a: Carried, b: Carried, values: Floats, first: int, last: int) -> None:
        """Values (m, n) become the result of groups that start from them: of products from `first` to `last`."""
        lanes, kind = self.unit.instruction.lanes, self.carrier.kind
        step = max(PASS // lanes, 1) * lanes if self.between_groups is None else lanes
        sums: Carried = values
        for start in range(first, last, step):
            if start == first or self.between_groups is not None:
                round_all(values, self.target)
                sums = carried(values, kind)
            bare = start == first and not self.starts_from_addend(first)
            self.additions(sums, a, b, start, min(start + step, last), lanes, bare, self.carrier.target)
            if self.between_groups is not None:
                round_all(values, self.between_groups)
        if sums is not values:
            values[...] = sums


def target_between_groups(unit: Unit, rule: RoundedSum) -> RoundingTarget | None:
    """The rounding between groups; None where it, and that of the next group's addend, change nothing."""
    result = unit.result
    wider = isinstance(result.format, FloatFormat) and holds(rule.format, result.format)
    if wider and result.overflow != "saturate" and result.subnormals == "keep":
        return None
    return result_target(result)


def carrier_of(unit: Unit, rule: RoundedSum) -> Carrier:
    """The narrowest float that products and sums of a unit fit."""
    fold, fmt = scaled_products(unit), rule.format
    products = products_of(unit, fold)
    narrow = all(factor.are_float32s for factor in factors_of(unit, fold))
    if narrow and target_between_groups(unit, rule) is None:
        binary32 = (fmt.exponent_bits, fmt.fraction_bits, fmt.bias, fmt.nan) == (8, 23, 127, "ieee") and fmt.subnormals
        native = binary32 and rule.tininess == "result" and rule.overflow in ("ieee", "infinity")
        if native and rule.rounding == "rne" and (rule.product == "rounded" or products.are_float32s):
            return Carrier(np.float32, _native(fmt, rule.flushes), NATIVE, True)
        # Below 2^126, and a format with room further down: no sum becomes infinite in the carrier.
        if products.are_float32s and products.high <= 126 and has_room(fmt, rule.rounding, np.float32, rule.flushes):
            return _carrier(np.float32, rule, products)
    return _carrier(np.float64, rule, products)


def _carrier(kind: CarrierType, rule: RoundedSum, products: Extent) -> Carrier:
    target = target_of(rule.format, rule.rounding, rule.overflow, flush=rule.flushes, carrier=kind)
    terms = extent(rule.format) if rule.product == "rounded" else products
    return Carrier(kind, target, target.mode, _sums_are_exact(kind, rule, terms, target.mode))


def _native(fmt: FloatFormat, flush: Tininess | None) -> RoundingTarget:
    """Binary32 in float32: nothing but its subnormals may have to go."""
    wide = target_of(fmt, "rne", flush=flush)
    with np.errstate(over="ignore", under="ignore"):
        return RoundingTarget._make([*(np.float32(number) for number in wide[:-3]), *wide[-3:]])


def _sums_are_exact(kind: CarrierType, rule: RoundedSum, terms: Extent, mode: int) -> bool:
    """True if a sum of two terms, or of a term and a rounded sum, may be left to the carrier's own rounding.

    Either every such sum is a number of the carrier: multiples of 2^low below 2^(high + 1). Or the rounding is to
    nearest, both operands have at most the format's p bits, and the carrier at least 2p + 1: then the carrier's
    rounding moves no sum onto a midpoint of the format (Figueroa 1995: double rounding is innocuous). For a midpoint
    is at least a quarter ulp of the format away from the larger operand; the smaller, which brings the sum so near to
    it, then has its last bit within 2p + 1 places of the sum's first, and the sum is exact. It may move a sum that is
    less than the least normal number onto that, which only a flush before any rounding tells apart.

    One operand must be a multiple of the format's least number: of two that are not, as exact products in a tree may
    be, one may itself be a midpoint of subnormals, and the other far below it.
    """
    numbers = extent(rule.format)
    every = terms.with_(numbers)
    if every.span + 1 <= PLACES[kind]:
        return True
    nearest = rule.rounding in ("rne", "rna") and not mode & NEARBY and rule.flushes != "before"
    multiples = not isinstance(rule, PairwiseSum) or terms.low >= numbers.low
    return nearest and multiples and terms.bits <= rule.format.precision < PLACES[kind] / 2


def fused_carrier(unit: Unit, rule: SequentialSum) -> CarrierType | None:
    """The type whose own chains are the unit's; None where there is none.

    Factors, addends and results must be its numbers, and every rounding its own.
    """
    carrier = _type_of(rule.format)
    plain = rule.product == "fused" and rule.rounding == "rne" and not rule.flush and rule.product_limit is None
    endless = rule.overflow in ("ieee", "infinity")
    alone = unit.scale is None and unit.promotion is None and unit.late is None and unit.instruction.start == "addend"
    result = unit.result
    same = isinstance(result.format, FloatFormat) and _type_of(result.format) is carrier
    keeps = same and result.overflow == "infinity" and result.subnormals == "keep"
    if carrier is None or not (plain and endless and alone and keeps):
        return None
    addend = unit.operands.addend
    inputs = [*unit.operands.multiplied, *([] if addend is None else [addend])]
    return carrier if all(_holds(carrier, extent(fmt)) for fmt in inputs) else None


def _type_of(fmt: FloatFormat) -> CarrierType | None:
    """The type whose numbers a format has, all of them and no others."""
    if fmt.padding or not fmt.subnormals:
        return None
    match fmt.own_dtype:
        case "float32":
            return np.float32
        case "float64":
            return np.float64
        case _:
            return None


def _holds(carrier: CarrierType, numbers: Extent) -> bool:
    # Every format's numbers are float64s.
    return numbers.are_float32s if carrier is np.float32 else numbers.bits <= FLOAT64_BITS


class FmaKernel(FloatKernel):
    """A chain for each result, in the type of its numbers."""

    rows, columns = 64, 256

    def __init__(self, unit: Unit, carrier: CarrierType):
        super().__init__(unit, False, carrier)
        self.word = container_dtype(unit.output)

    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        return lambda sums, first, last: _chains(sums, a.values, b.values, first, last)

    def run(self, a: FloatOperand, b: FloatOperand, c: Codes, out: Codes) -> None:
        sums: Any = self._start(c)
        k, chains = a.values.shape[1], self.partial(a, b)
        for first in range(0, k, PASS):
            chains(sums, first, min(first + PASS, k))
        self._write(sums, out)

    def pairs(self, a: Rows, b: Rows, c: Codes, out: Codes) -> None:
        sums = self._start(c)
        _pairs(sums, carried(self.pack_a(a[0], None).values.T, self.kind), self.pack_b(b[0].T, None).values)
        self._write(sums, out)

    def _start(self, c: Codes) -> Carried:
        """Addends' values, or +0 of a unit without them."""
        return carried(addend_values(self.unit, c), self.kind)

    def _write(self, sums: Carried, out: Codes) -> None:
        out[...] = sums.view(self.word)
        out[np.isnan(sums)] = self.unit.nan


@compiled
def _chains(sums: Carried, a: Carried, b: Carried, first: int, last: int) -> None:
    """sums (m, n) += a (m, K) times b (K, n), of products from `first` to `last`, four between a load and a store."""
    fours = first + (last - first) // 4 * 4
    for i in range(sums.shape[0]):
        total = sums[i]
        for k in range(first, fours, 4):
            w, x, y, z = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            of_w, of_x, of_y, of_z = b[k], b[k + 1], b[k + 2], b[k + 3]
            for j in range(total.shape[0]):
                sum_so_far = fma(x, of_x[j], fma(w, of_w[j], total[j]))
                total[j] = fma(z, of_z[j], fma(y, of_y[j], sum_so_far))
        for k in range(fours, last):
            x, row = a[i, k], b[k]
            for j in range(total.shape[0]):
                total[j] = fma(x, row[j], total[j])


@compiled
def _pairs(sums: Carried, a: Carried, b: Carried) -> None:
    """sums (n,) += the products of a and b (K, n), column by column."""
    for k in range(a.shape[0]):
        for j in range(sums.shape[0]):
            sums[j] = fma(a[k, j], b[k, j], sums[j])


def sequential_lacks(unit: Unit, rule: SequentialSum) -> Iterator[str]:
    """Yield the settings that this kernel does not hold, as keys with their values."""
    if rule.subgroup is not None:
        yield "sum.subgroup"
    if fused_carrier(unit, rule) is None:
        yield from additions_lack(unit, rule)


def sequential_kernel(unit: Unit, rule: SequentialSum) -> AdditionsKernel | FmaKernel:
    """The kernel of a unit of this method that lacks nothing."""
    if (carrier := fused_carrier(unit, rule)) is not None:
        return FmaKernel(unit, carrier)
    return AdditionsKernel(unit, rule, chains_of)


@lru_cache(maxsize=64)
def chains_of(mode: int, exact: bool, fused: bool) -> Additions:
    """The loop for a mode. exact: of sums. fused: products are not rounded."""

    @compiled
    def chains(
        sums: Carried, a: Carried, b: Carried, first: int, last: int, lanes: int, bare: bool, t: RoundingTarget
    ) -> None:
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


def pairwise_lacks(unit: Unit, rule: PairwiseSum) -> Iterator[str]:
    """Yield the settings that this kernel does not hold, as keys with their values."""
    if rule.subgroup is not None:
        yield "sum.subgroup"
    yield from additions_lack(unit, rule)


def pairwise_kernel(unit: Unit, rule: PairwiseSum) -> AdditionsKernel:
    """The kernel of a unit of this method that lacks nothing."""
    return AdditionsKernel(unit, rule, lambda *mode: trees_of(*mode, rule.chains or 0))


@lru_cache(maxsize=64)
def trees_of(mode: int, exact: bool, fused: bool, chains: int = 0) -> Additions:
    """The trees for a mode, whose roots go to the sums. exact: of sums. fused: products are not rounded.

    chains: how many sums of products a tree adds in their place; 0: it adds products.
    """

    @compiled
    def trees(
        sums: Carried, a: Carried, b: Carried, first: int, last: int, lanes: int, bare: bool, t: RoundingTarget
    ) -> None:
        level, above = np.empty((lanes, sums.shape[1]), sums.dtype), np.empty((lanes, sums.shape[1]), sums.dtype)
        for i in range(sums.shape[0]):
            for group in range(first, last, lanes):
                for chain in range(chains):
                    for j in range(level.shape[1]):
                        level[chain, j] = 0
                for lane in range(lanes):
                    x, row, leaf = a[i, group + lane], b[group + lane], level[lane % chains if chains else lane]
                    for j in range(row.shape[0]):
                        product = x * row[j]
                        if not fused:
                            product = round_in(product, t, mode)
                        if chains:
                            product = round_in(sum_in(leaf[j], product, mode, exact), t, mode)
                        leaf[j] = product
                count = chains if chains else lanes
                while count > 1:
                    for pair in range(count // 2):
                        left, right, node = level[2 * pair], level[2 * pair + 1], above[pair]
                        for j in range(node.shape[0]):
                            node[j] = round_in(sum_in(left[j], right[j], mode, exact), t, mode)
                    if count % 2:
                        for j in range(above.shape[1]):  # an array assigned whole takes seconds to compile
                            above[count // 2, j] = level[count - 1, j]
                    level, above, count = above, level, (count + 1) // 2
                root, total = level[0], sums[i]
                if bare and group == first:
                    for j in range(total.shape[0]):
                        total[j] = round_in(root[j], t, mode)
                else:
                    for j in range(total.shape[0]):
                        total[j] = round_in(sum_in(root[j], total[j], mode, exact), t, mode)

    return trees
