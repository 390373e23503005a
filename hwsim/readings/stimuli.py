"""Directed random cases for a unit, in batches, around the rules in which readings differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.batch import Batch
from hwsim.cases.case import block_lengths
from hwsim.cases.drawing import key_of
from hwsim.cases.palette import Palette
from hwsim.cases.random_loops import side_of
from hwsim.formats import ExponentFormat, FloatFormat, Format, container_dtype
from hwsim.formats.codes import Codes
from hwsim.readings import draws
from hwsim.readings.readings import aligned_rule
from hwsim.spec import Unit

Ints = NDArray[np.int64]


class Stimuli:
    """Draws cases of a unit. seed: at least 0; a case depends only on it, on the unit and on the case's number."""

    def __init__(self, unit: Unit, seed: int):
        self.unit = unit
        self.seed = key_of(seed, unit.name, "semantics") >> 1
        self._table()
        self._settings()

    def _table(self) -> None:
        """Tabulate every product, by sign and exponent."""
        palette = Palette(self.unit.operands.a, self.unit.operands.b)
        low, high = palette.exps[0], palette.exps[-1]
        if self.unit.sum.product_limit is not None:
            high = min(high, self.unit.sum.product_limit - 1)  # above, every product is an infinity
        rows: list[Any] = []
        starts = np.zeros((2, high - low + 2), dtype=np.int64)
        powers = np.full((2, high - low + 1), -1, dtype=np.int64)
        for sign in (0, 1):
            for exp in range(low, high + 1):
                starts[sign, exp - low] = len(rows)
                for product in palette.of(sign, exp):
                    if product.sig & (product.sig - 1) == 0:
                        powers[sign, exp - low] = len(rows)
                    rows.append((product.a, product.b))
            starts[sign, -1] = len(rows)
        self.low, self.high, self.starts, self.powers = low, high, starts, powers
        # The last row is that of no product.
        self.codes = np.array([*rows, (0, 0)], dtype=np.int64)

    def _settings(self) -> None:
        unit, (a, b) = self.unit, self.unit.operands.multiplied
        addend = unit.operands.addend
        numbers = [
            unit.instruction.lanes, aligned_rule(unit).fraction_bits, a.fraction_bits + b.fraction_bits,
            unit.result.format.fraction_bits, self.low, self.high, isinstance(addend, FloatFormat),
        ]  # fmt: skip
        self.blocks = (0, 0)
        if unit.scale is not None:
            sides = [_ends(unit.scale.a.format), _ends(unit.scale.b.format)]
            self.blocks = block_lengths(unit)
            numbers += [end for ends in zip(*sides, strict=True) for end in ends]
        else:
            numbers += [0] * 6
        numbers += [*self.blocks, unit.subgroup.lanes if unit.subgroup else 0]
        self.numbers = np.array(numbers, dtype=np.int64)
        fmt = addend if isinstance(addend, FloatFormat) else unit.result.format
        self.addend = side_of(fmt)
        self.step = lcm(unit.instruction.k, *(length for length in self.blocks if length))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of cases: one instruction, and two where instructions chain.

        With a promotion register at least two: its window adds the sum so far, which the first group lacks.
        """
        unit, step = self.unit, self.step
        if unit.promotion is not None:
            return 2 * step, min(3, unit.promotion_beats or 3) * step
        return (step, step, step, 2 * step) if unit.instruction.chain is not None else (step,)

    def batch(self, first: int, count: int, length: int) -> Batch:
        """Cases `first` to `first` + count - 1, of `length` terms, each named by its kind and number."""
        operands = self.unit.operands
        sides = [np.zeros((count, length // block if block else 0), np.int64) for block in self.blocks]
        rows, c = np.zeros((count, length), np.int64), np.zeros(count, np.int64)
        draws.draw(self.seed, first, self.numbers, self.starts, self.powers, self.addend, rows, c, *sides)
        groups = range(length // self.unit.instruction.lanes)
        order = [i for group in groups for i in self.unit.instruction.indices(group)]
        pairs = np.empty((count, length, 2), np.int64)
        pairs[:, order] = self.codes[rows]
        return Batch(
            [f"G13/{draws.KINDS[i % len(draws.KINDS)]}{i:07}" for i in range(first, first + count)],
            pairs[:, :, 0].astype(container_dtype(operands.a)),
            pairs[:, :, 1].astype(container_dtype(operands.b)),
            c.astype(np.uint8 if operands.addend is None else container_dtype(operands.addend)),
            *self._scales(first, sides),
        )

    def _scales(self, first: int, sides: Sequence[Ints]) -> tuple[Codes, Codes] | tuple[None, None]:
        """Codes of both sides' scales, from what was drawn."""
        scale = self.unit.scale
        if scale is None:
            return None, None
        a, b = (_codes(fmt, first, drawn) for fmt, drawn in zip((scale.a.format, scale.b.format), sides, strict=True))
        return a, b


def _codes(fmt: Format, first: int, drawn: Ints) -> Codes:
    """The codes of scales (cases, blocks)."""
    if isinstance(fmt, FloatFormat):
        # Drawn as exponents; the fractions follow from the case's number, and mostly from where they stand.
        bits, number = fmt.fraction_bits, np.arange(first, first + len(drawn))[:, None] // len(draws.KINDS)
        low = (3 * (number // 4) + 5 * np.arange(drawn.shape[1]) * (number % 4 > 0)) % (1 << bits)
        drawn = np.minimum(drawn + fmt.bias << bits | low, fmt.max_magnitude) << fmt.padding
    return drawn.astype(container_dtype(fmt))


def _ends(fmt: Format) -> tuple[int, int, int]:
    """A scale of 1 or near it, the least and the largest: codes of an exponent format, exponents in a float format."""
    if isinstance(fmt, ExponentFormat):
        return min(max(fmt.bias, fmt.min_code), fmt.max_code), fmt.min_code, fmt.max_code
    assert isinstance(fmt, FloatFormat)
    return 0, max(fmt.emin, -20), min(fmt.emax, 20)
