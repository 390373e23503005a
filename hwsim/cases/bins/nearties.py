"""Numbers beside a place at which a rounding changes, so near that a term far below must not take them there.

Significands are products of two: multiplied by the inverse of one, modulo a power of two, the low bits that are asked
for give the other. Exponents follow from the distance of the terms.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product as cross

from hwsim.cases.bins.adder_rows import ExactNumber, Significand, laid, number_code, powers_for, product_codes
from hwsim.cases.bins.adders import (
    PARTIAL,
    PRODUCT,
    REST,
    TIES,
    RoundedPair,
    every_adder,
    product_reach,
    scaled_factors,
)
from hwsim.cases.bins.outcomes import RoundingPlace, roundings
from hwsim.cases.case import Rows, Scales
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

FACTORS = 1 << 10  # significands of one factor that are tried
FEW = 4  # products of them that are kept
LEAST = 4  # of the least products, that are powers of two
TOPS = 6  # exponents of a larger term that are tried, those nearest to that of 1
Factors = tuple[int, int]


def near_rows(rows: Rows) -> None:
    """Cases for every rounded addition of a unit, and for its products alone."""
    for pair in every_adder(rows.unit):
        if pair.larger != REST and isinstance(pair.format, FloatFormat):
            _beside_ties(rows, pair, pair.format)
            _below_powers(rows, pair)
            _sticky_alone(rows, pair, pair.format)
            _after_carries(rows, pair)
            _below_normal(rows, pair, pair.format)
    for place in roundings(rows.unit).values():
        if place.name in ("addition", "product", "result"):
            _alone(rows, place)


def _beside_ties(rows: Rows, pair: RoundedPair, fmt: FloatFormat) -> None:
    """A larger term that is one last bit off a place of the rounding, and a smaller one that would take it there.

    It must not, however far below it is: not where a shifter stops, and not where a width ends.
    """
    for bits in (pair.of_larger.bits, pair.of_larger.bits - 1):
        places = bits - pair.precision
        if places < 2:
            continue
        half = 1 << places - 1 if pair.ties else 0
        for (off, adds), odd in cross(((-1, True), (1, False)), (0, 1)):
            low = (half + off) % (1 << places)
            sigs = significands(_factors(rows.unit, pair), bits, low, places, odd)
            for distance in _far(pair, bits):
                name = f"near/{pair.place}-{pair.larger}-{bits}-{distance:02}-{'add' if adds else 'sub'}-{odd}"
                _first(rows, pair, fmt.emin, name.replace(" ", "-"), sigs, distance, adds)


def _factors(unit: Unit, pair: RoundedPair) -> Factors | None:
    """The most bits of two significands that the larger term is the product of; None where it may be any number."""
    if pair.larger.endswith(PRODUCT):
        return unit.operands.a.sig_bits, unit.operands.b.sig_bits
    return scaled_factors(unit) if pair.larger == PARTIAL and pair.place == "promotion" else None


def _far(pair: RoundedPair, bits: int) -> list[int]:
    """Distances beyond all bits of the larger term: next to them, next to powers of two, and the largest."""
    last = min(pair.top - pair.of_smaller.least, 1 << 12)
    powers = [(1 << n) + near for n in range(3, 13) for near in (-1, 0, 1)]
    return sorted({far for far in (bits, bits + 1, bits + 2, *powers, last - 1, last) if bits <= far <= last})


def _first(
    rows: Rows, pair: RoundedPair, emin: int, name: str, sigs: tuple[Significand, ...], distance: int, adds: bool
) -> None:
    """Add a case of the first numbers of these significands and this distance that the unit takes."""
    low, high, sign = max(pair.of_smaller.least + distance, emin + 2), pair.top, distance & 1
    for leading in dict.fromkeys((min(max(0, low), high), low, high)):
        for sig, factors in sigs if low <= leading <= high else ():
            larger = ExactNumber(sign, sig, leading - sig.bit_length() + 1, factors)
            smaller = ExactNumber(sign if adds else 1 - sign, 1, leading - distance, (1, 1))
            operands = laid(rows, pair, larger, smaller, distance)
            if operands is not None and rows.add(name, *operands):
                return


def _below_powers(rows: Rows, pair: RoundedPair) -> None:
    """A power of two less a little more than half a last place of the binade below: all of that term's bits decide."""
    distance = pair.precision + 1
    for bits in (pair.of_smaller.bits, pair.of_smaller.bits - 1) if pair.ties and pair.of_smaller.bits > 3 else ():
        for sign, leading in cross((0, 1), range(pair.top, pair.of_smaller.low + distance, -1)):
            less = ExactNumber(1 - sign, (1 << bits - 1) + 1, leading - distance - bits + 1)
            name = f"near/{pair.place}-{pair.smaller}-below-a-power-{bits}-{sign}".replace(" ", "-")
            if name not in rows.cases:
                operands = laid(rows, pair, ExactNumber(sign, 1, leading, (1, 1)), less, bits)
                if operands is not None:
                    rows.add(name, *operands)


def _sticky_alone(rows: Rows, pair: RoundedPair, fmt: FloatFormat) -> None:
    """A tie, or a number, and one bit alone that decides: at each place below that the smaller term reaches."""
    p, low = pair.precision, max(pair.of_smaller.low, fmt.emin - pair.precision)
    for gap in range(1, pair.of_smaller.bits):
        sig = 1 << gap | 1 if pair.ties else 1
        below = gap + p  # of the larger term's leading one, where the bit stands
        for odd, leading in cross((0, 1), sorted(range(max(low + below, fmt.emin), pair.top + 1), key=abs)[:TOPS]):
            larger = ExactNumber(odd, (1 << p - 1) + (0 if pair.ties else odd), leading - p + 1)
            smaller = ExactNumber(odd, sig, leading - below)
            operands = laid(rows, pair, larger, smaller, gap)
            name = f"alone/{pair.place}-{pair.smaller}-{gap:02}-{odd}".replace(" ", "-")
            if operands is not None and rows.add(name, *operands):
                break


def _after_carries(rows: Rows, pair: RoundedPair) -> None:
    """A sum that reaches the next power of two and ends there at a tie, and one bit alone that decides it."""
    p = pair.precision
    for gap in range(1, pair.of_smaller.bits if pair.ties else 0):
        low = pair.of_smaller.low + gap + p - 2
        for leading in sorted(range(low, pair.top), key=abs)[:TOPS]:
            larger = ExactNumber(gap & 1, (1 << p) - 1, leading - p + 1)
            smaller = ExactNumber(gap & 1, 1 << gap | 1, leading - p + 2 - gap)
            operands = laid(rows, pair, larger, smaller, gap)
            name = f"past/{pair.place}-{pair.smaller}-{gap:02}".replace(" ", "-")
            if operands is not None and rows.add(name, *operands):
                break


def _below_normal(rows: Rows, pair: RoundedPair, fmt: FloatFormat) -> None:
    """A partial sum, times scales, that is subnormal, near a tie or a number, beside one of the least two registers."""
    factors = _factors(rows.unit, pair)
    if factors is None or pair.larger != PARTIAL:
        return
    whole = sum(factors)
    first = whole - pair.precision + 1
    for places, side in cross(range(max(first, 1), min(whole, first + 6)), (-1, 0, 1)):
        best = _tie(*factors, places) if side == 0 else beside(*factors, _target(whole, places, True, 0), side > 0)
        if best is None:
            continue
        for sign, other_sign, twice in cross((0, 1), (0, 1), (0, 1)):  # beside it the last place is even, or odd
            partial = ExactNumber(sign, best[0] * best[1], fmt.quantum_exp - places, best)
            operands = laid(rows, pair, partial, ExactNumber(other_sign, 1, fmt.quantum_exp + twice, (1, 1)), places)
            if operands is not None:
                name = f"near/{pair.place}-below-normal-{places:02}{side:+}-{sign}{other_sign}{'-twice' * twice}"
                rows.add(name, *operands)


def _tie(bits_a: int, bits_b: int, places: int) -> Factors | None:
    """Significands whose product is a tie of so many places; None where one factor alone does not end so early."""
    return ((1 << bits_a - 1) + 1, (1 << bits_b - 1) + (1 << places - 1)) if places < bits_b else None


@lru_cache(maxsize=1 << 10)
def significands(factors: Factors | None, bits: int, low: int, places: int, odd: int) -> tuple[Significand, ...]:
    """A few numbers of so many bits whose lowest `places` are `low`, an odd number, and the next is `odd`.

    factors: the most bits of two significands that they are products of; None for any number, of which there is one.
    """
    if factors is None:
        return ((1 << bits - 1 | odd << places | low, None),)
    if factors[0] > factors[1]:  # the longer one has room for all the bits that are asked for
        return tuple((sig, both and both[::-1]) for sig, both in significands(factors[::-1], bits, low, places, odd))
    kept: list[Significand] = []
    for x in _odd_factors(factors[0]):
        y = low * pow(x, -1, 1 << places) % (1 << places)
        step = 1 << places
        first = max(0, -(-((1 << bits - 1) - x * y) // (x * step)))
        for cofactor in range(y + first * step, min(1 << factors[1], ((1 << bits) - 1) // x + 1), step):
            if x * cofactor >> places & 1 == odd and (x * cofactor).bit_length() == bits:
                kept.append((x * cofactor, (x, cofactor)))
                break
        if len(kept) == FEW:
            break
    return tuple(kept)


def _odd_factors(bits: int) -> range:
    """Odd significands of exactly so many bits, spread over all."""
    half = 1 << bits - 1
    step = max(2, half // FACTORS & ~1)
    return range(half | 1, 2 * half, step)


def _alone(rows: Rows, place: RoundingPlace) -> None:
    """A product alone, as near as can be to a tie and to a number, wherever their places are; of both signs."""
    unit, fmt = rows.unit, place.format
    a, b = unit.operands.a, unit.operands.b
    if not isinstance(fmt, FloatFormat):
        return
    whole, bits = a.sig_bits + b.sig_bits, (a.sig_bits, b.sig_bits)
    for places, tie, off, odd in cross(range(2, whole + 1), (place.rounding in TIES, False), (-1, 0, 1), (0, 1)):
        half = 1 << places - 1 if tie else 0
        exact = [significands(bits, most, (half + off) % (1 << places), places, odd)[:1] for most in (whole, whole - 1)]
        nearest = [beside(*bits, _target(whole, places, tie, odd), off > 0)] if off and not any(exact) else []
        # What is rounded up to a power of two, and what is not.
        carries = [beside(*bits, (1 << whole - 1) - half, off > 0)] if off and odd else []
        every = [*(factors for group in exact for _, factors in group), *nearest, *carries]
        for number, best in enumerate(factors for factors in every if factors is not None):
            sig = best[0] * best[1]
            normal = sig.bit_length() - fmt.precision == places
            exp = 1 - sig.bit_length() if normal else fmt.quantum_exp - places
            name = f"near/{place.name}-alone-{places:02}-{tie:d}-{off:+}-{odd}-{number}"
            _with_addends(rows, name, ExactNumber(0, sig, exp, best), fmt.quantum_exp, not normal and tie)
    low = product_reach(unit).low
    for exp in range(low, low + LEAST):
        _with_addends(rows, f"near/{place.name}-least-{exp - low}", ExactNumber(0, 1, exp, (1, 1)), 0, False)


def _with_addends(rows: Rows, name: str, number: ExactNumber, quantum: int, beside_least: bool) -> None:
    """A product of either sign, alone, and beside the least number of each sign, which takes it to another tie."""
    c = rows.unit.operands.addend
    addends = [number_code(c, sign, 1, quantum) for sign in (0, 1)] if beside_least and c is not None else []
    number, scales = _scaled(rows.unit, number)
    for sign in (0, 1):
        codes = product_codes(rows.unit, number._replace(sign=sign))
        if codes is not None:
            rows.add(f"{name}-{sign}", [[codes]], 0, sign, scales)
            for index, addend in enumerate(addends):
                if addend is not None:
                    rows.add(f"{name}-{sign}-least-{index}", [[codes]], addend, sign, scales)


def _scaled(unit: Unit, number: ExactNumber) -> tuple[ExactNumber, Scales | None]:
    """A number without its scales, and the codes of these, where scales are powers of two; else the number itself."""
    taken = powers_for(unit, number.leading)
    return (number, None) if taken is None else (number._replace(exp=number.exp - taken[0]), taken[1])


def _target(whole: int, places: int, tie: bool, odd: int) -> int:
    """A tie or a number of so many places below its last one, which is odd or even, among the middle products."""
    last = 3 << whole >> places + 3
    return (last - (last & 1) + odd << places) + (1 << places - 1 if tie else 0)


@lru_cache(maxsize=1 << 10)
def beside(bits_a: int, bits_b: int, target: int, above: bool) -> Factors | None:
    """Two significands of exactly so many bits whose product is the nearest above a number, or below; not the number.

    Of factors of more bits than can all be tried it is the nearest of some. None where there is none.
    """
    if bits_a > bits_b:
        best_swapped = beside(bits_b, bits_a, target, above)
        return None if best_swapped is None else best_swapped[::-1]
    low, high = 1 << bits_b - 1, 1 << bits_b
    half = 1 << bits_a - 1
    best: tuple[int, Factors] | None = None
    for x in range(half, 2 * half, max(1, half // FACTORS)):
        y = target // x + 1 if above else -(-target // x) - 1
        if low <= y < high:
            off = abs(x * y - target)
            if best is None or off < best[0]:
                best = off, (x, y)
    return None if best is None else best[1]
