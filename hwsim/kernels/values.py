"""Factors and scales as floats, in the order in which a unit takes them."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat, Format
from hwsim.formats.codes import Codes
from hwsim.kernels.codes import TABLE_BITS, Floats, decode_table, values_of
from hwsim.kernels.extents import extent
from hwsim.kernels.floats import CarrierType
from hwsim.kernels.order import lane_indices
from hwsim.spec import Unit
from hwsim.spec.keys import ZeroSigns

OperandName = Literal["a", "b"]
# Numbers of a carrier.
Carried = NDArray[np.float32] | NDArray[np.float64]


class FloatOperand(NamedTuple):
    """Rows of A (m, K) or columns of B (K, n). scales: values, one for each `block` products along K, or None.

    bits: significant bits of a value, at most.
    """

    values: Carried
    scales: Floats | None
    block: int
    bits: int


def factor_values(unit: Unit, side: OperandName, codes: Codes) -> Floats:
    """What factors of these codes are when they are multiplied, in the codes' shape."""
    fmt = unit.operands.factor(side)
    to = unit.operands.multiplied[0 if side == "a" else 1]
    if fmt.container_bits <= TABLE_BITS:
        return np.ascontiguousarray(np.take(_factor_table(fmt, to, unit.operands.daz, unit.operands.zeros), codes))
    return _as_multiplied(values_of(fmt, codes), to, unit.operands.daz, unit.operands.zeros)


@lru_cache(maxsize=64)
def _factor_table(fmt: Format, to: Format, daz: bool, zeros: ZeroSigns) -> Floats:
    return _as_multiplied(decode_table(fmt), to, daz, zeros)


def _as_multiplied(values: Floats, to: Format, daz: bool, zeros: ZeroSigns) -> Floats:
    """Values; with daz those that `to` has as subnormals are zeros. zeros: of which sign zeros are."""
    if daz and isinstance(to, FloatFormat) and to.subnormals:
        values = np.where(np.abs(values) < 2.0**to.emin, np.copysign(0.0, values), values)
    return _with_zeros(values, zeros)


def _with_zeros(values: Floats, zeros: ZeroSigns) -> Floats:
    match zeros:
        case "signed":
            return values
        case "positive":
            return np.where(values == 0, 0.0, values)
        case _:
            assert_never(zeros)


def addend_values(unit: Unit, c: NDArray[np.uint32], out: Floats | None = None) -> Floats:
    """What addends of these codes are when they enter, in the codes' shape; +0 of a unit without addends.

    out: where they may be written to.
    """
    fmt = unit.operands.addend
    if fmt is None:
        if out is None:
            return np.zeros(c.shape)
        out[...] = 0
        return out
    values = values_of(fmt, c, out)
    if unit.operands.zeros == "positive" and unit.flushes_addends and isinstance(fmt, FloatFormat) and fmt.subnormals:
        values = np.where(np.abs(values) < 2.0**fmt.emin, 0.0, values)
    return _with_zeros(values, unit.operands.zeros)


def each(scales: Floats, block: int, k: int, axis: int) -> Floats:
    """A scale for every product along K; terms past the last block, which only fill K up, have a scale of 1."""
    whole = np.repeat(scales, block, axis=axis)
    missing = max(k - whole.shape[axis], 0)
    whole = np.pad(whole, [(0, missing if i == axis else 0) for i in range(2)], constant_values=1.0)
    return np.take(whole, np.arange(k), axis=axis)


def carried(values: Carried, kind: CarrierType) -> Carried:
    """Values in a carrier; the same array where they are in it already."""
    return values.astype(np.float32, copy=False) if kind is np.float32 else values.astype(np.float64, copy=False)


def pack(
    unit: Unit, side: OperandName, codes: Codes, scales: Codes | None, fold: bool, kind: CarrierType
) -> FloatOperand:
    """Factors' values in a carrier, in the order of products. fold: each is multiplied by its scale."""
    axis = 1 if side == "a" else 0
    values, k = factor_values(unit, side, codes), codes.shape[axis]
    given, block = None, 1
    if scales is not None and unit.scale is not None:
        given, block = values_of(unit.scale.of(side).format, scales), unit.scale.length(side)
    if given is not None and fold:
        values, given = values * each(given, block, k, axis), None
    if unit.instruction.order != "sequential":
        values = np.take(values, lane_indices(unit, k).reshape(-1), axis=axis)
    bits = extent(unit.operands.multiplied[axis == 0]).bits  # scales are powers of two
    return FloatOperand(carried(np.ascontiguousarray(values), kind), given, block, bits)


def paired(a: FloatOperand, b: FloatOperand) -> tuple[FloatOperand, FloatOperand]:
    """Rows of A, each for the column of B beside it, as one row of ones for columns of products, which have no error.

    Or have that of a product in float32, where additions are those of float32 too.
    """
    products = np.empty_like(b.values)
    with np.errstate(all="ignore"):
        np.multiply(a.values.T, b.values, out=products)
    one = FloatOperand(np.ones((1, len(products)), products.dtype), None, 1, 1)
    both = FloatOperand(products, None, 1, a.bits + b.bits)
    if a.scales is None or b.scales is None:
        return one, both
    block = gcd(a.block, b.block)
    blocks = max(a.scales.shape[1] * a.block, len(b.scales) * b.block) // block
    scales = each(b.scales, b.block // block, blocks, 0)
    scales *= each(a.scales, a.block // block, blocks, 1).T
    return one._replace(scales=np.ones((1, blocks)), block=block), both._replace(scales=scales, block=block)
