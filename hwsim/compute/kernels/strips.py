"""Groups in their order, for strips of 64 columns: `lanes.group` sums a group, and `finish` finishes its sums.

A finished result is handed on: to the next group as its addend, or to the register of promotions and late additions.
Groups with a NaN or an infinity are rare, and are computed product by product (`one_by_one`). Rows are the inner loop,
so that a group of B stays in the processor's cache while all rows pass it.

What differs from unit to unit, `sums_of`, `finish_of` and `finish_single_of`, is compiled by itself, and `run` once for
all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hwsim.base.compiled import Callback, call, compiled
from hwsim.compute.kernels.chain import ADDED_LATE, AT_PRODUCTS, PLAIN, ChainNumbers, GroupRules, WindowOperand
from hwsim.compute.kernels.finish import WIDE, Row, addend_exps, all_usual, single_exps
from hwsim.compute.kernels.floats import RoundingTarget, round_to
from hwsim.compute.kernels.group import NAN_EXP, Flag, GroupTerms, Lanes, group_sum
from hwsim.compute.kernels.kernel import Int32s, Int64s
from hwsim.compute.kernels.lanes import NO_EXP, group
from hwsim.compute.kernels.values import Floats
from hwsim.compute.kernels.vector_code import COLUMNS, VECTOR
from hwsim.compute.kernels.windows import LEAST_PLACE, MOST_PLACE, WITHOUT


class Packing(NamedTuple):
    """a_bytes, b_bytes: of packed groups. deeper: of `lanes.group`. least: the exponent that packed ones count from.

    mask: of `Single`, where sums are finished in binary32. bounded: no max_exp is beyond what that holds. per_lane: as
    in `Vectors`.
    """

    a_bytes: int
    b_bytes: int
    deeper: int
    least: int
    mask: int
    bounded: bool = False
    per_lane: bool = False


class Addresses(NamedTuple):
    """Addresses of the code that sums groups, of that which finishes the sums, and of their target, in float64.

    single, narrow: of the code that finishes the usual sums, and of its target, in float32; 0 where there is none.
    commit, register: of the code that takes partial sums into registers, and of their target.
    """

    sums: int
    finish: int
    target: int
    single: int
    narrow: int
    commit: int
    register: int


@compiled
def one_by_one(
    rules: GroupRules, lanes: Lanes, terms: GroupTerms, g: int, i: int, first: int, a: WindowOperand, b: WindowOperand,
    places: Int64s, partial: Row, emin: int, out: Floats, halves: Flag, late: Flag,
) -> None:  # fmt: skip
    """A group of row i against columns from `first` on, for special values.

    Results go to `out`. lanes, terms: room. halves, late: as of `group_sum`.
    """
    for j in range(out.shape[0]):
        for lane in range(rules.window.lanes):
            k = places[g, lane]
            lanes.a[lane], lanes.b[lane] = a.words[i, k], b.words[k, first + j]
            if rules.scales == AT_PRODUCTS:
                p, q = np.int64(a.scales[i, k // rules.blocks[0]]), np.int64(b.scales[k // rules.blocks[1], first + j])
                lanes.scales[lane] = NAN_EXP if p == NAN_EXP or q == NAN_EXP else p + q
        rule, c = rules.window, np.float64(partial[j])
        aligned, told, signs = rule.addend != WITHOUT, rule.sticky, rule.ieee_zero
        odd = group_sum(rule, lanes, terms, c, emin, aligned, None, halves, late, told, signs)
        out[j] = round_to(odd, rules.result)


@compiled
def _start(chain: ChainNumbers, target: RoundingTarget, values: Floats, partial: Row, register: Floats) -> None:
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            partial[i, j] = value if chain.kind == PLAIN else 0.0
            if chain.kind != PLAIN:
                register[i, j] = value if chain.kind == ADDED_LATE else round_to(value, target)


@lru_cache(maxsize=64)
def sums_of(quads: int, lane_bits: int, exp_bits: int, parts: int, lost: int) -> Callback:
    """`lanes.group` of one kind, for every tile of a strip.

    Its arguments: the tiles, the bytes from one to the next, and those of `group`.
    """

    def sums(
        tiles: int, b_step: int, b_at: int, a_at: int, addend_at: int, out_at: int, negative_at: int, exp_at: int,
        deeper: int,
    ) -> None:  # fmt: skip
        for t in range(tiles):
            group(
                quads, lane_bits, exp_bits, parts, lost, b_at + t * b_step, a_at, addend_at + VECTOR * t,
                out_at + VECTOR * t, negative_at + VECTOR * t, exp_at + VECTOR * t, deeper,
            )  # fmt: skip

    return Callback(sums, 9)


@lru_cache(maxsize=2)
def vector_run(single: bool) -> Callable[..., None]:
    """`run`, of partial sums in float64, or `single`: in binary32, where `code.single` finishes the usual ones."""
    carrier = np.float32 if single else np.float64

    @compiled
    def run(
        code: Addresses, packing: Packing, rules: GroupRules, one: Lanes, terms: GroupTerms, places: Int64s,
        a: WindowOperand, b: WindowOperand, values: Floats, room: Int32s,
    ) -> None:  # fmt: skip
        """Every element of a part of a matrix product.

        room: int32[2 * (parts + 1) * WIDE], where a vector may begin, scratch. Other arguments: as for
        `chain.run_scalar`; the words of b are (K, n), its scales (blocks, n).
        """
        rule, chain, target = rules.window, rules.chain, rules.register
        scales, blocks = rules.scales, rules.blocks
        shifted = scales == AT_PRODUCTS and not packing.per_lane
        m, n, count, lanes = values.shape[0], values.shape[1], places.shape[0], rule.lanes
        exps, tops, half = room[:WIDE], room[WIDE : 2 * WIDE], WIDE + room.shape[0] // 2
        sums, negatives = room[2 * WIDE : half], room[half:]
        exps_at, tops_at, sums_at = exps.ctypes.data, tops.ctypes.data, sums.ctypes.data
        negatives_at, a_at, b_at = negatives.ctypes.data, a.packed.ctypes.data, b.packed.ctypes.data
        partial, register = np.zeros((m, WIDE), carrier), np.zeros((0 if chain.kind == PLAIN else m, WIDE), np.float64)
        of_b, shifts, kept = np.zeros(WIDE, np.int64), np.zeros(WIDE, np.int64), np.zeros(WIDE, np.float64)
        of_row = np.array([1.0, chain.flush_below])
        exps[:] = np.int32(NO_EXP)
        base, across = rule.fraction_bits - packing.least, b.special.shape[1]
        # Powers of two stay normal, and so does what they scale; infinities are beyond.
        low, high = base + LEAST_PLACE, min(base + MOST_PLACE, 127 - packing.least)
        for first in range(0, n, WIDE):
            width = min(WIDE, n - first)
            tiles = -(-width // COLUMNS)
            _start(chain, target, values[:, first : first + width], partial, register)
            for g in range(count):
                restarts = chain.restart > 0 and g % chain.restart == 0
                emin = chain.emin_c if g == 0 and not restarts else chain.emin
                finite = True
                for tile in range(first // COLUMNS, first // COLUMNS + tiles):
                    finite = finite and b.special[g, tile] == 0
                if shifted:
                    for j in range(width):
                        of_b[j] = np.int64(b.scales[g * lanes // blocks[1], first + j])
                        finite = finite and of_b[j] != NAN_EXP
                for i in range(m):
                    state = partial[i]
                    if restarts:
                        state[:] = 0.0
                    usual = finite and a.special[g, i] == 0
                    if shifted:
                        shift = np.int64(a.scales[i, g * lanes // blocks[0]])
                        usual = usual and shift != NAN_EXP
                        for j in range(WIDE):
                            shifts[j] = shift + of_b[j]
                    if rule.addend != 0 and single:
                        single_exps(state, packing.least, emin, exps)
                    elif rule.addend != 0:
                        addend_exps(state, shifts, packing.least, emin, exps)
                    if rule.floor != NO_EXP:
                        for j in range(WIDE):
                            lowest = np.int32(rule.floor - packing.least - shifts[j])
                            exps[j] = max(exps[j], lowest) if rule.addend != 0 else lowest
                    b_group = b_at + (g * across + first // COLUMNS) * packing.b_bytes
                    a_group = a_at + (g * m + i) * packing.a_bytes
                    rows_at = b_group, a_group, exps_at, sums_at, negatives_at, tops_at
                    call(code.sums, (tiles, packing.b_bytes, *rows_at, packing.deeper))
                    if not usual:
                        one_by_one(rules, one, terms, g, i, first, a, b, places, state, emin, kept[:width], None, None)
                        for j in range(width):
                            state[j] = kept[j]
                    elif single and (packing.bounded or all_usual(tops, low, high)):
                        single_of = state.ctypes.data, sums_at, negatives_at, tops_at
                        call(code.single, (*single_of, rule.addend, base, packing.mask, code.narrow))
                    else:
                        rows_of = state.ctypes.data, shifts.ctypes.data, sums_at, negatives_at, tops_at
                        call(code.finish, (*rows_of, rule.addend, base, code.target))
                if chain.kind != PLAIN and (g % chain.every == chain.every - 1 or g == count - 1):
                    product = (g - g % chain.every) * lanes
                    for j in range(width if scales == 3 else 0):
                        kept[j] = b.scales[product // blocks[1], first + j]
                    for i in range(m):
                        of_row[0] = a.scales[i, product // blocks[0]] if scales == 3 else 1.0
                        added = register[i].ctypes.data, partial[i].ctypes.data, kept.ctypes.data
                        call(code.commit, (*added, of_row.ctypes.data, code.register))
            for i in range(m):
                for j in range(width):
                    values[i, first + j] = partial[i, j] if chain.kind == PLAIN else register[i, j]

    return run
