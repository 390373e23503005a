"""G2: distances between terms."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup

WORDS = ("add", "subtract")
BITS = ("exact", "bits lost")


def declare(facts: UnitFacts, out: Declared) -> None:
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
    if not lost and facts.never_ends(places, "zero"):
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

    out.groups.append(sample)


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

    out.groups.append(sample)


def _addend_range(facts: UnitFacts, d: int) -> str | None:
    """Why no addend stands d above a product, or None. Beyond the largest d, as far as d and farther."""
    if facts.addend_exps is None:
        return None
    (low, high), (least, most) = facts.addend_exps, facts.product_exps
    if low - most <= d <= high - least:
        return None
    return f"addends have exponents {low} to {high}, products of {facts.names} {least} to {most}"
