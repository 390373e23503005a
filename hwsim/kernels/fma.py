"""Chains of fused multiply-adds in binary32 or binary64, as processors have them: LLVM's `fma`, in vectors.

It is one rounding of the exact a * b + c, to nearest, ties to even, with subnormals, as IEEE 754 defines it: the
instruction of a processor that has one, else the C library's function.
"""

from __future__ import annotations

import sys
from typing import Self

import numpy as np

from hwsim.compiled import compiled
from hwsim.formats import FloatFormat
from hwsim.formats.codes import Codes, container_dtype
from hwsim.kernels.bits import fma
from hwsim.kernels.extents import FLOAT64_BITS, Extent, extent
from hwsim.kernels.floats import CarrierType
from hwsim.kernels.kernel import Rows
from hwsim.kernels.values import Carried, FloatOperand, addend_values, carried, pack
from hwsim.spec import SequentialSum, Unit

# Products along K of one pass over all rows: with a tile's columns they stay in the processor's cache.
PASS = 256


def carrier_of(unit: Unit, rule: SequentialSum) -> CarrierType | None:
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


class FmaKernel:
    """A chain for each result, in the type of its numbers."""

    rows, columns, longest = 64, 256, sys.maxsize

    def __init__(self, unit: Unit, carrier: CarrierType):
        self.unit, self.carrier = unit, carrier
        self.word = container_dtype(unit.output)

    @property
    def general(self) -> Self:
        """As in `Kernel`: its code is compiled for a type."""
        return self

    def pack_a(self, codes: Codes, scales: Codes | None) -> FloatOperand:
        """As in `Kernel`."""
        return pack(self.unit, "a", codes, scales, False, self.carrier)

    def pack_b(self, codes: Codes, scales: Codes | None) -> FloatOperand:
        """As in `Kernel`."""
        return pack(self.unit, "b", codes, scales, False, self.carrier)

    def run(self, a: FloatOperand, b: FloatOperand, c: Codes, out: Codes) -> None:
        """As in `Kernel`."""
        sums = self._start(c)
        for first in range(0, a.values.shape[1], PASS):
            _chains(sums, a.values, b.values, first, min(first + PASS, a.values.shape[1]))
        self._write(sums, out)

    def pairs(self, a: Rows, b: Rows, c: Codes, out: Codes) -> None:
        """As in `Kernel`."""
        sums = self._start(c)
        _pairs(sums, carried(self.pack_a(a[0], None).values.T, self.carrier), self.pack_b(b[0].T, None).values)
        self._write(sums, out)

    def _start(self, c: Codes) -> Carried:
        """Addends' values, or +0 of a unit without them."""
        return carried(addend_values(self.unit, c), self.carrier)

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
