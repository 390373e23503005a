"""Directed cases of the alignment: distances, lanes, window edges and the bits that are lost."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.palette import Product

SIGNS = (0, 1)
SIGN_PAIRS = tuple(cross(SIGNS, SIGNS))


def word(high: int, low: int) -> str:
    """Name of the signs of a large and a small term."""
    return f"{'neg-' if high else ''}{'sub' if high != low else 'add'}"


def distance(bench: Bench) -> None:
    """Every distance between two products, added and subtracted, with bits below the window and without."""
    for d in bench.distances:
        for lost, signs in cross((False, True), SIGN_PAIRS):
            pair = bench.pair(d, signs, lost)
            if pair:
                bench.one(f"distance/d{d:02}-{'lost' if lost else 'exact'}-{word(*signs)}", pair)


def lane(bench: Bench) -> None:
    """Each lane once as the maximum, and once shifted: against another lane, and against the addend."""
    apart = [d for d in bench.distances if 0 < d <= bench.window] if bench.lanes > 1 else []
    for i in range(bench.lanes):
        other = (i + 1) % bench.lanes
        for sign in SIGNS:
            pair = bench.pair(apart[i % len(apart)], (sign, i % 2)) if apart else None
            if pair:
                bench.one(f"lane/max{i:02}-shift{other:02}-{'neg' if sign else 'pos'}", pair, lane=i)
            for above in (False, True):
                _lane_and_addend(bench, i, sign, above)


def _lane_and_addend(bench: Bench, i: int, sign: int, above: bool) -> None:
    """A product in lane i with an addend one to four places above or below it."""
    for one in bench.sign_of(sign):
        d = 1 + i % 4
        added = bench.addend(i % 2, 1, one.exp + d if above else one.exp - d)
        if added:
            name = f"lane/{'shift' if above else 'max'}{i:02}-addend-{'neg' if sign else 'pos'}"
            bench.one(name, (one,), added, lane=i)
            return


def fields(places: int) -> dict[str, int]:
    """Patterns of bits that are lost, by name; the named ones that differ from those before."""
    half, ones = 1 << places - 1, (1 << places) - 1
    patterns = {"zero": 0, "half": half, "ones": ones, "one": 1, "below": half - 1, "above": half + 1}
    seen: dict[int, str] = {}
    for name, value in patterns.items():
        if 0 <= value <= ones:
            seen.setdefault(value, name)
    return {name: value for value, name in seen.items()}


def lost(bench: Bench) -> None:
    """Each field of lost bits of a straddling product, under a product and under the addend, in all signs."""
    for places in range(1, bench.palette.fraction_bits + 4):
        d = bench.window - bench.palette.fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS):
            pair = bench.pair(d, signs, field=value) if d >= 0 else None
            if pair:
                bench.one(f"lost/s{places:02}-{name}-{word(*signs)}", pair)
            _lost_under_addend(bench, d, f"lost/under-addend-s{places:02}-{name}-{word(*signs)}", signs, value)


def _lost_under_addend(bench: Bench, d: int, name: str, signs: tuple[int, int], value: int) -> None:
    below = bench.lost_bits(d)
    for one in bench.sign_of(signs[1]):
        if one.sig & below == value:
            added = bench.addend(signs[0], 1, one.exp + d) if d >= 0 else None
            if added:
                bench.one(name, (one,), added)
                return


def lost_addend(bench: Bench) -> None:
    """Each field of lost bits of the addend below a product, added and subtracted."""
    fraction_bits = bench.addend_bits - 1
    for places in range(1, fraction_bits + 4) if bench.addend_bits else ():
        d = bench.window - fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS):
            if d < 0 or (places > fraction_bits + 1 and value) or signs[0] != places % 2:
                continue
            sig = 1 << fraction_bits | value if places <= fraction_bits else value
            _addend_under(bench, d, f"lost/addend-s{places:02}-{name}-{word(*signs)}", signs, sig or 1 << fraction_bits)


def _addend_under(bench: Bench, d: int, name: str, signs: tuple[int, int], sig: int) -> None:
    """An addend of significand `sig` at a distance below a product."""
    unit = bench.addend_bits - 1
    for exp in bench.tries:
        high = bench.palette.of(signs[0], exp)
        added = bench.addend(signs[1], sig, exp - d - unit) if high else None
        if added and added.term.exp == exp - d:
            bench.one(name, (bench.rng.choice(high),), added)
            return


def many(bench: Bench) -> None:
    """One, two and more lanes that lose bits at once, up to all but one."""
    best = _losing_most(bench)
    if best is None:
        return
    high, low = best
    for n in sorted({1, 2, 3, bench.lanes // 2, bench.lanes - 1} & set(range(1, bench.lanes))):
        bench.one(f"lost/lanes{n:02}", (high, *[low] * n))
        bench.one(f"lost/lanes{n:02}-alternating", (high, *[low, _negative(bench, low)] * (n // 2), *[low] * (n % 2)))
        bench.one(f"lost/lanes{n:02}-neg", (high, *[_negative(bench, low)] * n))


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


def _negative(bench: Bench, one: Product) -> Product:
    return bench.palette.find(1 - one.sign, one.exp, one.sig) or one


def edge(bench: Bench) -> None:
    """A single bit at the last place that is kept, at the first that is lost, and at the places next to them."""
    for place in (-3, -2, -1, 0, 1, 2):
        name = {0: "last-kept", -1: "first-lost"}.get(place, f"place{place:+}")
        for signs in SIGN_PAIRS:
            _bit_under_product(bench, place, f"edge/{name}-{word(*signs)}", signs)
            _bit_under_addend(bench, place, f"edge/{name}-under-addend-{word(*signs)}", signs)
            _addend_bit(bench, place, f"edge/{name}-of-addend-{word(*signs)}", signs)


def _bit_under_product(bench: Bench, place: int, name: str, signs: tuple[int, int]) -> None:
    for exp in bench.tries:
        high = bench.palette.of(signs[0], exp)
        low = [one for one in bench.palette.powers(signs[1], exp - bench.window + place) if one.exp <= exp]
        if high and low and bench.one(name, (bench.rng.choice(high), bench.rng.choice(low))):
            return


def _bit_under_addend(bench: Bench, place: int, name: str, signs: tuple[int, int]) -> None:
    for exp in reversed(bench.tries):
        for low in bench.palette.powers(signs[1], exp):
            top = exp + bench.window - place
            added = bench.addend(signs[0], 1, top) if low.exp <= top else None
            if added and bench.one(name, (low,), added):
                return


def _addend_bit(bench: Bench, place: int, name: str, signs: tuple[int, int]) -> None:
    for exp in bench.tries:
        high = bench.palette.of(signs[0], exp)
        added = bench.addend(signs[1], 1, exp - bench.window + place) if high else None
        if added and bench.one(name, (bench.rng.choice(high),), added):
            return
