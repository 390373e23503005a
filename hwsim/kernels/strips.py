"""Groups in their order, for strips of 64 columns: `lanes.group` sums a group, and here its sums are finished.

Finishing adds the addend, rounds to the result format, and hands the result on: to the next group as its addend, or to
the register of promotions and late additions. It is written as loops over a strip, which LLVM makes vectors of, in
float64, or in float32 where that suffices (`_finish_single`). Groups with a NaN or an infinity are rare, and are
computed product by product (`_one_by_one`). Rows are the inner loop, so that a group of B stays in the processor's
cache while all rows pass it.

What differs from unit to unit, `sums_of` and `finish_of`, is compiled by itself, and `run` once for all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import Callback, call, compiled, inlined, row_at
from hwsim.kernels.chain import ADDED_LATE, PLAIN, ChainNumbers, GroupRules, committed
from hwsim.kernels.codes import Floats
from hwsim.kernels.floats import RoundingTarget, add_odd, fma_odd, round_in, round_to, settled
from hwsim.kernels.group import NAN_EXP, GroupTerms, Lanes, group_sum, power
from hwsim.kernels.integers import Int32s, Int64s, int32, int64
from hwsim.kernels.lanes import COLUMNS, NO_EXP, VECTOR, group
from hwsim.kernels.lost import FLOOR, JAM
from hwsim.kernels.packed import WindowOperand
from hwsim.kernels.windows import WITHOUT

WIDE = 4 * COLUMNS  # columns of a strip
Row = NDArray[np.float32] | NDArray[np.float64]


class Packing(NamedTuple):
    """a_bytes, b_bytes: of packed groups. deeper: of `lanes.group`. least: the exponent that packed ones count from.

    mask: the bits of a binary32 that results have, where sums are finished in it.
    """

    a_bytes: int
    b_bytes: int
    deeper: int
    least: int
    mask: int


class Addresses(NamedTuple):
    """Of the code that sums groups, of that which finishes the sums, and of their rounding's target, in float64."""

    sums: int
    finish: int
    target: int


VectorRun = Callable[[Addresses, Packing, GroupRules, Int64s, WindowOperand, WindowOperand, Floats, Int32s], None]


@inlined
def _addend_exps(partial: Row, shifts: Int64s, least: int, emin: int, exps: Int32s) -> None:
    """The exponents of addends on the scale of packed products. float64s; shifts: of the scales of each column."""
    for j in range(partial.shape[0]):
        field = int64((np.float64(partial[j]).view(np.int64) >> 52) & 2047)
        exp = max(field - 1023, emin) - least - shifts[j]
        exps[j] = np.int32(exp if partial[j] != 0 else NO_EXP)


@inlined
def _finish(
    partial: Row, shifts: Int64s, sums: Int32s, negatives: Int32s, tops: Int32s, lane_bits: int, lost: int, addend: int,
    base: int, target: RoundingTarget, mode: int,
) -> None:  # fmt: skip
    """Sums of products and addends become rounded results, in the addends' place.

    base: fraction bits - least exponent. mode: target.mode, a constant. All in float64: a sum has fewer than 53 bits,
    an addend in units of the window too, and powers of two are exact.
    """
    for j in range(partial.shape[0]):
        exp = min(max(np.int64(tops[j]) + shifts[j] - base, -1000), 1000)
        if lane_bits == 16:
            total = np.float64(sums[j])
        else:
            total = np.float64(np.uint32(sums[j])) - 2.0 * np.float64(np.uint32(negatives[j]))
        if addend:
            scaled = partial[j] * power(-exp)
            kept = np.trunc(scaled)
            if lost == FLOOR:
                kept = np.floor(scaled)
            elif lost == JAM and kept != scaled:
                # The last bit of a magnitude, unless it is set.
                kept += np.copysign(1.0, scaled) if kept * 0.5 == np.trunc(kept * 0.5) else 0.0
            total += kept
        value = total * power(exp)
        partial[j] = settled(value, round_in(value, target, mode), target)


@inlined
def _single_exps(partial: Row, least: int, exps: Int32s) -> None:
    """`_addend_exps` of float32s of binary32's range, without scales."""
    for j in range(partial.shape[0]):
        bits = np.float32(partial[j]).view(np.int32) & np.int32(0x7FFFFFFF)
        exp = max(np.int32(bits >> np.int32(23)), np.int32(1)) - np.int32(127 + least)
        exps[j] = np.int32(exp if bits != 0 else NO_EXP)


@inlined
def _usual(tops: Int32s, low: int, high: int) -> bool:
    """Whether every max_exp is in a range, or of zeros alone."""
    least, most = int32(high), int32(low)
    for j in range(tops.shape[0]):
        least = min(least, int32(high) if tops[j] == NO_EXP else tops[j])
        most = max(most, tops[j])
    return least >= low and most <= high


@inlined
def _finish_single(partial: Row, sums: Int32s, tops: Int32s, addend: int, base: int, low: int, mask: int) -> None:
    """`_finish` in float32: sums below 2^24, towards zero, max_exp where nothing overflows or becomes subnormal.

    mask: the bits of a binary32 that the result format has.
    """
    for j in range(partial.shape[0]):
        exp = np.int32(max(tops[j], np.int32(low)) - np.int32(base))
        total = sums[j]
        if addend:
            up = np.int32(np.int32(127 - exp) << np.int32(23)).view(np.float32)
            total = np.int32(total + np.int32(np.float32(partial[j]) * up))
        bits = np.float32(total).view(np.int32) & np.int32(mask)
        partial[j] = np.int32(bits).view(np.float32) * np.int32(np.int32(127 + exp) << np.int32(23)).view(np.float32)


@compiled
def _one_by_one(
    rules: GroupRules, lanes: Lanes, terms: GroupTerms, g: int, first: int, b: WindowOperand, places: Int64s,
    shifts: Int64s, partial: Row, emin: int, out: Floats,
) -> None:  # fmt: skip
    """A group of one row, whose words lanes.a has, against columns from `first` on, for special values.

    Results go to `out`. lanes, terms: room.
    """
    for j in range(out.shape[0]):
        for lane in range(rules.window.lanes):
            lanes.b[lane] = b.words[places[g, lane], first + j]
            lanes.scales[lane] = NAN_EXP if shifts[j] > NAN_EXP // 2 else shifts[j]
        odd = group_sum(rules.window, lanes, terms, np.float64(partial[j]), emin, rules.window.addend != WITHOUT)
        out[j] = round_to(odd, rules.result)


@compiled
def _start(chain: ChainNumbers, target: RoundingTarget, values: Floats, partial: Row, register: Floats) -> None:
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            partial[i, j] = value if chain.kind == PLAIN else 0.0
            register[i, j] = value if chain.kind in (ADDED_LATE, PLAIN) else round_to(value, target)


@compiled
def _commit(
    chain: ChainNumbers, register: Floats, partial: Row, scaled: bool, scale_a: float, scale_b: Floats,
    target: RoundingTarget,
) -> None:  # fmt: skip
    """Partial sums of a row go into the register."""
    if chain.native and scaled:
        for j in range(register.shape[0]):
            scale = np.float64(np.float32(scale_a * scale_b[j]))
            register[j] = np.float32(fma_odd(np.float64(partial[j]), scale, register[j]))
    elif chain.native:
        for j in range(register.shape[0]):
            register[j] = np.float32(add_odd(register[j], np.float64(partial[j])))
    else:
        for j in range(register.shape[0]):
            register[j] = committed(chain, register[j], np.float64(partial[j]), scale_a, scale_b[j], target)


@lru_cache(maxsize=64)
def sums_of(quads: int, lane_bits: int, exp_bits: int, lost: int) -> Callback:
    """`lanes.group` of one kind, for every tile of a strip.

    Its arguments: the tiles, the bytes from one to the next, and those of `group`.
    """

    def sums(
        tiles: int, b_step: int, b_at: int, a_at: int, addend_at: int, out_at: int, negative_at: int, exp_at: int,
        deeper: int,
    ) -> None:  # fmt: skip
        for t in range(tiles):
            group(
                quads, lane_bits, exp_bits, lost, b_at + t * b_step, a_at, addend_at + VECTOR * t, out_at + VECTOR * t,
                negative_at + VECTOR * t, exp_at + VECTOR * t, deeper,
            )  # fmt: skip

    return Callback(sums, 9)


@lru_cache(maxsize=64)
def finish_of(lane_bits: int, lost: int, mode: int, single: bool) -> Callback:
    """`_finish` for one kind of lanes, and for the mode of the result's rounding. single: of sums in float32.

    Its arguments: the addresses of those of `_finish`, of WIDE columns; addend; base; the target's, in float64.
    """
    carrier = np.float32 if single else np.float64

    def finish(
        partial: int, shifts: int, sums: int, negatives: int, tops: int, addend: int, base: int, target: int
    ) -> None:
        t = row_at(target, 16, np.float64)
        rounding = RoundingTarget(
            t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], int64(t[13]), int64(t[14]),
            int64(t[15]),
        )  # fmt: skip
        _finish(
            row_at(partial, WIDE, carrier), row_at(shifts, WIDE, np.int64), row_at(sums, WIDE, np.int32),
            row_at(negatives, WIDE, np.int32), row_at(tops, WIDE, np.int32), lane_bits, lost, addend, base, rounding,
            mode,
        )  # fmt: skip

    return Callback(finish, 8)


@lru_cache(maxsize=2)
def vector_run(single: bool) -> VectorRun:
    """`run`, of partial sums in float64, or `single`: in binary32, where `_finish_single` finishes the usual ones."""
    carrier = np.float32 if single else np.float64

    @compiled
    def run(
        code: Addresses, packing: Packing, rules: GroupRules, places: Int64s, a: WindowOperand, b: WindowOperand,
        values: Floats, room: Int32s,
    ) -> None:  # fmt: skip
        """Every element of a part of a matrix product.

        room: int32[4 * WIDE], where a vector may begin, scratch. Other arguments: as for `chain.run_scalar`; the words
        of b are (K, n), its scales (blocks, n).
        """
        rule, chain, target = rules.window, rules.chain, rules.register
        scales, blocks = rules.scales, rules.blocks
        m, n, count, lanes = values.shape[0], values.shape[1], places.shape[0], rule.lanes
        exps, tops, sums, negatives = room[:WIDE], room[WIDE : 2 * WIDE], room[2 * WIDE : 3 * WIDE], room[3 * WIDE :]
        exps_at, tops_at, sums_at = exps.ctypes.data, tops.ctypes.data, sums.ctypes.data
        negatives_at, a_at, b_at = negatives.ctypes.data, a.packed.ctypes.data, b.packed.ctypes.data
        partial, register = np.zeros((m, WIDE), carrier), np.zeros((m, WIDE), np.float64)
        of_b, shifts, kept = np.zeros(WIDE, np.int64), np.zeros(WIDE, np.int64), np.zeros(WIDE, np.float64)
        words, no_words = np.zeros((2, lanes), np.uint32), np.zeros(lanes, np.uint32)
        one = Lanes(words[0], words[1], np.zeros(lanes, np.int64), no_words, no_words)
        terms = GroupTerms(np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64))
        base, across = rule.fraction_bits - packing.least, b.special.shape[1]
        # Powers of two stay normal, and so does what they scale; infinities are beyond.
        low, high = base - 120, min(base + 100, 127 - packing.least)
        for first in range(0, n, WIDE):
            width = min(WIDE, n - first)
            tiles = -(-width // COLUMNS)
            _start(chain, target, values[:, first : first + width], partial, register)
            for g in range(count):
                restarts = chain.restart > 0 and g % chain.restart == 0
                emin = chain.emin_c if g == 0 and not restarts else chain.emin
                finite = True
                if scales == 1:
                    for j in range(width):
                        of_b[j] = np.int64(b.scales[g * lanes // blocks[1], first + j])
                        finite = finite and of_b[j] != NAN_EXP
                for i in range(m):
                    state = partial[i]
                    if restarts:
                        state[:] = 0.0
                    usual = finite and a.special[g, i] == 0
                    if scales == 1:
                        shift = np.int64(a.scales[i, g * lanes // blocks[0]])
                        usual = usual and shift != NAN_EXP
                        for j in range(WIDE):
                            shifts[j] = shift + of_b[j]
                    if rule.addend == 0:
                        exps[:] = np.int32(NO_EXP)
                    elif single:
                        _single_exps(state, packing.least, exps)
                    else:
                        _addend_exps(state, shifts, packing.least, emin, exps)
                    if rule.floor != NO_EXP:
                        for j in range(WIDE):
                            exps[j] = max(exps[j], np.int32(rule.floor - packing.least - shifts[j]))
                    b_group = b_at + (g * across + first // COLUMNS) * packing.b_bytes
                    a_group = a_at + (g * m + i) * packing.a_bytes
                    rows_at = b_group, a_group, exps_at, sums_at, negatives_at, tops_at
                    call(code.sums, (tiles, packing.b_bytes, *rows_at, packing.deeper))
                    strange = not usual
                    for tile in range(first // COLUMNS, first // COLUMNS + tiles):
                        strange = strange or b.special[g, tile] != 0
                    if strange:
                        for lane in range(lanes):
                            one.a[lane] = a.words[i, places[g, lane]]
                        _one_by_one(rules, one, terms, g, first, b, places, shifts, state, emin, kept[:width])
                        for j in range(width):
                            state[j] = kept[j]
                    elif single and _usual(tops, low, high):
                        _finish_single(state, sums, tops, rule.addend, base, low, packing.mask)
                    else:
                        rows_of = state.ctypes.data, shifts.ctypes.data, sums_at, negatives_at, tops_at
                        call(code.finish, (*rows_of, rule.addend, base, code.target))
                if chain.kind != PLAIN and (g % chain.every == chain.every - 1 or g == count - 1):
                    at = (g - g % chain.every) * lanes
                    for i in range(m):
                        scale_a = a.scales[i, at // blocks[0]] if scales == 3 else 1.0
                        scale_b = b.scales[at // blocks[1], first : first + width] if scales == 3 else kept[:width]
                        _commit(chain, register[i, :width], partial[i, :width], scales == 3, scale_a, scale_b, target)
            for i in range(m):
                for j in range(width):
                    values[i, first + j] = partial[i, j] if chain.kind == PLAIN else register[i, j]

    return run
