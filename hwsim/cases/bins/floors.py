"""G3, of units whose max_exp has a floor: sums in which no term reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGN_PAIRS, SIGNS, Bench, signs_of
from hwsim.cases.bins.declare import Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.cases.solver import Solution, Solutions
from hwsim.model.terms import any_lost, window

STEPS = {1: "one more", -1: "one less"}
MOST_PLACES = 8  # below a sum's leading one, of products that make it


def declare_floors(facts: UnitFacts, out: Declared) -> None:
    """How far the largest term is below the floor; and results that a floor one more or one less would change."""
    if facts.floor is None:
        return
    _depths(facts, facts.floor, out)
    _shown(facts, facts.floor, out)


def _least(facts: UnitFacts) -> int:
    """The least exponent of a term."""
    return min(facts.product_exps[0], facts.addend_exps[0] if facts.addend_exps else facts.result.emin)


def _depths(facts: UnitFacts, floor: int, out: Declared) -> None:
    last, least = facts.window + 1, _least(facts)
    at = []
    for d in range(1, last + 1):
        more = " or more" if d == last else ""
        why = f"no term has an exponent below {least}" if floor - d < least else None
        at.append(out.bin("G3", f"max_exp by its floor, {d}{more} above every term", why))

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.top == floor:
            terms = sampled.terms if sampled.addend is None else [*sampled.terms, sampled.addend]
            d = floor - max(term.exp for _, term, _, _ in terms)
            if d > 0:
                hits.add(at[min(d, last) - 1])


def _shown(facts: UnitFacts, floor: int, out: Declared) -> None:
    least, rule = _least(facts), facts.bench.rule
    at = {}
    for step, word in STEPS.items():
        why = f"no term has an exponent below {least}" if floor + min(step, 0) < least else None
        at[step] = out.bin("G3", f"max_exp by its floor, and a floor {word} would be another result", why)

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        group = sampled.group
        if sampled.top != floor or (sampled.place + 1) * facts.lanes != len(sampled.case.a):
            return
        terms = group.products if group.addend is None else (*group.products, group.addend)
        for step, index in at.items():
            other = window(terms, rule.fraction_bits, rule.term_lost, rule.zero_terms, floor + step)
            sticky = rule.sticky and any_lost(terms, other)
            if facts.bench.definition.round(other.total, other.max_exp, sticky).code != group.code:
                hits.add(index)


def depths(bench: Bench) -> None:
    """One product at each distance below the floor."""
    floor = bench.rule.max_exp_floor
    if floor is None:
        return
    for d, sign in cross(range(bench.window + 4), SIGNS):
        bench.add_first(f"floor/d{d:02}-{SIGN[sign]}", _at(bench, floor - d, sign))


def _at(bench: Bench, exp: int, sign: int) -> Solutions:
    """One product of an exponent, which scales may bring there."""
    for source in [exp] if bench.unit.scale is None else bench.tries:
        products = bench.palette.of(sign, source)
        if products and bench.can_shift(exp - source):
            yield Solution((bench.rng.choice(products),), None, exp - source)


def at_the_end(bench: Bench) -> None:
    """Next to a result that the least bit changes, one bit at and around the end of the floor's window."""
    floor = bench.rule.max_exp_floor
    if floor is None:
        return
    least = bench.result.emin - bench.result.fraction_bits
    for lead, below, signs in cross((least - 1, least, least + 1), (-1, 0, 1, 2), SIGN_PAIRS):
        name = f"floor/lead{lead - least:+}-end{-below:+}-{signs_of(*signs)}"
        bench.add_first(name, _with_bit(bench, floor, lead, floor - bench.window - below, signs))


def _with_bit(bench: Bench, floor: int, lead: int, place: int, signs: tuple[int, int]) -> Solutions:
    """Products of sum 2^lead and one of 2^place, all of exponents below the floor. signs: of both."""
    for shift in _shifts(bench, place):
        low = next((one for one in bench.palette.powers(signs[1], place - shift) if one.exp + shift < floor), None)
        if low is None:
            continue
        for exp in reversed([exp for exp in bench.palette.exps if exp + shift < floor]):
            unit = lead - shift - MOST_PLACES
            total = -(1 << MOST_PLACES) if signs[0] else 1 << MOST_PLACES
            products = bench.palette.decompose(total, exp, unit, bench.lanes - 1)
            if products is not None:
                yield Solution((*products, low), None, shift)


def _shifts(bench: Bench, place: int) -> Iterator[int]:
    """What scales may add so that a product of 2^place may be there; 0 without scales."""
    if bench.unit.scale is None:
        yield 0
        return
    finest = bench.palette.exps[0] - bench.palette.fraction_bits
    yield from (place - at for at in range(finest, bench.palette.exps[-1] + 2) if bench.can_shift(place - at))


FLOORS = Family("floors", groups={}, declare=declare_floors, directed=(depths, at_the_end))
