"""What the kernels that sum in floats have in common: operands as values, and K in spans.

A span is the products of one partial sum, from where it starts to where it goes into something else. Without a
promotion or a late addend K is one span, from the addend to the result. With them a span is an interval, or an
instruction, and its sum goes into the register: the promotion's, or what a late addition has made so far.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import compiled
from hwsim.compute.kernels.floats import (
    NOT_SCALED,
    CarrierType,
    RoundingTarget,
    first_of,
    in_order,
    register_target,
    round_in,
    settled,
    sum_in,
    targets_lack,
)
from hwsim.compute.kernels.kernel import WORD, Rows
from hwsim.compute.kernels.values import FloatOperand, Floats, addend_values, codes_of, pack, paired
from hwsim.formats import FloatFormat
from hwsim.formats.codes import Codes
from hwsim.spec import LateAdd, Unit
from hwsim.spec.ranges import extent

# Writes the sum of products from `first` up to, not with, `last`, and of what is in the array, into the array (m, n).
Partial = Callable[[Floats, int, int], None]


def float_lacks(unit: Unit) -> Iterator[str]:
    """Yield the settings that no kernel that sums in floats holds, as keys with their values."""
    yield from targets_lack(unit)
    scaling = unit.scaled_promotion
    if scaling is not None:
        what = {"scale": "scale: products of scales", "scaled": "promotion: sums times a scale"}[scaling.made]
        for (_, x), (_, y), words in ((*scaling.first, what), (*scaling.then, "promotion: scaled sums")):
            yield from extent(x).times(extent(y)).not_float64s(words)


class FloatKernel(ABC):
    """Partial sums in floats; how they are summed is the method's."""

    rows: int
    columns: int
    longest = sys.maxsize
    word = WORD

    def __init__(self, unit: Unit, fold: bool, kind: CarrierType = np.float64):
        """fold: factors are multiplied by their scales when they are packed. kind: what they are packed as."""
        self.unit, self.fold, self.kind, self.register = unit, fold, kind, register_target(unit)

    @abstractmethod
    def partial(self, a: FloatOperand, b: FloatOperand) -> Partial:
        """The function that sums the products of these operands."""

    @property
    def general(self) -> Self:
        return self

    def pack_a(self, codes: Codes, scales: Codes | None) -> FloatOperand:
        return pack(self.unit, "a", codes, scales, self.fold, self.kind)

    def pack_b(self, codes: Codes, scales: Codes | None) -> FloatOperand:
        return pack(self.unit, "b", codes, scales, self.fold, self.kind)

    def pairs(self, a: Rows, b: Rows, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        for first in range(0, len(c), self.columns):
            part = slice(first, first + self.columns)
            rows = self.pack_a(a[0][part], None if a[1] is None else a[1][part])
            columns = self.pack_b(b[0][part].T, None if b[1] is None else b[1][part].T)
            self.run(*paired(rows, columns, first_of(self.unit) != NOT_SCALED), c[None, part], out[None, part])

    def run(self, a: FloatOperand, b: FloatOperand, c: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
        unit, addend, k, partial = self.unit, self.unit.operands.addend, a.values.shape[1], self.partial(a, b)
        values = addend_values(unit, c)
        if unit.restart is None:
            partial(values, 0, k)
            codes_of(values, unit.output, out, unit.nan)
            return
        register, values, span = values, np.empty(c.shape), self.span(k)
        if self.register is not None and unit.promotion is not None and addend != unit.promotion.format:
            round_all(register, self.register)
        for first in range(0, k, span):
            values[...] = 0.0
            partial(values, first, min(first + span, k))
            if self.register is not None:
                self._add(self.register, register, values, first, a, b)
        codes_of(values if self.register is None else register, unit.output, out, unit.nan)

    def span(self, k: int) -> int:
        """Products of a span; the last may have fewer."""
        return k if self.unit.restart is None else self.unit.restart * self.unit.instruction.lanes

    def starts_from_addend(self, first: int) -> bool:
        """True if a sum from that product on has a term beside products: c, or a zero that it restarts from."""
        return self.unit.restart is not None or first > 0 or self.unit.operands.addend is not None

    def _add(
        self, target: RoundingTarget, register: Floats, values: Floats, first: int, a: FloatOperand, b: FloatOperand
    ) -> None:
        """Add the sums of the span that starts at product `first` to the register."""
        unit = self.unit
        if unit.promotion is not None and unit.promotion.operation == "fma":
            if a.scales is not None and b.scales is not None:
                of_a, of_b = a.scales[:, first // a.block], b.scales[first // b.block]
                by_column = len(of_a) > len(register)
                _adding_scaled(first_of(unit), by_column, target.mode)(register, values, of_a.copy(), of_b, target)
            return
        below, zero = 0.0, -0.0
        fmt = unit.output if first else unit.operands.addend
        if isinstance(unit.late, LateAdd) and unit.late.flush and isinstance(fmt, FloatFormat) and fmt.subnormals:
            below, zero = 2.0**fmt.emin, -0.0 if fmt.signed_zero else 0.0
        _adding(target.mode)(register, values, below, zero, target)


def round_all(values: Floats, target: RoundingTarget) -> None:
    """Round values (m, n), each by all rules of a result."""
    _rounding(target.mode)(values, target)


@lru_cache(maxsize=16)
def _rounding(mode: int) -> Callable[[Floats, RoundingTarget], None]:
    @compiled
    def round_values(values: Floats, t: RoundingTarget) -> None:
        for i in range(values.shape[0]):
            row = values[i]
            for j in range(row.shape[0]):
                row[j] = settled(row[j], round_in(row[j], t, mode), t)

    return round_values


@lru_cache(maxsize=16)
def _adding(mode: int) -> Callable[[Floats, Floats, float, float, RoundingTarget], None]:
    @compiled
    def add(register: Floats, values: Floats, below: float, zero: float, t: RoundingTarget) -> None:
        """register = register + values, (m, n). below: of a smaller magnitude, a register counts as zero.

        zero: what added to that zero gives it the sign that it may have.
        """
        for i in range(register.shape[0]):
            before, value = register[i], values[i]
            for j in range(register.shape[1]):
                x = before[j]
                x = np.copysign(t.none, x) + zero if abs(x) < below else x
                before[j] = round_in(sum_in(x, value[j], mode, False), t, mode)

    return add


@lru_cache(maxsize=16)
def _adding_scaled(
    first: int, by_column: bool, mode: int
) -> Callable[[Floats, Floats, Floats, Floats, RoundingTarget], None]:
    @compiled
    def add(register: Floats, values: Floats, of_a: Floats, of_b: Floats, t: RoundingTarget) -> None:
        """register = register + values * of_a * of_b, (m, n), of which one product is rounded first.

        of_a: of rows, or by_column.
        """
        for i in range(register.shape[0]):
            before, value = register[i], values[i]
            for j in range(register.shape[1]):
                product, by = in_order(first, value[j], of_a[j] if by_column else of_a[i], of_b[j])
                before[j] = round_in(sum_in(before[j], by * round_in(product, t, mode), mode, False), t, mode)

    return add
