"""Operands of window kernels: words of factors, and the same packed as `lanes.group` reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.compiled import compiled, inlined
from hwsim.kernels.codes import Floats
from hwsim.kernels.groupterms import NAN_EXP
from hwsim.kernels.integers import Int64s, Integer, int32
from hwsim.kernels.lanes import ZERO_EXP, VectorLayout
from hwsim.kernels.vector_code import COLUMNS, VECTOR
from hwsim.kernels.words import CLASS_SHIFT, EXP_MASK, EXP_OFFSET, EXP_SHIFT, NEGATIVE_SHIFT, SIG_MASK, Words

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
