"""G2: distances between terms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN_PAIRS, SIGNS, Bench, signs_of
from hwsim.cases.bins.declare import Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.cases.landmarks import negate, numbers
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Solution

WORDS = ("add", "subtract")
BITS = ("exact", "bits lost")


def declare_distances(facts: UnitFacts, out: Declared) -> None:
    """Every distance between products, added and subtracted, exact and not; the addend above and below them."""
    _products(facts, out)
    if facts.addends:
        _addend(facts, out)


def _unreachable(facts: UnitFacts, d: int, lost: int) -> str | None:
    """Why no product is d below another with bits lost, or with none."""
    apart = facts.apart(d)
    if apart is not None or (lost and facts.none_lost(d)):
        return apart or facts.none_lost(d)
    places = facts.below(d)
    if places <= 0:
        return None
    if not lost and places >= facts.width:
        return f"at {d} below all {facts.width} bits of a product are below the window, and it is not zero"
    sigs = facts.sigs(d, False)
    if not lost and facts.never_ends(d, places, "zero"):
        return f"no two significands of {facts.names} have a product that ends in {places} zeros: all are enumerated"
    if sigs is None or any(bool(sig & ((1 << places) - 1)) == bool(lost) for sig in sigs):
        return None
    kind = "has a bit below the window" if lost else "ends above the window's last place"
    return f"no product of {facts.names} with another {d} above it {kind}: all are enumerated"


def _products(facts: UnitFacts, out: Declared) -> None:
    at = {
        (d, sub, lost): out.bin("G2", f"d={d}, {WORDS[sub]}, {BITS[lost]}", _unreachable(facts, d, lost))
        for d in facts.distances
        for sub in (0, 1)
        for lost in (0, 1)
    }
    last = facts.distances[-1]
    beyond = facts.apart(last + 1) if facts.farthest <= last else None
    for sub in (0, 1):
        index = out.bin("G2", f"d above {last}, {WORDS[sub]}", beyond)
        at |= {(last + 1, sub, lost): index for lost in (0, 1)}

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        top = sampled.top
        if top is None or not sampled.holders:
            return
        first = sampled.holders[0]
        sign = sampled.group.products[first].sign
        for lane, term, _, field in sampled.terms:
            if lane != first:
                d = top - term.exp
                hits.add(at[d if d <= last else last + 1, term.sign ^ sign, 1 if field else 0])


def _addend(facts: UnitFacts, out: Declared) -> None:
    """Distances from the largest product's exponent to the addend's, to one past where a shifter saturates."""
    most = facts.window + 3
    at: dict[tuple[int, int], int] = {}
    for d in range(-most, most + 1):
        word = "level with" if d == 0 else f"{abs(d)}{' or more' if abs(d) == most else ''} "
        side = "" if d == 0 else "above" if d > 0 else "below"
        why = _addend_range(facts, d)
        for sub in (0, 1):
            at[d, sub] = out.bin("G2", f"addend {word}{side} the largest product, {WORDS[sub]}", why)

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.addend is None or not sampled.terms:
            return
        one = sampled.addend[1]
        if sampled.holders:
            first = sampled.group.products[sampled.holders[0]]
        else:
            first = max((term for _, term, _, _ in sampled.terms), key=lambda term: term.exp)
        d = min(max(one.exp - first.exp, -most), most)
        hits.add(at[d, one.sign ^ first.sign])


def _addend_range(facts: UnitFacts, d: int) -> str | None:
    """Why no addend stands d above a product, or None. Beyond the largest d, as far as d and farther."""
    if facts.addend_exps is None:
        return None
    (low, high), (least, most) = facts.addend_exps, facts.product_exps
    if low - most <= d <= high - least:
        return None
    return f"addends have exponents {low} to {high}, products of {facts.names} {least} to {most}"


def between_products(bench: Bench) -> None:
    """Every distance between two products, added and subtracted, with bits below the window and without."""
    for d in bench.distances:
        for lost, signs in cross((False, True), SIGN_PAIRS):
            pair = bench.pair(d, signs, lost)
            if pair:
                bench.add_beat(f"distance/d{d:02}-{'lost' if lost else 'exact'}-{signs_of(*signs)}", pair)


def to_the_addend(bench: Bench) -> None:
    """The addend at every distance above and below a product, with a fraction of all ones, of zero, and of one."""
    if not bench.addend_bits:
        return
    last = bench.addend_bits - 1
    fractions = {"ones": (2 << last) - 1, "zero": 1 << last, "one": 1 << last | 1}
    for d, above in cross(range(bench.window + 5), (True, False)):
        for (word, sig), signs in cross(fractions.items(), SIGN_PAIRS):
            if (word != "ones" and signs[0]) or not (d or above):
                continue
            name = f"addend/{'above' if above else 'below'}{d:02}-{word}-{signs_of(*signs)}"
            bench.add_first(name, _at_distance(bench, d if above else -d, signs if above else signs[::-1], sig))


def _at_distance(bench: Bench, d: int, signs: tuple[int, int], sig: int) -> Iterator[Solution]:
    """An addend d places above a product. signs: of the addend and of the product."""
    for exp in bench.shuffled(signs[1]):
        products = (bench.rng.choice(bench.palette.of(signs[1], exp)),)
        solution = bench.with_addend(products, signs[0], sig, exp + d - (bench.addend_bits - 1))
        if solution and solution.addend and solution.addend.term.exp == exp + d:
            yield solution


def extreme_addends(bench: Bench) -> None:
    """Subnormal, smallest normal, largest and other landmark addends, alone and beside small and large products."""
    fmt = bench.addend_format
    if fmt is None:
        return
    exps = bench.palette.exps
    beside: dict[str, tuple[Product, ...]] = {"alone": ()}
    for sign, word in enumerate(("", "-neg")):
        beside[f"least{word}"] = bench.palette.of(sign, exps[0])[:1]
        beside[f"largest{word}"] = bench.palette.of(sign, exps[-1])[-1:]
    for (name, code), (company, products), sign in cross(numbers(fmt).items(), beside.items(), SIGNS):
        signed = negate(fmt, code) if sign else code
        term = None if signed is None else bench.definition.addend(signed)
        if signed is not None and term is not None:
            bench.add_beat(f"extreme/{'neg-' if sign else ''}{name}-{company}", products, Addend(term, signed))


DISTANCES = Family(
    "distances",
    groups={"G2": "alignment distance"},
    declare=declare_distances,
    directed=(between_products, to_the_addend, extreme_addends),
)
