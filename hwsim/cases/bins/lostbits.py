"""G4: what is cut off below the window; and sums that are rounded otherwise because a term lost a 1 (G7, sticky)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product as cross

from hwsim.base.text import counted
from hwsim.cases.bins.declare import MARKS, Declared, Hits, SampledGroup, SignedTerm, window_family
from hwsim.cases.bins.facts import UnitFacts, changes_what_is_kept
from hwsim.cases.palette import Product, distinct, factors_ending
from hwsim.cases.solver import SIGN, SIGN_PAIRS, SIGNS, CaseBuilder, SignPair, Solution, Solutions, signs_of
from hwsim.formats import FloatFormat
from hwsim.model.terms import round_magnitude
from hwsim.spec.keys import Rounding

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


def straddling_places(facts: UnitFacts) -> range:
    """The numbers of places that a product can lose while it keeps others."""
    return range(max(1, facts.bits - facts.window), facts.width)


def most_addend_places(facts: UnitFacts) -> int:
    """The most places that an addend can lose while it keeps others. A partial sum may have more bits than c."""
    return max(facts.builder.addend_bits - 1, facts.result.fraction_bits if facts.builder.partials else 0, 1)


def declare_lost_bits(facts: UnitFacts, out: Declared) -> None:
    """Fields of lost bits of straddling products; single lost bits; how many lanes lose; how much is lost together."""
    _fields(facts, out)
    _single(facts, out)
    _count(facts, out)
    _together(facts, out)


def _fields(facts: UnitFacts, out: Declared) -> None:
    out.section("lost fields")
    bins: dict[tuple[int, str, int], int] = {}
    for places in straddling_places(facts):
        d = places + facts.window - facts.bits
        sigs, mask = facts.sigs(d, True), (1 << places) - 1
        ends = counted(places, "bit")
        for word in kinds(places):
            why = facts.lowered(d)
            if why is None and sigs is not None and not any(kind(sig & mask, places) == word for sig in sigs):
                why = f"no product of {facts.names} that can be {d} below ends in such {ends}: all are enumerated"
            if why is None and facts.never_ends(d, places, word):
                why = f"no significands of {facts.names} make a product that ends in such {ends}: all enumerated"
            for sign in (0, 1):
                name = f"d={d}, {ends} of a {MARKS[sign]} product lost: {word}"
                bins[places, word, sign] = out.bin("G4", name, why)
    out.section("lost addend fields")
    addend = {
        (word, sign): out.bin("G4", f"bits of a {MARKS[sign]} addend lost: {word}")
        for word in kinds(most_addend_places(facts))
        for sign in ((0, 1) if facts.addends else ())
    }
    width = facts.width

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        for _, term, below, field in sampled.terms:
            if 0 < below < width:
                hits.add(bins[below, kind(field, below), term.sign])
        if sampled.addend is not None:
            _, term, below, field = sampled.addend
            # Past that it has no bits in the window, and the field is not one of its straddling.
            if 0 < below <= term.fraction_bits:
                hits.add(addend[kind(field, below), term.sign])


def _single(facts: UnitFacts, out: Declared) -> None:
    """A single lost bit in the whole group, by its depth below the window's last place.

    Where lost bits change what is kept, the bit must show in the result: without it that would be another.
    """
    out.section("single lost bits")
    shows = ", and it shows" if changes_what_is_kept(facts.lost) else ""
    last = max(facts.width, min(facts.below(facts.farthest), MOST_DEPTH))
    bins = {}
    for depth in range(1, last + 1):
        name = f"a product's bit {depth} below the window lost, and nothing else{shows}"
        bins[depth] = out.bin("G4", name, _never_single(facts, depth))
    deepest = facts.deepest()
    flat = None
    if deepest is not None and facts.below(deepest[0]) <= last:
        flat = f"{deepest[1]}, so that it loses no bit deeper than {max(0, facts.below(deepest[0]))}"
    name = f"a product's bit more than {last} below the window lost, and nothing else{shows}"
    deeper = out.bin("G4", name, facts.loses or flat)
    bits = facts.builder.addend_bits
    addend = {
        depth: out.bin("G4", f"the addend's bit {depth} below the window lost, and nothing else{shows}")
        for depth in range(1, bits)
    }

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        lost = losing(sampled)
        if len(lost) != 1:
            return
        lane, _, below, field = lost[0]
        if field & (field - 1) or (shows and not _shows(sampled, lost[0], facts)):
            return
        depth = below - field.bit_length() + 1
        if lane >= 0:
            hits.add(bins.get(depth, deeper))
        elif depth in addend:
            hits.add(addend[depth])


def _shows(sampled: SampledGroup, signed_term: SignedTerm, facts: UnitFacts) -> bool:
    """True if the case's last sum would be another one if a term had no bits below the window."""
    if not sampled.last:
        return False
    lane, term, below, _ = signed_term
    rest = -(term.sig >> below) if term.sign else term.sig >> below
    total = sampled.group.total - sampled.group.aligned[lane] + rest
    return facts.builder.definition.round(total, sampled.top, False).code != sampled.group.code


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


def losing_counts(facts: UnitFacts) -> list[int]:
    """The numbers of products that lose bits at once and have a bin."""
    k = facts.lanes
    return sorted({1, 2, k - 1} & set(range(1, k))) + ([k] if facts.addends else [])


def _count(facts: UnitFacts, out: Declared) -> None:
    out.section("losing lanes")
    k = facts.lanes
    nothing = out.bin("G4", "several products, and none loses bits", facts.single)
    why = facts.loses if k > 1 or facts.addends else facts.together
    below = None if facts.addends else why
    bins = {n: out.bin("G4", f"{n} of {k} products lose bits", below) for n in losing_counts(facts)}

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        losing = sum([1 for _, _, _, field in sampled.terms if field])
        if losing:
            if losing in bins:
                hits.add(bins[losing])
        elif len(sampled.terms) > 1 and not (sampled.addend and sampled.addend[3]):
            hits.add(nothing)


def most_beside(facts: UnitFacts) -> Fraction | None:
    """The most that products beside another lose together, in places of the window's last; None where not known."""
    return None if facts.most_lost is None else facts.most_lost * (facts.lanes - 1)


def _together(facts: UnitFacts, out: Declared) -> None:
    """The sum of what products lose, in places of the window's last."""
    out.section("lost together")
    half, most = Fraction(facts.lanes, 2), most_beside(facts)
    # The least of each zone, and whether that is outside of it.
    zones: dict[str, tuple[int | Fraction, bool]] = {
        "0": (0, False), "above 0, below 1": (0, True), "1": (1, False), "above 1, below 2": (1, True),
    }  # fmt: skip
    several = len(zones)
    if half > 2:
        zones |= {f"2 or more, below {half}": (2, False), f"{half} or more": (half, False)}
    else:
        zones["2 or more"] = (2, False)
    bins = []
    for zone, (least, beyond) in zones.items():
        why = facts.together or (None if zone == "0" else facts.loses or _too_little(facts, least, beyond))
        bins.append(out.bin("G4", f"products lose together {zone} of the last place", why))
    full = None
    if most:
        full = out.bin("G4", f"products lose together {most} of the last place or more, the most beside a product")

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if len(sampled.terms) + (sampled.addend is not None) < 2:
            return
        losing = [(below, field) for _, _, below, field in sampled.terms if field]
        deep = max([below for below, _ in losing], default=0)
        total, place = sum([field << deep - below for below, field in losing]), 1 << deep
        zone = min(2 * (total // place) + (total % place > 0), several)
        hits.add(bins[-1] if zone == several and total >= half * place else bins[zone])
        if full is not None and most is not None and total >= most * place:
            hits.add(full)


def _too_little(facts: UnitFacts, least: int | Fraction, beyond: bool) -> str | None:
    """The reason why products never lose so much together, or more than that, or None."""
    most, attained = facts.most_together
    if most > least or (most == least and attained and not beyond):
        return None
    return f"all that can lose bits lose {'' if attained else 'less than '}{most} of the last place together at most"


def fields(places: int) -> dict[str, int]:
    """Patterns of bits that are lost, by name; the named ones that differ from those before."""
    half, ones = 1 << places - 1, (1 << places) - 1
    patterns = {"zero": 0, "half": half, "ones": ones, "one": 1, "below": half - 1, "above": half + 1}
    return distinct({name: value for name, value in patterns.items() if 0 <= value <= ones})


def of_products(builder: CaseBuilder) -> None:
    """Each field of lost bits of a straddling product, under a product and under the addend, in all signs."""
    for places in range(1, builder.palette.fraction_bits + 4):
        d = builder.window - builder.palette.fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS if d >= 0 else ()):
            pair = builder.pair(d, signs, field=value)
            if pair:
                builder.add_beat(f"lost/s{places:02}-{name}-{signs_of(*signs)}", pair)
            under = (low for low in builder.sign_of(signs[1]) if low.sig & builder.lost_bits(d) == value)
            builder.add_first(
                f"lost/under-addend-s{places:02}-{name}-{signs_of(*signs)}",
                (builder.with_addend((low,), signs[0], 1, low.exp + d) for low in under),
            )


def of_the_addend(builder: CaseBuilder) -> None:
    """Each field of lost bits of the addend below a product, added and subtracted."""
    fraction_bits = builder.addend_bits - 1
    for places in range(1, fraction_bits + 4) if builder.addend_bits else ():
        d = builder.window - fraction_bits + places
        for (name, value), signs in cross(fields(places).items(), SIGN_PAIRS):
            if d < 0 or (places > fraction_bits + 1 and value) or signs[0] != places % 2:
                continue
            sig = 1 << fraction_bits | value if places <= fraction_bits else value
            sig = sig or 1 << fraction_bits
            builder.add_first(
                f"lost/addend-s{places:02}-{name}-{signs_of(*signs)}", _addend_under(builder, d, signs, sig)
            )


def _addend_under(builder: CaseBuilder, d: int, signs: SignPair, sig: int) -> Solutions:
    """An addend of significand `sig` at a distance below a product."""
    for exp, high in builder.by_exponent(signs[0]):
        solution = builder.with_addend((builder.rng.choice(high),), signs[1], sig, exp - d - builder.addend_bits + 1)
        if solution and solution.addend and solution.addend.term.exp == exp - d:
            yield solution


def of_many_lanes(builder: CaseBuilder) -> None:
    """One, two and more lanes that lose bits at once, up to all but one."""
    best = _losing_most(builder)
    if best is None:
        return
    high, low = best
    back = builder.palette.opposite(low) or low
    for n in sorted({1, 2, 3, builder.lanes // 2, builder.lanes - 1} & set(range(1, builder.lanes))):
        builder.add_beat(f"lost/lanes{n:02}", (high, *[low] * n))
        builder.add_beat(f"lost/lanes{n:02}-alternating", (high, *[low, back] * (n // 2), *[low] * (n % 2)))
        builder.add_beat(f"lost/lanes{n:02}-neg", (high, *[back] * n))


def _losing_most(builder: CaseBuilder) -> tuple[Product, Product] | None:
    """A product, and one below it that loses as much of a window place as can be."""
    best, most = None, 0.0
    for d in builder.distances:
        places = builder.lost_place(d)
        for exp in builder.tries[:8] if 0 < places <= builder.palette.fraction_bits + 2 else ():
            high = builder.palette.of(0, exp)
            for low in builder.palette.of(0, exp - d) if high else ():
                part = (low.sig & builder.lost_bits(d)) / (1 << places)
                if part > most:
                    best, most = (high[-1], low), part
    return best


def at_the_edge(builder: CaseBuilder) -> None:
    """A single bit at the last place that is kept, at the first that is lost, and at the places next to them."""
    for place, signs in cross((-3, -2, -1, 0, 1, 2), SIGN_PAIRS):
        name = {0: "last-kept", -1: "first-lost"}.get(place, f"place{place:+}")
        builder.add_first(f"edge/{name}-{signs_of(*signs)}", _bit_under_product(builder, place, signs))
        builder.add_first(f"edge/{name}-under-addend-{signs_of(*signs)}", _bit_under_addend(builder, place, signs))
        builder.add_first(f"edge/{name}-of-addend-{signs_of(*signs)}", _addend_bit(builder, place, signs))


def _bit_under_product(builder: CaseBuilder, place: int, signs: SignPair) -> Solutions:
    for exp, high in builder.by_exponent(signs[0]):
        low = [
            product for product in builder.palette.powers(signs[1], exp - builder.window + place) if product.exp <= exp
        ]
        if low:
            yield Solution((builder.rng.choice(high), builder.rng.choice(low)))


def _bit_under_addend(builder: CaseBuilder, place: int, signs: SignPair) -> Solutions:
    for exp in reversed(builder.tries):
        top = exp + builder.window - place
        for low in builder.palette.powers(signs[1], exp):
            if low.exp <= top:
                yield builder.with_addend((low,), signs[0], 1, top)


def _addend_bit(builder: CaseBuilder, place: int, signs: SignPair) -> Solutions:
    for exp, high in builder.by_exponent(signs[0]):
        yield builder.with_addend((builder.rng.choice(high),), signs[1], 1, exp - builder.window + place)


def single_bits(builder: CaseBuilder, facts: UnitFacts) -> None:
    """One product, or the addend, that loses one bit alone, below products of several sums."""
    bits = builder.addend_bits
    for d, sign in cross(range(builder.window + MOST_DEPTH + 1), SIGNS):
        places = builder.lost_place(d)
        for depth in range(1, min(places, MOST_DEPTH) + 1) if d <= facts.farthest else ():
            pair = builder.pair(d, (sign, d % 2), field=1 << places - depth)
            if pair:
                products = builder.palette.of(sign, pair[0].exp)
                for index in sorted({0, len(products) // 3, len(products) // 2, len(products) - 1}):
                    builder.add_beat(f"G4/single-d{d:02}-depth{depth:02}-{sign}-{index}", (products[index], pair[1]))
    for depth, exp, sign in cross(range(1, bits), builder.tries[:8], SIGNS):
        high = builder.palette.of(sign, exp)
        for word, sig in (("ends", 1 << bits - 1 | 1), ("alone", 1)):
            added = builder.addend(sign, sig, exp - builder.window - depth) if high else None
            for index in sorted({0, len(high) // 2}) if added and added.term.exp <= exp else ():
                name = f"G4/addend-depth{depth:02}-{word}-{exp}-{sign}-{index}"
                builder.add_beat(name, high[index : index + 1], added)


def under_addend(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Each kind of lost field of one product below an addend; and 1, 2, ... all lanes that lose it."""
    counts = sorted({1, 2, 3, builder.lanes // 2, builder.lanes - 1, builder.lanes} - {0})
    for places, sign in cross(range(1, facts.width), SIGNS if builder.addend_bits else ()):
        d, kinds = places + facts.window - facts.bits, set[str]()
        for product in builder.sign_of(sign) if d >= 0 else ():
            field = product.sig & ((1 << places) - 1)
            word = kind(field, places)
            added = builder.addend(0, 1, product.exp + d) if word not in kinds else None
            if added is None or added.term.exp != product.exp + d:
                continue
            kinds.add(word)
            for n in counts if field else (1,):
                name = f"G4/under-addend-{places}-{word.replace(' ', '-')}-{sign}-{n:02}"
                builder.add_beat(name, (product,) * n, added)


def many_alike(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Numbers of lanes that lose the same field below a product, and the least product far below all others."""
    counts = sorted(
        {1, 2, 3, builder.lanes // 2, builder.lanes // 2 + 1, builder.lanes - 1} & set(range(1, builder.lanes))
    )
    for d in builder.distances:
        places = builder.lost_place(d)
        patterns = sorted({1, 1 << places - 1, (1 << places) - 1}) if 0 < places <= facts.bits + 3 else []
        for n, field in cross(counts, patterns):
            pair = builder.pair(d, (0, n % 2), field=field)
            if pair:
                builder.add_beat(f"G4/d{d:02}-{n:02}-lose-{field:x}", (pair[0], *[pair[1]] * n))
    exps = builder.palette.exps
    least, most = builder.palette.of(0, exps[0])[0], builder.palette.of(0, exps[-1])[-1]
    builder.add_beat("G4/deepest", (most, least))
    far = builder.with_addend((least,), 0, 1, exps[0] + builder.window + facts.width * 2)
    builder.add_solution("G4/deepest-addend", far)


def last_bits(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Products whose lost bits are 0...01 or all ones, for each number of them that straddles, below a product.

    They are made from significands: of wide formats the palette holds a few products only.
    """
    a, b = builder.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or builder.lanes < 2:
        return
    for places in range(2, facts.width):
        d = places + facts.window - facts.bits
        for sign, field in cross(SIGNS, (1, (1 << places) - 1)):
            pair = factors_ending(a, b, places, field, sign, normal=facts.floor is not None)
            if pair and d >= 0:
                high = builder.palette.of(0, builder.definition.product(*pair, builder.neutral).exp + d)[:1]
                row = [*((product.a, product.b) for product in high), pair]
                builder.add_beat(f"G4/last-{field:x}-{places:02}-{sign}", row[: builder.lanes])


LOST_BITS = window_family(
    "lostbits",
    declare_lost_bits,
    (of_products, of_the_addend, of_many_lanes, at_the_edge),
    (single_bits, under_addend, many_alike, last_bits),
    groups=("G4",),
)


MOST_LOW = 12  # products that are tried as the one that loses a 1, of each sign
MOST_STICKY_DEPTH = 64  # places below the window in which a single lost 1 is asked for


def tells(rounding: Rounding, sign: int) -> bool:
    """True if a rounding can give another result of a sum of that sign because something is below its places."""
    return any(_decides(rounding, sign, eighths) for eighths in (0, 4))


def ends_in_half(rounding: Rounding) -> bool:
    """True if a sum whose result then is another ends in half a last place, and not in nothing below an even one."""
    return any(_decides(rounding, sign, 4) for sign in SIGNS)


def _decides(rounding: Rounding, sign: int, eighths: int) -> bool:
    exact, above = (round_magnitude(sig, 3, sign, rounding) for sig in (eighths, eighths + 1))
    return exact != above


def telling_signs(facts: UnitFacts) -> list[int]:
    """The signs of sums that a lost 1 can round otherwise."""
    return [sign for sign in SIGNS if tells(facts.unit.result.rounding, sign)] if facts.sticky else []


def declare_sticky(facts: UnitFacts, out: Declared) -> None:
    """Sums of each sign that a lost 1 of a product or of the addend, of each sign, alone rounds otherwise."""
    out.section("sticky")
    signs = telling_signs(facts)
    kinds = ["a product", *(["the addend"] if facts.addends else [])]
    name = "a 1 that {} {} lost alone decides the rounding of a {} sum"
    bins = {
        (kind, low, sign): out.bin("G7", name.format(MARKS[low], kind, MARKS[sign]), _never(facts, low != sign))
        for sign, low, kind in cross(signs, SIGNS, kinds)
    }
    lanes = {
        lane: out.bin("G7", f"a 1 that lane {lane} lost alone decides the rounding", _never(facts, False))
        for lane in range(facts.lanes if signs else 0)
    }
    deep = {
        depth: out.bin("G7", f"a 1 that is lost {counted(depth, 'place')} below the window alone decides the rounding")
        for depth in (depths(facts.builder) if signs else ())
    }

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        lost = losing(sampled)
        if not sampled.group.sticky or len(lost) != 1 or not signs or not decides(facts, sampled):
            return
        lane, term, places, bits = lost[0]
        hits.add(bins["the addend" if lane < 0 else "a product", term.sign, int(sampled.group.total < 0)])
        if lane >= 0:
            hits.add(lanes[lane])
        depth = places - bits.bit_length() + 1
        if bits & (bits - 1) == 0 and depth in deep:
            hits.add(deep[depth])


def depths(builder: CaseBuilder) -> list[int]:
    """Depths below the window at which a product can lose a single 1, beside another with the window's exponent."""
    if builder.lanes < 2 or builder.unit.scale is not None:
        return []
    least, most = builder.result_exps
    tops = [exp for exp in builder.palette.exps if least + builder.window <= exp < most - 2]
    places = {
        builder.lost_place(top - exp) - power.sig.bit_length() + 1
        for exp in builder.palette.exps
        for power in _powers(builder, 0, exp)
        for top in tops
    }
    return sorted(depth for depth in places if 0 < depth <= MOST_STICKY_DEPTH)


def _powers(builder: CaseBuilder, sign: int, exp: int) -> list[Product]:
    """The products of a sign and an exponent whose significands are powers of two."""
    return [product for product in builder.palette.of(sign, exp) if product.sig & (product.sig - 1) == 0]


def losing(sampled: SampledGroup) -> list[SignedTerm]:
    """The terms that lose a 1."""
    return [term for term in sampled.every if term[3]]


def decides(facts: UnitFacts, sampled: SampledGroup) -> bool:
    """True if the case's last sum would be rounded otherwise if no term had lost a 1."""
    group = sampled.group
    return sampled.last and facts.builder.definition.round(group.total, sampled.top, False).code != group.code


def _never(facts: UnitFacts, differ: bool) -> str | None:
    """The reason why no such sum is there, or None. differ: the term that loses a 1 has not the sign of the sum."""
    return facts.loses or (facts.together if differ else None)


def deciding(builder: CaseBuilder) -> None:
    """Cases of sums that a lost 1 decides: in all signs, of product or addend, and with the product in each lane."""
    rounding = builder.unit.result.rounding
    if not builder.rule.sticky:
        return
    for sign, low in cross(SIGNS, SIGNS):
        if not tells(rounding, sign):
            continue
        name = f"{SIGN[sign]}-{SIGN[low]}"
        builder.add_first(f"sticky/addend-{name}", _with_addend(builder, sign, low))
        for lane in range(builder.lanes):
            builder.add_first(f"sticky/lane{lane:02}-{name}", _with_product(builder, sign, low), lane)
    for depth, low in cross(depths(builder), SIGNS):
        signs = [sign for sign in (low, 1 - low) if tells(rounding, sign)]
        if not signs:  # sums of either sign are rounded the same, whatever is lost
            continue
        solutions = _at_depth(builder, signs[0], low, depth)
        builder.add_first(f"sticky/depth{depth:02}-{SIGN[low]}", solutions, depth % builder.lanes)


def _totals(builder: CaseBuilder, sign: int) -> Iterator[tuple[int, list[int]]]:
    """Sums that a rounding takes otherwise if something is below them, and exponents to try as max_exp."""
    fraction, half = builder.result.fraction_bits, ends_in_half(builder.unit.result.rounding)
    for cut in range(int(half), max(builder.window - fraction, 0) + builder.growths + 1):
        for whole in (1 << fraction, 1 << fraction | 2, 1 << min(fraction, builder.window)):
            total = whole << cut | (1 << cut - 1 if half else 0)
            yield -total if sign else total, builder.tops(total.bit_length() - 1 - builder.window)


def _with_addend(builder: CaseBuilder, sign: int, low: int) -> Iterator[Solution]:
    for total, tops in _totals(builder, sign):
        for top in tops:
            addend = builder.addend(low, 1, top - builder.window - 1)
            if addend is not None and addend.term.exp <= top:
                yield from (solution._replace(addend=addend) for solution in builder.alone(total, top))


def _with_product(builder: CaseBuilder, sign: int, low: int) -> Iterator[Solution]:
    """Terms of sums that a lost 1 decides; the product that loses a 1 comes first."""
    for total, tops in _totals(builder, sign):
        for top, product in cross(tops, _lowest(builder, low)):
            yield from _beside(builder, total, top, product)


def _at_depth(builder: CaseBuilder, sign: int, low: int, depth: int) -> Iterator[Solution]:
    """The product that loses a single 1, so far below the window, comes first; then those of least exponent."""
    exps = {*builder.palette.exps}
    powers = [product for exp in builder.palette.exps for product in _powers(builder, low, exp)]
    for product, (total, _) in cross(powers, _totals(builder, sign)):
        top = product.exp + depth + product.sig.bit_length() - 1 - builder.palette.fraction_bits + builder.window
        if top in exps and builder.lost_place(top - product.exp) - product.sig.bit_length() + 1 == depth:
            yield from _beside(builder, total, top, product)


def _lowest(builder: CaseBuilder, sign: int) -> list[Product]:
    """Products of a sign, of the least exponents and significands that there are."""
    products = (candidate for exp in builder.palette.exps for candidate in builder.palette.of(sign, exp))
    return [product for _, product in zip(range(MOST_LOW), products, strict=False)]


def _beside(builder: CaseBuilder, total: int, top: int, product: Product) -> Iterator[Solution]:
    """One product that loses a 1, and others with which the sum is `total`: alone, or with an addend."""
    below = builder.lost_place(top - product.exp)
    whole = product.sig >> below
    if product.sig == whole << below:
        return
    rest = total + whole if product.sign else total - whole
    solutions = [*builder.alone(rest, top), builder.total(rest, [top], addend=True)] if rest else []
    for solved in solutions:
        if solved is not None and not solved.shift and len(solved.products) < builder.lanes:
            solution = solved._replace(products=(product, *solved.products))
            group = builder.measure(solution)
            if group.sticky and (group.total, group.max_exp) == (total, top):
                yield solution


STICKY = window_family("sticky", declare_sticky, (deciding,))
