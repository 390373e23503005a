"""Late addends in windows of their own, in strips of 64 columns: `lanes.group` sums the products' windows.

A group has one window of products, or one of its even and one of its odd lanes. Their sums, and the addend, go into
another window: all in float64, which holds each exactly. Groups with a NaN or an infinity, or with a product that may
be beyond `sum.product_limit`, are computed product by product."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import Callback, call, compiled, inlined, row_at
from hwsim.compute.kernels.chain import GroupRules, WindowOperand, aligned_bytes, rooms
from hwsim.compute.kernels.finish import WIDE
from hwsim.compute.kernels.floats import TARGET_NUMBERS, binary32_target, round_in, settled, target_at
from hwsim.compute.kernels.group import Flag, GroupTerms, Lanes, flag, power
from hwsim.compute.kernels.kernel import Int32s, Int64s, int32, int64, lane_indices
from hwsim.compute.kernels.lanes import NO_EXP
from hwsim.compute.kernels.lost import FLOOR, TRUNCATE, lost_number
from hwsim.compute.kernels.strips import Packing, one_by_one, sums_of
from hwsim.compute.kernels.values import Floats
from hwsim.compute.kernels.vector_code import COLUMNS
from hwsim.compute.kernels.window_kernel import WindowKernel
from hwsim.compute.kernels.windows import NO_LIMIT, UNCUT, Vectors, WindowNumbers, vectors_of_lanes
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Unit, WindowSum

# What is shifted by more is as far away as what is shifted by that, and still a float64.
FARTHEST = 900


class LateKind(NamedTuple):
    """The kind of a compiled finish. windows: of products, 1 or 2. late_floor, combine_floor: else truncated.

    native: results are binary32's, by a conversion. mode: of their rounding.
    """

    lane_bits: int
    windows: int
    late_floor: bool
    combine_floor: bool
    late_zero: bool
    cuts_total: bool
    native: bool
    mode: int


def late_kind(rule: WindowNumbers, lane_bits: int, floor: int, native: bool, mode: int) -> LateKind:
    """The kind of a unit's window. floor: the number of that rule for lost bits."""
    return LateKind(
        lane_bits=lane_bits,
        windows=1 + rule.even_odd,
        late_floor=rule.late_lost == floor,
        combine_floor=rule.combine_lost == floor,
        late_zero=rule.late_zero == 1,
        cuts_total=rule.late_total_bits != UNCUT,
        native=native,
        mode=mode,
    )


class LateNumbers(NamedTuple):
    """Fraction bits of the windows of products, of the one that joins two, and of the late one; and of its rules.

    least: the exponent that packed ones count from. emin: that of results.
    """

    bits: int
    joined_bits: int
    sum_bits: int
    addend_bits: int
    drop: int
    total_bits: int
    emin: int
    least: int


def late_numbers(rule: WindowNumbers, least: int) -> LateNumbers:
    joined = rule.combine_bits if rule.even_odd else rule.fraction_bits
    return LateNumbers(
        rule.fraction_bits, joined, rule.late_sum_bits, rule.late_addend_bits, rule.late_drop, rule.late_total_bits,
        rule.late_emin, least,
    )  # fmt: skip


class LateCode(NamedTuple):
    """Addresses of the code that sums groups, of that which finishes, and of its numbers and its target."""

    sums: int
    finish: int
    numbers: int
    target: int


@inlined
def _kept(x: float, floor: bool) -> float:
    kept: float = np.floor(x) if floor else np.trunc(x)
    return kept


@inlined
def _shifted(x: float, down: int) -> float:
    shifted: float = x * power(int64(min(max(-down, int32(-FARTHEST)), int32(FARTHEST))))
    return shifted


@lru_cache(maxsize=64)
def finish_late_of(kind: LateKind) -> Callback:
    """Sums of a group's windows and late addends become rounded results, in the addends' place.

    Its arguments: the addresses of WIDE addends, of the sums, of those of the negative ones, and of the max_exp of each
    window, one after another; the addend's emin; the addresses of `LateNumbers`, in int32, and of the target's.
    """
    lane_bits, windows, late_floor, combine_floor, late_zero, cuts_total, native, mode = kind

    def finish(partial: int, sums: int, negatives: int, tops: int, emin: int, numbers: int, target: int) -> None:
        t, late = target_at(row_at(target, TARGET_NUMBERS, np.float64)), row_at(numbers, 8, np.int32)
        state, all_sums = row_at(partial, WIDE, np.float64), row_at(sums, 2 * WIDE, np.int32)
        minus, all_tops = row_at(negatives, 2 * WIDE, np.int32), row_at(tops, 2 * WIDE, np.int32)
        bits, joined_bits, sum_bits, addend_bits = late[0], late[1], late[2], late[3]
        drop, total_bits, result_emin, least = late[4], late[5], late[6], late[7]
        width, none, lowest = max(sum_bits, addend_bits), int32(NO_EXP), int32(emin)
        for j in range(WIDE):
            top = all_tops[j]
            if windows == 2:
                top = max(top, all_tops[WIDE + j])
            total = 0.0
            for w in range(windows):
                slot = w * WIDE + j
                mine = float(all_sums[slot])
                if lane_bits == 32:
                    mine = float(np.uint32(all_sums[slot])) - 2.0 * float(np.uint32(minus[slot]))
                if windows == 2:
                    mine = _kept(_shifted(mine, int32(int32(top - all_tops[slot]) + bits - joined_bits)), combine_floor)
                total += mine
            c = state[j]
            field = int32((np.float64(c).view(np.int64) >> 52) & 2047)
            c_exp = max(int32(field - int32(1023)), lowest)
            sum_exp = int32(top + least) if top != none else none
            high = max(sum_exp, c_exp if c != 0 or late_zero else none)
            down = int32(int32(high - sum_exp) + int32(joined_bits - sum_bits))
            kept = 0.0 + _kept(_shifted(total, down), late_floor) * power(int64(width - sum_bits))
            of_c = _kept(_shifted(c, int32(high - addend_bits)), late_floor) * power(int64(width - addend_bits))
            kept += 0.0 if c_exp < int32(high - drop) else of_c
            place = int32(high - width)
            if cuts_total:
                size = int32((np.float64(kept).view(np.int64) >> 52) & 2047)
                leads = int32(int32(size - int32(1023)) + place)
                lost = max(int32(int32(max(leads, result_emin) - total_bits) - place), int32(0))
                kept = _kept(_shifted(kept, lost), late_floor)
                place = int32(place + lost)
            value = _shifted(kept, int32(-place)) if high != none else 0.0
            state[j] = np.float64(np.float32(value)) if native else settled(value, round_in(value, t, mode), t)

    return Callback(finish, 7)


@inlined
def _within_limit(tops: Int32s, high: int) -> bool:
    most = int32(NO_EXP)
    for j in range(tops.shape[0]):
        most = max(most, tops[j])
    return most < high


@compiled
def late_run(
    code: LateCode, packing: Packing, rules: GroupRules, one: Lanes, terms: GroupTerms, places: Int64s,
    a: WindowOperand, b: WindowOperand, values: Floats, room: Int32s, halves: Flag, late: Flag,
) -> None:  # fmt: skip
    """Every element of a part of a matrix product. Arguments as of `strips.vector_run`, each group's windows packed.

    halves, late: as of `group_sum`.
    """
    rule, chain = rules.window, rules.chain
    m, n, count = values.shape[0], values.shape[1], places.shape[0]
    windows = 2 if rule.even_odd else 1
    exps, tops = room[:WIDE], room[WIDE : 3 * WIDE]
    sums, negatives = room[3 * WIDE : 5 * WIDE], room[5 * WIDE : 7 * WIDE]
    exps_at, tops_at, sums_at = exps.ctypes.data, tops.ctypes.data, sums.ctypes.data
    negatives_at = negatives.ctypes.data
    a_at, b_at, across = a.packed.ctypes.data, b.packed.ctypes.data, b.special.shape[1]
    exps[:] = np.int32(NO_EXP)
    partial, kept = np.zeros((m, WIDE), np.float64), np.zeros(WIDE, np.float64)
    # The leading one of a product stands at most one place above its exponent.
    limit = rule.limit - 1 - packing.least
    for first in range(0, n, WIDE):
        width = min(WIDE, n - first)
        tiles, tile = -(-width // COLUMNS), first // COLUMNS
        for i in range(m):
            for j in range(width):
                partial[i, j] = values[i, first + j]
        for g in range(count):
            emin, finite = chain.emin_c if g == 0 else chain.emin, True
            for w in range(windows * g, windows * g + windows):
                for t in range(tile, tile + tiles):
                    finite = finite and b.special[w, t] == 0
            for i in range(m):
                state, usual = partial[i], finite
                for w in range(windows):
                    which, beside = windows * g + w, w * 4 * WIDE
                    usual = usual and a.special[which, i] == 0
                    b_group = b_at + (which * across + tile) * packing.b_bytes
                    a_group = a_at + (which * m + i) * packing.a_bytes
                    out = sums_at + beside, negatives_at + beside, tops_at + beside
                    call(code.sums, (tiles, packing.b_bytes, b_group, a_group, exps_at, *out, packing.deeper))
                if usual and rule.limit != NO_LIMIT:
                    usual = _within_limit(tops[: windows * WIDE], limit)
                if usual:
                    of = state.ctypes.data, sums_at, negatives_at, tops_at
                    call(code.finish, (*of, emin, code.numbers, code.target))
                    continue
                one_by_one(rules, one, terms, g, i, first, a, b, places, state, emin, kept[:width], halves, late)
                for j in range(width):
                    state[j] = kept[j]
        for i in range(m):
            for j in range(width):
                values[i, first + j] = partial[i, j]


# Sums and what they are shifted by stay exact in float64.
MOST_BITS, MOST_FINE = 40, 60


def late_vectors_of(unit: Unit, rule: WindowSum) -> Vectors | None:
    """The lanes that hold the windows of a unit whose addend comes late, in a window; None where none do."""
    late, lanes = unit.late, unit.instruction.lanes
    if not isinstance(late, LateInWindow) or unit.scale is not None or rule.max_exp_floor is not None:
        return None
    if rule.zero_terms != "skip" or rule.zero != "positive" or (isinstance(rule, AlignedSum) and rule.cut is not None):
        return None
    lost, bits = [late.lost], [late.sum_bits, late.addend_bits, rule.fraction_bits]
    if isinstance(rule, EvenOddSum):
        if lanes % 2:
            return None
        lost, bits, lanes = [*lost, rule.combine.lost], [*bits, rule.combine.fraction_bits], lanes // 2
    known = all(lost_number(way) in (TRUNCATE, FLOOR) for way in lost)
    if not known or max(bits) > MOST_BITS or (late.total_bits or 0) > MOST_FINE:
        return None
    vectors = vectors_of_lanes(unit, rule, lanes)
    return None if vectors is None or vectors.layout.parts > 1 else vectors


class LateKernel(WindowKernel):
    def packed_lanes(self, k: int) -> Int64s:
        indices = lane_indices(self.unit, k)
        if not self.rules.window.even_odd:
            return indices
        halves = np.stack([indices[:, 0::2], indices[:, 1::2]], axis=1)
        return np.ascontiguousarray(halves.reshape(2 * len(indices), -1))

    def strips(self, v: Vectors, places: Int64s, a: WindowOperand, b: WindowOperand, values: Floats) -> None:
        rule, to, least = self.rules.window, self.rules.result, sum(self.least)
        kind = late_kind(rule, v.layout.lane_bits, FLOOR, to == binary32_target(), to.mode)
        numbers, target = np.array(late_numbers(rule, least), np.int32), np.array(to)
        code = LateCode(
            sums_of(*v.layout, v.lost).address, finish_late_of(kind).address, numbers.ctypes.data, target.ctypes.data
        )
        packing = Packing(v.layout.a_bytes, v.layout.b_bytes, v.deeper, least, 0)
        scratch = aligned_bytes(4 * 7 * WIDE).view(np.int32)
        has, scalars = (flag(rule.even_odd > 0), flag(True)), rooms(rule.lanes)
        late_run(code, packing, self.rules, *scalars, places, a, b, values, scratch, *has)
