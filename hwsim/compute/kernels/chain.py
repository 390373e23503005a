"""Groups in their order, every element by itself; and the packed operands of window kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import compiled, inlined
from hwsim.compute.kernels.floats import NOT_SCALED, RoundingTarget, first_of, in_order, round_to, sum_in
from hwsim.compute.kernels.group import NAN_EXP, Flag, GroupTerms, Lanes, ReadingRoom, group_sum, reading_sum
from hwsim.compute.kernels.kernel import Int64s, Integer, int32
from hwsim.compute.kernels.lanes import ZERO_EXP, VectorLayout
from hwsim.compute.kernels.values import (
    CLASS_SHIFT,
    EXP_MASK,
    EXP_OFFSET,
    EXP_SHIFT,
    NEGATIVE_SHIFT,
    SIG_MASK,
    Floats,
    Words,
)
from hwsim.compute.kernels.vector_code import COLUMNS, VECTOR
from hwsim.compute.kernels.windows import ALIGNED, LATER, ReadNumbers, WindowNumbers
from hwsim.spec import LateAdd, LateInWindow, Unit
from hwsim.spec.ranges import exponent_range

Bytes = NDArray[np.uint8]
Flags = NDArray[np.uint8]


class WindowOperand(NamedTuple):
    """Rows of A or columns of B.

    words: (m, K), of B (K, n) for strips, else (n, K). packed, special: as `pack_rows` and `pack_columns` make them,
    for strips. scales: exponents (at products), words (subgroups) or values (promotions) as float64s, in the shape of
    words with blocks for K.
    """

    words: Words
    packed: Bytes
    special: Flags
    scales: Floats


# Of an operand that is not packed.
NOT_PACKED = np.zeros((0, 0, 0), np.uint8), np.zeros((0, 0), np.uint8)
# To exponents of factors whose scales are not packed with them.
NOTHING_ADDED = np.zeros((0, 0))


def aligned_bytes(*shape: int) -> Bytes:
    """An array of zeros whose memory begins where a vector may begin."""
    size = int(np.prod(shape))
    room = np.zeros(size + VECTOR, np.uint8)
    first = -room.ctypes.data % VECTOR
    return room[first : first + size].reshape(shape)


def pack_rows(
    words: Words, places: Int64s, layout: VectorLayout, shift: int, emin: int, added: Floats, block: int
) -> tuple[Bytes, Flags]:
    """Rows of A, words (m, K): (groups, m, bytes), and which groups hold a NaN or an infinity (groups, m).

    places: the index along K of each lane (groups, lanes). shift: what significands are shifted up by. emin: what
    exponents count from. added: exponents of scales, (m, blocks) of `block` products each, NAN_EXP for NaN; block 0:
    none.
    """
    m, groups = words.shape[0], places.shape[0]
    packed, flags = aligned_bytes(groups, m, layout.a_bytes), np.zeros((groups, m), np.uint8)
    at = layout.a_sig, layout.a_sign
    _pack_rows(words, places, layout.lane_bits, layout.exp_bits, at, shift, emin, added, block, packed, flags)
    return packed, flags


def pack_columns(
    words: Words, places: Int64s, layout: VectorLayout, shift: int, emin: int, added: Floats, block: int
) -> tuple[Bytes, Flags]:
    """Columns of B, words (K, n): (groups, tiles, bytes), and which groups of columns are special (groups, tiles).

    added: (blocks, n).
    """
    tiles, groups = -(-words.shape[1] // COLUMNS), places.shape[0]
    packed, flags = aligned_bytes(groups, tiles, layout.b_bytes), np.zeros((groups, tiles), np.uint8)
    at = layout.b_sig, layout.b_sign
    _pack_columns(
        words, places, layout.quads, layout.lane_bits, layout.exp_bits, at, shift, emin, added, block, packed, flags
    )
    return packed, flags


@inlined
def _fields(word: Integer, emin: int, exp_bits: int) -> tuple[int, int, int]:
    """Significand, exponent above emin and sign; a zero's exponent is below all sums of others."""
    sig = int32(word & SIG_MASK)
    exp = int32((word >> EXP_SHIFT) & EXP_MASK) - EXP_OFFSET - emin
    if sig == 0:
        exp = ZERO_8 if exp_bits == 8 else ZERO_16
    return sig, exp, int32((word >> NEGATIVE_SHIFT) & 1)


ZERO_8, ZERO_16 = ZERO_EXP[8], ZERO_EXP[16]


@compiled
def _pack_rows(
    words: Words, places: Int64s, lane_bits: int, exp_bits: int, at: tuple[int, int], shift: int, emin: int,
    added: Floats, block: int, packed: Bytes, flags: Flags,
) -> None:  # fmt: skip
    sig_at, sign_at = at
    lanes, lane_room = places.shape[1], sig_at * 8 // exp_bits
    for row in range(words.shape[0]):
        for g in range(places.shape[0]):
            out = packed[g, row]
            exps8, exps16 = out[:sig_at].view(np.int8), out[:sig_at].view(np.int16)
            narrow, signs = out[sig_at:sign_at].view(np.int16), out[sign_at:].view(np.uint16)
            special = np.uint32(0)
            for lane in range(lane_room):
                k = places[g, lane] if lane < lanes else 0
                word = words[row, k] if lane < lanes else np.uint32(0)
                scale = int32(added[row, k // block]) if block else int32(0)
                special |= (word >> CLASS_SHIFT) | np.uint32(scale == NAN_EXP)
                sig, exp, negative = _fields(word, emin - scale, exp_bits)
                quad, half, which = lane >> 2, lane & 1, (lane >> 1) & 1
                if exp_bits == 8:
                    exps8[lane] = exp
                else:
                    exps16[4 * quad + 2 * half + which] = exp
                if lane_bits == 16:
                    narrow[4 * quad + 2 * half + which] = sig << shift
                    signs[4 * quad + 2 * half + which] = np.uint16(0xFFFE * negative)
                else:
                    narrow[2 * (4 * quad + 2 * half + which) + which] = sig << shift
                    signs[4 * quad + 2 * half + which] = np.uint16(0xFFFF * negative)
            flags[g, row] = special != 0


@compiled
def _pack_columns(
    words: Words, places: Int64s, quads: int, lane_bits: int, exp_bits: int, at: tuple[int, int], shift: int,
    emin: int, added: Floats, block: int, packed: Bytes, flags: Flags,
) -> None:  # fmt: skip
    sig_at, sign_at = at
    lanes, n = places.shape[1], words.shape[1]
    for tile in range(packed.shape[1]):
        for g in range(places.shape[0]):
            out = packed[g, tile]
            exps8, exps16 = out[:sig_at].view(np.int8), out[:sig_at].view(np.int16)
            sigs = out[sig_at:sign_at].view(np.int16)
            signs, masks = out[sign_at:].view(np.int16), out[sign_at:].view(np.uint16)
            special = np.uint32(0)
            for lane in range(4 * quads):
                k = places[g, lane] if lane < lanes else 0
                quad, half, which = lane >> 2, lane & 1, (lane >> 1) & 1
                bits = 0
                for column in range(COLUMNS):
                    j = tile * COLUMNS + column
                    word = words[k, j] if lane < lanes and j < n else np.uint32(0)
                    scale = int32(added[k // block, j]) if block and j < n else int32(0)
                    special |= (word >> CLASS_SHIFT) | np.uint32(scale == NAN_EXP)
                    sig, exp, negative = _fields(word, emin - scale, exp_bits)
                    if exp_bits == 8:
                        exps8[quad * VECTOR + 4 * column + lane % 4] = exp
                    else:
                        exps16[(2 * quad + half) * 2 * COLUMNS + 2 * column + which] = exp
                    at_lane = (2 * quad + half) * 2 * COLUMNS + 2 * column + which
                    sigs[at_lane] = sig << shift
                    if lane_bits == 16:
                        signs[at_lane] = 1 - 2 * negative
                    else:
                        bits |= negative << column
                if lane_bits == 32:
                    masks[4 * quad + 2 * half + which] = bits
            flags[g, tile] = special != 0


# What becomes of a group's result: the next one's addend; a part of a register (promotions and late addends); or, of a
# window that a late addend joins, the next one's late addend.
PLAIN, PROMOTED, ADDED_LATE, LATE_WINDOW = range(4)
NEVER = 0


class ChainNumbers(NamedTuple):
    """The use of a group's result, as numbers for compiled code.

    kind: it is the next one's addend; or it goes into a register every `every` groups and at the end; or its window
    takes a late addend in. restart: groups after which the partial sum is +0 again; 0 for never.
    emin_c, emin: of the addend's and the result's formats. flush_below: magnitudes in the register below that are zeros
    when they are added to. native: the register is binary32, to nearest even. first: what a promotion multiplies first.
    """

    kind: int
    every: int
    restart: int
    emin_c: int
    emin: int
    flush_below: float
    native: int
    first: int = NOT_SCALED


def chain_numbers(unit: Unit) -> ChainNumbers:
    """The use of the results of a unit's groups."""
    emin = exponent_range(unit.result.format)[0]
    emin_c = emin if unit.operands.addend is None else exponent_range(unit.operands.addend)[0]
    restart = NEVER if unit.restart is None else unit.restart
    numbers = ChainNumbers(PLAIN, unit.instruction.groups, restart, emin_c, emin, 0.0, 0)
    promotion = unit.promotion
    if promotion is not None:
        return numbers._replace(
            kind=PROMOTED,
            every=restart,
            first=first_of(unit),
            native=int((promotion.format.name, promotion.rounding) == ("f32", "rne")),
        )
    if isinstance(unit.late, LateInWindow):
        # Such an addend is c first, and then a result: it does not start again.
        return numbers._replace(kind=LATE_WINDOW, restart=NEVER)
    if isinstance(unit.late, LateAdd):
        below = 2.0**unit.late.format.emin if unit.late.flush else 0.0
        native = (unit.late.format.name, unit.late.rounding, unit.late.flush) == ("f32", "rne", False)
        return numbers._replace(kind=ADDED_LATE, flush_below=below, native=int(native))
    return numbers


@compiled
def committed(
    chain: ChainNumbers, register: float, partial: float, scale_a: float, scale_b: float, target: RoundingTarget
) -> float:
    """The register after a partial sum is added to it."""
    if chain.first != NOT_SCALED:
        product, by = in_order(chain.first, partial, scale_a, scale_b)
        return round_to(sum_in(by * round_to(product, target), register, target.mode, False), target)
    if abs(register) < chain.flush_below:
        register = np.copysign(0.0, register)
    return round_to(sum_in(register, partial, target.mode, False), target)


# How scales enter: not at all, or at products, subgroups or promotions.
NO_SCALES, AT_PRODUCTS, AT_SUBGROUPS, AT_PROMOTIONS = range(4)


class GroupRules(NamedTuple):
    """The rules of a unit's groups, for compiled code.

    result, register: the roundings of groups' results and of the register. scales: how they enter. blocks: how many
    products along K share a scale, of a and of b.
    """

    window: WindowNumbers
    chain: ChainNumbers
    result: RoundingTarget
    register: RoundingTarget
    scales: int
    blocks: tuple[int, int]


def rooms(lanes: int) -> tuple[Lanes, GroupTerms]:
    """Room for a group's lanes and its terms."""
    group = Lanes(
        np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32), np.zeros(lanes, np.int64),
        np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32),
    )  # fmt: skip
    return group, GroupTerms(np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64))


@inlined
def load(rules: GroupRules, group: Lanes, places: Int64s, a: WindowOperand, b: WindowOperand, i: int, j: int) -> None:
    """Bring the factors and scales of row i of a and row j of b into a group's lanes."""
    scales, blocks = rules.scales, rules.blocks
    for lane in range(places.shape[0]):
        k = places[lane]
        group.a[lane], group.b[lane] = a.words[i, k], b.words[j, k]
        if scales == AT_PRODUCTS:
            p, q = np.int64(a.scales[i, k // blocks[0]]), np.int64(b.scales[j, k // blocks[1]])
            group.scales[lane] = NAN_EXP if p == NAN_EXP or q == NAN_EXP else p + q
        elif scales == AT_SUBGROUPS:
            group.scale_a[lane] = np.uint32(a.scales[i, k // blocks[0]])
            group.scale_b[lane] = np.uint32(b.scales[j, k // blocks[1]])


@inlined
def promotion_scales(
    rules: GroupRules, g: int, a: WindowOperand, b: WindowOperand, i: int, j: int
) -> tuple[float, float]:
    """The scales of the promotion that group g of row i of a and row j of b ends; ones where there are none."""
    if rules.scales != AT_PROMOTIONS:
        return 1.0, 1.0
    first = (g - g % rules.chain.every) * rules.window.lanes
    return a.scales[i, first // rules.blocks[0]], b.scales[j, first // rules.blocks[1]]


@lru_cache(maxsize=2)
def scalar_run(reads: bool) -> Callable[..., None]:
    """`run`, of a unit as specified, or, where it `reads`, by rules that a specification leaves open."""

    @compiled
    def run(
        rules: GroupRules, read: ReadNumbers, group: Lanes, terms: GroupTerms, places: Int64s, a: WindowOperand,
        b: WindowOperand, values: Floats, columns: Int64s, parts: Flag, halves: Flag, late_window: Flag, sticky: Flag,
        signs: Flag, commits: Flag,
    ) -> None:  # fmt: skip
        """Every element by itself. group, terms: room for them. parts to signs: as of `group_sum`. commits: whether a
        result goes anywhere but into the next group.

        places: the index along K of each group's lanes, (groups, lanes). a, b: words (m, K) and (n, K). values: (m, n),
        the addends, which become the results. columns: (m,), where the columns of a row begin in b.
        """
        rule, chain, result, count = rules.window, rules.chain, rules.result, places.shape[0]
        if reads:
            room = ReadingRoom(np.zeros(2 * rule.lanes + 6), np.zeros(rule.lanes, np.int64))
        for i in range(a.words.shape[0]):
            for j in range(values.shape[1]):
                partial = register = values[i, j]
                emin, row = chain.emin_c, j + columns[i]
                if commits is not None and chain.kind == PROMOTED:
                    register = round_to(register, rules.register)
                for g in range(count):
                    if chain.restart and g % chain.restart == 0:
                        partial, emin = 0.0, chain.emin
                    load(rules, group, places[g], a, b, i, row)
                    with_c = rule.addend == ALIGNED or (rule.addend == LATER and (g > 0 or chain.restart > 0))
                    ends = g % chain.every == chain.every - 1 or g == count - 1
                    if reads:
                        # What the group starts from may come late, and so may the register after an instruction.
                        joins = read.unrounded == 1 and chain.kind == ADDED_LATE and ends
                        late, with_late = register, joins
                        if read.starts_late:
                            late, with_late = partial, with_c and read.unrounded == 1
                        aligned = with_c and not read.starts_late
                        total = reading_sum(rule, read, group, terms, room, partial, emin, aligned, late, with_late)
                        total = round_to(total, result)
                        if read.starts_late and with_c and not read.unrounded:
                            total = round_to(sum_in(partial, total, result.mode, False), result)
                    else:
                        joins = chain.kind == LATE_WINDOW
                        addend = register if joins else partial
                        total = round_to(
                            group_sum(
                                rule, group, terms, addend, emin, with_c, parts, halves, late_window, sticky, signs
                            ),
                            result,
                        )
                    emin = chain.emin
                    if joins:
                        register = total
                        continue
                    partial = total
                    if commits is not None and ends:
                        scale_a, scale_b = promotion_scales(rules, g, a, b, i, row)
                        register = committed(chain, register, partial, scale_a, scale_b, rules.register)
                values[i, j] = partial if chain.kind == PLAIN else register

    return run
