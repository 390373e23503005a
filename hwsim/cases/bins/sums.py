"""G5 and G6: cancellation and growth of the window's sum."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bins.declare import MARKS, Declared, Hits, SampledGroup, SignedTerm, window_family
from hwsim.cases.bins.exponents import BITS
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.palette import Product, exact_code
from hwsim.cases.solver import SIGN, SIGNS, Addend, CaseBuilder, Solution, Solutions
from hwsim.formats import FloatFormat

MOST_TOPS = 96  # exponents tried for one case


def declare_sums(facts: UnitFacts, out: Declared) -> None:
    """Bins of the place of the sum's leading one, of sums that cancel, and of the largest sums."""
    _shifts(facts, out)
    _cancelled(facts, out)
    _growth(facts, out)
    _ends(facts, out)


def _loses(sampled: SampledGroup) -> bool:
    return any(term[3] for term in sampled.every)


def _shifts(facts: UnitFacts, out: Declared) -> None:
    out.section("shifts")
    bins = {}
    for shift in range(1, facts.window + 1):
        deep = facts.shallow[1] if facts.shallow and shift > facts.shallow[0] else None
        for sign in (0, 1):
            for lost in (0, 1):
                name = f"leading one {shift} below max_exp, {MARKS[sign]}, {BITS[lost]}"
                bins[shift, sign, lost] = out.bin("G5", name, deep or (facts.loses if lost else None))
    window = facts.window

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        total = sampled.group.total
        if sampled.top is not None and total:
            shift = window + 1 - abs(total).bit_length()
            if shift > 0:
                hits.add(bins[shift, int(total < 0), int(_loses(sampled))])


def _cancelled(facts: UnitFacts, out: Declared) -> None:
    out.section("cancelled")
    alone = out.bin("G5", "two products cancel exactly", facts.single)
    by_addend = out.bin("G5", "a product and the addend cancel exactly") if facts.addends else None
    many = out.bin("G5", f"all {facts.lanes} products cancel exactly", facts.single)
    hidden = [out.bin("G5", f"window sum 0, exact sum {sign}", facts.loses) for sign in MARKS]
    only = [out.bin("G5", f"the largest two cancel, {sign} straddling terms remain", _no_rest(facts)) for sign in MARKS]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.top is None:
            return
        if sampled.group.total == 0:
            if not _loses(sampled):
                if len(sampled.every) == 2:
                    hits.add(alone if sampled.addend is None or by_addend is None else by_addend)
                if len(sampled.terms) == facts.lanes > 1:
                    hits.add(many)
            else:
                exact = _lost_sum(sampled.every)
                if exact:
                    hits.add(hidden[int(exact < 0)])
        elif len(sampled.holders) == 2:
            _remaining(sampled, hits, only)


def _no_rest(facts: UnitFacts) -> str | None:
    if facts.addends or facts.loses is None:
        if facts.lanes < (2 if facts.addends else 3):
            return f"a group has {facts.lanes} products, and nothing but two that cancel"
        return None
    return facts.loses


def _lost_sum(terms: list[SignedTerm]) -> int:
    """The sum of lost bits, with signs, in a unit that does not matter."""
    deep = max(below for _, _, below, _ in terms)
    return sum((-field if term.sign else field) << deep - below for _, term, below, field in terms if field)


def _remaining(sampled: SampledGroup, hits: Hits, only: list[int]) -> None:
    """Two terms at max_exp that are opposite, and every other one straddles the window's end."""
    x, y = (sampled.group.products[lane] for lane in sampled.holders)
    if x.sig != y.sig or x.sign == y.sign:
        return
    rest = [term for term in sampled.every if term[0] not in sampled.holders]
    if rest and all(field and term.sig >> below for _, term, below, field in rest):
        hits.add(only[int(sampled.group.total < 0)])


def _growth(facts: UnitFacts, out: Declared) -> None:
    out.section("growth")
    bins = {}
    for kind in ("without", "with") if facts.addends else ("without",):
        company = f", {kind} an addend" if facts.addends else ""
        for sign in (0, 1):
            for growth in range(facts.grown(sign, addend=kind == "with") + 1):
                name = f"leading one {growth} above max_exp, {MARKS[sign]}{company}"
                bins[kind, growth, sign] = out.bin("G6", name)
    window = facts.window

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        total = sampled.group.total
        if sampled.top is not None and total:
            growth = abs(total).bit_length() - 1 - window
            if growth >= 0:
                hits.add(bins["without" if sampled.addend is None else "with", growth, int(total < 0)])


def largest_products(facts: UnitFacts) -> list[int]:
    """The significand of the largest product of each sign."""
    highest = facts.exps[-1] + facts.builder.neutral
    return [facts.builder.palette.of(sign, highest)[-1].sig for sign in (0, 1)]


def _ends(facts: UnitFacts, out: Declared) -> None:
    out.section("largest sums")
    largest = largest_products(facts)
    most = [out.bin("G6", f"all lanes the largest {sign} product") for sign in MARKS]
    powers = [1 << facts.window + growth for growth in facts.growths]
    top = [out.bin("G6", f"the least {sign} sum with the highest bit") for sign in MARKS]
    fixed_exp = facts.unit.scale is None

    @out.groups.append
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


def normalize(builder: CaseBuilder) -> None:
    """Every left shift: large terms cancel, and what remains has its leading one at each place."""
    for place, sign, lost in cross(range(builder.window + 1), SIGNS, (False, True)):
        name = f"normalize/left{place:02}-{'lost' if lost else 'exact'}-{SIGN[sign]}"
        builder.add_first(name, _remaining_product(builder, place, sign, lost))
        builder.add_first(f"{name}-addend", _remaining_addend(builder, place, sign, lost))
        if not lost:
            total, tops = (-1) ** sign << builder.window - place, builder.tops(-place)
            builder.add_solution(f"{name}-solved", builder.total(total, tops))
            builder.add_solution(f"{name}-solved-addend", builder.total(total, tops, addend=True))
            builder.add_first(f"{name}-nearly", _nearly_equal(builder, place, sign))


def _remaining_product(builder: CaseBuilder, place: int, sign: int, lost: bool) -> Solutions:
    """X - X + a product whose leading one is `place` places below X's exponent."""
    bits = builder.palette.fraction_bits
    for exp, pair in builder.cancelling_pairs():
        for d in range(place, place + bits + 1):
            low = [
                product
                for product in builder.palette.of(sign, exp - d)
                if product.sig.bit_length() - 1 - bits - d == -place
                and lost == bool(product.sig & builder.lost_bits(d))
            ]
            if low:
                yield Solution((*pair, builder.rng.choice(low)))


def _remaining_addend(builder: CaseBuilder, place: int, sign: int, lost: bool) -> Solutions:
    """X - X + an addend `place` places below X's exponent."""
    below = builder.addend_bits - 1 - (builder.window - place)
    if not builder.addend_bits or (lost and below < 1):
        return
    sig = (1 << builder.window - place + 1) + 1 if lost else 1
    for exp, pair in builder.cancelling_pairs():
        yield builder.with_addend(pair, sign, sig, exp - builder.window - 1 if lost else exp - place)


def _nearly_equal(builder: CaseBuilder, place: int, sign: int) -> Solutions:
    """A product, and an addend of the other sign that differs from it in one place."""
    bits = builder.palette.fraction_bits
    for exp, products in builder.by_exponent(sign):
        unit = min(exp - bits, exp - place)
        for product in reversed(products):
            size = (product.sig << exp - bits - unit) - (1 << exp - place - unit)
            solution = builder.with_addend((product,), 1 - sign, size, unit)
            if solution and solution.addend and solution.addend.term.exp <= exp:
                yield solution


def growth(builder: CaseBuilder) -> None:
    """1, 2, 3 and so on to all lanes of one large product, in both signs, with and without an addend as large."""
    fits = [exp for exp in builder.inside if exp + builder.growths <= builder.result_exps[1]]
    top = fits[-1] if fits else builder.palette.exps[-1]
    for sign in SIGNS:
        largest = builder.palette.of(sign, top)[-1]
        kinds = {"max": largest, "one": builder.palette.find(sign, top, 1 << builder.palette.fraction_bits)}
        for (kind, product), n in cross(kinds.items(), range(1, builder.lanes + 1)):
            if product is None:
                continue
            builder.add_beat(f"growth/{kind}{n:02}-{SIGN[sign]}", (product,) * n)
            added = _as_large(builder, product)
            if added and (n in {1, 2, 3, builder.lanes} or n & (n - 1) == 0 or n & (n + 1) == 0):
                builder.add_beat(f"growth/{kind}{n:02}-addend-{SIGN[sign]}", (product,) * n, added)


def _as_large(builder: CaseBuilder, product: Product) -> Addend | None:
    """An addend of a product's sign and exponent: of all ones, or the power of two."""
    bits = builder.addend_bits
    if not bits:
        return None
    return builder.addend(product.sign, (1 << bits) - 1, product.exp - bits + 1) or builder.addend(
        product.sign, 1, product.exp
    )


def carry(builder: CaseBuilder) -> None:
    """Ones from each place up to the top of the window, and one more in the last of them; the same backwards."""
    whole = 1 << builder.window
    for place, sign, addend in cross(range(builder.window + 1), SIGNS, (False, True)):
        word, ones = f"{place:02}-{SIGN[sign]}", 2 * whole - (1 << place)
        kinds = ("addend", "borrow-addend") if addend else ("product", "borrow")
        builder.add_first(f"carry/{kinds[0]}{word}", _one_more(builder, -ones if sign else ones, sign, place, addend))
        back = _one_more(builder, -whole if sign else whole, 1 - sign, place, addend)
        builder.add_first(f"carry/{kinds[1]}{word}", back)


def _one_more(builder: CaseBuilder, total: int, sign: int, place: int, addend: bool) -> Solutions:
    """Terms of that sum, which may be an addend alone, and a product of one unit in a place of the window."""
    exps = builder.inside
    lowest = exps[0] - builder.palette.fraction_bits
    tops = [top for top in range(exps[0], exps[-1] + builder.window + 3) if top - builder.window + place >= lowest]
    for top in sorted(tops, key=lambda top: (top not in exps, abs(top - exps[-1])))[:MOST_TOPS]:
        unit = [product for product in builder.palette.powers(sign, top - builder.window + place) if product.exp <= top]
        if unit and addend:
            yield builder.with_addend(unit[:1], int(total < 0), abs(total), top - builder.window)
        elif unit:
            solution = builder.total(total, [top])
            if solution and not solution.shift:
                yield solution._replace(products=(*solution.products, unit[0]))


def cancel(builder: CaseBuilder) -> None:
    """Exact cancellation between each lane and the next, and between each lane and the addend."""
    exps = builder.inside
    for i, sign in cross(range(builder.lanes), SIGNS):
        pair = builder.cancelling(exps[(7 * i) % len(exps)], sign) or builder.cancelling(exps[-1], sign)
        if pair:
            builder.add_beat(f"cancel/lane{i:02}-next-{SIGN[sign]}", pair, lane=i)
        builder.add_first(f"cancel/lane{i:02}-addend-{SIGN[sign]}", _cancelled_by_addend(builder, i, sign), lane=i)
    whole, half = builder.cancelling(exps[-1]), builder.lanes // 2
    if whole:
        builder.add_beat("cancel/all-halves", [whole[0]] * half + [whole[1]] * half)
        builder.add_beat("cancel/all-alternating", whole * half)


def _cancelled_by_addend(builder: CaseBuilder, i: int, sign: int) -> Solutions:
    exps = builder.inside
    for k in range(len(exps)):
        products = builder.palette.of(sign, exps[(5 * i + k) % len(exps)])
        for product in builder.rng.sample(products, min(4, len(products))):
            yield builder.with_addend((product,), 1 - sign, product.sig, product.exp - builder.palette.fraction_bits)


def residue(builder: CaseBuilder) -> None:
    """Terms that cancel in the window, but not below it: the sum is zero, or one last place, and not exact."""
    for sign in SIGNS:
        _same_kept(builder, SIGN[sign], sign)
        for places in range(1, builder.addend_bits - builder.window):
            builder.add_first(f"residue/addend{places:02}-{SIGN[sign]}", _hidden_in_addend(builder, places, sign))
        lost = ((pair, builder.palette.of(sign, exp - builder.window - 2)) for exp, pair in builder.cancelling_pairs())
        builder.add_first(f"residue/all-lost-{SIGN[sign]}", (Solution((*pair, low[-1])) for pair, low in lost if low))


def _same_kept(builder: CaseBuilder, word: str, sign: int) -> None:
    """X - X + t - u, where t and u straddle the window's end and differ in what is lost, for each number of places."""
    bits = builder.palette.fraction_bits
    for places in range(max(1, bits - builder.window), bits + 2):
        d, below = builder.window - bits + places, (1 << places) - 1
        for exp, pair in builder.cancelling_pairs():
            lows, others = builder.palette.of(sign, exp - d), builder.palette.of(1 - sign, exp - d)
            pairs = [(t, u) for t in lows for u in others if t.sig >> places == u.sig >> places and t.sig != u.sig]
            zero = [(t, u) for t, u in pairs if not u.sig & below]
            both = [(t, u) for t, u in pairs if t.sig & below and u.sig & below]
            for name, able in (("zero", zero), ("both", both)):
                if able:
                    builder.add_beat(f"residue/{name}{places:02}-{word}", (*pair, *builder.rng.choice(able)))
            if pairs:
                break


def _hidden_in_addend(builder: CaseBuilder, places: int, sign: int) -> Solutions:
    """A product against an addend that is the same in the window, and has a bit below it."""
    bits = builder.palette.fraction_bits
    lead = builder.window + places - bits
    for product in builder.sign_of(sign):
        if lead >= places and product.sig >> bits == 1:
            yield builder.with_addend(
                (product,), 1 - sign, (product.sig << lead) + 1, product.exp - builder.window - places
            )


def largest(builder: CaseBuilder, facts: UnitFacts) -> None:
    """The largest product in all lanes, in both signs; and sums that are a power of two, the largest there is."""
    exp = builder.palette.exps[-1]
    for sign in SIGNS:
        builder.add_beat(f"G6/all-largest-{SIGN[sign]}", builder.palette.of(sign, exp)[-1:] * builder.lanes)
    bits = builder.addend_bits
    total = 1 << builder.window + facts.most_growth
    parts = [part for part in range(1, 32) if bits > 5 and builder.window > 4]
    for top, sign, part in cross(builder.tops(facts.most_growth)[:2], SIGNS, parts):
        # The addend takes what so many lanes of products cannot hold.
        rest = total - (part << builder.window - 4)
        products = builder.palette.decompose(-rest if sign else rest, top, top - builder.window, builder.lanes)
        if products:
            name = f"G6/power-{top}-{part:02}-{SIGN[sign]}"
            builder.add_solution(name, builder.with_addend(products, sign, part, top - 4))


def hidden(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Products whose sum an addend cancels in the window, with one bit more below it."""
    for place, sign in cross(range(builder.window + 1), SIGNS if builder.addend_bits else ()):
        solution = builder.total((-1) ** sign << place, builder.tops(place - builder.window))
        if solution is None or solution.addend or not solution.products:
            continue
        top = max(product.exp for product in solution.products) + solution.shift
        for below in (1, 2, 3):
            added = builder.addend(1 - sign, (1 << place + below) + 1, top - builder.window - below)
            if added and added.term.exp <= top:
                builder.add_solution(f"G5/hidden{place:02}-{below}-{SIGN[sign]}", solution._replace(addend=added))


def highest(builder: CaseBuilder, facts: UnitFacts) -> None:
    """All lanes one large product, and an addend that brings the sum just into the highest binade, with low bits.

    The product is made from significands: of wide formats the palette holds a few products only.
    """
    a, b = builder.factors
    if not isinstance(a, FloatFormat) or not isinstance(b, FloatFormat) or facts.window < facts.bits:
        return
    whole, cut = 1 << facts.window + facts.most_growth, facts.most_cut
    low = {0} | {1 << place | guard << cut - 1 for place in range(cut - 1) for guard in (0, 1)}
    for ones, pattern, sign in cross(range(2, min(a.precision, b.precision) + 1), sorted(low), SIGNS):
        filled = (1 << ones) - 1
        codes = exact_code(a, sign, filled, 1 - ones), exact_code(b, 0, filled, 1 - ones)
        sig = filled * filled << facts.bits - 2 * ones + 2
        rest = whole + pattern - (builder.lanes * sig << facts.window - facts.bits)
        added = builder.addend(sign, rest, builder.neutral - builder.window)
        if codes[0] is not None and codes[1] is not None and added and added.term.exp <= builder.neutral:
            builder.add_beat(f"G6/highest-{ones:02}-{pattern:x}-{sign}", [(codes[0], codes[1])] * builder.lanes, added)


def cancelled(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Two products that cancel, one that is left at each place, and one far below that loses bits."""
    places = range(1, builder.window + 1)
    for place, sign, back in cross(places, SIGNS, SIGNS if builder.lanes > 3 else ()):
        name = f"G5/left{place:02}-cancelled-{back}-{SIGN[sign]}"
        builder.add_first(name, _left_and_losing(builder, place, sign, bool(back)))


def _left_and_losing(builder: CaseBuilder, place: int, sign: int, back: bool) -> Solutions:
    """back: what loses bits has the other sign, so that what is left is no power of two."""
    bits = builder.palette.fraction_bits
    for exp, pair in builder.cancelling_pairs():
        low = _losing(builder, exp, sign ^ back)
        for d in range(max(0, place - bits), place + bits) if low else ():
            for product in builder.palette.of(sign, exp - d):
                remains = bits + d + 1 - product.sig.bit_length() == place and (
                    not back or product.sig & (product.sig - 1)
                )
                if remains and low:
                    yield Solution((*pair, product, low))


def _losing(builder: CaseBuilder, top: int, sign: int) -> Product | None:
    """A product that loses bits under an exponent, as small as can be."""
    for exp in builder.palette.exps:
        below = builder.lost_bits(top - exp) if exp <= top else 0
        for product in builder.palette.of(sign, exp) if below else ():
            if product.sig & below:
                return product
    return None


SUMS = window_family(
    "sums",
    declare_sums,
    (normalize, growth, carry, cancel, residue),
    (largest, cancelled, hidden, highest),
    groups=("G5", "G6"),
)
