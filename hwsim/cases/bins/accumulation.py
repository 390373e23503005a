"""G11: the addend beside the products, chains of beats, and promotion."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledCase, SampledGroup
from hwsim.formats import Class, FloatFormat
from hwsim.model.promotion import Promoted
from hwsim.model.terms import Term, addend_term

WORDS = ("add", "subtract")
LONG = 128  # beats


def declare(facts: UnitFacts, out: Declared) -> None:
    """What an addend and products keep of each other, chains, and where promotion comes."""
    if facts.addends:
        _beside(facts, out)
    _chains(facts, out)
    promotion = facts.unit.promotion
    if promotion is not None:
        _boundaries(promotion.interval // facts.lanes, out)
        _register(promotion.format, facts.result, out)


def _beside(facts: UnitFacts, out: Declared) -> None:
    kinds = ("dominates", "straddles the window", "is lost", "swamps all products")
    at = {
        (kind, sub): out.bin("G11", f"the addend {kind}, {WORDS[sub]}")
        for kind in kinds
        for sub in (0, 1)
    }  # fmt: skip
    low = (1 << max(0, facts.bench.addend_bits - 1 - facts.result.fraction_bits)) - 1
    fine = [
        out.bin("G11", f"addend with bits below {facts.result.name}'s fraction, {word}")
        for word in (("alone", "beside products") if low else ())
    ]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.addend is None:
            return
        _, one, below, field = sampled.addend
        if low and one.sig & low:
            hits.add(fine[1 if sampled.terms else 0])
        if not sampled.terms:
            return
        first = sampled.group.products[sampled.holders[0]] if sampled.holders else sampled.terms[0][1]
        sub = one.sign ^ first.sign
        if not sampled.holders:
            kept = any(_kept(term, places) for _, term, places, _ in sampled.terms)
            kind = "dominates" if kept else "swamps all products"
        elif field:
            kind = "straddles the window" if _kept(one, below) else "is lost"
        else:
            return
        hits.add(at[kind, sub])

    out.groups.append(sample)


def _kept(term: Term, below: int) -> int:
    """What a term has in the window, whatever becomes of the bits below it."""
    return term.sig >> max(0, below)


def _chains(facts: UnitFacts, out: Declared) -> None:
    most = facts.bench.beats
    lengths = sorted({1, 2, 3, facts.lanes, LONG})
    why = f"the unit sums at most {most} beats"
    at = {n: out.bin("G11", f"chain of {n} beats", why if n > most else None) for n in lengths}
    single = why if most < 2 else None
    if single is None and not facts.bench.partials:
        single = "the partial sum starts again with every beat"
    stuck = out.bin("G11", "products that change nothing of a partial sum", single)
    turns = [
        out.bin("G11", f"partial sum from {word}", single or (_three(facts) if index == 2 else None))
        for index, word in enumerate(("+ to -", "- to +", "a number to 0 and on"))
    ]
    sign_bit, padding = facts.result.sign_bit, facts.result.padding

    def sample(sampled: SampledCase, hits: Hits) -> None:
        if len(sampled.groups) in at:
            hits.add(at[len(sampled.groups)])
        restart = facts.unit.restart
        for before, after in zip(sampled.groups, sampled.groups[1:], strict=False):
            if (restart is not None and after.place % restart == 0) or not before.finite or not after.finite:
                continue
            x, y = before.group.code, after.group.code
            if before.group.overflow or after.group.overflow:
                continue
            if x == y and after.terms and after.addend is not None:
                hits.add(stuck)
            small = [code >> padding & (sign_bit - 1) for code in (x, y)]
            if all(small) and (x ^ y) >> padding & sign_bit:
                hits.add(turns[0 if y >> padding & sign_bit else 1])
        for one, two, three in zip(sampled.groups, sampled.groups[1:], sampled.groups[2:], strict=False):
            if restart is not None and (three.place % restart) < 2:
                continue
            codes = [group.group.code >> padding & (sign_bit - 1) for group in (one, two, three)]
            if all(group.finite for group in (one, two, three)) and codes[0] and not codes[1] and codes[2]:
                hits.add(turns[2])

    out.cases.append(sample)


def _three(facts: UnitFacts) -> str | None:
    restart = facts.unit.restart
    if facts.bench.beats < 3:
        return f"the unit sums at most {facts.bench.beats} beats"
    return f"the partial sum starts again after {restart} beats" if restart is not None and restart < 3 else None


def _boundaries(beats: int, out: Declared) -> None:
    """Where a sum ends, beside promotions every so many beats."""
    words = {beats - 1: "one beat before", beats: "at", beats + 1: "one beat after"}
    at = {n: out.bin("G11", f"the sum ends {word} a promotion") for n, word in words.items() if n}
    twice = out.bin("G11", "two promotions and a beat")

    def sample(sampled: SampledCase, hits: Hits) -> None:
        count = len(sampled.groups)
        if count in at:
            hits.add(at[count])
        if count == 2 * beats + 1:
            hits.add(twice)

    out.cases.append(sample)


def _register(fmt: FloatFormat, result: FloatFormat, out: Declared) -> None:
    """What an addition of a result into the register does."""
    words = (
        "exact", "rounds up", "rounds down", "ties, to the larger", "ties, to the smaller", "cancels to 0",
        "leaves the register as it was", "swamps the register", "is of a zero partial sum", "is not finite",
    )  # fmt: skip
    at = {word: out.bin("G11", f"promotion {word}") for word in words}

    def sample(sampled: SampledCase, hits: Hits) -> None:
        for promoted in sampled.explanation.promotions.values():
            hits.update([at[word] for word in _promoted(promoted, fmt, result)])

    out.cases.append(sample)


def _promoted(promoted: Promoted, fmt: FloatFormat, result: FloatFormat) -> list[str]:
    """What one addition did."""
    terms = [addend_term(fmt, promoted.register), addend_term(result, promoted.partial)]
    after = addend_term(fmt, promoted.code)
    if any(term.cls in (Class.NAN, Class.INFINITY) for term in (*terms, after)):
        return ["is not finite"]
    register, partial = terms
    if not partial.sig:
        return ["is of a zero partial sum"]
    low = min(term.exp - term.fraction_bits for term in (register, partial, after))
    x, y, z = (_at(term, low) for term in (register, partial, after))
    if x + y == 0:
        return ["cancels to 0"]
    found = []
    if x and promoted.code == promoted.register:
        found.append("leaves the register as it was")
    if x and z == y:
        found.append("swamps the register")
    if x + y == z:
        return [*found, "exact"]
    larger = abs(z) > abs(x + y)
    ulp = 1 << max(after.exp - fmt.fraction_bits - low, 0)
    if 2 * abs(z - x - y) == ulp:
        return [*found, f"ties, to the {'larger' if larger else 'smaller'}"]
    return [*found, "rounds up" if larger else "rounds down"]


def _at(term: Term, low: int) -> int:
    size = term.sig << term.exp - term.fraction_bits - low
    return -size if term.sign else size
