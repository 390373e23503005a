"""G5 and G6: cancellation and growth of the window's sum."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.seen import Seen, SignedTerm
from hwsim.cases.bins.shape import Shape

SIGNS = ("+", "-")
BITS = ("exact", "bits lost")


def declare(shape: Shape, out: Declared) -> None:
    """Where the sum's leading one stands; what cancels to nothing; the largest sums."""
    _shifts(shape, out)
    _cancelled(shape, out)
    _growth(shape, out)
    _ends(shape, out)


def _all(seen: Seen) -> list[SignedTerm]:
    return seen.terms if seen.addend is None else [*seen.terms, seen.addend]


def _loses(seen: Seen) -> bool:
    return any(term[3] for term in seen.terms) or bool(seen.addend and seen.addend[3])


def _shifts(shape: Shape, out: Declared) -> None:
    at = {}
    for shift in range(1, shape.window + 1):
        deep = shape.shallow[1] if shape.shallow and shift > shape.shallow[0] else None
        for sign in (0, 1):
            for lost in (0, 1):
                name = f"leading one {shift} below max_exp, {SIGNS[sign]}, {BITS[lost]}"
                at[shift, sign, lost] = out.bin("G5", name, deep or (shape.loses if lost else None))
    window = shape.window

    def sample(seen: Seen, hits: Hits) -> None:
        total = seen.group.total
        if seen.top is not None and total:
            shift = window + 1 - abs(total).bit_length()
            if shift > 0:
                hits.add(at[shift, int(total < 0), int(_loses(seen))])

    out.groups.append(sample)


def _cancelled(shape: Shape, out: Declared) -> None:
    one = "a group has one product only" if shape.lanes == 1 else None
    alone = out.bin("G5", "two products cancel exactly", one)
    by_addend = out.bin("G5", "a product and the addend cancel exactly") if shape.addends else None
    many = out.bin("G5", f"all {shape.lanes} products cancel exactly", one)
    hidden = [out.bin("G5", f"window sum 0, exact sum {sign}", shape.loses) for sign in SIGNS]
    only = [out.bin("G5", f"the largest two cancel, {sign} straddling terms remain", _no_rest(shape)) for sign in SIGNS]

    def sample(seen: Seen, hits: Hits) -> None:
        if seen.top is None:
            return
        if seen.group.total == 0:
            terms = _all(seen)
            if not any(term[3] for term in terms):
                if len(terms) == 2:
                    hits.add(alone if seen.addend is None or by_addend is None else by_addend)
                if len(seen.terms) == shape.lanes > 1:
                    hits.add(many)
            else:
                exact = _lost_sum(terms)
                if exact:
                    hits.add(hidden[int(exact < 0)])
        elif len(seen.holders) == 2:
            _remaining(seen, hits, only)

    out.groups.append(sample)


def _no_rest(shape: Shape) -> str | None:
    if shape.addends or shape.loses is None:
        if shape.lanes < (2 if shape.addends else 3):
            return f"a group has {shape.lanes} products, and nothing but two that cancel"
        return None
    return shape.loses


def _lost_sum(terms: list[SignedTerm]) -> int:
    """What is lost, with signs, in a unit that does not matter."""
    deep = max(below for _, _, below, _ in terms)
    return sum((-field if term.sign else field) << deep - below for _, term, below, field in terms if field)


def _remaining(seen: Seen, hits: Hits, only: list[int]) -> None:
    """Two terms at max_exp that are opposite, and every other one straddles the window's end."""
    x, y = (seen.group.products[lane] for lane in seen.holders)
    if x.sig != y.sig or x.sign == y.sign:
        return
    rest = [term for term in _all(seen) if term[0] not in seen.holders]
    if rest and all(field and term.sig >> below for _, term, below, field in rest):
        hits.add(only[int(seen.group.total < 0)])


def _growth(shape: Shape, out: Declared) -> None:
    at = {}
    for kind in ("without", "with") if shape.addends else ("without",):
        for sign in (0, 1):
            for growth in range(shape.grown(sign, addend=kind == "with") + 1):
                name = f"leading one {growth} above max_exp, {SIGNS[sign]}, {kind} an addend"
                at[kind, growth, sign] = out.bin("G6", name)
    window = shape.window

    def sample(seen: Seen, hits: Hits) -> None:
        total = seen.group.total
        if seen.top is not None and total:
            growth = abs(total).bit_length() - 1 - window
            if growth >= 0:
                hits.add(at["without" if seen.addend is None else "with", growth, int(total < 0)])

    out.groups.append(sample)


def _ends(shape: Shape, out: Declared) -> None:
    highest = shape.exps[-1] + shape.bench.neutral
    largest = [shape.bench.palette.of(sign, highest)[-1].sig for sign in (0, 1)]
    most = [out.bin("G6", f"all lanes the largest {sign} product") for sign in SIGNS]
    powers = [1 << shape.window + growth for growth in shape.growths]
    top = [out.bin("G6", f"the least {sign} sum with the highest bit") for sign in SIGNS]
    fixed_exp = shape.unit.scale is None

    def sample(seen: Seen, hits: Hits) -> None:
        if seen.top is None:
            return
        total = seen.group.total
        sign = int(total < 0)
        if abs(total) == powers[sign]:
            hits.add(top[sign])
        if len(seen.holders) == shape.lanes and (not fixed_exp or seen.top == shape.exps[-1]):
            for sign in (0, 1):
                if all(term.sign == sign and term.sig == largest[sign] for _, term, _, _ in seen.terms):
                    hits.add(most[sign])

    out.groups.append(sample)
