"""Factors and scales as floats, in the order in which a unit takes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat, Format
from hwsim.kernels.codes import TABLE_BITS, Floats, decode_table, values_of
from hwsim.spec import Unit

Side = Literal["a", "b"]


class Packed(NamedTuple):
    """Rows of A (m, K) or columns of B (K, n). scales: values, one for each `block` products along K, or None."""

    values: NDArray[Any]
    scales: Floats | None
    block: int


def factor_values(unit: Unit, side: Side, codes: NDArray[Any]) -> Floats:
    """What factors of these codes are when they are multiplied, in the codes' shape."""
    fmt = getattr(unit.operands, side)
    to = unit.operands.multiplied[0 if side == "a" else 1]
    if fmt.container_bits <= TABLE_BITS:
        return np.ascontiguousarray(np.take(_factor_table(fmt, to, unit.operands.daz), codes))
    return _without_subnormals(values_of(fmt, codes), to, unit.operands.daz)


@lru_cache(maxsize=64)
def _factor_table(fmt: Format, to: Format, daz: bool) -> Floats:
    return _without_subnormals(decode_table(fmt), to, daz)


def _without_subnormals(values: Floats, to: Format, daz: bool) -> Floats:
    """Values; with daz those that `to` has as subnormals are zeros of their signs."""
    if not (daz and isinstance(to, FloatFormat) and to.subnormals):
        return values
    return np.where(np.abs(values) < 2.0**to.emin, np.copysign(0.0, values), values)


def scale_values(unit: Unit, side: Side, codes: NDArray[Any]) -> Floats:
    """Scales' values, in the codes' shape."""
    assert unit.scale is not None
    return values_of(getattr(unit.scale, side).format, codes)


def block_of(unit: Unit, side: Side) -> int:
    """Products along K that share a scale."""
    assert unit.scale is not None
    return unit.scale.a.block[1] if side == "a" else unit.scale.b.block[0]


def each(scales: Floats, block: int, k: int, axis: int) -> Floats:
    """A scale for every product along K; terms past the last block, which only fill K up, have a scale of 1."""
    whole = np.repeat(scales, block, axis=axis)
    missing = max(k - whole.shape[axis], 0)
    whole = np.pad(whole, [(0, missing if i == axis else 0) for i in range(2)], constant_values=1.0)
    return np.take(whole, np.arange(k), axis=axis)


def order_of(unit: Unit, k: int) -> NDArray[np.int64] | None:
    """The products' indices along K in the order in which groups take them; None where that is theirs."""
    instruction = unit.instruction
    if instruction.order == "sequential":
        return None
    one = [index for group in range(instruction.groups) for index in instruction.indices(group)]
    first = np.arange(0, k, instruction.k, dtype=np.int64)
    return (first[:, None] + np.array(one, dtype=np.int64)).reshape(-1)


def pack(unit: Unit, side: Side, codes: NDArray[Any], scales: NDArray[Any] | None, fold: bool) -> Packed:
    """Factors' values in the order of products. fold: scales are multiplied in, each product's by its factor's."""
    axis = 1 if side == "a" else 0
    values, k = factor_values(unit, side, codes), codes.shape[axis]
    given, block = None, 1
    if scales is not None:
        given, block = scale_values(unit, side, scales), block_of(unit, side)
    if given is not None and fold:
        values = values * each(given, block, k, axis)
        given = None
    order = order_of(unit, k)
    if order is not None:
        values = np.take(values, order, axis=axis)
    return Packed(np.ascontiguousarray(values), given, block)
