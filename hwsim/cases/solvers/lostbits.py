"""Solves for bits that are cut off below the window: every pattern of them, single bits, and many lanes at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN_PAIRS, SIGNS, Bench, signs_of
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostbits import MOST_DEPTH, kind
from hwsim.cases.landmarks import distinct, exact_code
from hwsim.cases.palette import Product
from hwsim.cases.solver import Pair, Solution
from hwsim.formats import FloatFormat

Solutions = Iterator[Solution | None]
SignPair = tuple[int, int]


def fields(places: int) -> dict[str, int]:
    """Patterns of bits that are lost, by name; the named ones that differ from those before."""
    half, ones = 1 << places - 1, (1 << places) - 1
    patterns = {"zero": 0, "half": half, "ones": ones, "one": 1, "below": half - 1, "above": half + 1}
    return distinct({name: value for name, value in patterns.items() if 0 <= value <= ones})


def of_products(bench: Bench) -> None:
    """Each field of lost bits of a straddling product, under a product and under the addend, in all signs."""
    for places in range(1, bench.palette.fraction_bits + 4):
        d = bench.window - bench.palette.fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS if d >= 0 else ()):
            pair = bench.pair(d, signs, field=value)
            if pair:
                bench.add_beat(f"lost/s{places:02}-{name}-{signs_of(*signs)}", pair)
            under = (low for low in bench.sign_of(signs[1]) if low.sig & bench.lost_bits(d) == value)
            bench.add_first(
                f"lost/under-addend-s{places:02}-{name}-{signs_of(*signs)}",
                (bench.with_addend((low,), signs[0], 1, low.exp + d) for low in under),
            )


def of_the_addend(bench: Bench) -> None:
    """Each field of lost bits of the addend below a product, added and subtracted."""
    fraction_bits = bench.addend_bits - 1
    for places in range(1, fraction_bits + 4) if bench.addend_bits else ():
        d = bench.window - fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS):
            if d < 0 or (places > fraction_bits + 1 and value) or signs[0] != places % 2:
                continue
            sig = 1 << fraction_bits | value if places <= fraction_bits else value
            sig = sig or 1 << fraction_bits
            bench.add_first(f"lost/addend-s{places:02}-{name}-{signs_of(*signs)}", _addend_under(bench, d, signs, sig))


def _addend_under(bench: Bench, d: int, signs: SignPair, sig: int) -> Solutions:
    """An addend of significand `sig` at a distance below a product."""
    for exp, high in bench.by_exponent(signs[0]):
        solution = bench.with_addend((bench.rng.choice(high),), signs[1], sig, exp - d - bench.addend_bits + 1)
        if solution and solution.addend and solution.addend.term.exp == exp - d:
            yield solution


def of_many_lanes(bench: Bench) -> None:
    """One, two and more lanes that lose bits at once, up to all but one."""
    best = _losing_most(bench)
    if best is None:
        return
    high, low = best
    back = bench.palette.opposite(low) or low
    for n in sorted({1, 2, 3, bench.lanes // 2, bench.lanes - 1} & set(range(1, bench.lanes))):
        bench.add_beat(f"lost/lanes{n:02}", (high, *[low] * n))
        bench.add_beat(f"lost/lanes{n:02}-alternating", (high, *[low, back] * (n // 2), *[low] * (n % 2)))
        bench.add_beat(f"lost/lanes{n:02}-neg", (high, *[back] * n))


def _losing_most(bench: Bench) -> tuple[Product, Product] | None:
    """A product, and one below it that loses as much of a window place as can be."""
    best, most = None, 0.0
    for d in bench.distances:
        places = bench.lost_place(d)
        for exp in bench.tries[:8] if 0 < places <= bench.palette.fraction_bits + 2 else ():
            high = bench.palette.of(0, exp)
            for low in bench.palette.of(0, exp - d) if high else ():
                part = (low.sig & bench.lost_bits(d)) / (1 << places)
                if part > most:
                    best, most = (high[-1], low), part
    return best


def at_the_edge(bench: Bench) -> None:
    """A single bit at the last place that is kept, at the first that is lost, and at the places next to them."""
    for place, signs in cross((-3, -2, -1, 0, 1, 2), SIGN_PAIRS):
        name = {0: "last-kept", -1: "first-lost"}.get(place, f"place{place:+}")
        bench.add_first(f"edge/{name}-{signs_of(*signs)}", _bit_under_product(bench, place, signs))
        bench.add_first(f"edge/{name}-under-addend-{signs_of(*signs)}", _bit_under_addend(bench, place, signs))
        bench.add_first(f"edge/{name}-of-addend-{signs_of(*signs)}", _addend_bit(bench, place, signs))


def _bit_under_product(bench: Bench, place: int, signs: SignPair) -> Solutions:
    for exp, high in bench.by_exponent(signs[0]):
        low = [one for one in bench.palette.powers(signs[1], exp - bench.window + place) if one.exp <= exp]
        if low:
            yield Solution((bench.rng.choice(high), bench.rng.choice(low)))


def _bit_under_addend(bench: Bench, place: int, signs: SignPair) -> Solutions:
    for exp in reversed(bench.tries):
        top = exp + bench.window - place
        for low in bench.palette.powers(signs[1], exp):
            if low.exp <= top:
                yield bench.with_addend((low,), signs[0], 1, top)


def _addend_bit(bench: Bench, place: int, signs: SignPair) -> Solutions:
    for exp, high in bench.by_exponent(signs[0]):
        yield bench.with_addend((bench.rng.choice(high),), signs[1], 1, exp - bench.window + place)


def single_bits(bench: Bench, facts: UnitFacts) -> None:
    """One product, or the addend, that loses one bit alone, below products of several sums."""
    bits = bench.addend_bits
    for d, sign in cross(range(bench.window + MOST_DEPTH + 1), SIGNS):
        places = bench.lost_place(d)
        for depth in range(1, min(places, MOST_DEPTH) + 1) if d <= facts.farthest else ():
            pair = bench.pair(d, (sign, d % 2), field=1 << places - depth)
            if pair:
                products = bench.palette.of(sign, pair[0].exp)
                for index in sorted({0, len(products) // 3, len(products) // 2, len(products) - 1}):
                    bench.add_beat(f"G4/single-d{d:02}-depth{depth:02}-{sign}-{index}", (products[index], pair[1]))
    for depth, exp, sign in cross(range(1, bits), bench.tries[:8], SIGNS):
        high = bench.palette.of(sign, exp)
        for word, sig in (("ends", 1 << bits - 1 | 1), ("alone", 1)):
            added = bench.addend(sign, sig, exp - bench.window - depth) if high else None
            for index in sorted({0, len(high) // 2}) if added and added.term.exp <= exp else ():
                name = f"G4/addend-depth{depth:02}-{word}-{exp}-{sign}-{index}"
                bench.add_beat(name, high[index : index + 1], added)


def under_addend(bench: Bench, facts: UnitFacts) -> None:
    """Each kind of lost field of one product below an addend; and 1, 2, ... all lanes that lose it."""
    counts = sorted({1, 2, 3, bench.lanes // 2, bench.lanes - 1, bench.lanes} - {0})
    for places, sign in cross(range(1, facts.width), SIGNS if bench.addend_bits else ()):
        d, kinds = places + facts.window - facts.bits, set[str]()
        for one in bench.sign_of(sign) if d >= 0 else ():
            field = one.sig & ((1 << places) - 1)
            word = kind(field, places)
            added = bench.addend(0, 1, one.exp + d) if word not in kinds else None
            if added is None or added.term.exp != one.exp + d:
                continue
            kinds.add(word)
            for n in counts if field else (1,):
                name = f"G4/under-addend-{places}-{word.replace(' ', '-')}-{sign}-{n:02}"
                bench.add_beat(name, (one,) * n, added)


def many_alike(bench: Bench, facts: UnitFacts) -> None:
    """Numbers of lanes that lose the same field below a product, and the least product far below all others."""
    counts = sorted({1, 2, 3, bench.lanes // 2, bench.lanes // 2 + 1, bench.lanes - 1} & set(range(1, bench.lanes)))
    for d in bench.distances:
        places = bench.lost_place(d)
        patterns = sorted({1, 1 << places - 1, (1 << places) - 1}) if 0 < places <= facts.bits + 3 else []
        for n, field in cross(counts, patterns):
            pair = bench.pair(d, (0, n % 2), field=field)
            if pair:
                bench.add_beat(f"G4/d{d:02}-{n:02}-lose-{field:x}", (pair[0], *[pair[1]] * n))
    exps = bench.palette.exps
    least, most = bench.palette.of(0, exps[0])[0], bench.palette.of(0, exps[-1])[-1]
    bench.add_beat("G4/deepest", (most, least))
    far = bench.with_addend((least,), 0, 1, exps[0] + bench.window + facts.width * 2)
    bench.add_solution("G4/deepest-addend", far)


def last_bits(bench: Bench, facts: UnitFacts) -> None:
    """Products whose lost bits are 0...01 or all ones, for each number of them that straddles, below a product.

    They are made from significands: of wide formats the palette holds a few products only.
    """
    a, b = bench.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or bench.lanes < 2:
        return
    for places in range(2, facts.width):
        d = places + facts.window - facts.bits
        for sign, field in cross(SIGNS, (1, (1 << places) - 1)):
            pair = _ending(a, b, places, field, sign)
            if pair and d >= 0:
                high = bench.palette.of(0, bench.definition.product(*pair, bench.neutral).exp + d)[:1]
                row = [*((one.a, one.b) for one in high), pair]
                bench.add_beat(f"G4/last-{field:x}-{places:02}-{sign}", row[: bench.lanes])


def _ending(a: FloatFormat, b: FloatFormat, places: int, field: int, sign: int) -> Pair | None:
    """Two factors whose significands' product is `field` modulo 2^places. field: odd."""
    for x in range(1, 1 << a.precision, 2):
        y = pow(x, -1, 1 << places) * field % (1 << places)
        if y < 1 << b.precision:
            # A significand without its high bit is a subnormal's.
            exps = [0 if sig >> fmt.fraction_bits else fmt.emin for fmt, sig in ((a, x), (b, y))]
            codes = (
                exact_code(a, sign, x, exps[0] - a.fraction_bits),
                exact_code(b, 0, y, exps[1] - b.fraction_bits),
            )
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
    return None
