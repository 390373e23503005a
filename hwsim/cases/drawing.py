"""Compiled drawing of random dot products: every case from a counter of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.compiled import compiled, inlined
from hwsim.formats.threefry import threefry

U, S = np.uint32, np.int64

# What cases are like; case i is of kind i % KINDS.
ANY, NEAR, SPREAD, CANCEL, SPARSE, STRADDLE, ADDEND, SPECIAL = range(8)
KINDS = ("any", "near", "spread", "cancel", "sparse", "straddle", "addend", "special")
HEAD = 16  # counters of a case before those of its lanes


class Side(NamedTuple):
    """The numbers of a format, for drawing.

    fixed: two's complement, not sign and magnitude. sign: the sign's bit, 0 for none. minus_zero: whether there is a
    zero of that sign. padding: low bits that are zero. fraction_bits: of a float. first, last: the first and the last
    code, counted from zero, of each binade from the lowest. exps: the binades' exponents. low, high: the binades
    around 1. specials: codes of NaN and infinity.
    """

    fixed: int
    sign: int
    minus_zero: int
    padding: int
    fraction_bits: int
    first: Any
    last: Any
    exps: Any
    low: int
    high: int
    specials: Any


@compiled
def words(key: Any, other: Any, low: Any, high: Any, x_out: Any, y_out: Any) -> None:
    """Both words of `hwsim.formats.stochastic.threefry2x32`, key (key, other), counters (low, high) and on in low."""
    key, other, low, high = U(key), U(other), U(low), U(high)
    for i in range(x_out.size):
        x_out[i], y_out[i] = threefry(key, other, U(low + U(i)), high)


@inlined
def _below(word: Any, stop: Any) -> Any:
    """An integer in [0, stop) from a word."""
    return (S(word) * S(stop)) >> 32


@inlined
def _code(side: Any, magnitude: Any, word: Any) -> Any:
    """The code so far from zero; its sign is the word's last bit."""
    if side.fixed:
        return (-magnitude if word & 1 else magnitude) & (2 * side.sign - 1)
    sign = side.sign if word & 1 and (magnitude or side.minus_zero) else 0
    return (sign | magnitude) << side.padding


@inlined
def _in(side: Any, low: Any, high: Any, word: Any) -> Any:
    """A number of binades low to high, every code alike."""
    first = side.first[low]
    return first + _below(word, side.last[high] - first + 1)


@inlined
def _clip(x: Any, low: Any, high: Any) -> Any:
    return min(max(x, low), high)


@compiled
def draw(
    key: Any, other: Any, number: Any, window: Any, a: Any, b: Any, c: Any, out_a: Any, out_b: Any, out_c: Any,
    out_head: Any,
) -> None:  # fmt: skip
    """Draw cases `number` and on.

    key, other: the key's words. window: places over which products are spread out. a, b, c: a Side each; of a unit
    without an addend any. out_a, out_b: codes (n, K). out_c: (n,). out_head: (n, 2) what the scales are drawn from.
    """
    terms = out_a.shape[1]
    x, y = np.empty(HEAD + terms, np.uint32), np.empty(HEAD + terms, np.uint32)
    half = terms // 2
    for i in range(out_a.shape[0]):
        case = number + i
        words(key, other, 0, case, x, y)
        kind = case % len(KINDS)
        wide = x[0] & 7 == 0
        low_a, high_a = (0, a.first.size - 1) if wide else (a.low, a.high)
        low_b, high_b = (0, b.first.size - 1) if wide else (b.low, b.high)
        few, spread = 1 + _below(x[2], 4), 1 + _below(y[2], window + 6)
        top_a, top_b = low_a + _below(x[1], high_a - low_a + 1), low_b + _below(y[1], high_b - low_b + 1)
        uneven = (kind == SPREAD) | (kind == STRADDLE)
        if (kind == NEAR) | (kind == CANCEL) | (kind == ADDEND):
            low_a, high_a, low_b, high_b = max(top_a - few, 0), top_a, max(top_b - few, 0), top_b
        from_a, from_b = a.first[low_a], b.first[low_b]
        span_a, span_b = a.last[high_a] - from_a + 1, b.last[high_b] - from_b + 1
        most = S(-1) << 40
        at = _below(x[3], terms)  # where the first lane stands
        for t in range(terms):
            u, v = x[HEAD + t], y[HEAD + t]
            if uneven:
                if kind == SPREAD:
                    down = _below(U(u << U(9)), spread)
                    here = min(down // 2, top_a)
                else:
                    down = 0 if t == 0 else max(window - 7 + _below(U(u << U(9)), 10), 0)
                    here = min(down, top_a)
                e, f = top_a - here, max(top_b - (down - here), 0)
                p, q = _in(a, e, e, u), _in(b, f, f, v)
            else:
                p, q = from_a + _below(u, span_a), from_b + _below(v, span_b)
                if kind == SPARSE and t >= few:
                    p, q = (p, S(0)) if u & 2 else (S(0), q)
                elif kind == SPECIAL and u & 12 == 0:
                    p = S(0)
            out_a[i, at], out_b[i, at] = _code(a, p, u), _code(b, q, v)
            if kind == CANCEL and half <= t < 2 * half and not (u & 6 == 0 and t % 4 == 3):
                # The product of the lane half a row before, of the other sign.
                before = x[HEAD + t - half]
                out_a[i, at] = _code(a, from_a + _below(before, span_a), U(before ^ U(1)))
                out_b[i, at] = out_b[i, at - half if at >= half else at - half + terms]
            elif p and q:
                most = max(most, a.exps[_binade(a, p)] + b.exps[_binade(b, q)])
            at = at + 1 if at + 1 < terms else 0
        if kind == SPECIAL:
            _strike(a, x[4], x[5], out_a[i])
            _strike(b, y[4], y[5], out_b[i])
        out_c[i] = _addend(c, kind, most, window, x[6], y[6], x[7], y[7])
        out_head[i, 0], out_head[i, 1] = x[8], y[8]


@inlined
def _binade(side: Any, magnitude: Any) -> Any:
    if side.fixed:
        return np.searchsorted(side.first, magnitude, "right") - 1
    return magnitude >> side.fraction_bits


@inlined
def _strike(side: Any, word: Any, place: Any, out: Any) -> None:
    """A NaN or an infinity in one lane, in one case of two."""
    if side.specials.size and word & 1:
        out[_below(place, out.size)] = side.specials[_below(word, side.specials.size)]


@inlined
def _addend(c: Any, kind: Any, most: Any, window: Any, choice: Any, where: Any, word: Any, sign: Any) -> Any:
    """The addend's code: mostly near the largest product."""
    pick = choice & 15
    if pick == 0 or c.first.size == 1:
        return _code(c, S(0), choice >> 8)
    if pick == 1:
        return _code(c, _in(c, 0, c.first.size - 1, word), sign)
    if kind == SPECIAL and pick < 6 and c.specials.size:
        return c.specials[_below(word, c.specials.size)]
    reach = window + 6
    above = _below(where, reach) if kind == ADDEND else _below(where, 2 * reach) - reach
    exp = (most if most > -1000000 else 0) + above
    binade = _clip(np.searchsorted(c.exps, exp, "right") - 1, 0, c.first.size - 1)
    return _code(c, _in(c, binade, binade, word), sign)
