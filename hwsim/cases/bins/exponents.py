"""G2 and G3: distances between terms, and what sets the reference exponent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.base.text import counted
from hwsim.cases.bins.declare import Declared, Hits, SampledGroup, window_family
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.palette import Product, largest_code, negate, numbers, zeros
from hwsim.cases.solver import SIGN, SIGN_PAIRS, SIGNS, Addend, CaseBuilder, Solution, Solutions, signs_of
from hwsim.formats import Class
from hwsim.model.terms import any_lost, window
from hwsim.spec.keys import Factor

WORDS = ("add", "subtract")
BITS = ("exact", "bits lost")


def declare_distances(facts: UnitFacts, out: Declared) -> None:
    """Every distance between products, added and subtracted, exact and not; the addend above and below them."""
    _products(facts, out)
    if facts.addends:
        _addend(facts, out)


def _unreachable(facts: UnitFacts, d: int, lost: int) -> str | None:
    """The reason why no product is d below another with bits lost, or with none."""
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


def _addend_bin(d: int, most: int, sub: int) -> str:
    """The bin of an addend d places above the largest product, or below it; `most` is as far as that and farther."""
    word = "level with" if d == 0 else f"{abs(d)}{' or more' if abs(d) == most else ''} "
    side = "" if d == 0 else "above" if d > 0 else "below"
    return f"addend {word}{side} the largest product, {WORDS[sub]}"


def most_addend(facts: UnitFacts) -> int:
    """The farthest distance of an addend that is told from others: one past where a shifter saturates."""
    return facts.window + 3


def _products(facts: UnitFacts, out: Declared) -> None:
    out.section("distances")
    bins = {
        (d, sub, lost): out.bin("G2", f"d={d}, {WORDS[sub]}, {BITS[lost]}", _unreachable(facts, d, lost))
        for d in facts.distances
        for sub in (0, 1)
        for lost in (0, 1)
    }
    last = facts.distances[-1]
    beyond = facts.apart(last + 1) if facts.farthest <= last else None
    for sub in (0, 1):
        index = out.bin("G2", f"d above {last}, {WORDS[sub]}", beyond)
        bins |= {(last + 1, sub, lost): index for lost in (0, 1)}

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
                hits.add(bins[d if d <= last else last + 1, term.sign ^ sign, 1 if field else 0])


def _addend(facts: UnitFacts, out: Declared) -> None:
    """Distances from the largest product's exponent to the addend's."""
    out.section("addend distances")
    most = most_addend(facts)
    bins: dict[tuple[int, int], int] = {}
    for d in range(-most, most + 1):
        why = _addend_range(facts, d)
        for sub in (0, 1):
            bins[d, sub] = out.bin("G2", _addend_bin(d, most, sub), why)

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.addend is None or not sampled.terms:
            return
        term = sampled.addend[1]
        if sampled.holders:
            first = sampled.group.products[sampled.holders[0]]
        else:
            first = max((term for _, term, _, _ in sampled.terms), key=lambda term: term.exp)
        d = min(max(term.exp - first.exp, -most), most)
        hits.add(bins[d, term.sign ^ first.sign])


def _addend_range(facts: UnitFacts, d: int) -> str | None:
    """The reason why no addend stands d above a product, or None. Beyond the largest d, as far as d and farther."""
    if facts.addend_exps is None:
        return None
    (low, high), (least, most) = facts.addend_exps, facts.product_exps
    if low - most <= d <= high - least:
        return None
    return f"addends have exponents {low} to {high}, products of {facts.names} {least} to {most}"


def between_products(builder: CaseBuilder) -> None:
    """Every distance between two products, added and subtracted, with bits below the window and without."""
    for d in builder.distances:
        for lost, signs in cross((False, True), SIGN_PAIRS):
            pair = builder.pair(d, signs, lost)
            if pair:
                builder.add_beat(f"distance/d{d:02}-{'lost' if lost else 'exact'}-{signs_of(*signs)}", pair)


def to_the_addend(builder: CaseBuilder) -> None:
    """The addend at every distance above and below a product, with a fraction of all ones, of zero, and of one."""
    if not builder.addend_bits:
        return
    last = builder.addend_bits - 1
    fractions = {"ones": (2 << last) - 1, "zero": 1 << last, "one": 1 << last | 1}
    for d, above in cross(range(builder.window + 5), (True, False)):
        for (word, sig), signs in cross(fractions.items(), SIGN_PAIRS):
            if (word != "ones" and signs[0]) or not (d or above):
                continue
            name = f"addend/{'above' if above else 'below'}{d:02}-{word}-{signs_of(*signs)}"
            builder.add_first(name, _at_distance(builder, d if above else -d, signs if above else signs[::-1], sig))


def _at_distance(builder: CaseBuilder, d: int, signs: tuple[int, int], sig: int) -> Iterator[Solution]:
    """An addend d places above a product. signs: of the addend and of the product."""
    for exp in builder.shuffled(signs[1]):
        products = (builder.rng.choice(builder.palette.of(signs[1], exp)),)
        solution = builder.with_addend(products, signs[0], sig, exp + d - (builder.addend_bits - 1))
        if solution and solution.addend and solution.addend.term.exp == exp + d:
            yield solution


def extreme_addends(builder: CaseBuilder) -> None:
    """Subnormal, smallest normal, largest and other landmark addends, alone and beside small and large products."""
    fmt = builder.addend_format
    if fmt is None:
        return
    exps = builder.palette.exps
    companies: dict[str, tuple[Product, ...]] = {"alone": ()}
    for sign, word in enumerate(("", "-neg")):
        companies[f"least{word}"] = builder.palette.of(sign, exps[0])[:1]
        companies[f"largest{word}"] = builder.palette.of(sign, exps[-1])[-1:]
    for (name, code), (company, products), sign in cross(numbers(fmt).items(), companies.items(), SIGNS):
        signed = negate(fmt, code) if sign else code
        term = None if signed is None else builder.definition.addend(signed)
        if signed is not None and term is not None:
            builder.add_beat(f"extreme/{'neg-' if sign else ''}{name}-{company}", products, Addend(term, signed))


DISTANCES = window_family(
    "distances", declare_distances, (between_products, to_the_addend, extreme_addends), groups=("G2",)
)


def declare_references(facts: UnitFacts, out: Declared) -> None:
    """Subnormal factors, zeros, ties, each lane and the addend as the maximum, and each lane that straddles below.

    A floor as max_exp: `hwsim.cases.bins.exponents`.
    """
    _subnormal(facts, out)
    _zeros(facts, out)
    _ties(facts, out)
    _lanes(facts, out)


def _subnormal(facts: UnitFacts, out: Declared) -> None:
    out.section("subnormal")
    bins: dict[tuple[int, int], int] = {}
    both = None
    for side, fmt in enumerate(facts.factors):
        if fmt.subnormals:
            for zeros in range(1, fmt.precision):
                name = f"max_exp by a subnormal {'ab'[side]} of {counted(zeros, 'leading zero')}, beside another term"
                highest = fmt.emin + facts.factors[1 - side].emax
                bins[side, zeros] = out.bin("G3", name, facts.together or facts.floored(highest))
    if {side for side, _ in bins} == {0, 1}:
        why = facts.together or facts.floored(sum(fmt.emin for fmt in facts.factors))
        both = out.bin("G3", "max_exp by a subnormal times a subnormal, beside another term", why)
    precisions = [fmt.fraction_bits + 1 for fmt in facts.factors]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.holders or len(sampled.terms) + (sampled.addend is not None) < 2:
            return
        pair = [factors[sampled.holders[0]] for factors in (sampled.group.a, sampled.group.b)]
        small = [factor.cls is Class.SUBNORMAL for factor in pair]
        if both is not None and all(small):
            hits.add(both)
        elif any(small):
            side = small.index(True)
            hits.add(bins[side, precisions[side] - pair[side].sig.bit_length()])


def _zeros(facts: UnitFacts, out: Declared) -> None:
    out.section("zero products")
    a, b = ((fmt.emin, fmt.emax) for fmt in facts.factors)
    bins = []
    for word, low, high in (("a", a[0], b[1]), ("b", b[0], a[1])):
        flat = not facts.addends and low + high <= facts.exps[0]
        why = (
            f"a zero {word} counts with exponent {low}, so that its product is never above a number's" if flat else None
        )
        bins.append(out.bin("G3", f"zero product above max_exp, by a zero {word}", facts.together or why))
    # Where all products have one exponent, a number beside zeros has theirs, whatever the addend has.
    alike = a[0] == a[1] and b[0] == b[1] and not facts.spread
    flat = (alike or not facts.addends) and max(a[0] + b[1], b[0] + a[1]) <= facts.exps[0]
    why = "a zero product's exponent is never above a number's" if flat else None
    every = out.bin("G3", "zero products above max_exp in all lanes but one", facts.together or facts.single or why)
    nothing = out.bin("G3", "every term zero")
    alone = out.bin("G3", "every product zero, and the addend not") if facts.addends else None
    most = facts.lanes - 1

    @out.groups.append
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
                hits.add(bins[0])
            if not sampled.group.b[lane].sig:
                hits.add(bins[1])
        if len(above) == most and most:
            hits.add(every)


def _ties(facts: UnitFacts, out: Declared) -> None:
    out.section("ties")
    bins = {n: out.bin("G3", f"{n} of {facts.lanes} products at max_exp") for n in facts.landmarks()}
    with_addend = (
        {n: out.bin("G3", f"{n} of {facts.lanes} products and the addend at max_exp") for n in facts.landmarks()}
        if facts.addends
        else {}
    )

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        n = len(sampled.holders)
        if n in bins:
            hits.add(bins[n])
            if sampled.addend is not None and sampled.addend[1].exp == sampled.top and n in with_addend:
                hits.add(with_addend[n])


def _lanes(facts: UnitFacts, out: Declared) -> None:
    out.section("largest")
    k = facts.lanes
    alone = [out.bin("G3", f"lane {lane} alone sets max_exp, beside other terms", facts.together) for lane in range(k)]
    by_addend = out.bin("G3", "the addend alone sets max_exp, beside products") if facts.addends else None
    out.section("straddling")
    why = _never_straddles(facts)
    pairs = [
        [
            -1 if i == j else out.bin("G3", f"lane {i} sets max_exp, lane {j} straddles the window", why)
            for j in range(k)
        ]
        for i in range(k)
    ]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if not sampled.holders:
            if by_addend is not None and sampled.terms and sampled.addend and sampled.addend[1].exp == sampled.top:
                hits.add(by_addend)
            return
        addend_level = sampled.addend is not None and sampled.addend[1].exp == sampled.top
        if len(sampled.holders) == 1 and not addend_level and len(sampled.terms) + (sampled.addend is not None) > 1:
            hits.add(alone[sampled.holders[0]])
        straddling = [lane for lane, term, below, field in sampled.terms if field and term.sig >> below]
        for holder in sampled.holders if straddling else ():
            row = pairs[holder]
            hits.update([row[lane] for lane in straddling if lane != holder])


def _never_straddles(facts: UnitFacts) -> str | None:
    """The reason why no product below another keeps some bits and loses some, or None."""
    if facts.single:
        return facts.single
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


def lanes(builder: CaseBuilder) -> None:
    """Each lane once as the maximum, and once shifted: against another lane, and against the addend."""
    apart = [d for d in builder.distances if 0 < d <= builder.window] if builder.lanes > 1 else []
    for i in range(builder.lanes):
        neighbour = (i + 1) % builder.lanes
        for sign in SIGNS:
            pair = builder.pair(apart[i % len(apart)], (sign, i % 2)) if apart else None
            if pair:
                builder.add_beat(f"lane/max{i:02}-shift{neighbour:02}-{SIGN[sign]}", pair, lane=i)
            for word, above in (("max", -1 - i % 4), ("shift", 1 + i % 4)):
                # A product in lane i with an addend one to four places above or below it.
                solutions = (
                    builder.with_addend((product,), i % 2, 1, product.exp + above) for product in builder.sign_of(sign)
                )
                builder.add_first(f"lane/{word}{i:02}-addend-{SIGN[sign]}", solutions, lane=i)


def lane_pairs(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Each lane as the maximum of a row in which all others straddle the window's end."""
    able = _straddling(builder)
    for lane, sign in cross(range(builder.lanes), SIGNS) if able else ():
        high, low = able[lane % len(able)]
        others = [
            low if not sign else (low, builder.palette.opposite(low) or low)[i % 2] for i in range(builder.lanes - 1)
        ]
        builder.add_beat(f"G3/max{lane:02}-others-{'alternate' if sign else 'straddle'}", (high, *others), lane=lane)


def _straddling(builder: CaseBuilder) -> list[tuple[Product, Product]]:
    """A product for max_exp and one below it that keeps bits and loses bits, for each distance that has such."""
    pairs = []
    for d in builder.distances:
        places = builder.lost_place(d)
        for exp in builder.tries if 0 < places < builder.palette.fraction_bits + 2 else ():
            below = builder.lost_bits(d)
            high = builder.palette.of(0, exp)
            low = [
                product for product in builder.palette.of(0, exp - d) if product.sig & below and product.sig >> places
            ]
            if high and low:
                pairs.append((builder.rng.choice(high), low[-1]))
                break
    return pairs


def subnormals(builder: CaseBuilder) -> None:
    """A subnormal factor whose product has the largest reference exponent, and leading zeros, beside a larger term."""
    for side, fmt in enumerate(builder.factors):
        if not fmt.subnormals or not fmt.fraction_bits:
            continue
        largest = list(numbers(builder.factors[1 - side]).values())[-1]
        for lead in sorted({0, 1, 2, fmt.fraction_bits // 2, fmt.fraction_bits - 1} & set(range(fmt.fraction_bits))):
            for kind, code in (("one", 1 << lead), ("ones", (2 << lead) - 1)):
                code <<= fmt.padding
                pair = (largest, code) if side else (code, largest)
                if kind == "one" or lead:
                    _leading_zeros(builder, f"{'ab'[side]}-lead{lead}-{kind}", pair)


def _leading_zeros(builder: CaseBuilder, name: str, pair: tuple[int, int]) -> None:
    term = builder.definition.product(*pair, builder.neutral)
    near = {0, 1, 2, 3, builder.window - 1, builder.window, builder.window + 1}
    for d, sign in cross(sorted(d for d in near if d >= 0), (0, 1)):
        low = builder.palette.of(sign, term.exp - d)
        word = f"subnormal/{name}-d{d:02}-{SIGN[sign]}"
        if low:
            builder.add_beat(word, [pair, low[-1]])
        added = builder.addend(sign, (1 << builder.addend_bits) - 1, term.exp - d - builder.addend_bits + 1)
        if added:
            builder.add_beat(f"{word}-addend", [pair], added)


def least_subnormals(builder: CaseBuilder, facts: UnitFacts) -> None:
    """A subnormal of each number of leading zeros sets max_exp, beside the smallest products; and two subnormals do."""
    least = builder.palette.of(0, builder.palette.exps[0])[:1]
    factors = builder.factors
    for side, fmt in enumerate(factors):
        if fmt.subnormals:
            largest = list(numbers(factors[1 - side]).values())[-1]
            for zeros in range(1, fmt.precision):
                code = 1 << fmt.precision - zeros - 1 + fmt.padding
                pair = (largest, code) if side else (code, largest)
                builder.add_beat(f"G3/subnormal-{'ab'[side]}{zeros:02}", [pair, *least])
    codes = [1 << fmt.padding for fmt in factors]
    if builder.lanes > 1 and all(fmt.subnormals for fmt in factors):
        builder.add_beat("G3/subnormals", [(codes[0], codes[1])] * builder.lanes)


def zero_times(builder: CaseBuilder) -> None:
    """A zero product with a large other factor beside a tiny term: it must have no part in max_exp."""
    a, b = builder.factors
    tiny = builder.palette.of(0, builder.palette.exps[0])[0]
    small = builder.addend(0, 1, builder.palette.exps[0] - 3)
    for i, (x, y) in enumerate(cross(zeros(a), _largest(b))):
        _beside(builder, f"a{i}", (x, y), (tiny.a, tiny.b), small)
    for i, (x, y) in enumerate(cross(_largest(a), zeros(b))):
        _beside(builder, f"b{i}", (x, y), (tiny.a, tiny.b), small)


def _beside(
    builder: CaseBuilder, name: str, empty: tuple[int, int], tiny: tuple[int, int], small: Addend | None
) -> None:
    for lane in sorted({0, builder.lanes // 2, builder.lanes - 1}):
        if builder.lanes > 1:
            builder.add(f"zero-times/{name}-lane{lane:02}", [builder.filling([empty, tiny], lane, exact=True)])
        if small:
            filling = builder.filling([empty], lane, exact=True)
            builder.add(f"zero-times/{name}-lane{lane:02}-addend", [*small.before, filling], small.c)
    if builder.lanes > 1:
        row = [*[empty] * (builder.lanes - 1), tiny]
        builder.add(f"zero-times/{name}-all", [builder.filling(row, builder.lanes // 3, exact=True)])


def _largest(fmt: Factor) -> list[int]:
    code = largest_code(fmt)
    opposite = negate(fmt, code)
    return [code] if opposite is None else [code, opposite]


REFERENCES = window_family(
    "references", declare_references, (lanes, zero_times, subnormals), (least_subnormals, lane_pairs), groups=("G3",)
)


STEPS = {1: "one more", -1: "one less"}
MOST_PLACES = 8  # below a sum's leading one, of products that make it


def declare_floors(facts: UnitFacts, out: Declared) -> None:
    """Bins of the largest term's distance below the floor, and of results that a floor one more or less changes."""
    if facts.floor is None:
        return
    _depths(facts, facts.floor, out)
    _shown(facts, facts.floor, out)


def _least(facts: UnitFacts) -> int:
    """The least exponent of a term."""
    return min(facts.product_exps[0], facts.addend_exps[0] if facts.addend_exps else facts.result.emin)


def _depths(facts: UnitFacts, floor: int, out: Declared) -> None:
    out.section("floor depths")
    last, least = facts.window + 1, _least(facts)
    bins = []
    for d in range(1, last + 1):
        suffix = " or more" if d == last else ""
        why = f"no term has an exponent below {least}" if floor - d < least else None
        bins.append(out.bin("G3", f"max_exp by its floor, {d}{suffix} above every term", why))

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.top == floor:
            d = floor - max(term.exp for _, term, _, _ in sampled.every)
            if d > 0:
                hits.add(bins[min(d, last) - 1])


def _shown(facts: UnitFacts, floor: int, out: Declared) -> None:
    out.section("floor shown")
    least, rule = _least(facts), facts.builder.rule
    bins = {}
    for step, word in STEPS.items():
        why = f"no term has an exponent below {least}" if floor + min(step, 0) < least else None
        bins[step] = out.bin("G3", f"max_exp by its floor, and a floor {word} would be another result", why)

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        group = sampled.group
        if sampled.top != floor or not sampled.last:
            return
        terms = group.products if group.addend is None else (*group.products, group.addend)
        for step, index in bins.items():
            moved = window(terms, rule.fraction_bits, rule.term_lost, rule.zero_terms, floor + step)
            sticky = rule.sticky and any_lost(terms, moved)
            if facts.builder.definition.round(moved.total, moved.max_exp, sticky).code != group.code:
                hits.add(index)


def depths(builder: CaseBuilder) -> None:
    """One product at each distance below the floor."""
    floor = builder.rule.max_exp_floor
    if floor is None:
        return
    for d, sign in cross(range(builder.window + 4), SIGNS):
        builder.add_first(f"floor/d{d:02}-{SIGN[sign]}", _at(builder, floor - d, sign))


def _at(builder: CaseBuilder, exp: int, sign: int) -> Solutions:
    """One product of an exponent, which scales may bring there."""
    for source in [exp] if builder.unit.scale is None else builder.tries:
        products = builder.palette.of(sign, source)
        if products and builder.can_shift(exp - source):
            yield Solution((builder.rng.choice(products),), None, exp - source)


def at_the_end(builder: CaseBuilder) -> None:
    """Next to a result that the least bit changes, one bit at and around the end of the floor's window."""
    floor = builder.rule.max_exp_floor
    if floor is None:
        return
    least = builder.result.emin - builder.result.fraction_bits
    for lead, below, signs in cross((least - 1, least, least + 1), (-1, 0, 1, 2), SIGN_PAIRS):
        name = f"floor/lead{lead - least:+}-end{-below:+}-{signs_of(*signs)}"
        builder.add_first(name, _with_bit(builder, floor, lead, floor - builder.window - below, signs))


def _with_bit(builder: CaseBuilder, floor: int, lead: int, place: int, signs: tuple[int, int]) -> Solutions:
    """Products of sum 2^lead and one of 2^place, all of exponents below the floor. signs: of both."""
    for shift in _shifts(builder, place):
        low = next(
            (product for product in builder.palette.powers(signs[1], place - shift) if product.exp + shift < floor),
            None,
        )
        if low is None:
            continue
        for exp in reversed([exp for exp in builder.palette.exps if exp + shift < floor]):
            unit = lead - shift - MOST_PLACES
            total = -(1 << MOST_PLACES) if signs[0] else 1 << MOST_PLACES
            products = builder.palette.decompose(total, exp, unit, builder.lanes - 1)
            if products is not None:
                yield Solution((*products, low), None, shift)


def _shifts(builder: CaseBuilder, place: int) -> Iterator[int]:
    """Exponents that scales can add to give a product of 2^place; 0 without scales."""
    if builder.unit.scale is None:
        yield 0
        return
    finest = builder.palette.exps[0] - builder.palette.fraction_bits
    yield from (
        place - exponent
        for exponent in range(finest, builder.palette.exps[-1] + 2)
        if builder.can_shift(place - exponent)
    )


FLOORS = window_family("floors", declare_floors, (depths, at_the_end))
