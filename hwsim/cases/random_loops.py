"""The compiled loops of random cases: every case is drawn from Threefry words at counters of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.compiled import compiled, inlined
from hwsim.cases.case import block_lengths
from hwsim.cases.drawing import KEPT, SIGN, is_long, short_places
from hwsim.cases.palette import infinities, nans
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.formats.loops import threefry
from hwsim.formats.rounding import Ints
from hwsim.spec import Unit
from hwsim.spec.sums import AlignedSum, EvenOddSum

U, S, L = np.uint32, np.int64, np.uint64

# The kinds of hwsim.cases.drawing.KINDS, by number.
ANY, NEAR, SPREAD, CANCEL, SPARSE, STRADDLE, ADDEND, SPECIAL = range(8)
HEAD = 16  # counters of a case before those of its lanes
SCALES = 1 << 20  # counters of a case from which its scales are drawn
AROUND = 24  # binades to each side of 1 that wide formats are mostly drawn from
WORD = (1 << 32) - 1


class DrawnCases(NamedTuple):
    """Codes of n cases: a, b (n, K), c (n,), and scale_a, scale_b (n, blocks), which have no blocks without scales."""

    a: Ints
    b: Ints
    c: Ints
    scale_a: Ints
    scale_b: Ints


class Side(NamedTuple):
    """The numbers of a format, for drawing; a code of 64 bits as the integer of these bits that has a sign.

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
def below(word: Any, stop: Any) -> Any:
    """An integer in [0, stop) from a word."""
    return (S(word) * S(stop)) >> 32


@compiled
def _far_below(word: Any, stop: Any) -> Any:
    """An integer in [0, stop), which may be as large as 2^63: of 64 bits that follow from the word alone."""
    low, _ = threefry(U(0), U(0), U(word), U(0))
    high_bits, low_bits = L(stop) >> L(32), L(stop) & L(WORD)
    return S(L(word) * high_bits + ((L(word) * low_bits) >> L(32)) + ((L(low) * high_bits) >> L(32)))


@inlined
def number_below(word: Any, stop: Any) -> Any:
    """An integer in [0, stop) from a word, as `below`; of more than 2^32, its low bits differ too."""
    return _far_below(word, stop) if stop >> 32 else below(word, stop)


@inlined
def code_of(side: Any, magnitude: Any, word: Any) -> Any:
    """The code so far from zero; its sign is the word's last bit."""
    if side.fixed:
        return (-magnitude if word & 1 else magnitude) & (2 * side.sign - 1)
    sign = side.sign if word & 1 and (magnitude or side.minus_zero) else 0
    return (sign | magnitude) << side.padding


@inlined
def _in(side: Any, low: Any, high: Any, word: Any) -> Any:
    """A number of binades low to high, every code alike."""
    first = side.first[low]
    return first + number_below(word, side.last[high] - first + 1)


@inlined
def _clip(x: Any, low: Any, high: Any) -> Any:
    return min(max(x, low), high)


def no_cases(unit: Unit, count: int, terms: int) -> DrawnCases:
    """Room for cases of so many terms, all zero."""
    blocks = [-(-terms // length) for length in block_lengths(unit)] if unit.scale else [0, 0]
    shapes = [(count, terms), (count, terms), (count,), *((count, number) for number in blocks)]
    return DrawnCases(*(np.zeros(shape, np.int64) for shape in shapes))


def draw_general(unit: Unit, key: int, numbers: Ints, kinds: Ints, terms: int) -> DrawnCases:
    """Cases of these numbers and kinds, each of so many terms. key: of the unit and the seed."""
    operands, lanes, drawn = unit.operands, unit.instruction.lanes, no_cases(unit, len(numbers), terms)
    sides = [side_of(fmt) for fmt in (operands.a, operands.b, operands.addend or operands.a)]
    head = np.empty((len(numbers), 2), np.uint32)
    _draw(key & WORD, key >> 32, numbers, kinds, lanes, _spread(unit), *sides, *drawn[:3], head)  # type: ignore[call-arg]
    put_codes(unit, drawn)
    if unit.scale is not None:
        for side, fmt in enumerate((unit.scale.a.format, unit.scale.b.format)):
            _draw_scales(fmt, key, numbers, side, head[:, side], drawn[3 + side])
    return drawn


def _spread(unit: Unit) -> int:
    """The places over which products are spread out: those of the window, or of the result where there is none."""
    match unit.sum:
        case AlignedSum(fraction_bits=bits) | EvenOddSum(fraction_bits=bits):
            return min(bits, 2 * AROUND)
        case _:
            return max(unit.result.format.fraction_bits, 0)


@lru_cache(maxsize=64)
def side_of(fmt: Format) -> Side:
    """The numbers of a format. Of powers of two, each is a binade."""
    if isinstance(fmt, ExponentFormat):
        codes = np.arange(fmt.min_code, fmt.max_code + 1)
        return Side(0, 0, 0, 0, 0, codes, codes, codes - fmt.bias, 0, len(codes) - 1, np.array(fmt.nan, np.int64))
    if isinstance(fmt, TableFormat):
        return _side_of_table(fmt)
    if is_long(fmt):
        sign, zero, padding, fraction_bits, specials = SIGN, 0, 0, KEPT, [SIGN]
        first, last_code = short_places(fmt), (fmt.bits << KEPT) - 1
        exps = [place - 1 - fmt.fraction_bits for place in range(fmt.bits)]
    elif isinstance(fmt, FixedFormat):
        sign = fmt.steps_down
        first = [0, *(1 << k for k in range(fmt.precision))]
        exps = [k - 1 - fmt.fraction_bits for k in range(fmt.precision + 1)]
        zero, padding, fraction_bits, last_code = 0, 0, 0, fmt.max_code
        # The number without an opposite, which sign and magnitude do not draw; without signs, zero.
        specials = [sign]
    else:
        sign, zero = int(signed_words([fmt.sign_bit * fmt.signed])[0]), int(fmt.signed and fmt.signed_zero)
        padding, fraction_bits, last_code = fmt.padding, fmt.fraction_bits, fmt.max_magnitude
        binades = range((last_code >> fmt.fraction_bits) + 1)
        first = [binade << fmt.fraction_bits for binade in binades]
        exps = [fmt.emin + max(0, binade - int(fmt.subnormals)) for binade in binades]
        specials = [*nans(fmt), *infinities(fmt)]
    last = [*(code - 1 for code in first[1:]), last_code]
    unity = min(range(len(exps)), key=lambda binade: (abs(exps[binade]), -binade))
    ends = max(0, unity - AROUND), min(len(exps) - 1, unity + AROUND)
    firsts, lasts, exponents, codes = (signed_words(values) for values in (first, last, exps, specials))
    fixed = int(fmt.twos_complement and not is_long(fmt))
    return Side(fixed, sign, zero, padding, fraction_bits, firsts, lasts, exponents, *ends, codes)


PLACES, RAW = 1 << 20, 1 << 22  # of a table's drawn integers: its places' sign, and what other codes are above


@lru_cache(maxsize=32)
def _ladder(fmt: TableFormat) -> tuple[Ints, Ints, list[float]]:
    """Codes of the magnitudes of a table from zero up, of both signs, a magnitude of one sign twice; the magnitudes."""
    magnitudes = sorted({abs(x) for x in fmt.numbers if math.isfinite(x)} | {0.0})
    codes = {x: code for code, x in reversed(list(enumerate(fmt.numbers)))}
    plus = [codes.get(x, codes.get(-x, 0)) for x in magnitudes]
    minus = [codes.get(-x, plus[place]) for place, x in enumerate(magnitudes)]
    return np.array(plus, np.int64), np.array(minus, np.int64), magnitudes


def _side_of_table(fmt: TableFormat) -> Side:
    """The numbers of a table, drawn as places from zero up, of two's complement; see `_codes_of_places`."""
    exps = [math.frexp(x)[1] - 1 for x in _ladder(fmt)[2][1:]]
    first = [0, *(1 + place for place, exp in enumerate(exps) if place == 0 or exp != exps[place - 1])]
    binades = np.array([fmt.emin - 1, *(exps[place - 1] for place in first[1:])], np.int64)
    last = np.array([*(place - 1 for place in first[1:]), len(exps)], np.int64)
    unity = int(np.abs(binades).argmin())
    specials = RAW + np.array([*nans(fmt), *infinities(fmt)], np.int64)
    ends = max(0, unity - AROUND), min(len(first) - 1, unity + AROUND)
    return Side(1, PLACES, 0, 0, 0, np.array(first, np.int64), last, binades, *ends, specials)


def put_codes(unit: Unit, drawn: DrawnCases) -> None:
    """Put codes of tables in the place of drawn places."""
    for fmt, codes in ((unit.operands.a, drawn.a), (unit.operands.b, drawn.b)):
        if isinstance(fmt, TableFormat):
            _codes_of_places(fmt, codes)


def _codes_of_places(fmt: TableFormat, drawn: Ints) -> None:
    """Put codes in the place of what was drawn: of places from zero up or, of two's complement, down; or codes."""
    plus, minus, _ = _ladder(fmt)
    places = np.where(drawn < PLACES, drawn, 0)
    below = np.where((drawn > PLACES) & (drawn < RAW), 2 * PLACES - drawn, 0)
    drawn[:] = np.where(drawn >= RAW, drawn - RAW, np.where(below > 0, minus[below], plus[places]))


def signed_words(codes: Sequence[int]) -> Ints:
    """Integers from -2^63 to 2^64 - 1, by their low 64 bits."""
    return np.array([code % (1 << 64) for code in codes], np.uint64).view(np.int64)


def _draw_scales(fmt: Format, key: int, numbers: Ints, side: int, head: NDArray[np.uint32], out: Ints) -> None:
    """Draw codes (cases, blocks) of scales: mostly near one another and near 1, at times anywhere, rarely NaN.

    head: a word for each case.
    """
    words_of = np.empty((2, *out.shape), np.uint32)
    _words_by_case(key & WORD, key >> 32, SCALES * (side + 1), numbers, *words_of)
    (x, y), top = words_of.astype(np.int64), head.astype(np.int64)[:, None]
    near = (top >> 8) % 21 - 10 + x % 7 - 3
    if isinstance(fmt, ExponentFormat):
        span = fmt.max_code - fmt.min_code + 1
        around = np.clip(fmt.bias + near, fmt.min_code, fmt.max_code)
        anywhere, padding, nan = fmt.min_code + (x >> 8) % span, 0, list(fmt.nan)
    elif isinstance(fmt, FloatFormat):
        long = x << 31 | y >> 1  # 63 bits
        wide = fmt.container_bits > 32
        fraction = (long if wide else y >> 4) & ((1 << fmt.fraction_bits) - 1)
        around = np.clip(fmt.bias + near, 0, fmt.top_bexp) << fmt.fraction_bits | fraction
        around = np.minimum(around, fmt.max_magnitude)
        anywhere = long % (fmt.max_magnitude + 1) if wide else x * (fmt.max_magnitude + 1) >> 32
        padding, nan = fmt.padding, nans(fmt)
    else:
        assert isinstance(fmt, FixedFormat)
        mask, padding, nan = (1 << fmt.bits) - 1, 0, list[int]()
        around, anywhere = near & mask, x & mask
    codes = np.where(top % 12 == 0, anywhere, around) << padding
    struck = (top % 16 == 5) & (y % 4 == 0) & bool(nan)
    out[:] = np.where(struck, signed_words(nan or [0])[-1], codes)


@compiled
def _words_by_case(key: Any, other: Any, low: Any, numbers: Any, x_out: Any, y_out: Any) -> None:
    """`words` for each case, a row each."""
    for i in range(len(x_out)):
        words(key, other, low, numbers[i], x_out[i], y_out[i])


@compiled
def _draw(
    key: Any,
    other: Any,
    numbers: Any,
    kinds: Any,
    lanes: Any,
    window: Any,
    a: Any,
    b: Any,
    c: Any,
    out_a: Any,
    out_b: Any,
    out_c: Any,
    out_head: Any,
) -> None:
    """Draw cases of these numbers and kinds.

    key, other: the key's words. lanes: products of a group. window: places over which products are spread out.
    a, b, c: a Side each; of a unit without an addend any. out_a, out_b: codes (n, K). out_c: (n,). out_head: (n, 2),
    what the scales are drawn from.
    """
    terms = out_a.shape[1]
    x, y = np.empty(HEAD + terms, np.uint32), np.empty(HEAD + terms, np.uint32)
    half, groups = lanes // 2, terms // lanes
    for i in range(out_a.shape[0]):
        kind = kinds[i]
        words(key, other, 0, numbers[i], x, y)
        wide = x[0] & 7 == 0
        low_a, high_a = (0, a.first.size - 1) if wide else (a.low, a.high)
        low_b, high_b = (0, b.first.size - 1) if wide else (b.low, b.high)
        few, spread = 1 + below(x[2], 4), 1 + below(y[2], window + 6)
        top_a, top_b = low_a + below(x[1], high_a - low_a + 1), low_b + below(y[1], high_b - low_b + 1)
        uneven = (kind == SPREAD) | (kind == STRADDLE)
        if (kind == NEAR) | (kind == CANCEL) | (kind == ADDEND):
            low_a, high_a, low_b, high_b = max(top_a - few, 0), top_a, max(top_b - few, 0), top_b
        from_a, from_b = a.first[low_a], b.first[low_b]
        span_a, span_b = a.last[high_a] - from_a + 1, b.last[high_b] - from_b + 1
        most = S(-1) << 40
        # Where the first product stands: in any group, and in any lane.
        group, shift = below(y[3], groups), below(x[3], lanes)
        for t in range(terms):
            g, lane = t // lanes, t % lanes
            start = (g + group if g + group < groups else g + group - groups) * lanes
            place = start + (lane + shift if lane + shift < lanes else lane + shift - lanes)
            u, v = x[HEAD + t], y[HEAD + t]
            if uneven:
                if kind == SPREAD:
                    down = below(U(u << U(9)), spread)
                    here = min(down // 2, top_a)
                else:
                    down = 0 if t == 0 else max(window - 7 + below(U(u << U(9)), 10), 0)
                    here = min(down, top_a)
                e, f = top_a - here, max(top_b - (down - here), 0)
                p, q = _in(a, e, e, u), _in(b, f, f, v)
            else:
                p, q = from_a + number_below(u, span_a), from_b + number_below(v, span_b)
                if kind == SPARSE and t >= few:
                    p, q = (p, S(0)) if u & 2 else (S(0), q)
                elif kind == SPECIAL and u & 12 == 0:
                    p = S(0)
            out_a[i, place], out_b[i, place] = code_of(a, p, u), code_of(b, q, v)
            if kind == CANCEL and half <= lane < 2 * half and not (u & 6 == 0 and t % 4 == 3):
                # The product half a group before, of the other sign.
                before = x[HEAD + t - half]
                out_a[i, place] = code_of(a, from_a + number_below(before, span_a), U(before ^ U(1)))
                out_b[i, place] = out_b[i, place - half if place - half >= start else place - half + lanes]
            elif p and q:
                most = max(most, a.exps[_binade(a, p)] + b.exps[_binade(b, q)])
        if kind == SPECIAL:
            _strike(a, x[4], x[5], out_a[i])
            _strike(b, y[4], y[5], out_b[i])
        out_c[i] = _addend(c, kind, most, window, x[6], y[6], x[7], y[7])
        out_head[i, 0], out_head[i, 1] = x[8], y[8]


@inlined
def _last_at_most(values: Any, x: Any) -> Any:
    """The place of the last of ascending values that is not above x; -1 where there is none."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inlined
def _binade(side: Any, magnitude: Any) -> Any:
    if side.fixed:
        return _last_at_most(side.first, magnitude)
    return magnitude >> side.fraction_bits


@inlined
def _strike(side: Any, word: Any, place: Any, out: Any) -> None:
    """A NaN or an infinity in one lane, in one case of two."""
    if side.specials.size and word & 1:
        out[below(place, out.size)] = side.specials[below(word, side.specials.size)]


@inlined
def _addend(c: Any, kind: Any, most: Any, window: Any, choice: Any, where: Any, word: Any, sign: Any) -> Any:
    """The addend's code: mostly near the largest product."""
    pick = choice & 15
    if pick == 0 or c.first.size == 1:
        return code_of(c, S(0), choice >> 8)
    if pick == 1:
        return code_of(c, _in(c, 0, 0 if choice & 256 else c.first.size - 1, word), sign)
    if kind == SPECIAL and pick < 6 and c.specials.size:
        return c.specials[below(word, c.specials.size)]
    reach = window + 6
    above = below(where, reach) if kind == ADDEND else below(where, 2 * reach) - reach
    exp = (most if most > -1000000 else 0) + above
    binade = _clip(_last_at_most(c.exps, exp), 0, c.first.size - 1)
    return code_of(c, _in(c, binade, binade, word), sign)
