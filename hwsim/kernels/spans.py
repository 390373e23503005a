"""Spans of K: a partial sum from where it starts to where it goes into something else, and what that is.

Without a promotion or a late addend K is one span, from the addend to the result. With them a span is an interval, or
an instruction, and what its sum goes into is the register: the promotion's, or what a late addition has made so far.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled
from hwsim.formats import FixedFormat, FloatFormat
from hwsim.kernels.codes import Floats, codes_of, values_of
from hwsim.kernels.extents import as_float64, extent, scales_of
from hwsim.kernels.floats import Target, round_in, settled, sum_in, target_of
from hwsim.kernels.kernel import Unsuited
from hwsim.spec import Unit

# Writes the sum of products from `first` up to, not with, `last`, and of what is in the array, into the array (m, n).
Partial = Callable[[Floats, int, int], None]


class Scales(NamedTuple):
    """Values of scales at promotions. a: (m, blocks), b: (blocks, n). block_a, block_b: products that share them."""

    a: Floats
    b: Floats
    block_a: int
    block_b: int


class Spans:
    """A unit's spans, whatever sums its groups. Raises Unsuited."""

    def __init__(self, unit: Unit):
        if unit.late is not None and unit.late.operation != "add":
            raise Unsuited(f"late.operation {unit.late.operation}")
        self.unit = unit
        self.register = self._register()
        self._check_nan()

    def _register(self) -> Target | None:
        promotion, late = self.unit.promotion, self.unit.late
        if promotion is not None:
            assert isinstance(promotion.format, FloatFormat)
            if promotion.operation == "fma":
                self._check_fma(promotion.format)
            return target_of(promotion.format, promotion.rounding)
        if late is not None:
            assert isinstance(late.format, FloatFormat) and late.rounding is not None
            return target_of(late.format, late.rounding, flush=late.flush)
        return None

    def _check_fma(self, fmt: FloatFormat) -> None:
        """Both products, of the scales and of the partial sum by them, must be float64s."""
        as_float64(scales_of(self.unit), "products of scales")
        as_float64(extent(self.unit.result.format).times(extent(fmt)), "scaled sums")

    def _check_nan(self) -> None:
        rule = self.unit.result
        if isinstance(rule.format, FixedFormat) or not isinstance(rule.nan, int) or self.unit.promotion is not None:
            return
        if rule.overflow == "nan" and rule.nan != rule.format.canonical_nan:
            raise Unsuited("result.nan differs from the NaN of an overflow")

    def length(self, k: int) -> int:
        """Products of a span; the last may have fewer."""
        groups = self.unit.restart
        return groups * self.unit.instruction.lanes if groups else k

    def starts_from_addend(self, first: int) -> bool:
        """Whether a sum that starts at that product has a term beside products: c, or a zero that it restarts from."""
        return self.unit.restart is not None or first > 0 or self.unit.operands.addend is not None

    def run(
        self, partial: Partial, k: int, scales: Scales | None, c: NDArray[np.uint32], out: NDArray[np.uint32]
    ) -> None:
        """Write the results' codes (m, n) to `out`. c: codes of the addend's format."""
        unit, addend = self.unit, self.unit.operands.addend
        values = np.zeros(c.shape) if addend is None else values_of(addend, c)
        if unit.restart is None:
            partial(values, 0, k)
        else:
            register = values
            if self.register is not None and unit.promotion is not None and addend != unit.promotion.format:
                round_all(register, self.register)
            values, span = np.empty(c.shape), self.length(k)
            for first in range(0, k, span):
                values[...] = 0.0
                partial(values, first, min(first + span, k))
                if self.register is not None:
                    self._close(register, values, first, scales)
            values = values if self.register is None else register
        codes_of(values, unit.output, out, unit.nan)

    def _close(self, register: Floats, values: Floats, first: int, scales: Scales | None) -> None:
        """The register takes the sum of the span that starts at product `first` in."""
        target = self.register
        assert target is not None
        if scales is not None:
            of_a, of_b = scales.a[:, first // scales.block_a], scales.b[first // scales.block_b]
            _adding_scaled(target.mode)(register, values, of_a.copy(), of_b, target)
            return
        below, zero = 0.0, -0.0
        fmt = self.unit.output if first else self.unit.operands.addend
        if self.unit.late is not None and self.unit.late.flush and isinstance(fmt, FloatFormat) and fmt.subnormals:
            below, zero = 2.0**fmt.emin, -0.0 if fmt.signed_zero else 0.0
        _adding(target.mode)(register, values, below, zero, target)


def round_all(values: Floats, target: Target) -> None:
    """Round values (m, n), each by all rules of a result."""
    _rounding(target.mode)(values, target)


@lru_cache(maxsize=16)
def _rounding(mode: int) -> Any:
    @compiled
    def round_values(values: Any, t: Any) -> None:
        for i in range(values.shape[0]):
            row = values[i]
            for j in range(row.shape[0]):
                row[j] = settled(row[j], round_in(row[j], t, mode), t)

    return round_values


@lru_cache(maxsize=16)
def _adding(mode: int) -> Any:
    @compiled
    def add(register: Any, values: Any, below: Any, zero: Any, t: Any) -> None:
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
def _adding_scaled(mode: int) -> Any:
    @compiled
    def add(register: Any, values: Any, of_a: Any, of_b: Any, t: Any) -> None:
        """register = register + values * scale, (m, n). of_a, of_b: what the scale is the rounded product of."""
        for i in range(register.shape[0]):
            before, value = register[i], values[i]
            for j in range(register.shape[1]):
                scale = round_in(of_a[i] * of_b[j], t, mode)
                before[j] = round_in(sum_in(before[j], value[j] * scale, mode, False), t, mode)

    return add
