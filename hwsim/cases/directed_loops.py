"""The compiled loop of directed cases: each is drawn from a stream of Threefry words of its own, as its kind says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hwsim.base.compiled import compiled, inlined
from hwsim.cases.case import block_lengths
from hwsim.cases.drawing import ABOVE, ANY, ANYWHERE, LARGEST, LEAST, MOST, NEAR, POWER, SMALLEST, ZERO, CaseKind
from hwsim.cases.random_loops import WORD, DrawnCases, Side, code_of, no_cases, put_codes, side_of
from hwsim.formats import Format
from hwsim.formats.loops import threefry
from hwsim.formats.rounding import Ints
from hwsim.spec import Unit, WindowSum

U = np.uint32
# A case's stream: its key's words, the counter's low one and the case's number; and the second word of the last pair.
KEY, OTHER, COUNTER, CASE, SECOND = range(5)
WORD_BITS = 31
MIDDLE = 30  # binades to each side of the middle that most leading products are drawn from


class Rules(NamedTuple):
    """The numbers of a unit around which directed cases are drawn.

    lanes, subgroup: of a group, and of a part of it that is summed before; 0 for none. window: places below max_exp.
    bits: fraction bits of a product. precision: of the result. least, most: exponents of products. end: the least
    exponent of results. blocks: terms that share a scale, of a and of b; 0 without scales.
    """

    lanes: int
    subgroup: int
    window: int
    bits: int
    precision: int
    least: int
    most: int
    end: int
    blocks: tuple[int, int]


def draw_directed(unit: Unit, key: int, numbers: Ints, kind: CaseKind, terms: int) -> DrawnCases:
    """Cases of these numbers and of one kind, each of so many terms. key: of the unit and the seed."""
    operands, drawn = unit.operands, no_cases(unit, len(numbers), terms)
    scales = (unit.scale.a.format, unit.scale.b.format) if unit.scale else (operands.a, operands.b)
    sides = tuple(_side(fmt) for fmt in (operands.a, operands.b, operands.addend or operands.a, *scales))
    groups = range(terms // unit.instruction.lanes)
    order = np.array([index for group in groups for index in unit.instruction.indices(group)])
    _draw(key & WORD, key >> 32, numbers, kind, _rules(unit), sides, order, drawn)
    put_codes(unit, drawn)
    return drawn


def _rules(unit: Unit) -> Rules:
    a, b = (side_of(fmt) for fmt in (unit.operands.a, unit.operands.b))
    most, limit = int(a.exps[-1] + b.exps[-1]), unit.sum.product_limit
    factors, result = unit.operands.multiplied, unit.result.format
    return Rules(
        lanes=unit.instruction.lanes,
        subgroup=unit.subgroup.lanes if unit.subgroup else 0,
        window=unit.sum.fraction_bits if isinstance(unit.sum, WindowSum) else max(result.fraction_bits, 0),
        bits=sum(fmt.fraction_bits for fmt in factors),
        precision=max(result.fraction_bits, 0),
        least=int(a.exps[0] + b.exps[0]),
        most=most if limit is None else min(most, limit - 1),  # above, every product is an infinity
        end=int(side_of(result).exps[0]),
        blocks=block_lengths(unit) if unit.scale else (0, 0),
    )


def _side(fmt: Format) -> Side:
    """The numbers of a format; its NaN and infinities without ones in the padding, as hardware returns them only."""
    side = side_of(fmt)
    return side._replace(specials=side.specials[side.specials & (1 << side.padding) - 1 == 0])


@compiled
def _next(state: Any) -> Any:
    """31 random bits."""
    count = state[COUNTER]
    state[COUNTER] = U(count + U(1))
    if count & U(1):
        return np.int64(state[SECOND] >> U(1))
    word, state[SECOND] = threefry(state[KEY], state[OTHER], count, state[CASE])
    return np.int64(word >> U(1))


@inlined
def _below(state: Any, n: Any) -> Any:
    """A number from 0 to n - 1; n below 1 counts as 1."""
    return _next(state) % max(1, n)


@inlined
def _chance(state: Any, share: Any) -> Any:
    return share > 0.0 and _next(state) < share * (1 << WORD_BITS)


@inlined
def _between(state: Any, ends: Any) -> Any:
    return ends[0] + _below(state, ends[1] - ends[0] + 1)


@inlined
def _clip(x: Any, low: Any, high: Any) -> Any:
    return min(max(x, low), high)


@inlined
def _binade(side: Any, exp: Any, subnormal: Any) -> Any:
    """The binade of an exponent, or the nearest; with subnormal, the lowest."""
    highest = side.exps.size - 1
    return 0 if subnormal else _clip(highest - (side.exps[-1] - exp), 0, highest)


@inlined
def _number(state: Any, side: Any, binade: Any) -> Any:
    """A number of a binade, other than zero: any, or one with few ones or zeros."""
    first, span = side.first[binade], side.last[binade] - side.first[binade]
    last = (1 << side.fraction_bits) - 1 if side.fraction_bits else span
    pattern, place, frac = _next(state) % 8, _below(state, side.fraction_bits), _next(state) & last
    if side.fraction_bits > WORD_BITS:
        frac = (_next(state) << WORD_BITS | frac) & last
    if pattern == 0:
        frac = 0
    elif pattern == 1:
        frac = last
    elif pattern == 2:
        frac = 1 << place
    elif pattern == 3:
        frac &= last << place
    elif pattern == 4:
        frac = last + 1 - (1 << place)
    return max(first + min(frac, span), 1)


@inlined
def _factor(state: Any, side: Any, exp: Any, shape: Any, subnormal: Any) -> Any:
    """A number of the binade of an exponent. shape: of its significand."""
    binade = _binade(side, exp, subnormal)
    if shape == POWER:
        return max(side.first[binade], 1)
    if shape == LARGEST:
        return side.last[binade]
    if shape == SMALLEST and binade == 0:
        return 1 + _below(state, min(3, side.last[0]))
    return _number(state, side, binade)


@inlined
def _product(state: Any, rules: Any, a: Any, b: Any, exp: Any, shape: Any, subnormal: Any) -> Any:
    """Magnitudes of factors whose product has an exponent, or the nearest."""
    exp = _clip(exp, rules.least, rules.most)
    low, high = max(a.exps[0], exp - b.exps[-1]), min(a.exps[-1], exp - b.exps[0])
    under = shape == SMALLEST or _chance(state, subnormal)
    of_a = low + _below(state, high - low + 1)
    if under:
        of_a = (low, high)[_next(state) % 2]
    # Which of the factors are subnormal, as far as they are at their least exponent.
    which = 0 if shape == POWER else 1 + _next(state) % 3 if under else _next(state) % 4
    p = _factor(state, a, of_a, shape, which & 1 == 1 and of_a == a.exps[0])
    return p, _factor(state, b, exp - of_a, shape, which & 2 == 2 and exp - of_a == b.exps[0])


@inlined
def _put(state: Any, a: Any, b: Any, pair: Any, sign: Any, place: Any, out_a: Any, out_b: Any) -> None:
    """Write a product of a sign, as far as the factors have one."""
    flip = _next(state) % 2 if a.sign and b.sign else 0
    out_a[place] = code_of(a, pair[0], flip if b.sign else sign)
    out_b[place] = code_of(b, pair[1], sign ^ flip)


@inlined
def _step(state: Any, rules: Any) -> Any:
    """The distance to the next product's lane: that of a neighbour, or of a lane in the next subgroup."""
    if rules.subgroup and _next(state) % 2:
        return rules.subgroup
    return 1


@inlined
def _depth(state: Any, kind: Any, rules: Any, spread: Any, top: Any) -> Any:
    """The distance of a further product from max_exp, which is `top`."""
    if _chance(state, kind.near):
        return _next(state) % 3
    if _chance(state, kind.deep):
        return top - rules.least - _next(state) % 8
    if _chance(state, kind.edge):
        reach = kind.reach * rules.bits
        return rules.window - 2 - reach + _below(state, reach + 6)
    return _below(state, spread + 1)


@inlined
def _group(
    state: Any, kind: Any, rules: Any, a: Any, b: Any, top: Any, cancel: Any, apart: Any, order: Any, x: Any, y: Any
) -> None:
    """Draw the products of a group. apart: cancelling products and the rest are in three subgroups.

    order: places along K of the group's lanes. x, y: the case's codes.
    """
    lanes, window = rules.lanes, rules.window
    lane, room = _below(state, lanes), lanes
    leads, shape, sign = _between(state, kind.leads), kind.shape, _next(state) % 2
    if _chance(state, kind.crowd):
        leads = max(1, (lanes >> _next(state) % 4) - 2)
        shape = (ANY, LARGEST)[_next(state) % 2]
    if apart:
        lane, leads = lane % rules.subgroup, 1
    for i in range(leads):
        if room == 0:
            break
        if not kind.one_sign:
            sign = _next(state) % 2
        pair = _product(state, rules, a, b, top, shape, kind.subnormal)
        further = rules.subgroup if apart else _step(state, rules)
        _put(state, a, b, pair, sign, order[lane], x, y)
        lane, room = (lane + further) % lanes, room - 1
        if cancel and room > 0 and i == 0:
            _put(state, a, b, pair, 1 - sign, order[lane], x, y)
            lane, room = (lane + further) % lanes, room - 1
    half, rest = _chance(state, kind.half), lanes if _chance(state, kind.full) else _between(state, kind.rest)
    spread = (2, 6, window, window + rules.bits + 4)[_next(state) % 4]
    max_exp = top + 1 + _next(state) % 2 if kind.floor else top
    for i in range(min(half + rest, room)):
        exp, shape = max_exp - _depth(state, kind, rules, spread, max_exp), ANY if _next(state) % 3 else POWER
        if i < half:
            whole = rules.end if kind.floor else top + _next(state) % 3
            exp, shape = whole - rules.precision - 1, POWER
        elif kind.deep and _next(state) % 2:
            shape = SMALLEST
        pair = _product(state, rules, a, b, exp, shape, kind.subnormal)
        _put(state, a, b, pair, _next(state) % 2, order[lane], x, y)
        lane = (lane + (1 if apart else _step(state, rules))) % lanes


@inlined
def _anything(state: Any, side: Any) -> Any:
    """A code of any exponent and sign."""
    return code_of(side, _number(state, side, _below(state, side.first.size)), _next(state))


@inlined
def _clear(state: Any, kind: Any, a: Any, b: Any, empty: Any, x: Any, y: Any) -> None:
    """Fill a case with zeros, some of them times a number. In half of the empty cases all products are -0."""
    negative = empty and _next(state) % 2
    for t in range(x.size):
        word = _next(state)
        x[t], y[t] = code_of(a, 0, 1 if negative else word), code_of(b, 0, 0 if negative else word >> 1)
        if _chance(state, kind.zeros):
            if word & 4:
                x[t] = _anything(state, a)
            else:
                y[t] = _anything(state, b)


@inlined
def _top(state: Any, kind: Any, rules: Any) -> Any:
    """The exponent of the leading products."""
    least, most = rules.least, rules.most
    if _chance(state, kind.end):
        if kind.floor:
            return _clip(rules.end - _next(state) % 9 - (0, rules.precision)[_next(state) % 2], least, most)
        return _clip(rules.end + 6 - _below(state, rules.precision + 26), least, most)
    if _chance(state, kind.least):
        return min(least + _next(state) % 16, most)
    if _chance(state, kind.most):
        return max(most - _next(state) % 7, least)
    if _next(state) % 4:
        middle = (least + most) // 2
        least, most = max(least, middle - MIDDLE), min(most, middle + MIDDLE)
    return least + _below(state, most - least + 1)


@inlined
def _scales(state: Any, rules: Any, side: Any, block: Any, exp: Any, reach: Any, apart: Any, out: Any) -> Any:
    """Draw the scales of one side near an exponent, and return the first one's."""
    least, most = side.exps[0], side.exps[-1]
    same = _next(state) % 2
    word = _next(state)
    for i in range(out.size):
        here = _clip(exp + (_below(state, 2 * reach + 1) - reach if i else 0), least, most)
        if i and rules.subgroup:
            # Those of further subgroups: the first one's, so that their sums may cancel, the drawn one, or the least.
            which = _next(state) % 4
            if apart:
                which = 0 if i * block < 2 * rules.subgroup else 3
            if which < 2:
                out[i] = out[0]
                continue
            here = here if which == 2 else least
        binade = _binade(side, here, False)
        frac = (word if same else _next(state)) & ((1 << side.fraction_bits) - 1)
        code = side.first[binade] + min(frac, side.last[binade] - side.first[binade])
        out[i] = max(code, min(side.fraction_bits, 1)) << side.padding  # a float's scale is not zero
    return _clip(exp, least, most)


@inlined
def _addend(state: Any, kind: Any, rules: Any, c: Any, top: Any, negative: Any) -> Any:
    """The addend's code. top: the exponent of the leading products."""
    where, reach = kind.addend, rules.window + 4
    if where == ANYWHERE:
        where = ZERO if _next(state) % 4 == 0 else NEAR
    if where == LEAST and _next(state) % 3 == 0:
        where = (ZERO, NEAR)[_next(state) % 2]
    if where == ZERO:
        return code_of(c, 0, 1 if negative else _next(state))
    exp, subnormal = top - reach + _below(state, 2 * reach + rules.bits), False
    if where == ABOVE:
        exp = top + _below(state, reach)
    elif where == LEAST:
        exp, subnormal = c.exps[0] + _next(state) % 8, _next(state) % 4 == 0
    elif where == MOST:
        exp = c.exps[-1] - _next(state) % 3
    return code_of(c, _number(state, c, _binade(c, exp, subnormal or exp < c.exps[0])), _next(state))


@inlined
def _strike(state: Any, side: Any, out: Any) -> None:
    """Put a NaN or an infinity into a place, where the format has any."""
    if side.specials.size:
        out[_below(state, out.size)] = side.specials[_below(state, side.specials.size)]


@compiled
def _draw(key: Any, other: Any, numbers: Any, kind: Any, rules: Any, sides: Any, order: Any, out: Any) -> None:
    """Draw cases of these numbers, all of one kind.

    key, other: the key's words. sides: of a, b, c, and the scales of a and b; any for what a unit lacks. order: places
    along K, group by group and lane by lane. out: `DrawnCases`.
    """
    state = np.zeros(5, np.uint32)
    state[KEY], state[OTHER] = U(key), U(other)
    a, b, c, scale_a, scale_b = sides
    lanes, window = rules.lanes, rules.window
    for n in range(out.a.shape[0]):
        state[COUNTER], state[CASE] = U(0), U(numbers[n])
        top, empty, cancel = _top(state, kind, rules), _chance(state, kind.empty), _chance(state, kind.cancel)
        apart = cancel and rules.subgroup > 0 and lanes > 2 * rules.subgroup and _next(state) % 2 == 1
        _clear(state, kind, a, b, empty, out.a[n], out.b[n])
        for start in range(0, 0 if empty else out.a.shape[1], lanes):
            here = top
            if start and _next(state) % 2:
                here = top + _below(state, 2 * window) - window
            places = order[start : start + lanes]
            _group(state, kind, rules, a, b, here, cancel, apart, places, out.a[n], out.b[n])
        if rules.blocks[0]:
            shift = 0
            if _next(state) % 4 == 0:
                shift = _next(state) % 33 - 16
            elif _next(state) % 8 == 0:
                shift = _next(state) % 400 - 200
            if rules.subgroup and _below(state, 2 if apart else 4) == 0:
                shift = scale_a.exps[-1] + scale_b.exps[-1]
            # Scales of one sum: near each other, or so far apart that a window ends between them.
            reach = 2 if _next(state) % 3 else window // 2 + 3
            top += _scales(state, rules, scale_a, rules.blocks[0], shift // 2, reach, apart, out.scale_a[n])
            top += _scales(state, rules, scale_b, rules.blocks[1], shift - shift // 2, reach, apart, out.scale_b[n])
        out.c[n] = _addend(state, kind, rules, c, top, empty and _next(state) % 2 == 1)
        if _chance(state, kind.special):
            for _ in range(1 + _next(state) % 2):
                struck = _next(state) % 5
                if struck == 4:
                    _strike(state, c, out.c[n : n + 1])
                elif struck % 2:
                    _strike(state, a, out.a[n])
                else:
                    _strike(state, b, out.b[n])
