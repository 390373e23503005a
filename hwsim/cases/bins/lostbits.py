"""G4: what is cut off below the window."""

from __future__ import annotations

from fractions import Fraction

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostrules import changes_what_is_kept
from hwsim.cases.bins.sampled import SampledGroup, SignedTerm

SIGNS = ("+", "-")
MOST_DEPTH = 40  # places below the window that have a bin each
KINDS = ("zero", "one last bit", "below half", "half", "above half", "all ones")


def kind(field: int, places: int) -> str:
    """The one kind of a field of so many lost bits. places: at least 1."""
    half = 1 << places - 1
    if field in (0, half):
        return "half" if field else "zero"
    if field == 2 * half - 1:
        return "all ones"
    if field == 1:
        return "one last bit"
    return "below half" if field < half else "above half"


def kinds(places: int) -> list[str]:
    """The kinds that there are of fields of so many bits."""
    if places > 3:
        return list(KINDS)
    there = {kind(field, places) for field in range(1 << places)}
    return [word for word in KINDS if word in there]


def declare(facts: UnitFacts, out: Declared) -> None:
    """Fields of lost bits of straddling products; single lost bits; how many lanes lose; how much is lost together."""
    _fields(facts, out)
    _single(facts, out)
    _count(facts, out)
    _together(facts, out)


def _fields(facts: UnitFacts, out: Declared) -> None:
    at: dict[tuple[int, str, int], int] = {}
    for places in range(max(1, facts.bits - facts.window), facts.width):
        d = places + facts.window - facts.bits
        sigs = facts.sigs(d, True)
        for word in kinds(places):
            why = facts.lowered(d)
            if why is None and sigs is not None and not any(_is(sig, places, word) for sig in sigs):
                why = (
                    f"no product of {facts.names} that can be {d} below ends in such {places} bits: all are enumerated"
                )
            if why is None and facts.never_ends(places, word):
                why = f"no significands of {facts.names} make a product that ends in such {places} bits: all enumerated"
            for sign in (0, 1):
                name = f"d={d}, {places} bits of a {SIGNS[sign]} product lost: {word}"
                at[places, word, sign] = out.bin("G4", name, why)
    addend = {
        (word, sign): out.bin("G4", f"bits of a {SIGNS[sign]} addend lost: {word}")
        for word in kinds(facts.bench.addend_bits - 1 if facts.bench.addend_bits > 1 else 1)
        for sign in ((0, 1) if facts.addends else ())
    }
    width = facts.width

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        for _, term, below, field in sampled.terms:
            if 0 < below < width:
                hits.add(at[below, kind(field, below), term.sign])
        if sampled.addend is not None:
            _, term, below, field = sampled.addend
            # Past that it has no bits in the window, and the field is not one of its straddling.
            if 0 < below <= term.fraction_bits:
                hits.add(addend[kind(field, below), term.sign])

    out.groups.append(sample)


def _is(sig: int, places: int, word: str) -> bool:
    return kind(sig & ((1 << places) - 1), places) == word


def _single(facts: UnitFacts, out: Declared) -> None:
    """A single lost bit in the whole group, by its depth below the window's last place.

    Where lost bits change what is kept, the bit must show in the result: without it that would be another.
    """
    shows = ", and it shows" if changes_what_is_kept(facts.lost) else ""
    last = max(facts.width, min(facts.below(facts.farthest), MOST_DEPTH))
    at = {}
    for depth in range(1, last + 1):
        name = f"a product's bit {depth} below the window lost, and nothing else{shows}"
        at[depth] = out.bin("G4", name, _never_single(facts, depth))
    deepest = facts.deepest()
    flat = None
    if deepest is not None and facts.below(deepest[0]) <= last:
        flat = f"{deepest[1]}, so that it loses no bit deeper than {max(0, facts.below(deepest[0]))}"
    name = f"a product's bit more than {last} below the window lost, and nothing else{shows}"
    deeper = out.bin("G4", name, facts.loses or flat)
    bits = facts.bench.addend_bits
    addend = {
        depth: out.bin("G4", f"the addend's bit {depth} below the window lost, and nothing else{shows}")
        for depth in range(1, bits)
    }

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        losing = [one for one in sampled.terms if one[3]]
        if sampled.addend is not None and sampled.addend[3]:
            losing.append(sampled.addend)
        if len(losing) != 1:
            return
        lane, _, below, field = losing[0]
        if field & (field - 1) or (shows and not _shows(sampled, losing[0], facts)):
            return
        depth = below - field.bit_length() + 1
        if lane >= 0:
            hits.add(at.get(depth, deeper))
        elif depth in addend:
            hits.add(addend[depth])

    out.groups.append(sample)


def _shows(sampled: SampledGroup, one: SignedTerm, facts: UnitFacts) -> bool:
    """Whether the case's last sum would be another one if a term had no bits below the window."""
    if (sampled.place + 1) * facts.lanes != len(sampled.case.a):
        return False
    lane, term, below, _ = one
    kept = -(term.sig >> below) if term.sign else term.sig >> below
    total = sampled.group.total - sampled.group.aligned[lane] + kept
    return facts.bench.definition.round(total, sampled.top).code != sampled.group.code


def _never_single(facts: UnitFacts, depth: int) -> str | None:
    if facts.loses is not None or facts.addends or not facts.exact_products:
        return facts.loses
    for d in facts.distances:
        places = facts.below(d)
        if places >= depth and facts.lowered(d) is None:
            want, mask = 1 << places - depth, (1 << places) - 1
            if any(sig & mask == want for sig in facts.sigs(d, False) or ()):
                return None
    if facts.farthest > facts.distances[-1]:
        return None
    return f"no product of {facts.names} loses that bit alone, at any distance: all are enumerated"


def _count(facts: UnitFacts, out: Declared) -> None:
    k = facts.lanes
    counts = sorted({1, 2, k - 1} & set(range(1, k))) + ([k] if facts.addends else [])
    nothing = out.bin("G4", "several products, and none loses bits", "a group has one product only" if k == 1 else None)
    why = facts.loses if k > 1 or facts.addends else facts.together
    below = None if facts.addends else why
    at = {n: out.bin("G4", f"{n} of {k} products lose bits", below) for n in counts}

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        losing = sum([1 for _, _, _, field in sampled.terms if field])
        if losing:
            if losing in at:
                hits.add(at[losing])
        elif len(sampled.terms) > 1 and not (sampled.addend and sampled.addend[3]):
            hits.add(nothing)

    out.groups.append(sample)


def _together(facts: UnitFacts, out: Declared) -> None:
    """The sum of what products lose, in places of the window's last."""
    half = Fraction(facts.lanes, 2)
    most = None if facts.most_lost is None else facts.most_lost * (facts.lanes - 1)
    zones = ["0", "above 0, below 1", "1", "above 1, below 2", f"2 or more, below {half}", f"{half} or more"]
    if half <= 2:
        zones = [*zones[:4], "2 or more"]
    at = []
    for zone in zones:
        why = facts.together or (None if zone == "0" else facts.loses or _too_little(facts, zone, half))
        at.append(out.bin("G4", f"products lose together {zone} of the last place", why))
    full = None
    if most:
        name = f"products lose together {most} of the last place or more, the most beside a product"
        full = out.bin("G4", name)
    index_of = dict(zip(zones, at, strict=True))
    above, top = index_of.get(f"2 or more, below {half}"), at[-1]

    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if len(sampled.terms) + (sampled.addend is not None) < 2:
            return
        losing = [(below, field) for _, _, below, field in sampled.terms if field]
        if not losing:
            hits.add(at[0])
            return
        deep = max([below for below, _ in losing])
        total, one = sum([field << deep - below for below, field in losing]), 1 << deep
        if total < one:
            hits.add(at[1])
        elif total < 2 * one:
            hits.add(at[2] if total == one else at[3])
        elif above is None or total >= half * one:
            hits.add(top)
        else:
            hits.add(above)
        if full is not None and most is not None and total >= most * one:
            hits.add(full)

    out.groups.append(sample)


def _too_little(facts: UnitFacts, zone: str, half: Fraction) -> str | None:
    """Why products never lose so much together, or None."""
    most, attained = facts.most_together
    least = {"above 0, below 1": Fraction(0), "1": Fraction(1), "above 1, below 2": Fraction(1)}.get(zone, Fraction(2))
    if zone == f"{half} or more":
        least = half
    beyond = zone.startswith("above")
    if most > least or (most == least and attained and not beyond):
        return None
    return f"all that can lose bits lose {'' if attained else 'less than '}{most} of the last place together at most"
