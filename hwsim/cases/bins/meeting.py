"""Operands that bring two numbers to an addition of a unit, as its two terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hwsim.cases.bins.adders import (
    ADDEND,
    PARTIAL,
    PRODUCT,
    REGISTER,
    SUM,
    RoundedPair,
    flushes_factors,
    node_roles,
    split,
    tree,
)
from hwsim.cases.landmarks import exact_code
from hwsim.cases.rows import Pair, Rows, Scales
from hwsim.formats import ExponentFormat, FloatFormat, Format
from hwsim.formats.blocks import one_code
from hwsim.spec import ExactSum, SequentialSum, Unit

WIDE = 12  # bits of a factor up to which all odd significands may be asked for another one


class ExactNumber(NamedTuple):
    """(-1)^sign * sig * 2^exp. factors: odd significands whose product is sig, where they are known."""

    sign: int
    sig: int
    exp: int
    factors: tuple[int, int] | None = None

    @property
    def leading(self) -> int:
        """The exponent of the leading one."""
        return self.sig.bit_length() - 1 + self.exp


class Laid(NamedTuple):
    """Pairs of each beat, from a lane on, the addend's code, and codes of the scales or None for scales of 1."""

    beats: Sequence[Sequence[Pair]]
    c: int = 0
    lane: int = 0
    scales: Scales | None = None


# Numbers as operands.


def number_code(fmt: Format, sign: int, sig: int, exp: int) -> int | None:
    """The code of (-1)^sign * sig * 2^exp; None where a format has no such number. sig > 0."""
    if isinstance(fmt, FloatFormat):
        return exact_code(fmt, sign, sig, exp)
    if isinstance(fmt, ExponentFormat):
        code = exp + sig.bit_length() - 1 + fmt.bias
        return code if sig & (sig - 1) == 0 and not sign and fmt.min_code <= code <= fmt.max_code else None
    shift = exp - fmt.quantum_exp
    if shift < 0 or sig << shift >= 1 << fmt.bits - 1:
        return None
    return (-(sig << shift) if sign else sig << shift) & (1 << fmt.bits) - 1


def _range(fmt: Format, sig: int, normal: bool) -> tuple[int, int]:
    """The exponents of the last bit that a significand may have in a format. normal: of no subnormal number."""
    if isinstance(fmt, FloatFormat):
        return fmt.emin - sig.bit_length() + 1 if normal else fmt.quantum_exp, fmt.emax - sig.bit_length() + 1
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return fmt.quantum_exp, fmt.integer_bits - sig.bit_length()


def product_codes(unit: Unit, number: ExactNumber) -> Pair | None:
    """Factors whose product is a number; None where none are found."""
    a, b, normal = unit.operands.a, unit.operands.b, flushes_factors(unit)
    factors = number.factors or factors_of(number.sig, a.sig_bits, b.sig_bits)
    if factors is None:
        return None
    (x, y), (low_a, high_a), (low_b, high_b) = factors, _range(a, factors[0], normal), _range(b, factors[1], normal)
    low, high = max(low_a, number.exp - high_b), min(high_a, number.exp - low_b)
    middle = (number.exp + y.bit_length() - x.bit_length()) // 2
    for exp in sorted(range(low, high + 1), key=lambda exp: abs(exp - middle)):
        for signs in ((number.sign, 0), (0, number.sign)):
            codes = number_code(a, signs[0], x, exp), number_code(b, signs[1], y, number.exp - exp)
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
    return None


@lru_cache(maxsize=1 << 12)
def factors_of(sig: int, bits_a: int, bits_b: int) -> tuple[int, int] | None:
    """Two odd factors of an odd number, of so many bits at most."""
    if sig.bit_length() <= bits_a:
        return sig, 1
    if sig.bit_length() <= bits_b:
        return 1, sig
    for x in range(3, min(1 << bits_a, 1 << WIDE), 2):
        if sig % x == 0 and (sig // x).bit_length() <= bits_b:
            return x, sig // x
    return None


def _terms(unit: Unit, number: ExactNumber, most: int) -> list[Pair] | None:
    """At most so many products that add up to a number, none of them longer than needed; None where none are found."""
    pair = product_codes(unit, number)
    if pair is not None:
        return [pair]
    if most < 2 or number.sig == 1:
        return None
    # Its last bit alone, and the others; or the digits 1 and -1, of which no two are neighbours.
    last, rest = number._replace(sig=1, factors=None), number.sig - 1
    zeros = (rest & -rest).bit_length() - 1
    parts = [last, number._replace(sig=rest >> zeros, exp=number.exp + zeros, factors=None)]
    digits = _digits(number)
    # The first one twice at half its size, where that alone is too large for a product.
    halves = [*digits[:-1], *[digits[-1]._replace(exp=digits[-1].exp - 1)] * 2]
    for some in (parts, digits, halves):
        pairs = [product_codes(unit, part) for part in some] if len(some) <= most else [None]
        if all(pairs):
            return [pair for pair in pairs if pair is not None]
    return None


def _digits(number: ExactNumber) -> list[ExactNumber]:
    found, sig, exp = list[ExactNumber](), number.sig, number.exp
    while sig:
        if sig & 1:
            digit = 2 - (sig & 3)
            found.append(ExactNumber(number.sign ^ (digit < 0), 1, exp))
            sig -= digit
        sig, exp = sig >> 1, exp + 1
    return found


# Cases, by where the two numbers meet.


def laid(rows: Rows, one: RoundedPair, larger: ExactNumber, smaller: ExactNumber, turn: int) -> Laid | None:
    """Operands that bring both numbers to an addition; None where none are found."""
    by_role = {one.larger: larger, one.smaller: smaller}
    match one.place:
        case "addition":
            if isinstance(rows.unit.sum, SequentialSum):
                return _in_chain(rows, by_role[SUM], by_role[PRODUCT], turn)
            return _in_tree(rows, by_role, turn)
        case "result":
            return _in_exact_sum(rows, one, larger, smaller, turn)
        case "late addition":
            return _late(rows, by_role[ADDEND], by_role[PARTIAL], turn)
        case _:
            return _promoted(rows, one, by_role[REGISTER], by_role[PARTIAL], turn)


def _enters(unit: Unit) -> bool:
    """Whether c is the first term of a sum."""
    return unit.sum.addend == "aligned" and unit.operands.addend is not None and unit.promotion is None and (
        unit.late is None and unit.instruction.start == "addend"
    )  # fmt: skip


def _c(unit: Unit, number: ExactNumber) -> int | None:
    fmt = unit.operands.addend
    return None if fmt is None else number_code(fmt, number.sign, number.sig, number.exp)


def _in_chain(rows: Rows, before: ExactNumber, term: ExactNumber, turn: int) -> Laid | None:
    unit, lane = rows.unit, turn % rows.lanes
    pair = product_codes(unit, term)
    if pair is None:
        return None
    c = _c(unit, before) if _enters(unit) else None
    if c is not None:
        return Laid([[pair]], c, lane)
    # Else the sum is that of products before.
    first = _terms(unit, before, rows.lanes - 1 if rows.lanes > 1 else min(unit.promotion_beats or 8, 8) - 1)
    if first is None:
        return None
    if len(first) < rows.lanes:
        return Laid([[*first, pair]], 0, turn % (rows.lanes - len(first)))
    return Laid([[each] for each in (*first, pair)]) if rows.lanes == 1 else None


def _in_tree(rows: Rows, by_role: dict[str, ExactNumber], turn: int) -> Laid | None:
    unit, (x, y) = rows.unit, sorted(by_role, key=lambda role: role.startswith("right") or role == ADDEND)
    if y == ADDEND:
        first, c = _terms(unit, by_role[x], rows.lanes), _c(unit, by_role[y])
        return None if c is None or first is None else Laid([first], c)
    nodes = [node for node in tree(rows.lanes) if node_roles(*node) == (x, y)]
    low, high = nodes[turn % len(nodes)]
    right = split(low, high)
    first, second = _terms(unit, by_role[x], right - low), _terms(unit, by_role[y], high + 1 - right)
    if first is None or second is None:
        return None
    zeros: list[Pair] = [(0, 0)] * (right - low - len(first))
    return Laid([[*first, *zeros, *second]], 0, low)


def _in_exact_sum(rows: Rows, one: RoundedPair, larger: ExactNumber, smaller: ExactNumber, turn: int) -> Laid | None:
    unit, rule = rows.unit, rows.unit.sum
    long = isinstance(rule, ExactSum) and rule.rounded == "end"
    room = max(rows.lanes, rows.most * rows.lanes if rows.most else 4) if long else rows.lanes
    if one.smaller == ADDEND:
        c, pairs = _c(unit, smaller), _terms(unit, larger, room)
        return None if c is None or pairs is None else _beats(rows, pairs, c, turn)
    last = product_codes(unit, smaller)
    if last is None:
        return None
    if _enters(unit) and turn % 2 and (c := _c(unit, larger)) is not None:
        return _beats(rows, [last], c, turn)
    pairs = _terms(unit, larger, room - 1)
    if pairs is not None:
        return _beats(rows, [*pairs, last], 0, turn)
    if not _enters(unit):
        return None
    if (c := _c(unit, larger)) is not None:
        return _beats(rows, [last], c, turn)
    # The addend, and the larger number's last bit as a product.
    rest = larger.sig - 1
    c = _c(unit, larger._replace(sig=rest)) if rest else None
    half = product_codes(unit, larger._replace(sig=1, factors=None))
    return None if c is None or half is None or room < 2 else _beats(rows, [half, last], c, turn)


def _beats(rows: Rows, pairs: Sequence[Pair], c: int, turn: int) -> Laid:
    """Products in neighbouring lanes, and in as many beats as they take."""
    if len(pairs) <= rows.lanes:
        return Laid([pairs], c, turn % rows.lanes)
    return Laid([pairs[at : at + rows.lanes] for at in range(0, len(pairs), rows.lanes)], c)


def _late(rows: Rows, addend: ExactNumber, partial: ExactNumber, turn: int) -> Laid | None:
    c, pairs = _c(rows.unit, addend), _terms(rows.unit, partial, rows.lanes)
    return None if c is None or pairs is None else Laid([pairs], c, turn % rows.lanes)


def _promoted(rows: Rows, one: RoundedPair, register: ExactNumber, partial: ExactNumber, turn: int) -> Laid | None:
    unit, scales = rows.unit, None
    if partial.factors is not None and unit.scale is not None and unit.scale.at == "promotion":
        # The partial sum's digits are one factor, and the scale's are the other.
        sig, scale = partial.factors
        at = partial.exp + sig.bit_length() - 1  # so that the partial sum is at least 1, and less than 2
        code = number_code(unit.scale.a.format, 0, scale, at)
        if code is None:
            return None
        scales = code, one_code(unit.scale.b.format)
        partial = ExactNumber(partial.sign, sig, partial.exp - at)
    c, beats = _c(unit, register), unit.promotion_beats
    pairs = _terms(unit, partial, max(rows.lanes, min(8, rows.lanes * (beats or 1))))
    if pairs is None:
        return None
    if c is not None and unit.operands.addend is not None:
        return _beats(rows, pairs, c, turn)._replace(scales=scales)
    before = _terms(unit, register, rows.lanes) if beats is not None and scales is None else None
    if before is None or beats is None:
        return None
    return Laid([before, *[[]] * (beats - 1), pairs], 0, turn % rows.lanes)
