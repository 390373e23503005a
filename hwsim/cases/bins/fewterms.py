"""One term of which each bit counts, and a few that show where each of them stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product as cross

from hwsim.cases.bins.adder_rows import ExactNumber, product_codes
from hwsim.cases.case import Pair, Rows, block_lengths
from hwsim.cases.palette import Palette, Product, infinities, largest_code, nans, negate, numbers, palette_of, zeros
from hwsim.formats import ExponentFormat, FloatFormat, Format
from hwsim.formats.blocks import one_code
from hwsim.spec import RoundedSum, WindowSum
from hwsim.spec.keys import Factor

MOST_EXPONENTS = 512  # of products
WORD_BITS = 32  # of codes, with whose products palettes reckon
Terms = tuple[Product, ...]


def few_rows(rows: Rows) -> None:
    """Cases of one term, and of a few."""
    _odd_products(rows)
    _addend_bits(rows)
    _handed_on(rows)
    _vanishing(rows)
    _at_distances(rows)


def _odd_products(rows: Rows) -> None:
    """A product alone whose last bit is a one, at each exponent; of very many, at some."""
    a, b = rows.unit.operands.a, rows.unit.operands.b
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat):
        return
    exps = range(a.emin + b.emin, a.emax + b.emax + 1)
    # One more than a power of two, and one less than the next.
    short, long = ((1 << fmt.fraction_bits | 1, (2 << fmt.fraction_bits) - 1) for fmt in (a, b))
    for exp in exps[:: -(-len(exps) // MOST_EXPONENTS)]:
        for number, sigs in enumerate(((short[0], long[0]), (short[0], long[1]), (short[1], long[1]))):
            value = ExactNumber(exp & 1, sigs[0] * sigs[1], exp - a.fraction_bits - b.fraction_bits, sigs)
            codes = product_codes(rows.unit, value)
            if codes is not None:
                rows.add(f"odd/{exp}-{number}", [[codes]], 0, exp)


def _addend_bits(rows: Rows) -> None:
    """Addends of one bit, of all but one, and one off infinity; NaN: alone, and handed on to another beat."""
    fmt = rows.unit.operands.addend
    if not isinstance(fmt, FloatFormat):
        return
    bits = fmt.bits - fmt.signed
    every, special = (1 << bits) - 1, [code >> fmt.padding for code in infinities(fmt)[:1]]
    named = {f"{bit}": 1 << bit for bit in range(bits)} | {f"not-{bit}": every ^ 1 << bit for bit in range(bits)}
    named |= {f"infinity-{bit}": code ^ 1 << bit for bit in range(bits) for code in special}
    codes = {name: code << fmt.padding for name, code in named.items()}
    codes |= {f"nan-{number}": code for number, code in enumerate(nans(fmt))}
    for number, (name, code) in enumerate(codes.items()):
        sign = (number & 1 and fmt.signed and fmt.sign_bit) << fmt.padding
        for beats in (1, 2):
            rows.add(f"bits/{name}-{beats}", [[(0, 0)]] * beats, code ^ sign if "nan" not in name else code)


def _handed_on(rows: Rows) -> None:
    """NaN, and sums that are too large, which another beat goes on from: with nothing, and with what is as large."""
    unit, lanes = rows.unit, rows.lanes
    a, b, scale = unit.operands.a, unit.operands.b, unit.scale
    most = largest_code(a), largest_code(b)
    minus, neutral = negate(a, most[0]), (code_of_one(a), code_of_one(b))
    special = [(code, neutral[1]) for code in (*nans(a)[:1], *infinities(a))]
    special += [(neutral[0], code) for code in (*nans(b)[:1], *infinities(b))]
    others = [(0, 0), neutral, most, *([] if minus is None else [(minus, most[1])])]
    for (number, pair), (index, beside) in cross(enumerate(special), enumerate(others)):
        rows.add(f"handed/{number}-{index}", [[pair], [beside]], 0, number)
    if minus is not None:
        firsts = ((most[0], most[1]), (minus, most[1]))
        large = None if scale is None else tuple((_largest_scale(side.format),) for side in (scale.a, scale.b))
        for sign, first in enumerate(firsts):
            for index, row in enumerate(([(0, 0)], [firsts[1 - sign]] * lanes)):
                scales = None if large is None else (large[0], large[1])
                rows.add(f"handed/large-{sign}-{index}", [[first] * lanes, row], 0, 0, scales)
    sides = () if scale is None else (scale.a, scale.b)
    for side, blocks in enumerate(sides):
        for nan in nans(blocks.format)[:1]:
            # Of as many blocks as two beats have the first one.
            rest = max(1, 2 * lanes // min(2 * lanes, block_lengths(unit)[side])) - 1
            for index, beside in enumerate(others):
                codes: list[tuple[int, ...]] = [(one_code(block_scale.format),) for block_scale in sides]
                codes[side] = (nan, *codes[side] * rest)
                rows.add(f"handed/scale-{'ab'[side]}-{index}", [[neutral], [beside]], 0, 0, (codes[0], codes[1]))


def _vanishing(rows: Rows) -> None:
    """The least products, negative ones, beside zeros of that sign: what rounds to zero may have the sign of none.

    Before a late addition, positive ones too: the addend decides what becomes of the sign of a zero.
    """
    a, b, fmt, lanes = rows.unit.operands.a, rows.unit.operands.b, rows.unit.operands.addend, rows.lanes
    least, others = (list(numbers(factor_format).values()) for factor_format in (a, b))
    plus = least[:3]
    minus = [code for code in map(partial(negate, a), plus) if code is not None]
    signs = (("", minus, zeros(a)[-1]), ("plus-", plus, 0))
    for word, some, zero in signs if rows.unit.late is not None else signs[:1]:
        for (number, x), (index, y) in cross(enumerate(some), enumerate(others[:3])):
            for turn, row in enumerate(([(x, y)] + [(zero, others[0])] * (lanes - 1), [(x, y)] * lanes)):
                for sign, c in enumerate([0] if fmt is None else zeros(fmt)):
                    rows.add(f"vanish/{word}{number}-{index}-{turn}-{sign}", [row], c, number + index)


def _largest_scale(fmt: Format) -> int:
    return fmt.max_code if isinstance(fmt, ExponentFormat) else largest_code(fmt) if isinstance(fmt, FloatFormat) else 0


def code_of_one(fmt: Factor) -> int:
    """The code of 1, or of another number of a format without it."""
    named = numbers(fmt)
    return named.get("one", next(reversed(named.values())))


def _at_distances(rows: Rows) -> None:
    """Two products so far apart; and beside the smaller one what cancels the larger, which leaves what was kept of it.

    What cancels it is its opposite, or two halves whose exponents are lower, so that max_exp is that of one lane.
    """
    unit, lanes = rows.unit, rows.lanes
    a, b = unit.operands.a, unit.operands.b
    if isinstance(unit.sum, RoundedSum) or lanes < 2 or max(a.container_bits, b.container_bits) > WORD_BITS:
        return
    known = palette_of(a, b)
    window = unit.sum.fraction_bits if isinstance(unit.sum, WindowSum) else unit.result.format.precision
    for distance in range(window + known.fraction_bits + 4):
        tops = [exp for exp in known.exps if exp - distance in known.exps]
        # In the middle, and where the last bit of the smaller one is just below the result's least number.
        below = unit.result.format.quantum_exp - 1 + known.fraction_bits + distance
        for top in dict.fromkeys((*tops[len(tops) // 2 :][:1], *({below} & set(tops)))):
            for (number, terms), step in cross(enumerate(_terms(known, top, distance)), (1, 2)):
                if step * (len(terms) - 1) >= lanes:
                    continue
                # Of halves the lane of max_exp shows where the smaller one's last bit is just lost: of each lane.
                in_all_lanes = (
                    len(terms) == 4 and step == 1 and distance == window - known.fraction_bits + 1 and top != below
                )
                for turn in range(lanes) if in_all_lanes else (distance,):
                    row: list[Pair] = [(0, 0)] * lanes
                    for place, term in enumerate(terms):
                        row[(turn + place * step) % lanes] = term.a, term.b
                    rows.add(f"apart/{distance:02}-{top}-{number}-{step}-{turn}", [row])


def _terms(known: Palette, top: int, distance: int) -> Iterator[Terms]:
    """The larger products, and last the smaller one, whose last bit is a one."""
    for sign in (0, 1):
        odd = [product for product in known.of(sign, top - distance) if product.sig & 1][-1:]
        large = known.of(0, top)[-1:]
        for high, low in cross(large, odd):
            yield high, low
            opposite = known.opposite(high)
            if opposite is not None:
                yield high, opposite, low
        whole = [high for high in known.powers(0, top) if high.exp == top]
        halves = [half for half in known.powers(1, top - 1) if half.exp < top]
        for high, half, low in cross(whole[:1], halves[:1], odd):
            yield high, half, half, low
