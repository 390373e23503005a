"""Directed cases of additions that are rounded: operands that bring two numbers to an addition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from itertools import product as cross
from typing import NamedTuple, assert_never

from hwsim.cases.bins.adders import (
    ADDEND,
    PARTIAL,
    PRODUCT,
    REGISTER,
    REST,
    SUM,
    RoundedPair,
    decisions,
    edge_of,
    every_adder,
    flushes_factors,
    node_roles,
    scaled_factors,
    split,
    tree,
)
from hwsim.cases.case import Case, Pair, Rows, Scales, block_lengths, dot
from hwsim.cases.drawing import Stream
from hwsim.cases.palette import exact_code, table_code
from hwsim.formats import ExponentFormat, FloatFormat, Format, TableFormat
from hwsim.formats.blocks import one_code
from hwsim.model.definition import definition_of
from hwsim.spec import ExactSum, PairwiseSum, SequentialSum, Unit, WindowSum
from hwsim.spec.keys import Rounding

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
    if isinstance(fmt, TableFormat):
        return table_code(fmt, sign, sig, exp)
    shift = exp - fmt.quantum_exp
    if shift < 0 or sig << shift >= 1 << fmt.bits - 1:
        return None
    return (-(sig << shift) if sign else sig << shift) & (1 << fmt.bits) - 1


def _range(fmt: Format, sig: int, normal: bool) -> tuple[int, int]:
    """The exponents of the last bit that a significand may have in a format. normal: of no subnormal number."""
    if isinstance(fmt, FloatFormat | TableFormat):
        return fmt.emin - sig.bit_length() + 1 if normal else fmt.quantum_exp, fmt.emax - sig.bit_length() + 1
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return fmt.quantum_exp, fmt.integer_bits - sig.bit_length()


@lru_cache(maxsize=64)
def power_range(fmt: Format) -> tuple[int, int]:
    """The exponents of the powers of two of a format."""
    return _range(fmt, 1, False)


def product_codes(unit: Unit, number: ExactNumber) -> Pair | None:
    """Factors whose product is a number; None where none are found."""
    return factor_codes(unit.operands.a, unit.operands.b, number, normal=flushes_factors(unit))


def factor_codes(a: Format, b: Format, number: ExactNumber, *, normal: bool = False) -> Pair | None:
    """Codes of two formats whose product is a number; None where none are found. normal: neither is subnormal."""
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
    digits, sig, exp = list[ExactNumber](), number.sig, number.exp
    while sig:
        if sig & 1:
            digit = 2 - (sig & 3)
            digits.append(ExactNumber(number.sign ^ (digit < 0), 1, exp))
            sig -= digit
        sig, exp = sig >> 1, exp + 1
    return digits


# Cases, by where the two numbers meet.


def laid(rows: Rows, pair: RoundedPair, larger: ExactNumber, smaller: ExactNumber, turn: int) -> Laid | None:
    """Operands that bring both numbers to an addition; None where none are found."""
    by_role = {pair.larger: larger, pair.smaller: smaller}
    match pair.place:
        case "addition":
            return _added(rows, by_role, turn)
        case "result":
            return _in_exact_sum(rows, pair, larger, smaller, turn)
        case "late addition":
            return _late(rows, by_role[ADDEND], by_role[PARTIAL], turn)
        case _:
            return _promoted(rows, pair, by_role[REGISTER], by_role[PARTIAL], turn)


def _added(rows: Rows, by_role: dict[str, ExactNumber], turn: int) -> Laid | None:
    rule = rows.unit.sum
    match rule:
        case SequentialSum():
            return _in_chain(rows, by_role[SUM], by_role[PRODUCT], turn)
        case PairwiseSum(chains=int(chains)):
            return _in_chains(rows, chains, by_role, turn)
        case PairwiseSum():
            return _in_tree(rows, by_role, turn)
        case WindowSum() | ExactSum():
            raise TypeError(f"{rows.unit.name} has no rounded additions: sum.method is {rule.method}")
        case _:
            assert_never(rule)


def _enters(unit: Unit) -> bool:
    """True if c is the first term of a sum."""
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
    return Laid([[factors] for factors in (*first, pair)]) if rows.lanes == 1 else None


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


def _in_chains(rows: Rows, chains: int, by_role: dict[str, ExactNumber], turn: int) -> Laid | None:
    """Terms of a tree of chains, whose products lie `chains` lanes apart."""
    unit, length = rows.unit, rows.lanes // chains
    sums: list[tuple[int, list[Pair] | None]]
    if PRODUCT in by_role:
        last, before = product_codes(unit, by_role[PRODUCT]), _terms(unit, by_role[SUM], length - 1)
        sums = [(turn % chains, None if last is None or before is None else [*before, last])]
    else:
        sums = list(enumerate(_terms(unit, by_role[role], length) for role in sorted(by_role) if role != ADDEND))
    c = _c(unit, by_role[ADDEND]) if ADDEND in by_role else 0
    lanes: list[Pair] = [(0, 0)] * rows.lanes
    for at, pairs in sums:
        if pairs is None:
            return None
        for place, pair in enumerate(pairs):
            lanes[at + chains * place] = pair
    return None if c is None else Laid([lanes], c)


def _in_exact_sum(rows: Rows, pair: RoundedPair, larger: ExactNumber, smaller: ExactNumber, turn: int) -> Laid | None:
    unit, rule = rows.unit, rows.unit.sum
    if unit.scale is not None:
        if pair.smaller == ADDEND or (_enters(unit) and turn % 2 and _c(unit, larger) is not None):
            product, addend = (larger, smaller) if pair.smaller == ADDEND else (smaller, larger)
            c = _c(unit, addend)
            return None if c is None else _in_blocks(rows, [product], c)
        return _in_blocks(rows, [larger, smaller], 0)
    long = isinstance(rule, ExactSum) and rule.rounded == "end"
    room = max(rows.lanes, rows.most * rows.lanes if rows.most else 4) if long else rows.lanes
    if pair.smaller == ADDEND:
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


def _in_blocks(rows: Rows, numbers: Sequence[ExactNumber], c: int) -> Laid | None:
    """Numbers in an exact sum, one or two, each in a block whose scales bring products about 1 to it."""
    unit, codes = rows.unit, list[Scales]()
    beats: list[list[Pair]] = []
    length = max(block_lengths(unit))
    inside = length < rows.lanes  # both blocks in one beat
    if unit.sum.method != "exact" or (not inside and getattr(unit.sum, "rounded", "") != "end"):
        return None
    for number in numbers:
        taken = powers_for(unit, (number.leading + number.exp) // 2)
        if taken is None:
            return None
        exp, scales = taken
        pairs = _terms(unit, number._replace(exp=number.exp - exp), min(length, rows.lanes))
        if pairs is None:
            return None
        codes.append(scales)
        if inside and beats:
            beats[0] += [*[(0, 0)] * (length - len(beats[0])), *pairs]
        else:
            beats += [pairs, *[[]] * (-(-length // rows.lanes) - 1)]
    return Laid(beats, c, 0, (sum((a for a, _ in codes), ()), sum((b for _, b in codes), ())))


def powers_for(unit: Unit, exp: int) -> tuple[int, Scales] | None:
    """The exponent that scales add to products, as near as can be to the asked one, and their codes; None for none.

    None too where they are not multiplied with products.
    """
    if unit.scale is None or unit.scale.at == "promotion":
        return None
    codes, taken = list[tuple[int]](), 0
    for fmt, part in ((unit.scale.a.format, exp // 2), (unit.scale.b.format, exp)):
        low, high = power_range(fmt)
        power = min(max(part - taken, low), high)  # the second one takes what is left
        code = number_code(fmt, 0, 1, power)
        if code is None:
            return None
        codes.append((code,))
        taken += power
    return taken, (codes[0], codes[1])


def _scaled_terms(unit: Unit, number: ExactNumber, most: int) -> tuple[list[Pair] | None, Scales | None]:
    """Products that add up to a number, as `_terms` has them, with scales of 1 or, where none are found, of others."""
    pairs = _terms(unit, number, most)
    taken = powers_for(unit, number.leading) if pairs is None else None
    if taken is None:
        return pairs, None
    return _terms(unit, number._replace(exp=number.exp - taken[0]), most), taken[1]


def _beats(rows: Rows, pairs: Sequence[Pair], c: int, turn: int) -> Laid:
    """Products in neighbouring lanes, and in as many beats as they take."""
    if len(pairs) <= rows.lanes:
        return Laid([pairs], c, turn % rows.lanes)
    return Laid([pairs[first : first + rows.lanes] for first in range(0, len(pairs), rows.lanes)], c)


def _late(rows: Rows, addend: ExactNumber, partial: ExactNumber, turn: int) -> Laid | None:
    c, (pairs, scales) = _c(rows.unit, addend), _scaled_terms(rows.unit, partial, rows.lanes)
    return None if c is None or pairs is None else Laid([pairs], c, turn % rows.lanes, scales)


def _promoted(rows: Rows, pair: RoundedPair, register: ExactNumber, partial: ExactNumber, turn: int) -> Laid | None:
    unit, scaling = rows.unit, rows.unit.scaled_promotion
    scales: Scales | None = None
    if partial.factors is not None and unit.scale is not None and scaling is not None:
        # The partial sum's digits are one factor, and the scale's are the other.
        sig, scale = partial.factors
        name, fmt = scaling.first[0] if scaling.made == "scale" else scaling.then[1]
        beside = unit.scale.b.format if name == "scale_a" else unit.scale.a.format
        beside_code: int | None = one_code(beside)
        if scaling.made == "scaled" and sig.bit_length() > unit.result.format.sig_bits:
            # More digits than a partial sum has are those of the scale that it is multiplied by first.
            beside_code, sig = number_code(beside, 0, sig, 0), 1
        # So that the partial sum is at least 1, and less than 2, but where that takes bits from the scale.
        exponents = [partial.exp + sig.bit_length() - 1]
        exponents += [fmt.emin - scale.bit_length() + 1] if isinstance(fmt, FloatFormat) else []
        code, exponent = next(
            ((code, exp) for exp in exponents if (code := number_code(fmt, 0, scale, exp)) is not None), (None, 0)
        )
        if code is None or beside_code is None:
            return None
        scales = ((code,), (beside_code,)) if name == "scale_a" else ((beside_code,), (code,))
        partial = ExactNumber(partial.sign, sig, partial.exp - exponent)
    c, beats = _c(unit, register), unit.promotion_beats
    most = max(rows.lanes, min(8, rows.lanes * (beats or 1)))
    pairs = _terms(unit, partial, most)
    if pairs is None and c is not None:
        pairs, scales = _scaled_terms(unit, partial, most)
    if pairs is None:
        return None
    if c is not None and unit.operands.addend is not None:
        return _beats(rows, pairs, c, turn)._replace(scales=scales)
    before = _terms(unit, register, rows.lanes) if beats is not None and scales is None else None
    if before is None or beats is None:
        return None
    return Laid([before, *[[]] * (beats - 1), pairs], 0, turn % rows.lanes)


TRIES = 8  # of operands of each exponent that have the bits of a bin, until the unit takes some
ODD = 40  # odd significands of a factor, beside powers of two and their neighbours
FEW = (3, 16)  # significands of a kind that are tried; and where none of them serves
MOST_PAIRS = 1500  # of significands that are looked at for a bin, of each exponent


# Whether the smaller term is added, and the parity of the last place, where without that term the result is another.
TELLING: dict[Rounding, tuple[tuple[bool, int], tuple[bool, int]]] = {
    "rne": ((True, 0), (False, 1)), "rna": ((False, 0), (False, 1)), "rz": ((False, 0), (False, 1)),
    "ru": ((True, 0), (False, 1)), "rd": ((True, 0), (False, 1)), "rto": ((True, 0), (False, 0)),
}  # fmt: skip


def smaller_rows(rows: Rows) -> None:
    """A case for every bin of `hwsim.cases.bins.adders` that some operands hit, as far as they are found."""
    for pair in every_adder(rows.unit):
        _cases(rows, pair)


def _cases(rows: Rows, pair: RoundedPair) -> None:
    name = f"decide/{pair.place}-{pair.smaller}-below-{pair.larger}".replace(" ", "-")
    depths = set(pair.depths)
    for distance in range(pair.last + 1):
        near = distance <= pair.near
        # Far off, one of those in which a smaller term that is dropped shows.
        for adds, odd in cross((True, False), (0, 1)) if near else _telling(pair, distance):
            if near and pair.unreachable(distance, adds, odd):
                continue
            word = f"{name}-{distance:02}-{'add' if adds else 'sub'}-{odd}"
            every = [_numbers(rows.unit, pair, distance, adds, odd, _lengths(pair, distance), few) for few in FEW]
            numbers = chain.from_iterable(every)
            if (depth := _first(rows, pair, word, numbers, distance + 2 * adds + odd)) is not None:
                depths.discard(depth)
                if not near:
                    break
    for depth in sorted(depths):
        for distance in range(min(depth, pair.near), max(0, depth - pair.of_smaller.bits), -1):
            some = [
                _numbers(rows.unit, pair, distance, adds, odd, [depth - distance + 1], FEW[0])
                for adds, odd in cross((bool(depth % 2), not depth % 2), (0, 1))
            ]
            numbers = chain.from_iterable(some)
            if _first(rows, pair, f"{name}-last-{depth:02}", numbers, depth) is not None:
                break


def _telling(pair: RoundedPair, distance: int) -> list[tuple[bool, int]]:
    """Pairs (the smaller term is added, parity): the first that exists shows that the smaller term is dropped."""
    adds, odd = TELLING[pair.rounding][distance % 2]
    return [(adds, odd), *([] if pair.rounding in ("rne", "rto") else [(adds, 1 - odd)])]


def _first(
    rows: Rows, pair: RoundedPair, name: str, numbers: Iterator[tuple[ExactNumber, ExactNumber]], turn: int
) -> int | None:
    """Add a case of the first numbers that the unit takes: the depth of the smaller one's last bit, or None."""
    for larger, smaller in numbers:
        operands = laid(rows, pair, larger, smaller, turn)
        if operands is None or not rows.add(name, *operands):
            continue
        depth = larger.leading - smaller.exp
        if isinstance(rows.unit.sum, SequentialSum) or _decides(rows.unit, pair, rows.cases[name], depth):
            return depth
        del rows.cases[name]
    return None


def _decides(unit: Unit, pair: RoundedPair, case: Case, depth: int) -> bool:
    """True if a case does what it is for: a window, or a part of a tree, may make something else of its terms."""
    decided = decisions(dot(definition_of(unit), case))
    return any(
        decision[:3] == (pair.place, pair.larger, pair.smaller) and decision.depth == depth for decision in decided
    )


# Significands, by what is known of their bits.


@lru_cache(maxsize=64)
def odd_products(bits_a: int, bits_b: int) -> dict[int, list[tuple[int, int, int]]]:
    """Products of odd significands of so many bits at most, by their bits: (product, a's, b's), some of each."""
    products: dict[int, list[tuple[int, int, int]]] = {}
    seen = set[int]()

    def note(x: int, y: int) -> None:
        both = x * y
        if both not in seen:
            seen.add(both)
            products.setdefault(both.bit_length(), []).append((both, x, y))

    some_a, some_b = (_odd(bits) for bits in (bits_a, bits_b))
    for x, y in cross(some_a, some_b):
        note(x, y)
    # With as many zeros between the first bits and the last one as there can be.
    every = range(1, 1 << bits_a, 2) if bits_a <= WIDE else some_a
    for x, places in cross(every, range(2, bits_a + bits_b)):
        y = pow(x, -1, 1 << places)
        if y < 1 << bits_b:
            note(x, y)
    return products


def _odd(bits: int) -> list[int]:
    """Some odd numbers of so many bits at most."""
    whole, rng = 1 << bits, Stream(0, "odd", bits)
    some = {1} | {(1 << place) + offset for place in range(1, bits) for offset in (1, -1, 3)} | {whole - 1, whole - 3}
    some |= {whole - (1 << place) - 1 for place in range(1, bits)}
    some |= {rng.randrange(whole) | 1 for _ in range(ODD)}
    return sorted(number for number in some if 0 < number < whole and number % 2)


Significand = tuple[int, tuple[int, int] | None]


class TermDigits(NamedTuple):
    """The significands that a term can have: products of two of so many bits, or any, of `most` bits at most.

    few: how many of a kind are tried.
    """

    factors: tuple[int, int] | None
    any: bool
    most: int
    few: int


def _digits_of(unit: Unit, pair: RoundedPair, role: str, few: int) -> TermDigits:
    most = pair.of_larger.bits if role == pair.larger else pair.of_smaller.bits
    scaled = scaled_factors(unit) if role == PARTIAL and pair.place == "promotion" else None
    factors: tuple[int, int] | None = unit.operands.a.sig_bits, unit.operands.b.sig_bits
    if scaled is not None:
        factors = scaled
    elif role in (ADDEND, REGISTER, REST) and unit.operands.addend is not None and pair.smaller != ADDEND:
        factors = None
    return TermDigits(factors, scaled is None and not role.endswith(PRODUCT), most, few)


@lru_cache(maxsize=1 << 12)
def _significands(digits: TermDigits, bits: int) -> dict[tuple[int, int], tuple[Significand, ...]]:
    """Some odd significands of exactly so many bits, by the zeros above the last bit, and the bit above the next one.

    Of 0b1101001 there are 2 zeros, and above the next bit stands a 0.
    """
    if bits > digits.most or bits < 1:
        return {}
    if bits == 1:
        return {(0, 0): ((1, (1, 1)),)}
    every: list[Significand] = []
    if digits.factors is not None:
        every += [(both, (x, y)) for both, x, y in odd_products(*digits.factors).get(bits, ())]
    if digits.any:
        for zeros in range(bits - 1):
            high = 1 << bits - 2 - zeros
            some = dict.fromkeys((high | 1, 2 * high - 1, high | 3, high | high >> 1 | 1, high | high >> 2 | 1))
            every += [(high_bits << zeros + 1 | 1, None) for high_bits in some if high_bits < 2 * high]
    by_place: dict[tuple[int, int], list[Significand]] = {}
    for entry in every:
        place = (entry[0] - 1 & -(entry[0] - 1)).bit_length() - 1
        held = by_place.setdefault((place - 1, entry[0] >> place + 1 & 1), [])
        if len(held) < digits.few:
            held.append(entry)
    return {key: tuple(held) for key, held in by_place.items()}


@lru_cache(maxsize=1 << 12)
def _few(digits: TermDigits, bits: int) -> list[Significand]:
    """A few odd significands of exactly so many bits: of both parities of the bit above the last one, and all ones."""
    every = [entry for some in _significands(digits, bits).values() for entry in some]
    ones = (1 << bits) - 1
    some = [[entry for entry in every if entry[0] >> 1 & 1 == odd and entry[0] != ones] for odd in (0, 1)]
    high = 1 << max(bits - 1, 0)
    # Two digits of either sign at most come first: that many products are a number of them.
    short = [entry for entry in every if entry[0] in (high | 1, ones)]
    return list(dict.fromkeys([*short, *some[0][: digits.few], *some[1][: digits.few], *some[0][-1:], *some[1][-1:]]))


def _numbers(
    unit: Unit, pair: RoundedPair, distance: int, adds: bool, odd: int, lengths: Sequence[int], few: int
) -> Iterator[tuple[ExactNumber, ExactNumber]]:
    """Pairs of a larger and a smaller number that hit a bin. lengths: of the smaller one, in bits."""
    p = pair.precision
    low = max(pair.of_smaller.low + distance, pair.of_larger.least)
    top = min(pair.top, pair.of_smaller.top + distance)
    normal = _spread(max(low, pair.format.emin + 2), top, distance) if isinstance(pair.format, FloatFormat) else []
    small = [pair.format.quantum_exp + place for place in range(1, min(2 * p, 24))] if pair.keeps else []
    for leading in [*normal, *(place for place in small if low <= place <= top)]:
        # Places of the sum's last bit, and of its edge, below the larger term's leading one.
        last = max(leading - p + 1, pair.format.quantum_exp)
        deep = leading - last
        tried = 0
        for larger, smaller in islice(_pairs(unit, pair, leading - distance, deep, leading, lengths, few), MOST_PAIRS):
            edge = min(larger.exp, smaller.exp)
            signs = (1, 1 if adds else -1)
            sizes = [sign * (x.sig << x.exp - edge) for sign, x in zip(signs, (larger, smaller), strict=True)]
            if sizes[0] < abs(sizes[1]):
                continue
            if edge_of(pair.format, pair.ties, pair.keeps, sizes[0], sizes[1], edge) == odd:
                turned = (distance >> 1 ^ odd) & 1
                if pair.rounding in ("ru", "rd") and distance > pair.near:
                    turned = int(adds == (pair.rounding == "rd"))  # what is dropped would have changed the result
                yield larger._replace(sign=turned), smaller._replace(sign=turned if adds else 1 - turned)
                tried += 1
                if tried == TRIES:
                    break


def _spread(low: int, top: int, turn: int) -> list[int]:
    """Some exponents of a range: one in its middle, which moves, its ends, and what is next to them."""
    if low > top:
        return []
    middle = min(max((low + top) // 2 + turn % 5 - 2, low), top)
    near = min(max(turn % 7 - 3, low), top)
    return list(dict.fromkeys((near, middle, max(top - 1, low), low, top, max(top - 4, low))))


def _pairs(
    unit: Unit, pair: RoundedPair, small_leading: int, deep: int, leading: int, lengths: Sequence[int], few: int
) -> Iterator[tuple[ExactNumber, ExactNumber]]:
    """Larger and smaller numbers whose bits may meet at an edge, which is about `deep` places below `leading`.

    leading, at: the exponents of both numbers' leading ones.
    """
    larger, of_larger = list[ExactNumber](), _digits_of(unit, pair, pair.larger, few)
    for bits in dict.fromkeys((deep + 1 + pair.ties, 1, min(deep + 1, of_larger.most), deep, 2, deep + 2, 3)):
        if leading - bits + 1 >= pair.of_larger.low:
            larger += [ExactNumber(0, sig, leading - bits + 1, factors) for sig, factors in _few(of_larger, bits)]
    for bits in lengths:
        of_bits = _significands(_digits_of(unit, pair, pair.smaller, few), bits)
        # The bits above the zeros end at the edge, or above it, where the larger number has the edge's bit.
        last = leading - small_leading + bits - 1
        zeros = [last - deep - pair.ties + near - 1 for near in (0, 1, 2, -1)]
        deepest = sorted({key[0] for key in of_bits}, reverse=True)[:2]
        for key in dict.fromkeys((count, odd) for count in (*zeros, *deepest) for odd in (0, 1)):
            for sig, factors in of_bits.get(key, ()):
                smaller = ExactNumber(0, sig, small_leading - bits + 1, factors)
                if smaller.exp >= pair.of_smaller.low:
                    yield from ((number, smaller) for number in larger)


def _lengths(pair: RoundedPair, distance: int) -> list[int]:
    """Bits of the smaller number: one, where that is far enough below; as many as it can have, and fewer."""
    most, least = pair.of_smaller.bits, max(1, pair.precision + pair.ties - distance)
    alone = distance >= pair.precision + pair.ties
    lengths = [1] if alone else []
    lengths += [most - (distance % 4), most, (most + least) // 2, least + 1, least, most - 1, most - 2, 1]
    return [bits for bits in dict.fromkeys(lengths) if 1 <= bits <= most]
