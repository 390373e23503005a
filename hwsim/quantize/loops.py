"""Compiled loops of the block quantisers, on the bits of binary32 numbers.

A tile is some blocks of a row, or a block of some columns. A block's values are repeated for each of its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.base.compiled import compiled
from hwsim.formats.kind import TILE
from hwsim.formats.loops import HIDDEN, INFINITY, MAGNITUDE, SIGN, U, codes_of_run, largest, put_special, unpacked
from hwsim.quantize.rule import DIVIDE, MULTIPLY

TINY = U(67 << 23)  # a block of smaller numbers is multiplied by RAISED first, so that none is a subnormal
RAISE = 64
RAISED = np.float32(2.0**RAISE)


@compiled
def _scale(bits: Any, factor: Any, way: int, flush: int, out: Any) -> Any:
    """The bits of products or quotients, each rounded once; with `flush`, subnormal inputs count as zeros."""
    for i in range(factor.size):
        w = bits[i]
        out[i] = U(w & SIGN) if flush != 0 and U(w & MAGNITUDE) < HIDDEN else w
    numbers = out.view(np.float32)
    if way == MULTIPLY:
        for i in range(factor.size):
            numbers[i] = numbers[i] * factor[i]
    elif way == DIVIDE:
        for i in range(factor.size):
            numbers[i] = numbers[i] / factor[i]
    return out


@compiled
def _counted(w: Any, p: Any) -> Any:
    """The magnitude's bits; 0 for a NaN or an infinity that takes no part in amax."""
    magnitude = U(w & MAGNITUDE)
    apart = (magnitude > INFINITY and p.nan_apart != 0) or (magnitude == INFINITY and p.infinity_apart != 0)
    return U(0) if apart else magnitude


@compiled
def row_maxima(row: Any, k: int, maxima: Any) -> None:
    """`largest` of every k elements, and of the shorter rest."""
    whole = row.size // k
    for b in range(whole):
        most = U(0)
        for i in range(k):
            most = max(most, U(row[b * k + i] & MAGNITUDE))
        maxima[b] = most
    if whole < maxima.size:
        maxima[whole] = largest(row[whole * k :])


@compiled
def column_maxima(row: Any, maxima: Any) -> None:
    """Raise `maxima` to the larger magnitudes of a row."""
    for i in range(row.size):
        maxima[i] = max(maxima[i], U(row[i] & MAGNITUDE))


@compiled
def _powers(maxima: Any, p: Any, most: float, least: float, wide: Any, scales: Any, low: Any, factor: Any) -> Any:
    """Write the scales of blocks, and emin in their units. Returns whether any block has a factor other than 1.

    factor: RAISED for a block of tiny numbers, NaN under a NaN scale. most: the largest element. least: amax at least.
    """
    if p.flush != 0:
        for b in range(maxima.size):
            maxima[b] = U(0) if maxima[b] < HIDDEN else maxima[b]
    singles = maxima.view(np.float32)
    largest_single = np.float32(most)
    inverse = np.float32(1) / largest_single
    for b in range(maxima.size):
        amax = max(np.float64(singles[b]), least)
        if p.division == DIVIDE:
            amax = np.float64(np.float32(np.float32(amax) / largest_single))
        elif p.division == MULTIPLY:
            amax = np.float64(np.float32(np.float32(amax) * inverse))
        wide[b] = amax
    bits = wide.view(np.int64)
    factored: Any = False
    for b in range(maxima.size):
        exp = ((bits[b] + p.add) >> 52) - p.offset
        nan = maxima[b] >= INFINITY or (exp > p.most and p.huge_is_nan != 0)
        exp = min(max(exp, p.least), p.most)
        code = p.nan if nan else exp + p.bias
        if maxima[b] == 0 and least == 0:
            nan, code = p.zero_is_nan != 0, p.zero
        tiny = U(maxima[b] - U(1)) < U(TINY - U(1))
        scales[b] = code
        low[b] = max(exp + p.emin + 127 + (RAISE if tiny else 0), 1)
        factor[b] = np.float32(np.nan) if nan else (RAISED if tiny else np.float32(1))
        factored |= nan or tiny
    return factored


@compiled
def _mend(bits: Any, factor: Any, dead: int, t: Any, out: Any) -> None:
    """Write the codes of NaNs and infinities, and of elements under a NaN scale."""
    put_special(bits, t, out)
    for i in range(out.size):
        out[i] = U(dead) if np.isnan(factor[i]) else U(out[i])


@compiled
def _spread(values: Any, k: int, out: Any) -> None:
    for b in range(values.size):
        for i in range(k):
            out[b * k + i] = values[b]


@compiled
def maxima_of_rows(x: Any, k: int, maxima: Any) -> None:
    """The bits of the largest magnitude of every k elements of a row; x: uint32[rows, n]."""
    for r in range(x.shape[0]):
        row_maxima(x[r], k, maxima[r])


@compiled
def maxima_of_columns(x: Any, k: int, maxima: Any) -> None:
    """`maxima_of_rows` along the middle axis of x, uint32[outer, n, inner]."""
    maxima[:] = U(0)
    for o in range(x.shape[0]):
        for r in range(x.shape[1]):
            column_maxima(x[o, r], maxima[o, r // k])


@compiled
def _tile(
    bits: Any, offset: int, low: Any, factor: Any, way: int, p: Any, t: Any, random: Any, mend: Any, drawn: Any,
    scratch: Any, out: Any,
) -> None:  # fmt: skip
    """Codes of adjacent numbers. low, factor: their blocks' values, for each number."""
    source = bits
    if way != 0 or p.flush != 0:
        source = _scale(bits, factor[: bits.size], way, p.flush, scratch[: bits.size])
    codes_of_run(source, offset, low, t, random, drawn, out)
    if mend or (way != 0 and largest(source) >= INFINITY):
        _mend(source, factor, p.dead, t, out)


@compiled
def quantize_rows(
    x: Any, k: int, p: Any, most: float, least: float, target: Any, random: Any, operands: Any, way: int, first: int,
    last: int, codes: Any, scales: Any,
) -> bool:  # fmt: skip
    """Codes and scales of blocks of k along the rows of x; False where a NaN or an infinity is refused.

    x: uint32[rows, n], bits. codes: uint8[rows, n]. scales: uint8[rows, blocks]. first, last: tiles, row by row.
    way: 0; or DIVIDE or MULTIPLY, numbers by operands, float32[rows, blocks], without writing scales.
    """
    t, n, blocks = unpacked(target), x.shape[1], -(-x.shape[1] // k)
    group = min(max(1, TILE // k), blocks)
    tiles, size = -(-blocks // group), group * k
    low, drawn, scratch = np.full(size, t.low, np.uint32), np.empty(size, np.uint32), np.empty(size, np.uint32)
    factor, largest_bits = np.empty(size, np.float32), np.empty(group, np.uint32)
    wide, lows, factors = np.empty(group, np.float64), np.empty(group, np.uint32), np.empty(group, np.float32)
    for tile in range(first, last):
        r, b = tile // tiles, tile % tiles * group
        count, end = min(group, blocks - b), min((b + group) * k, n)
        bits, how, special = x[r, b * k : end], way, False
        if way != 0:
            _spread(operands[r, b : b + count], k, factor)
        else:
            maxima = largest_bits[:count]
            row_maxima(bits, k, maxima)
            for i in range(count):
                if maxima[i] >= INFINITY:
                    special, maxima[i] = True, U(0)
                    for w in bits[i * k : i * k + k]:
                        maxima[i] = max(maxima[i], _counted(w, p))
            if special and p.refused != 0:
                return False
            if _powers(maxima, p, most, least, wide, scales[r, b : b + count], lows, factors):
                how = MULTIPLY
            _spread(lows[:count], k, low)
            if how != 0 or special:
                _spread(factors[:count], k, factor)
        mend = special or how != way
        _tile(bits, r * n + b * k, low, factor, how, p, t, random, mend, drawn, scratch, codes[r, b * k : end])
    return True


@compiled
def quantize_columns(
    x: Any, k: int, p: Any, most: float, least: float, target: Any, random: Any, operands: Any, way: int, first: int,
    last: int, codes: Any, scales: Any,
) -> bool:  # fmt: skip
    """`quantize_rows` along the middle axis: x is uint32[outer, n, inner], and a tile is some columns of a block."""
    t, n, inner, blocks = unpacked(target), x.shape[1], x.shape[2], -(-x.shape[1] // k)
    size = min(inner, TILE)
    tiles = -(-inner // size)
    low, drawn, scratch = np.full(size, t.low, np.uint32), np.empty(size, np.uint32), np.empty(size, np.uint32)
    wide, factor, largest_bits = np.empty(size, np.float64), np.empty(size, np.float32), np.empty(size, np.uint32)
    for tile in range(first, last):
        o, b, start = tile // tiles // blocks, tile // tiles % blocks, tile % tiles * size
        end, rows, how, special = min(start + size, inner), range(b * k, min(b * k + k, n)), way, False
        if way != 0:
            _spread(operands[o, b, start:end], 1, factor)
        else:
            maxima = largest_bits[: end - start]
            maxima[:] = U(0)
            for r in rows:
                column_maxima(x[o, r, start:end], maxima)
            for i in range(end - start):
                if maxima[i] >= INFINITY:
                    special, maxima[i] = True, U(0)
                    for r in rows:
                        maxima[i] = max(maxima[i], _counted(x[o, r, start + i], p))
            if special and p.refused != 0:
                return False
            if _powers(maxima, p, most, least, wide, scales[o, b, start:end], low, factor):
                how = MULTIPLY
        for r in rows:
            offset, mend = (o * n + r) * inner + start, special or how != way
            out = codes[o, r, start:end]
            _tile(x[o, r, start:end], offset, low, factor, how, p, t, random, mend, drawn, scratch, out)
    return True
