"""What becomes of the sums of a strip's groups: the addend joins, and one rounding to the result format follows.

Loops over the strip's columns, which LLVM makes vectors of: in float64, or in float32 where `single.single_of` proves
that this suffices. What differs from unit to unit is compiled by itself, and `strips.vector_run` calls it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import Callback, inlined, row_at
from hwsim.compute.kernels.floats import (
    NOT_SCALED,
    TARGET_NUMBERS,
    add_odd,
    fma_odd,
    in_order,
    round_in,
    settled,
    sum_in,
    target_at,
)
from hwsim.compute.kernels.group import power
from hwsim.compute.kernels.kernel import Int32s, Int64s, int32, int64
from hwsim.compute.kernels.lanes import NO_EXP
from hwsim.compute.kernels.lost import CEIL, FLOOR, JAM
from hwsim.compute.kernels.vector_code import COLUMNS
from hwsim.compute.kernels.windows import LEAST_PLACE, MASKED, ODD, SMALL

WIDE = 4 * COLUMNS  # columns of a strip
Row = NDArray[np.float32] | NDArray[np.float64]


@inlined
def addend_exps(partial: Row, shifts: Int64s, least: int, emin: int, exps: Int32s) -> None:
    """The exponents of addends on the scale of packed products. float64s; shifts: of the scales of each column."""
    for j in range(partial.shape[0]):
        field = int64((np.float64(partial[j]).view(np.int64) >> 52) & 2047)
        exp = max(field - 1023, emin) - least - shifts[j]
        exps[j] = np.int32(exp if partial[j] != 0 else NO_EXP)


@inlined
def single_exps(partial: Row, least: int, emin: int, exps: Int32s) -> None:
    """`addend_exps` of float32s, without scales. emin: at least binary32's."""
    lowest = np.int32(emin + 127)
    for j in range(partial.shape[0]):
        bits = np.float32(partial[j]).view(np.int32) & np.int32(0x7FFFFFFF)
        exp = max(np.int32(bits >> np.int32(23)), lowest) - np.int32(127 + least)
        exps[j] = np.int32(exp if bits != 0 else NO_EXP)


@inlined
def all_usual(tops: Int32s, low: int, high: int) -> bool:
    """True if every max_exp is in a range, or of zeros alone."""
    least, most = int32(high), int32(low)
    for j in range(tops.shape[0]):
        least = min(least, int32(high) if tops[j] == NO_EXP else tops[j])
        most = max(most, tops[j])
    return least >= low and most <= high


@lru_cache(maxsize=64)
def finish_of(lane_bits: int, parts: int, lost: int, mode: int, single: bool) -> Callback:
    """Sums of products and addends become rounded results, in the addends' place.

    For one kind of lanes, and the mode of the result's rounding. single: of sums in float32. All is computed in
    float64: a sum has fewer than 53 bits, an addend in units of the window too, and powers of two are exact.
    Its arguments: the addresses of WIDE addends, shifts of the scales, sums, those of negative terms, and max_exp;
    addend; base: fraction bits - least exponent; the address of the target's numbers, in float64.
    """
    carrier = np.float32 if single else np.float64

    def finish(
        partial: int, shifts: int, sums: int, negatives: int, tops: int, addend: int, base: int, target: int
    ) -> None:
        t, state = target_at(row_at(target, TARGET_NUMBERS, np.float64)), row_at(partial, WIDE, carrier)
        shift, top = row_at(shifts, WIDE, np.int64), row_at(tops, WIDE, np.int32)
        sum_of, minus = row_at(sums, parts * WIDE, np.int32), row_at(negatives, parts * WIDE, np.int32)
        for j in range(WIDE):
            exp = min(max(np.int64(top[j]) + shift[j] - base, -1000), 1000)
            if lane_bits == 16:
                total = np.float64(sum_of[j])
            else:
                total = np.float64(np.uint32(sum_of[j])) - 2.0 * np.float64(np.uint32(minus[j]))
                # Outside of the loop, which keeps the compiler from vectors of columns where it has a turn.
                if parts > 1:
                    total += np.float64(np.uint32(sum_of[WIDE + j])) - 2.0 * np.float64(np.uint32(minus[WIDE + j]))
                for i in range(j + 2 * WIDE, parts * WIDE, WIDE):
                    total += np.float64(np.uint32(sum_of[i])) - 2.0 * np.float64(np.uint32(minus[i]))
            if addend:
                scaled = state[j] * power(-exp)
                kept = np.trunc(scaled)
                if lost == FLOOR:
                    kept = np.floor(scaled)
                elif lost == CEIL:
                    kept = np.ceil(scaled)
                elif lost == JAM and kept != scaled:
                    # The last bit of a magnitude, unless it is set.
                    kept += np.copysign(1.0, scaled) if kept * 0.5 == np.trunc(kept * 0.5) else 0.0
                total += kept
            value = total * power(exp)
            state[j] = settled(value, round_in(value, t, mode), t)

    return Callback(finish, 8)


@lru_cache(maxsize=64)
def finish_single_of(lane_bits: int, form: int, mode: int) -> Callback:
    """`finish_of` in float32, for sums of 31 bits with addends whose lost bits are truncated.

    Only where max_exp is such that nothing overflows or becomes subnormal in binary32. form, mask: as in `Single`.
    mode: of the target. Its arguments: as of `finish_of`, without shifts; the mask before the target's, in float32.
    """

    def finish(
        partial: int, sums: int, negatives: int, tops: int, addend: int, base: int, mask: int, target: int
    ) -> None:
        t, state = target_at(row_at(target, TARGET_NUMBERS, np.float32)), row_at(partial, WIDE, np.float32)
        top, sum_of = row_at(tops, WIDE, np.int32), row_at(sums, WIDE, np.int32)
        minus, low = row_at(negatives, WIDE, np.int32), np.int32(base + LEAST_PLACE)
        for j in range(WIDE):
            exp = np.int32(max(top[j], low) - np.int32(base))
            total = sum_of[j]
            if lane_bits == 32:
                total = np.int32(total - np.int32(minus[j] << np.int32(1)))
            if addend:
                up = np.int32(np.int32(127 - exp) << np.int32(23)).view(np.float32)
                total = np.int32(total + np.int32(np.float32(state[j]) * up))
            unit = np.int32(np.int32(127 + exp) << np.int32(23)).view(np.float32)
            if form == SMALL:
                small = np.int32(np.float32(total).view(np.int32) & np.int32(mask))
                state[j] = small.view(np.float32) * unit
                continue
            size = np.int32(abs(total))
            # Without the bits that a float32 has no room for, or enough: the conversion is exact, or rounds down.
            down = np.float32(np.int32(size & np.int32(~np.int32(size >> np.int32(24)))))
            bits = np.int32(down.view(np.int32) & np.int32(mask))
            inexact = form != MASKED and ((bits != down.view(np.int32)) | (np.int32(down) != size))
            kept = np.int32(bits | (np.int32(mask & -mask) if inexact else np.int32(0)))
            value: Any = np.float32(np.copysign(kept.view(np.float32), np.float32(total)) * unit)
            state[j] = value if form in (MASKED, ODD) else settled(value, round_in(value, t, mode), t)

    return Callback(finish, 8)


@lru_cache(maxsize=64)
def commit_of(single: bool, first: int, native: bool, mode: int) -> Callback:
    """The code that adds a row of partial sums to their registers, for one kind of promotions or late additions.

    single: partial sums are float32s. first: as of `first_of`. native: registers are binary32, to nearest even, and
    none is flushed. mode: of the registers' rounding.
    Its arguments: the addresses of the registers and the partial sums, of WIDE columns; of the columns' scales; of the
    row's scale and the least magnitude of a register that is not flushed; and of the registers' target. All but partial
    sums are float64s.
    """
    carrier = np.float32 if single else np.float64

    def commit(registers: int, partials: int, of_b: int, of_row: int, target: int) -> None:
        register, partial = row_at(registers, WIDE, np.float64), row_at(partials, WIDE, carrier)
        scale_b, numbers = row_at(of_b, WIDE, np.float64), row_at(of_row, 2, np.float64)
        t, scale_a, below = target_at(row_at(target, TARGET_NUMBERS, np.float64)), numbers[0], numbers[1]
        for j in range(WIDE):
            x, y = register[j], np.float64(partial[j])
            product, by = in_order(first, y, scale_a, scale_b[j])
            if native:
                rounded = np.float64(np.float32(product))
                register[j] = np.float32(add_odd(x, y) if first == NOT_SCALED else fma_odd(by, rounded, x))
            else:
                if first != NOT_SCALED:
                    total = sum_in(by * settled(product, round_in(product, t, mode), t), x, mode, False)
                else:
                    total = sum_in(np.copysign(0.0, x) if abs(x) < below else x, y, mode, False)
                register[j] = settled(total, round_in(total, t, mode), t)

    return Callback(commit, 5)
