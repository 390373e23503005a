"""Directed cases in which the last bit of the smaller term of an addition alone decides how the sum is rounded.

They are constructed: the significands are odd numbers whose bits are known, the exponents follow from the distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from itertools import product as cross
from typing import NamedTuple

from hwsim.cases.bins.adders import ADDEND, PARTIAL, PRODUCT, REGISTER, REST, RoundedPair, adders
from hwsim.cases.bins.meeting import WIDE, ExactNumber, laid
from hwsim.cases.bins.smaller import decisions, edge_of
from hwsim.cases.case import Case, dot
from hwsim.cases.drawing import Stream
from hwsim.cases.rows import Rows
from hwsim.formats import FloatFormat
from hwsim.model.definition import definition_of
from hwsim.spec import SequentialSum, Unit
from hwsim.spec.keys import Rounding

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
    """A case for every bin of `hwsim.cases.bins.smaller` that some operands hit, as far as they are found."""
    for one in adders(rows.unit):
        _cases(rows, one)


def _cases(rows: Rows, one: RoundedPair) -> None:
    name = f"decide/{one.place}-{one.smaller}-below-{one.larger}".replace(" ", "-")
    depths = set(one.depths)
    for distance in range(one.last + 1):
        near = distance <= one.near
        # Far off, one of those in which a smaller term that is dropped shows.
        for adds, odd in cross((True, False), (0, 1)) if near else _telling(one, distance):
            if near and one.unreachable(distance, adds, odd):
                continue
            word = f"{name}-{distance:02}-{'add' if adds else 'sub'}-{odd}"
            every = [_numbers(rows.unit, one, distance, adds, odd, _lengths(one, distance), few) for few in FEW]
            numbers = chain.from_iterable(every)
            if (depth := _first(rows, one, word, numbers, distance + 2 * adds + odd)) is not None:
                depths.discard(depth)
                if not near:
                    break
    for depth in sorted(depths):
        for distance in range(min(depth, one.near), max(0, depth - one.of_smaller.bits), -1):
            some = [
                _numbers(rows.unit, one, distance, adds, odd, [depth - distance + 1], FEW[0])
                for adds, odd in cross((bool(depth % 2), not depth % 2), (0, 1))
            ]
            numbers = chain.from_iterable(some)
            if _first(rows, one, f"{name}-last-{depth:02}", numbers, depth) is not None:
                break


def _telling(one: RoundedPair, distance: int) -> list[tuple[bool, int]]:
    """Whether the smaller term is added, and parities: of which the first that there is shows that it is dropped."""
    adds, odd = TELLING[one.rounding][distance % 2]
    return [(adds, odd), *([] if one.rounding in ("rne", "rto") else [(adds, 1 - odd)])]


def _first(
    rows: Rows, one: RoundedPair, name: str, numbers: Iterator[tuple[ExactNumber, ExactNumber]], turn: int
) -> int | None:
    """Add a case of the first numbers that the unit takes: the depth of the smaller one's last bit, or None."""
    for larger, smaller in numbers:
        operands = laid(rows, one, larger, smaller, turn)
        if operands is None or not rows.add(name, *operands):
            continue
        depth = larger.leading - smaller.exp
        if isinstance(rows.unit.sum, SequentialSum) or _decides(rows.unit, one, rows.cases[name], depth):
            return depth
        del rows.cases[name]
    return None


def _decides(unit: Unit, one: RoundedPair, case: Case, depth: int) -> bool:
    """Whether a case does what it is for: a window, or a part of a tree, may make something else of its terms."""
    found = decisions(dot(definition_of(unit), case))
    return any(each[:3] == (one.place, one.larger, one.smaller) and each.depth == depth for each in found)


# Significands, by what is known of their bits.


@lru_cache(maxsize=64)
def odd_products(bits_a: int, bits_b: int) -> dict[int, list[tuple[int, int, int]]]:
    """Products of odd significands of so many bits at most, by their bits: (product, a's, b's), some of each."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    seen = set[int]()

    def note(x: int, y: int) -> None:
        both = x * y
        if both not in seen:
            seen.add(both)
            found.setdefault(both.bit_length(), []).append((both, x, y))

    some_a, some_b = (_odd(bits) for bits in (bits_a, bits_b))
    for x, y in cross(some_a, some_b):
        note(x, y)
    # With as many zeros between the first bits and the last one as there can be.
    every = range(1, 1 << bits_a, 2) if bits_a <= WIDE else some_a
    for x, places in cross(every, range(2, bits_a + bits_b)):
        y = pow(x, -1, 1 << places)
        if y < 1 << bits_b:
            note(x, y)
    return found


def _odd(bits: int) -> list[int]:
    """Some odd numbers of so many bits at most."""
    whole, rng = 1 << bits, Stream(0, "odd", bits)
    some = {1} | {(1 << place) + one for place in range(1, bits) for one in (1, -1, 3)} | {whole - 1, whole - 3}
    some |= {whole - (1 << place) - 1 for place in range(1, bits)}
    some |= {rng.randrange(whole) | 1 for _ in range(ODD)}
    return sorted(one for one in some if 0 < one < whole and one % 2)


Significand = tuple[int, tuple[int, int] | None]


class TermDigits(NamedTuple):
    """What the significands of a term are: products of two of so many bits, or also any, of `most` bits at most.

    few: how many of a kind are tried.
    """

    factors: tuple[int, int] | None
    any: bool
    most: int
    few: int


def _digits_of(unit: Unit, one: RoundedPair, role: str, few: int) -> TermDigits:
    most = one.of_larger.bits if role == one.larger else one.of_smaller.bits
    scaled = role == PARTIAL and one.place == "promotion" and unit.scale is not None and unit.scale.at == "promotion"
    factors: tuple[int, int] | None = unit.operands.a.sig_bits, unit.operands.b.sig_bits
    if scaled:
        factors = unit.result.format.sig_bits, one.format.sig_bits
    elif role in (ADDEND, REGISTER, REST) and unit.operands.addend is not None and one.smaller != ADDEND:
        factors = None
    return TermDigits(factors, not scaled and not role.endswith(PRODUCT), most, few)


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
            every += [(one << zeros + 1 | 1, None) for one in some if one < 2 * high]
    found: dict[tuple[int, int], list[Significand]] = {}
    for each in every:
        place = (each[0] - 1 & -(each[0] - 1)).bit_length() - 1
        held = found.setdefault((place - 1, each[0] >> place + 1 & 1), [])
        if len(held) < digits.few:
            held.append(each)
    return {key: tuple(held) for key, held in found.items()}


@lru_cache(maxsize=1 << 12)
def _few(digits: TermDigits, bits: int) -> list[Significand]:
    """A few odd significands of exactly so many bits: of both parities of the bit above the last one, and all ones."""
    every = [each for some in _significands(digits, bits).values() for each in some]
    ones = (1 << bits) - 1
    some = [[each for each in every if each[0] >> 1 & 1 == odd and each[0] != ones] for odd in (0, 1)]
    high = 1 << max(bits - 1, 0)
    # Two digits of either sign at most come first: that many products are a number of them.
    short = [each for each in every if each[0] in (high | 1, ones)]
    return list(dict.fromkeys([*short, *some[0][: digits.few], *some[1][: digits.few], *some[0][-1:], *some[1][-1:]]))


def _numbers(
    unit: Unit, one: RoundedPair, distance: int, adds: bool, odd: int, lengths: Sequence[int], few: int
) -> Iterator[tuple[ExactNumber, ExactNumber]]:
    """Pairs of a larger and a smaller number that hit a bin. lengths: of the smaller one, in bits."""
    p = one.precision
    low = max(one.of_smaller.low + distance, one.of_larger.least)
    top = min(one.top, one.of_smaller.top + distance)
    normal = _spread(max(low, one.format.emin + 2), top, distance) if isinstance(one.format, FloatFormat) else []
    small = [one.format.quantum_exp + place for place in range(1, min(2 * p, 24))] if one.keeps else []
    for leading in [*normal, *(place for place in small if low <= place <= top)]:
        # Places of the sum's last bit, and of its edge, below the larger term's leading one.
        last = max(leading - p + 1, one.format.quantum_exp)
        deep = leading - last
        tried = 0
        for larger, smaller in islice(_pairs(unit, one, leading - distance, deep, leading, lengths, few), MOST_PAIRS):
            edge = min(larger.exp, smaller.exp)
            signs = (1, 1 if adds else -1)
            sizes = [sign * (x.sig << x.exp - edge) for sign, x in zip(signs, (larger, smaller), strict=True)]
            if sizes[0] < abs(sizes[1]):
                continue
            if edge_of(one.format, one.ties, one.keeps, sizes[0], sizes[1], edge) == odd:
                turned = (distance >> 1 ^ odd) & 1
                if one.rounding in ("ru", "rd") and distance > one.near:
                    turned = int(adds == (one.rounding == "rd"))  # what is dropped would have changed the result
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
    unit: Unit, one: RoundedPair, at: int, deep: int, leading: int, lengths: Sequence[int], few: int
) -> Iterator[tuple[ExactNumber, ExactNumber]]:
    """Larger and smaller numbers whose bits may meet at an edge, which is about `deep` places below `leading`.

    leading, at: the exponents of both numbers' leading ones.
    """
    larger, of_larger = list[ExactNumber](), _digits_of(unit, one, one.larger, few)
    for bits in dict.fromkeys((deep + 1 + one.ties, 1, min(deep + 1, of_larger.most), deep, 2, deep + 2, 3)):
        if leading - bits + 1 >= one.of_larger.low:
            larger += [ExactNumber(0, sig, leading - bits + 1, factors) for sig, factors in _few(of_larger, bits)]
    for bits in lengths:
        of_bits = _significands(_digits_of(unit, one, one.smaller, few), bits)
        # The bits above the zeros end at the edge, or above it, where the larger number has the edge's bit.
        last = leading - at + bits - 1
        zeros = [last - deep - one.ties + near - 1 for near in (0, 1, 2, -1)]
        deepest = sorted({key[0] for key in of_bits}, reverse=True)[:2]
        for key in dict.fromkeys((count, odd) for count in (*zeros, *deepest) for odd in (0, 1)):
            for sig, factors in of_bits.get(key, ()):
                smaller = ExactNumber(0, sig, at - bits + 1, factors)
                if smaller.exp >= one.of_smaller.low:
                    yield from ((each, smaller) for each in larger)


def _lengths(one: RoundedPair, distance: int) -> list[int]:
    """Bits of the smaller number: one, where that is far enough below; as many as it can have, and fewer."""
    most, least = one.of_smaller.bits, max(1, one.precision + one.ties - distance)
    alone = distance >= one.precision + one.ties
    found = [1] if alone else []
    found += [most - (distance % 4), most, (most + least) // 2, least + 1, least, most - 1, most - 2, 1]
    return [bits for bits in dict.fromkeys(found) if 1 <= bits <= most]
