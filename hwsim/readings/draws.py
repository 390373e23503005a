"""Compiled drawing of directed random cases, around the rules in which readings differ.

Each case has its own stream of Threefry words, so that it does not depend on the cases drawn before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.formats.threefry import threefry

U = np.uint32
# A case's stream: its key's words, the counter's low one and the case's number; and the second word of the last pair.
KEY, OTHER, COUNTER, CASE, SECOND = range(5)

# What cases are drawn around, by number.
KINDS = ("straddle", "dense", "rounding", "cancel", "addend", "tiny", "subnormal", "growth")
STRADDLE, DENSE, HALF, CANCEL, UNDER_ADDEND, TINY, SMALL, GROWTH = range(8)

# The settings of a drawing, as a row of integers.
(
    LANES, WINDOW, PRODUCT_BITS, PRECISION, LOW, HIGH, HAS_ADDEND, NEUTRAL_A, NEUTRAL_B, LEAST_A, LEAST_B, MOST_A,
    MOST_B, BLOCK_A, BLOCK_B, SUBGROUP,
) = range(16)  # fmt: skip
ANY, SMALLEST, LARGEST, POWER = range(4)


@inlined
def _next(state: Any) -> Any:
    """31 random bits."""
    count = state[COUNTER]
    state[COUNTER] = U(count + U(1))
    if count & U(1):
        return np.int64(state[SECOND] >> U(1))
    word, state[SECOND] = threefry(state[KEY], state[OTHER], count, state[CASE])
    return np.int64(word >> U(1))


@inlined
def _below(state: Any, n: int) -> Any:
    """A number from 0 to n - 1; n below 1 counts as 1."""
    return _next(state) % max(1, n)


@compiled
def _row(state: Any, s: Any, starts: Any, powers: Any, exp: int, sign: int, how: int) -> Any:
    """The row of a product near an exponent."""
    place = min(max(exp, s[LOW]), s[HIGH]) - s[LOW]
    while place > 0 and starts[sign, place] == starts[sign, place + 1]:
        place -= 1
    while starts[sign, place] == starts[sign, place + 1]:
        place += 1
    first, size = starts[sign, place], starts[sign, place + 1] - starts[sign, place]
    if how == SMALLEST:
        return first + _below(state, min(size, 3))
    if how == LARGEST:
        return first + size - 1
    if how == POWER and powers[sign, place] >= 0:
        return powers[sign, place]
    return first + _below(state, size)


@compiled
def _code(state: Any, side: Any, exp: int) -> Any:
    """The code of a number near an exponent, with a random fraction or one of few ones or zeros."""
    bits, emin, most = side.fraction_bits, side.exps[0], side.last[-1]
    last, pattern, frac = (1 << bits) - 1, _below(state, 6), _next(state)
    frac &= last
    if pattern == 1:
        frac = 0
    elif pattern == 2:
        frac = last
    elif pattern == 3:
        frac = 1 << _below(state, bits)
    elif pattern == 4:
        frac &= last << _below(state, bits + 1)
    elif pattern == 5:
        frac = last - (1 << _below(state, bits)) + 1
    frac &= last
    magnitude = ((min(exp, emin + (most >> bits) - 1) - emin + 1) << bits) | frac
    if exp < emin:
        magnitude = frac
    return (_below(state, 2) * side.sign | min(magnitude, most)) << side.padding


@inlined
def _step(state: Any, s: Any) -> Any:
    """The distance to the next product's lane: that of a neighbour, or of a lane in the next subgroup."""
    if s[SUBGROUP] and _below(state, 2):
        return s[SUBGROUP]
    return 1


@compiled
def _group(
    state: Any, s: Any, starts: Any, powers: Any, top: int, kind: int, rows: Any, first: int, apart: bool
) -> None:
    """Draw the products of a group; -1 is none. apart: cancelling products and the rest are in three subgroups."""
    lanes, window, bits = s[LANES], s[WINDOW], s[PRODUCT_BITS]
    edge = window - bits - 1
    at, room = _below(state, lanes), lanes
    high, low, how, spread = 1 + _below(state, 2), 1 + _below(state, 4), ANY, 0
    if kind == DENSE:
        low, high = lanes, 1
        spread = (2, 6, window, window + bits + 4)[_below(state, 4)]
    elif kind == HALF:
        how = POWER
    elif kind == TINY:
        high, low = _below(state, 2), _below(state, 2)
    elif kind == SMALL:
        how = SMALLEST
    elif kind == GROWTH:
        high = max(1, lanes // (1 << _below(state, 4)) - 2)
        how = (ANY, LARGEST)[_below(state, 2)]
    elif kind == UNDER_ADDEND:
        high = _below(state, 3)
    if apart:
        at, high = at % s[SUBGROUP], 1
    sign = _below(state, 2)
    for i in range(high):
        if room == 0:
            return
        sign = sign if kind in (HALF, GROWTH) else _below(state, 2)
        before, further = at, s[SUBGROUP] if apart else _step(state, s)
        rows[first + at] = _row(state, s, starts, powers, top, sign, how)
        at, room = (at + further) % lanes, room - 1
        if kind == CANCEL and room > 0 and i == 0:
            rows[first + at] = _row(state, s, starts, powers, top, 1 - sign, LARGEST)
            rows[first + before] = _row(state, s, starts, powers, top, sign, LARGEST)
            at, room = (at + further) % lanes, room - 1
    if kind == HALF and room > 0 and _below(state, 4):
        exp = top - s[PRECISION] - _below(state, 3) + 1
        rows[first + at] = _row(state, s, starts, powers, exp, _below(state, 2), POWER)
        at, room = (at + _step(state, s)) % lanes, room - 1
    for _ in range(low):
        if room == 0:
            return
        if kind == DENSE:
            d = _below(state, spread + 1)
        elif kind == HALF:
            d = window - 2 + _below(state, 6)
        elif kind == SMALL:
            d = edge - bits + _below(state, 2 * bits + 5)
        elif kind == CANCEL and _below(state, 2):
            d = _below(state, window + 3)
        elif kind == UNDER_ADDEND:
            d = _below(state, window + bits)
        else:
            d = edge + _below(state, bits + 5)
        style = ANY if _below(state, 3) else POWER
        rows[first + at] = _row(state, s, starts, powers, top - d, _below(state, 2), style)
        at, room = (at + (1 if apart else _step(state, s))) % lanes, room - 1


@inlined
def _other(which: int, first: int, drawn: int, least: int) -> Any:
    """The scale of a further subgroup: the first one's, so that their sums may cancel, the drawn one, or the least."""
    if which < 2:
        return first
    return drawn if which == 2 else least


@compiled
def draw(
    seed: int, first: int, s: Any, starts: Any, powers: Any, addend: Any, rows: Any, c: Any, scale_a: Any, scale_b: Any
) -> None:
    """Fill in the cases `first`, `first` + 1, ...

    starts: int64[2, exponents + 1]: where the products of each sign and exponent begin; powers: int64[2, exponents]:
    those that are powers of two, or -1. addend: the addend's `Side`.
    rows: int64[n, K], products by their row, -1 for none. c: int64[n]. scale_a, scale_b: int64[n, blocks], codes.
    """
    state = np.zeros(5, np.uint32)
    state[KEY], state[OTHER] = U(seed & 0xFFFFFFFF), U(seed >> 32)
    for n in range(len(rows)):
        state[COUNTER], state[CASE] = U(0), U(first + n)
        kind = (first + n) % len(KINDS)
        rows[n, :] = -1
        top = s[LOW] + _below(state, s[HIGH] - s[LOW] + 1)
        here, sub = top, s[SUBGROUP]
        apart = sub > 0 and kind == CANCEL and s[LANES] > 2 * sub and _below(state, 2) == 1
        for group in range(rows.shape[1] // s[LANES]):
            if group:
                here = top + _below(state, 2 * s[WINDOW]) - s[WINDOW]
            _group(state, s, starts, powers, here, kind, rows[n], group * s[LANES], apart)
        shift = 0
        if s[BLOCK_A]:
            if _below(state, 4) == 0:
                shift = _below(state, 33) - 16
            elif _below(state, 8) == 0:
                shift = _below(state, 400) - 200
            # Blocks of one sum: near each other, or so far apart that a window ends between them.
            reach = 2 if _below(state, 3) else s[WINDOW] // 2 + 3
            if sub and _below(state, 2 if apart else 4) == 0:
                shift = s[MOST_A] - s[NEUTRAL_A] + s[MOST_B] - s[NEUTRAL_B]
            for i in range(scale_a.shape[1]):
                part = shift // 2 + (_below(state, 2 * reach + 1) - reach if i else 0)
                scale_a[n, i] = min(max(s[NEUTRAL_A] + part, s[LEAST_A]), s[MOST_A])
                if i and sub:
                    which = _below(state, 4) if not apart else 0 if i * s[BLOCK_A] < 2 * sub else 3
                    scale_a[n, i] = _other(which, scale_a[n, 0], scale_a[n, i], s[LEAST_A])
            for i in range(scale_b.shape[1]):
                part = shift - shift // 2 + (_below(state, 2 * reach + 1) - reach if i else 0)
                scale_b[n, i] = min(max(s[NEUTRAL_B] + part, s[LEAST_B]), s[MOST_B])
                if i and sub:
                    which = _below(state, 4) if not apart else 0 if i * s[BLOCK_B] < 2 * sub else 3
                    scale_b[n, i] = _other(which, scale_b[n, 0], scale_b[n, i], s[LEAST_B])
        c[n] = 0
        if s[HAS_ADDEND] and (kind == UNDER_ADDEND or _below(state, 4)):
            reach = s[WINDOW] + 4
            exp = top + shift - reach + _below(state, 2 * reach + s[PRODUCT_BITS])
            if kind == UNDER_ADDEND:
                exp = top + shift + _below(state, reach)
            elif kind == TINY and _below(state, 2):
                exp = addend.exps[0] - 1 + _below(state, 8)
            c[n] = _code(state, addend, max(exp, addend.exps[0] - 1))
