"""Rounded additions, in which order the method says.

Products and sums stand in floats that hold them exactly, columns in vectors. Where a sum of one product and the sum so
far may have more bits than the carrier, it is rounded to odd there (`Carrier.exact` says when it need not be).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from hwsim.formats import FloatFormat
from hwsim.kernels.codes import Floats
from hwsim.kernels.extents import Extent, extent, factors_of, products_of, scaled_products
from hwsim.kernels.float_kernel import FloatKernel, Partial, float_lacks, round_all
from hwsim.kernels.floats import NATIVE, NEARBY, CarrierType, RoundingTarget, has_room, target_of
from hwsim.kernels.targets import result_target
from hwsim.kernels.values import Carried, FloatOperand, carried
from hwsim.spec import RoundedSum, Unit
from hwsim.spec.keys import Tininess
from hwsim.spec.rules import holds

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 256
PLACES = {np.float32: 24, np.float64: 53}

# Adds products from `first` to `last` to sums (m, n), of rows a and columns b, in groups of so many lanes.
# bare: the first group has no addend.  (sums, a, b, first, last, lanes, bare, target)
Additions = Callable[[Carried, Carried, Carried, int, int, int, bool, RoundingTarget], None]


class Carrier(NamedTuple):
    """What sums stand in. target: of every addition, in that type. exact: sums need no rounding to odd."""

    kind: CarrierType
    target: RoundingTarget
    mode: int
    exact: bool


def additions_lack(unit: Unit, rule: RoundedSum) -> Iterator[str]:
    """What these kernels do not hold, as keys with their values."""
    if rule.product_limit is not None:
        yield f"sum.product_limit: {rule.product_limit}"
    if not has_room(rule.format, rule.rounding, flush=rule.flushes):
        yield f"sum.format: {rule.format.name}"
    yield from float_lacks(unit)
    yield from products_of(unit, scaled_products(unit)).not_float64s("operands: products")


class AdditionsKernel(FloatKernel):
    """Sums by rounded additions."""

    rows, columns = 64, 256

    def __init__(self, unit: Unit, rule: RoundedSum, additions: Callable[[int, bool, bool], Additions]):
        """additions: the method's, for a mode; whether sums are exact; and whether products are not rounded."""
        self.carrier = carrier_of(unit, rule)
        super().__init__(unit, scaled_products(unit), self.carrier.kind)
        self.between_groups = target_between_groups(unit, rule)
        self.target = target_of(rule.format, rule.rounding, rule.overflow, flush=rule.flushes)
        self.additions = additions(self.carrier.mode, self.carrier.exact, rule.product == "fused")

    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        """As in `FloatKernel`."""
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
        own = binary32 and rule.tininess == "result" and rule.overflow in ("ieee", "infinity")
        if own and rule.rounding == "rne" and (rule.product == "rounded" or products.are_float32s):
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
    """Whether a sum of two terms, or of a term and a rounded sum, may be left to the carrier's own rounding.

    Either every such sum is a number of the carrier: multiples of 2^low below 2^(high + 1). Or the rounding is to
    nearest, both operands have at most the format's p bits, and the carrier at least 2p + 1: then the carrier's
    rounding moves no sum onto a midpoint of the format (Figueroa 1995: double rounding is innocuous). For a midpoint
    is at least a quarter ulp of the format away from the larger operand; the smaller, which brings the sum so near to
    it, then has its last bit within 2p + 1 places of the sum's first, and the sum is exact. It may move a sum that is
    less than the least normal number onto that, which only a flush before any rounding tells apart.
    """
    every = terms.with_(extent(rule.format))
    if every.span + 1 <= PLACES[kind]:
        return True
    nearest = rule.rounding in ("rne", "rna") and not mode & NEARBY and rule.flushes != "before"
    return nearest and terms.bits <= rule.format.precision < PLACES[kind] / 2
