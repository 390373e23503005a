"""G3: what sets the reference exponent."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup
from hwsim.formats import Class, FloatFormat


def declare(facts: UnitFacts, out: Declared) -> None:
    """Subnormal factors, zeros, ties, each lane and the addend as the maximum, and each lane that straddles below."""
    _subnormal(facts, out)
    _zeros(facts, out)
    _ties(facts, out)
    _lanes(facts, out)


def _subnormal(facts: UnitFacts, out: Declared) -> None:
    at: dict[tuple[int, int], int] = {}
    both = None
    for side, fmt in enumerate(facts.factors):
        if isinstance(fmt, FloatFormat) and fmt.subnormals:
            for zeros in range(1, fmt.precision):
                name = f"max_exp by a subnormal {'ab'[side]} of {zeros} leading zeros, beside another term"
                at[side, zeros] = out.bin("G3", name, facts.together)
    if {side for side, _ in at} == {0, 1}:
        both = out.bin("G3", "max_exp by a subnormal times a subnormal, beside another term", facts.together)
    precisions = [fmt.fraction_bits + 1 for fmt in facts.factors]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.holders or len(sampled.terms) + (sampled.addend is not None) < 2:
            return
        pair = [factors[sampled.holders[0]] for factors in (sampled.group.a, sampled.group.b)]
        small = [factor.cls is Class.SUBNORMAL for factor in pair]
        if both is not None and all(small):
            hits.add(both)
        elif any(small):
            side = small.index(True)
            hits.add(at[side, precisions[side] - pair[side].sig.bit_length()])

    out.groups.append(sample)


def _zeros(facts: UnitFacts, out: Declared) -> None:
    a, b = (_exponents(fmt) for fmt in facts.factors)
    at = []
    for word, low, other in (("a", a[0], b[1]), ("b", b[0], a[1])):
        flat = not facts.addends and low + other <= facts.exps[0]
        why = (
            f"a zero {word} counts with exponent {low}, so that its product is never above a number's" if flat else None
        )
        at.append(out.bin("G3", f"zero product above max_exp, by a zero {word}", facts.together or why))
    flat = not facts.addends and max(a[0] + b[1], b[0] + a[1]) <= facts.exps[0]
    why = "a zero product's exponent is never above a number's" if flat else None
    if facts.lanes == 1:
        why = "a group has one product only"
    every = out.bin("G3", "zero products above max_exp in all lanes but one", facts.together or why)
    nothing = out.bin("G3", "every term zero")
    alone = out.bin("G3", "every product zero, and the addend not") if facts.addends else None
    most = facts.lanes - 1

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.finite:
            return
        if sampled.top is None:
            hits.add(nothing)
            return
        if not sampled.terms and alone is not None:
            hits.add(alone)
        top = sampled.top
        above = [lane for lane, term in enumerate(sampled.group.products) if term.exp > top and not term.sig]
        for lane in above:
            if not sampled.group.a[lane].sig:
                hits.add(at[0])
            if not sampled.group.b[lane].sig:
                hits.add(at[1])
        if len(above) == most and most:
            hits.add(every)

    out.groups.append(sample)


def _exponents(fmt: object) -> tuple[int, int]:
    return (fmt.emin, fmt.emax) if isinstance(fmt, FloatFormat) else (0, 0)


def _ties(facts: UnitFacts, out: Declared) -> None:
    at = {n: out.bin("G3", f"{n} of {facts.lanes} products at max_exp") for n in facts.landmarks()}
    with_addend = (
        {n: out.bin("G3", f"{n} of {facts.lanes} products and the addend at max_exp") for n in facts.landmarks()}
        if facts.addends
        else {}
    )

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        n = len(sampled.holders)
        if n in at:
            hits.add(at[n])
            if sampled.addend is not None and sampled.addend[1].exp == sampled.top and n in with_addend:
                hits.add(with_addend[n])

    out.groups.append(sample)


def _lanes(facts: UnitFacts, out: Declared) -> None:
    k = facts.lanes
    alone = [out.bin("G3", f"lane {lane} alone sets max_exp, beside other terms", facts.together) for lane in range(k)]
    by_addend = out.bin("G3", "the addend alone sets max_exp, beside products") if facts.addends else None
    why = _never_straddles(facts)
    pairs = [
        [
            -1 if i == j else out.bin("G3", f"lane {i} sets max_exp, lane {j} straddles the window", why)
            for j in range(k)
        ]
        for i in range(k)
    ]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.holders:
            if by_addend is not None and sampled.terms:
                hits.add(by_addend)
            return
        addend_level = sampled.addend is not None and sampled.addend[1].exp == sampled.top
        if len(sampled.holders) == 1 and not addend_level and len(sampled.terms) + (sampled.addend is not None) > 1:
            hits.add(alone[sampled.holders[0]])
        straddling = [lane for lane, term, below, field in sampled.terms if field and term.sig >> below]
        for holder in sampled.holders if straddling else ():
            row = pairs[holder]
            hits.update([row[lane] for lane in straddling if lane != holder])

    out.groups.append(sample)


def _never_straddles(facts: UnitFacts) -> str | None:
    """Why no product below another keeps some bits and loses some, or None."""
    if facts.lanes < 2:
        return facts.apart(0)
    for d in facts.distances:
        places = facts.below(d)
        if 0 < places < facts.width and facts.apart(d) is None:
            sigs = facts.sigs(d, False)
            if sigs is None or any(sig & ((1 << places) - 1) and sig >> places for sig in sigs):
                return None
    if facts.below(facts.farthest) <= 0:
        return (
            f"products of {facts.names} are at most {facts.farthest} apart, with {facts.bits} fraction bits, and lose "
            f"none in a window of {facts.window} beside one another"
        )
    return f"no product of {facts.names} keeps bits and loses bits below another: all are enumerated"
