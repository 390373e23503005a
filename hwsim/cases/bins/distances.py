"""G2: distances between terms."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.seen import Seen
from hwsim.cases.bins.shape import Shape

WORDS = ("add", "subtract")
BITS = ("exact", "bits lost")


def declare(shape: Shape, out: Declared) -> None:
    """Every distance between products, added and subtracted, exact and not; the addend above and below them."""
    _products(shape, out)
    if shape.addends:
        _addend(shape, out)


def _unreachable(shape: Shape, d: int, lost: int) -> str | None:
    """Why no product is d below another with bits lost, or with none."""
    apart = shape.apart(d)
    if apart is not None or (lost and shape.none_lost(d)):
        return apart or shape.none_lost(d)
    places = shape.below(d)
    if places <= 0:
        return None
    if not lost and places >= shape.width:
        return f"at {d} below all {shape.width} bits of a product are below the window, and it is not zero"
    sigs = shape.sigs(d, False)
    if not lost and shape.never_ends(places, "zero"):
        return f"no two significands of {shape.names} have a product that ends in {places} zeros: all are enumerated"
    if sigs is None or any(bool(sig & ((1 << places) - 1)) == bool(lost) for sig in sigs):
        return None
    kind = "has a bit below the window" if lost else "ends above the window's last place"
    return f"no product of {shape.names} with another {d} above it {kind}: all are enumerated"


def _products(shape: Shape, out: Declared) -> None:
    at = {
        (d, sub, lost): out.bin("G2", f"d={d}, {WORDS[sub]}, {BITS[lost]}", _unreachable(shape, d, lost))
        for d in shape.distances
        for sub in (0, 1)
        for lost in (0, 1)
    }
    last = shape.distances[-1]
    beyond = shape.apart(last + 1) if shape.farthest <= last else None
    for sub in (0, 1):
        index = out.bin("G2", f"d above {last}, {WORDS[sub]}", beyond)
        at |= {(last + 1, sub, lost): index for lost in (0, 1)}

    def sample(seen: Seen, hits: Hits) -> None:
        if not seen.holders:
            return
        top, first = seen.top, seen.holders[0]
        assert top is not None
        sign = seen.group.products[first].sign
        for lane, term, _, field in seen.terms:
            if lane != first:
                d = top - term.exp
                hits.add(at[d if d <= last else last + 1, term.sign ^ sign, 1 if field else 0])

    out.groups.append(sample)


def _addend(shape: Shape, out: Declared) -> None:
    """Distances from the largest product's exponent to the addend's, to one past where a shifter saturates."""
    most = shape.window + 3
    at: dict[tuple[int, int], int] = {}
    for d in range(-most, most + 1):
        word = "level with" if d == 0 else f"{abs(d)}{' or more' if abs(d) == most else ''} "
        side = "" if d == 0 else "above" if d > 0 else "below"
        why = _addend_range(shape, d)
        for sub in (0, 1):
            at[d, sub] = out.bin("G2", f"addend {word}{side} the largest product, {WORDS[sub]}", why)

    def sample(seen: Seen, hits: Hits) -> None:
        if seen.addend is None or not seen.terms:
            return
        one = seen.addend[1]
        if seen.holders:
            first = seen.group.products[seen.holders[0]]
        else:
            first = max((term for _, term, _, _ in seen.terms), key=lambda term: term.exp)
        d = min(max(one.exp - first.exp, -most), most)
        hits.add(at[d, one.sign ^ first.sign])

    out.groups.append(sample)


def _addend_range(shape: Shape, d: int) -> str | None:
    """Why no addend stands d above a product, or None. Beyond the largest d, as far as d and farther."""
    if shape.addend_exps is None:
        return None
    (low, high), (least, most) = shape.addend_exps, shape.product_exps
    if low - most <= d <= high - least:
        return None
    return f"addends have exponents {low} to {high}, products of {shape.names} {least} to {most}"
