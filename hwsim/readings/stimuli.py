"""Directed random cases for a unit, in chunks: as products for the compiled readings, and as cases to keep."""

from __future__ import annotations

from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case, block_lengths
from hwsim.cases.drawing import key_of
from hwsim.cases.palette import Palette
from hwsim.formats import ExponentFormat, FloatFormat, Format
from hwsim.model.definition import Definition
from hwsim.readings import draws
from hwsim.readings.arrays import Products, format_row, scaled
from hwsim.readings.readings import aligned_rule
from hwsim.spec import Unit

Ints = NDArray[np.int64]


class Chunk(NamedTuple):
    """A run of cases, numbered from `first` on: rows of products in the table, codes of addends and scales."""

    first: int
    rows: Ints
    c: Ints
    scale_a: Ints
    scale_b: Ints


class Stimuli:
    """Draws cases of a unit. seed: at least 0; a case depends only on it, on the unit and on the case's number."""

    def __init__(self, unit: Unit, seed: int):
        self.unit = unit
        self.seed = key_of(seed, unit.name, "semantics") >> 1
        self._definition = Definition(unit)
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
        terms = [self._definition.product(a, b) for a, b in rows]
        # The last row is that of no product, at the exponent of zero times zero.
        zero = self._definition.product(0, 0)
        sides = [*rows, (0, 0)]
        self.codes = np.array(sides, dtype=np.int64)
        terms.append(zero)
        self.sig = np.array([-t.sig if t.sign else t.sig for t in terms], dtype=np.int64)
        self.exp = np.array([t.exp - t.fraction_bits for t in terms], dtype=np.int64)

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
        self.addend = format_row(fmt, "rz")
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

    def chunk(self, first: int, count: int, length: int) -> Chunk:
        """Cases `first` to `first` + count - 1, of `length` terms."""
        unit = self.unit
        blocks = [length // block if block else 0 for block in self.blocks]
        drawn = Chunk(
            first,
            *(
                np.zeros(shape, dtype=np.int64)
                for shape in ((count, length), count, (count, blocks[0]), (count, blocks[1]))
            ),
        )
        draws.draw(
            self.seed,
            first,
            self.numbers,
            self.starts,
            self.powers,
            self.addend,
            drawn.rows,
            drawn.c,
            drawn.scale_a,
            drawn.scale_b,
        )
        for scales, side in zip(
            (drawn.scale_a, drawn.scale_b), (unit.scale.a, unit.scale.b) if unit.scale else (), strict=False
        ):
            if isinstance(side.format, FloatFormat):
                # Drawn as exponents; the fractions follow from the case's number, and mostly from where they stand.
                bits, number = side.format.fraction_bits, np.arange(first, first + count)[:, None] // len(draws.KINDS)
                low = (3 * (number // 4) + 5 * np.arange(scales.shape[1]) * (number % 4 > 0)) % (1 << bits)
                codes = np.minimum(scales + side.format.bias << bits | low, side.format.max_magnitude)
                scales[:] = codes << side.format.padding
        return drawn

    def products(self, chunk: Chunk) -> Products:
        """A chunk's products, in the order of groups."""
        order = self._order(chunk)
        sides = zip((chunk.scale_a, chunk.scale_b), self.blocks, strict=True)
        spread = [np.repeat(codes, length, axis=1)[:, order] for codes, length in sides if length]
        return scaled(self.unit, self.sig[chunk.rows], self.exp[chunk.rows], spread)

    def _order(self, chunk: Chunk) -> list[int]:
        instruction = self.unit.instruction
        return [i for g in range(chunk.rows.shape[1] // instruction.lanes) for i in instruction.indices(g)]

    def case(self, chunk: Chunk, index: int) -> Case:
        """A case of a chunk, named by its kind and number."""
        number = chunk.first + index
        pairs = self.codes[chunk.rows[index]]
        sides = np.zeros_like(pairs)
        sides[self._order(chunk)] = pairs
        a, b = (tuple(side) for side in sides.T.tolist())
        scales = (tuple(side[index].tolist()) for side in (chunk.scale_a, chunk.scale_b))
        return Case(f"G13/{draws.KINDS[number % len(draws.KINDS)]}{number:07}", a, b, int(chunk.c[index]), *scales)


def _ends(fmt: Format) -> tuple[int, int, int]:
    """A scale of 1 or near it, the least and the largest: codes of an exponent format, exponents in a float format."""
    if isinstance(fmt, ExponentFormat):
        return min(max(fmt.bias, fmt.min_code), fmt.max_code), fmt.min_code, fmt.max_code
    assert isinstance(fmt, FloatFormat)
    return 0, max(fmt.emin, -20), min(fmt.emax, 20)
