"""Scaled sums of subgroups in one window, in strips of 64 columns: `dots` sums the subgroups, exactly.

A sum times its scales is a float64, exactly; so is what is left of it in the window, and the sum of all of these with
the addend. Groups with a NaN or an infinity, in a scale too, are computed product by product."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import Callback, call, compiled, inlined, row_at
from hwsim.compute.kernels.chain import Bytes, Flags, GroupRules, WindowOperand, aligned_bytes, load, rooms
from hwsim.compute.kernels.finish import WIDE
from hwsim.compute.kernels.floats import TARGET_NUMBERS, round_in, round_to, settled, target_at
from hwsim.compute.kernels.group import GroupTerms, Lanes, group_sum, power
from hwsim.compute.kernels.kernel import Int32s, Int64s, int32, int64
from hwsim.compute.kernels.lanes import NO_EXP, DotsLayout, dots
from hwsim.compute.kernels.lost import FLOOR, TRUNCATE, lost_number
from hwsim.compute.kernels.values import (
    CLASS_SHIFT,
    EXP_MASK,
    EXP_OFFSET,
    EXP_SHIFT,
    FINITE,
    NEGATIVE_SHIFT,
    SIG_MASK,
    Floats,
    Words,
    words_of,
)
from hwsim.compute.kernels.vector_code import COLUMNS, VECTOR
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.kernels.windows import WITHOUT, WindowNumbers
from hwsim.formats import FixedFormat, Format
from hwsim.formats.codes import Codes
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.ranges import exponent_range, extent, span_of
from hwsim.spec.sums import ExactSubgroup


class ScaledCode(NamedTuple):
    """Addresses of the code that sums groups, of that which finishes the sums, and of its target."""

    sums: int
    finish: int
    target: int


class ScaledPacking(NamedTuple):
    """a_bytes, b_bytes: of packed groups. unit: the exponent of an exact sum's last place.

    of_a, of_b: fraction bits of the scales.
    """

    a_bytes: int
    b_bytes: int
    unit: int
    of_a: int
    of_b: int


def pack_integer_rows(words: Words, places: Int64s, layout: DotsLayout, emin: int) -> tuple[Bytes, Flags]:
    """Rows of A, words (m, K): (groups, m, bytes), and which groups hold a NaN or an infinity (groups, m).

    places: the index along K of each lane (groups, lanes). emin: the least exponent of the format.
    """
    m, groups = words.shape[0], places.shape[0]
    packed, flags = aligned_bytes(groups, m, layout.a_bytes), np.zeros((groups, m), np.uint8)
    _pack_rows(words, places, layout.parts, layout.a_bits, emin, packed, flags)
    return packed, flags


def pack_integer_columns(words: Words, places: Int64s, layout: DotsLayout, emin: int) -> tuple[Bytes, Flags]:
    """Columns of B, words (K, n): (groups, tiles, bytes), and which groups of columns are special (groups, tiles)."""
    tiles, groups = -(-words.shape[1] // COLUMNS), places.shape[0]
    packed, flags = aligned_bytes(groups, tiles, layout.b_bytes), np.zeros((groups, tiles), np.uint8)
    _pack_columns(words, places, layout.parts, layout.b_bits, emin, packed, flags)
    return packed, flags


@inlined
def _integer(word: int, emin: int) -> int:
    """A factor in units of its format's least number."""
    x = int32(word & SIG_MASK)
    size = int32(x << int32(int32((word >> EXP_SHIFT) & EXP_MASK) - int32(EXP_OFFSET + emin)))
    return int32(-size) if (word >> NEGATIVE_SHIFT) & 1 else size


@compiled
def _pack_rows(words: Words, places: Int64s, parts: int, bits_at: int, emin: int, packed: Bytes, flags: Flags) -> None:
    lanes = places.shape[1]
    of_part = lanes // parts
    for row in range(words.shape[0]):
        for g in range(places.shape[0]):
            out = packed[g, row]
            factors, bits = out[:bits_at].view(np.int16), out[bits_at : bits_at + 4 * parts].view(np.uint32)
            special = np.uint32(0)
            for lane in range(lanes):
                word = words[row, places[g, lane]]
                special |= word >> CLASS_SHIFT
                factors[lane] = 0 if word >> CLASS_SHIFT else _integer(word, emin)
                bits[lane // of_part] |= np.uint32(np.uint32(word & SIG_MASK != 0) << np.uint32(lane % of_part))
            flags[g, row] = special != 0


@compiled
def _pack_columns(
    words: Words, places: Int64s, parts: int, bits_at: int, emin: int, packed: Bytes, flags: Flags
) -> None:
    lanes, n = places.shape[1], words.shape[1]
    of_part = lanes // parts
    for tile in range(packed.shape[1]):
        first = tile * COLUMNS
        width = min(COLUMNS, n - first)
        for g in range(places.shape[0]):
            out = packed[g, tile]
            factors, bits = out[:bits_at].view(np.int16), out[bits_at:].view(np.uint32)
            special = np.uint32(0)
            for lane in range(lanes):
                row = words[places[g, lane]]
                place = np.uint32(lane % of_part)
                for column in range(width):
                    word = row[first + column]
                    special |= word >> CLASS_SHIFT
                    index = lane // 2 * 2 * COLUMNS + 2 * column + lane % 2
                    factors[index] = 0 if word >> CLASS_SHIFT else _integer(word, emin)
                    bits[lane // of_part * COLUMNS + column] |= np.uint32(np.uint32(word & SIG_MASK != 0) << place)
            flags[g, tile] = special != 0


@lru_cache(maxsize=64)
def dots_of(lanes: int, parts: int) -> Callback:
    """`dots.dots` of one kind, for every tile of a strip.

    Its arguments: the tiles, the bytes from one to the next, and those of `dots`.
    """

    def sums(tiles: int, b_step: int, b_at: int, a_at: int, out_at: int, some_at: int) -> None:
        for t in range(tiles):
            dots(lanes, parts, b_at + t * b_step, a_at, out_at + VECTOR * t, some_at + VECTOR * t)

    return Callback(sums, 6)


@lru_cache(maxsize=64)
def finish_scaled_of(parts: int, cancelled: bool, floor: bool, mode: int) -> Callback:
    """Sums of subgroups and addends become rounded results, in the addends' place.

    cancelled: sums that cancel count. floor: lost bits are floored, else truncated. mode: of the rounding.
    Its arguments: the addresses of WIDE addends, of the parts' sums, of their products that are not zero, of the
    columns' scales, in float64, and their exponents, in int32, and of the row's; the addend's emin, and whether there
    is one; max_exp's floor; the fraction bits; the exponent of a sum's last place; and the address of the target.
    """

    def finish(
        partial: int, sums: int, some: int, scales: int, exps: int, row_scales: int, row_exps: int, emin: int,
        addend: int, lowest: int, bits: int, unit: int, target: int,
    ) -> None:  # fmt: skip
        t, state = target_at(row_at(target, TARGET_NUMBERS, np.float64)), row_at(partial, WIDE, np.float64)
        total_of, some_of = row_at(sums, parts * WIDE, np.int32), row_at(some, parts * WIDE, np.int32)
        scale_b, exp_b = row_at(scales, parts * WIDE, np.float64), row_at(exps, parts * WIDE, np.int32)
        scale_a, exp_a = row_at(row_scales, parts, np.float64), row_at(row_exps, parts, np.int32)
        none, least, below, fine = int32(NO_EXP), int32(emin), int32(lowest), int32(bits)
        for j in range(WIDE):
            top = none
            for p in range(parts):
                slot = p * WIDE + j
                scale = scale_a[p] * scale_b[slot]
                counts = (some_of[slot] != 0) & (scale != 0) if cancelled else (total_of[slot] != 0) & (scale != 0)
                top = max(top, int32(exp_a[p] + exp_b[slot]) if counts else none)
            c = state[j] if addend else 0.0
            field = int32((np.float64(c).view(np.int64) >> 52) & 2047)
            # An infinity or a NaN stays one in any window, and has no exponent that a power of two could have.
            top = max(top, max(int32(field - int32(1023)), least) if c != 0 and field != int32(2047) else none)
            top = max(top, below) if top != none else int32(0)
            up = power(int64(int32(fine + int32(unit)) - top))
            total = 0.0
            for p in range(parts):
                slot = p * WIDE + j
                aligned = np.float64(total_of[slot]) * (scale_a[p] * scale_b[slot]) * up
                total += np.floor(aligned) if floor else np.trunc(aligned)
            scaled = c * power(int64(fine - top))
            total += np.floor(scaled) if floor else np.trunc(scaled)
            value = total * power(int64(top - fine))
            state[j] = settled(value, round_in(value, t, mode), t)

    return Callback(finish, 13)


@inlined
def _scale(word: int, fraction_bits: int) -> tuple[float, int]:
    exp = int64((word >> EXP_SHIFT) & EXP_MASK) - EXP_OFFSET
    size = np.float64(word & SIG_MASK) * power(int64(exp - fraction_bits))
    return -size if (word >> NEGATIVE_SHIFT) & 1 else size, exp


@compiled
def _by_products(
    rules: GroupRules, lanes: Lanes, terms: GroupTerms, places: Int64s, i: int, first: int, a: WindowOperand,
    b: WindowOperand, state: Floats, emin: int, out: Floats,
) -> None:  # fmt: skip
    """A group of row i against columns from `first` on, for special values. Results go to `out`. lanes, terms: room."""
    of_columns = WindowOperand(b.words.T, b.packed, b.special, b.scales.T)
    for j in range(out.shape[0]):
        load(rules, lanes, places, a, of_columns, i, first + j)
        rule = rules.window
        aligned, parts, told, signs = rule.addend != WITHOUT, rule.subgroup, rule.sticky, rule.ieee_zero
        total = group_sum(rule, lanes, terms, state[j], emin, aligned, parts, None, None, told, signs)
        out[j] = round_to(total, rules.result)


@compiled
def scaled_run(
    code: ScaledCode, packing: ScaledPacking, rules: GroupRules, one: Lanes, terms: GroupTerms, places: Int64s,
    a: WindowOperand, b: WindowOperand, values: Floats, room: Int32s,
) -> None:  # fmt: skip
    """Every element of a part of a matrix product, of units whose groups' results are the next ones' addends.

    Arguments as of `strips.vector_run`. room: int32[(3 * parts) * WIDE].
    """
    rule, chain, blocks = rules.window, rules.chain, rules.blocks
    m, n, count, lanes = values.shape[0], values.shape[1], places.shape[0], rule.lanes
    parts, of_part = lanes // rule.subgroup, rule.subgroup
    sums, some, exp_b = room[: parts * WIDE], room[parts * WIDE : 2 * parts * WIDE], room[2 * parts * WIDE :]
    scale_b, scale_a = np.zeros((parts, WIDE), np.float64), np.zeros(parts, np.float64)
    exp_a, kept, partial = np.zeros(parts, np.int32), np.zeros(WIDE, np.float64), np.zeros((m, WIDE), np.float64)
    a_at, b_at, across = a.packed.ctypes.data, b.packed.ctypes.data, b.special.shape[1]
    of_b = scale_b.ctypes.data, exp_b.ctypes.data
    of_a = scale_a.ctypes.data, exp_a.ctypes.data
    numbers = rule.addend, rule.floor, rule.fraction_bits, packing.unit
    for first in range(0, n, WIDE):
        width = min(WIDE, n - first)
        tiles, tile = -(-width // COLUMNS), first // COLUMNS
        for i in range(m):
            for j in range(width):
                partial[i, j] = values[i, first + j]
        for g in range(count):
            restarts = chain.restart > 0 and g % chain.restart == 0
            emin, finite = chain.emin_c if g == 0 and not restarts else chain.emin, True
            for t in range(tile, tile + tiles):
                finite = finite and b.special[g, t] == 0
            for p in range(parts):
                block = places[g, p * of_part] // blocks[1]
                for j in range(width):
                    word = int64(b.scales[block, first + j])
                    finite = finite and word >> CLASS_SHIFT == FINITE
                    number, exp = _scale(word, packing.of_b)
                    scale_b[p, j], exp_b[p * WIDE + j] = number, np.int32(exp)
            for i in range(m):
                state, usual = partial[i], finite and a.special[g, i] == 0
                if restarts:
                    state[:] = 0.0
                for p in range(parts):
                    word = int64(a.scales[i, places[g, p * of_part] // blocks[0]])
                    usual = usual and word >> CLASS_SHIFT == FINITE
                    number, exp = _scale(word, packing.of_a)
                    scale_a[p], exp_a[p] = number, np.int32(exp)
                if usual:
                    groups = b_at + (g * across + tile) * packing.b_bytes, a_at + (g * m + i) * packing.a_bytes
                    call(code.sums, (tiles, packing.b_bytes, *groups, sums.ctypes.data, some.ctypes.data))
                    of = state.ctypes.data, sums.ctypes.data, some.ctypes.data
                    call(code.finish, (*of, *of_b, *of_a, emin, *numbers, code.target))
                    continue
                _by_products(rules, one, terms, places[g], i, first, a, b, state, emin, kept[:width])
                for j in range(width):
                    state[j] = kept[j]
        for i in range(m):
            for j in range(width):
                values[i, first + j] = partial[i, j]


# Of integers of 16 bits with signs, of an exact sum, and of a float64.
FACTOR_BITS, SUM_BITS, FLOAT64_BITS = 15, 31, 53
# A word has a bit for each product of a part.
MOST_IN_PART = 32
MOST_LANES = 128
# The largest magnitude of a scale's, a product's, an addend's and a result's exponent: sums of some are float64s'.
FARTHEST = 200


def dots_layout(unit: Unit, rule: AlignedSum) -> DotsLayout | None:
    """The vectors that hold the scaled sums of a unit; None where none do."""
    scale, lanes = unit.scale, unit.instruction.lanes
    if (
        not isinstance(rule.subgroup, ExactSubgroup)
        or rule.subgroup.asks_addend
        or scale is None
        or unit.late is not None
        or unit.promotion is not None
    ):
        return None
    if rule.zero_terms != "skip" or rule.zero != "positive" or rule.product_limit is not None or rule.cut is not None:
        return None
    size = rule.subgroup.lanes
    if size % 2 or size > MOST_IN_PART or lanes > MOST_LANES or isinstance(unit.result.format, FixedFormat):
        return None
    if rule.sticky or lost_number(rule.term_lost) not in (TRUNCATE, FLOOR):
        return None
    if any(scale.length(side) % size for side in ("a", "b")):
        return None
    if max(extent(fmt).span for fmt in unit.operands.multiplied) > FACTOR_BITS:
        return None
    most = size * math.prod(_largest(fmt) for fmt in unit.operands.multiplied)
    scaled = most << sum(extent(side.format).bits for side in (scale.a, scale.b))
    up = rule.fraction_bits - _least_place(unit)
    window = (lanes // size * scaled << max(up, 0) >> max(-up, 0)) + (2 << rule.fraction_bits)
    if most >= 1 << SUM_BITS or max(scaled, window).bit_length() > FLOAT64_BITS:
        return None
    formats = [*unit.operands.multiplied, scale.a.format, scale.b.format, unit.result.format]
    if unit.operands.addend is not None:
        formats.append(unit.operands.addend)
    ends = [abs(end) for fmt in formats for end in exponent_range(fmt)]
    floor = 0 if rule.max_exp_floor is None else abs(rule.max_exp_floor)
    return DotsLayout(lanes, lanes // size) if max(*ends, floor) <= FARTHEST else None


def _largest(fmt: Format) -> int:
    """The largest magnitude of a factor, in units of the format's least number."""
    reach = extent(fmt)
    return span_of(fmt).most if isinstance(fmt, FixedFormat) else int(fmt.largest / 2.0**reach.low)


def _least_place(unit: Unit) -> int:
    """Places of an exact sum times significands of scales that are below their exponents'."""
    scale = unit.scale
    fine = 0 if scale is None else scale.a.format.fraction_bits + scale.b.format.fraction_bits
    return fine - sum(extent(fmt).low for fmt in unit.operands.multiplied)


class ScaledKernel(WindowKernel):
    def __init__(self, unit: Unit, numbers: WindowNumbers, layout: DotsLayout):
        super().__init__(unit, numbers)
        self.layout: DotsLayout | None = layout

    @property
    def in_vectors(self) -> bool:
        return self.layout is not None

    def pack_a(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        if self.layout is None:
            return super().pack_a(codes, scales)
        words = words_of(self.unit.operands.a, self.words_a, codes)
        packed = pack_integer_rows(words, self.packed_lanes(codes.shape[1]), self.layout, self.least[0])
        return WindowOperand(words, *packed, self._scales("a", scales, len(codes)))

    def pack_b(self, codes: Codes, scales: Codes | None) -> WindowOperand:
        if self.layout is None:
            return super().pack_b(codes, scales)
        words = words_of(self.unit.operands.b, self.words_b, codes)
        packed = pack_integer_columns(words, self.packed_lanes(codes.shape[0]), self.layout, self.least[1])
        return WindowOperand(words, *packed, self._scales("b", scales, codes.shape[1]))

    def every(self, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        layout, scale = self.layout, self.unit.scale
        if layout is None or scale is None:
            super().every(places, a, b, values)
            return
        rule, to = self.rules.window, self.rules.result
        finish = finish_scaled_of(layout.parts, rule.count_cancelled == 1, rule.lost == FLOOR, to.mode)
        target = np.array(to)
        code = ScaledCode(dots_of(*layout).address, finish.address, target.ctypes.data)
        unit = sum(extent(fmt).low for fmt in self.unit.operands.multiplied)
        fine_a, fine_b = (side.format.fraction_bits for side in (scale.a, scale.b))
        packing = ScaledPacking(layout.a_bytes, layout.b_bytes, unit, fine_a, fine_b)
        scratch = aligned_bytes(4 * 3 * layout.parts * WIDE).view(np.int32)
        scaled_run(code, packing, self.rules, *rooms(rule.lanes), places, a, b, values, scratch)
