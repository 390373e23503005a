"""G5 and G6: cancellation and growth of the window's sum."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup, SignedTerm

SIGNS = ("+", "-")
BITS = ("exact", "bits lost")


def declare(facts: UnitFacts, out: Declared) -> None:
    """Where the sum's leading one stands; what cancels to nothing; the largest sums."""
    _shifts(facts, out)
    _cancelled(facts, out)
    _growth(facts, out)
    _ends(facts, out)


def _all(sampled: SampledGroup) -> list[SignedTerm]:
    return sampled.terms if sampled.addend is None else [*sampled.terms, sampled.addend]


def _loses(sampled: SampledGroup) -> bool:
    return any(term[3] for term in sampled.terms) or bool(sampled.addend and sampled.addend[3])


def _shifts(facts: UnitFacts, out: Declared) -> None:
    at = {}
    for shift in range(1, facts.window + 1):
        deep = facts.shallow[1] if facts.shallow and shift > facts.shallow[0] else None
        for sign in (0, 1):
            for lost in (0, 1):
                name = f"leading one {shift} below max_exp, {SIGNS[sign]}, {BITS[lost]}"
                at[shift, sign, lost] = out.bin("G5", name, deep or (facts.loses if lost else None))
    window = facts.window

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        total = sampled.group.total
        if sampled.top is not None and total:
            shift = window + 1 - abs(total).bit_length()
            if shift > 0:
                hits.add(at[shift, int(total < 0), int(_loses(sampled))])

    out.groups.append(sample)


def _cancelled(facts: UnitFacts, out: Declared) -> None:
    one = "a group has one product only" if facts.lanes == 1 else None
    alone = out.bin("G5", "two products cancel exactly", one)
    by_addend = out.bin("G5", "a product and the addend cancel exactly") if facts.addends else None
    many = out.bin("G5", f"all {facts.lanes} products cancel exactly", one)
    hidden = [out.bin("G5", f"window sum 0, exact sum {sign}", facts.loses) for sign in SIGNS]
    only = [out.bin("G5", f"the largest two cancel, {sign} straddling terms remain", _no_rest(facts)) for sign in SIGNS]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.top is None:
            return
        if sampled.group.total == 0:
            terms = _all(sampled)
            if not any(term[3] for term in terms):
                if len(terms) == 2:
                    hits.add(alone if sampled.addend is None or by_addend is None else by_addend)
                if len(sampled.terms) == facts.lanes > 1:
                    hits.add(many)
            else:
                exact = _lost_sum(terms)
                if exact:
                    hits.add(hidden[int(exact < 0)])
        elif len(sampled.holders) == 2:
            _remaining(sampled, hits, only)

    out.groups.append(sample)


def _no_rest(facts: UnitFacts) -> str | None:
    if facts.addends or facts.loses is None:
        if facts.lanes < (2 if facts.addends else 3):
            return f"a group has {facts.lanes} products, and nothing but two that cancel"
        return None
    return facts.loses


def _lost_sum(terms: list[SignedTerm]) -> int:
    """What is lost, with signs, in a unit that does not matter."""
    deep = max(below for _, _, below, _ in terms)
    return sum((-field if term.sign else field) << deep - below for _, term, below, field in terms if field)


def _remaining(sampled: SampledGroup, hits: Hits, only: list[int]) -> None:
    """Two terms at max_exp that are opposite, and every other one straddles the window's end."""
    x, y = (sampled.group.products[lane] for lane in sampled.holders)
    if x.sig != y.sig or x.sign == y.sign:
        return
    rest = [term for term in _all(sampled) if term[0] not in sampled.holders]
    if rest and all(field and term.sig >> below for _, term, below, field in rest):
        hits.add(only[int(sampled.group.total < 0)])


def _growth(facts: UnitFacts, out: Declared) -> None:
    at = {}
    for kind in ("without", "with") if facts.addends else ("without",):
        for sign in (0, 1):
            for growth in range(facts.grown(sign, addend=kind == "with") + 1):
                name = f"leading one {growth} above max_exp, {SIGNS[sign]}, {kind} an addend"
                at[kind, growth, sign] = out.bin("G6", name)
    window = facts.window

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        total = sampled.group.total
        if sampled.top is not None and total:
            growth = abs(total).bit_length() - 1 - window
            if growth >= 0:
                hits.add(at["without" if sampled.addend is None else "with", growth, int(total < 0)])

    out.groups.append(sample)


def _ends(facts: UnitFacts, out: Declared) -> None:
    highest = facts.exps[-1] + facts.bench.neutral
    largest = [facts.bench.palette.of(sign, highest)[-1].sig for sign in (0, 1)]
    most = [out.bin("G6", f"all lanes the largest {sign} product") for sign in SIGNS]
    powers = [1 << facts.window + growth for growth in facts.growths]
    top = [out.bin("G6", f"the least {sign} sum with the highest bit") for sign in SIGNS]
    fixed_exp = facts.unit.scale is None

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.top is None:
            return
        total = sampled.group.total
        sign = int(total < 0)
        if abs(total) == powers[sign]:
            hits.add(top[sign])
        if len(sampled.holders) == facts.lanes and (not fixed_exp or sampled.top == facts.exps[-1]):
            for sign in (0, 1):
                if all(term.sign == sign and term.sig == largest[sign] for _, term, _, _ in sampled.terms):
                    hits.add(most[sign])

    out.groups.append(sample)
