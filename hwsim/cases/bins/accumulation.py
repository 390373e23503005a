"""G11: the addend beside the products, lengths of sums, chains of beats, and what a promotion's register does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product as cross

from hwsim.base.text import counted
from hwsim.cases.bins.declare import Declared, Hits, SampledCase, SampledGroup, Subject, window_family
from hwsim.cases.bins.exponents import WORDS
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.operands import named
from hwsim.cases.bins.outcomes import in_units
from hwsim.cases.palette import EXHAUSTIVE_BITS, Product, exact_code, infinities, is_finite, nans, numbers, zeros
from hwsim.cases.solver import SIGN, SIGN_PAIRS, SIGNS, CaseBuilder, Filling, Pair, Solution
from hwsim.formats import Class, FloatFormat, Format, unpack
from hwsim.formats.codes import all_codes
from hwsim.model.late import Promoted
from hwsim.model.terms import Term, addend_term

LONG = 128  # beats
LENGTHS = (1, 2, 3, 9)
Content = Callable[[CaseBuilder, int], list[Filling]]


def declare_accumulation(facts: UnitFacts, out: Declared) -> None:
    """Bins of an addend and products that swamp or keep each other, and of chains."""
    if facts.addends:
        _beside(facts, out)
    _chains(facts, out)


def _beside(facts: UnitFacts, out: Declared) -> None:
    out.section("addend beside products")
    kinds = ("dominates", "straddles the window", "is lost", "swamps all products")
    bins = {
        (kind, sub): out.bin("G11", f"the addend {kind}, {WORDS[sub]}")
        for kind in kinds
        for sub in (0, 1)
    }  # fmt: skip
    low = fine_bits(facts)
    fine = [
        out.bin("G11", f"addend with bits below {facts.result.name}'s fraction, {word}")
        for word in (("alone", "beside products") if low else ())
    ]

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        if sampled.addend is None:
            return
        _, addend, below, field = sampled.addend
        if low and addend.sig & low:
            hits.add(fine[1 if sampled.terms else 0])
        if not sampled.terms:
            return
        first = sampled.group.products[sampled.holders[0]] if sampled.holders else sampled.terms[0][1]
        sub = addend.sign ^ first.sign
        if not sampled.holders:
            inside = any(_kept(term, places) for _, term, places, _ in sampled.terms)
            kind = "dominates" if inside else "swamps all products"
        elif field:
            kind = "straddles the window" if _kept(addend, below) else "is lost"
        else:
            return
        hits.add(bins[kind, sub])


def fine_bits(facts: UnitFacts) -> int:
    """The bits of an addend that are below the result's fraction, as a mask."""
    return (1 << max(0, facts.builder.addend_bits - 1 - facts.result.fraction_bits)) - 1


def _kept(term: Term, below: int) -> int:
    """The part of a term in the window, whatever becomes of the bits below it."""
    return term.sig >> max(0, below)


def chain_lengths(facts: UnitFacts) -> list[int]:
    """Numbers of beats that have bins."""
    return sorted({1, 2, 3, facts.lanes, LONG})


def _chains(facts: UnitFacts, out: Declared) -> None:
    out.section("chains")
    most = facts.builder.beats
    why = f"the unit sums at most {counted(most, 'beat')}"
    bins = {
        n: out.bin("G11", f"chain of {counted(n, 'beat')}", why if n > most else None) for n in chain_lengths(facts)
    }
    single = why if most < 2 else None
    if single is None and not facts.builder.partials:
        single = "the partial sum starts again with every beat"
    _count_groups(bins, out)
    stuck = out.bin("G11", "products that change nothing of a partial sum", single)
    turns = [
        out.bin("G11", f"partial sum from {word}", single or (_three(facts) if index == 2 else None))
        for index, word in enumerate(("+ to -", "- to +", "a number to 0 and on"))
    ]
    sign_bit, padding = facts.result.sign_bit, facts.result.padding

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        restart = facts.unit.restart
        for before, after in zip(sampled.groups, sampled.groups[1:], strict=False):
            if (restart is not None and after.group.index % restart == 0) or not before.finite or not after.finite:
                continue
            x, y = before.group.code, after.group.code
            if before.group.overflow or after.group.overflow:
                continue
            if x == y and after.terms and after.addend is not None:
                hits.add(stuck)
            small = [code >> padding & (sign_bit - 1) for code in (x, y)]
            if all(small) and (x ^ y) >> padding & sign_bit:
                hits.add(turns[0 if y >> padding & sign_bit else 1])
        for first, second, third in zip(sampled.groups, sampled.groups[1:], sampled.groups[2:], strict=False):
            if restart is not None and (third.group.index % restart) < 2:
                continue
            codes = [group.group.code >> padding & (sign_bit - 1) for group in (first, second, third)]
            if all(group.finite for group in (first, second, third)) and codes[0] and not codes[1] and codes[2]:
                hits.add(turns[2])


def _count_groups(bins: Mapping[int, int], out: Declared) -> None:
    """Count sums by how many groups they have. bins: of some numbers of groups."""

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        if (count := len(sampled.explanation.groups)) in bins:
            hits.add(bins[count])


def declare_lengths(subject: Subject, out: Declared) -> None:
    """Groups of a sum; where it ends beside a promotion."""
    instruction, beats = subject.unit.instruction, subject.unit.promotion_beats
    whole = instruction.fill // instruction.lanes
    words = {whole * n: f"a sum of {counted(whole * n, 'group')}" for n in (1, 2, 3)}
    if not instruction.chain:
        words = {n: word for n, word in words.items() if n <= instruction.groups}
    elif beats is not None:
        words |= _beside_promotions(beats, "group")
    _count_groups({n: out.bin("G11", word) for n, word in words.items()}, out)


def _beside_promotions(beats: int, group: str) -> dict[int, str]:
    """The lengths of sums that end beside a promotion. group: what a length is in."""
    words = {beats - 1: f"one {group} before", beats: "at", beats + 1: f"one {group} after"}
    return {n: f"the sum ends {word} a promotion" for n, word in words.items() if n}


def _three(facts: UnitFacts) -> str | None:
    restart = facts.unit.restart
    if facts.builder.beats < 3:
        return f"the unit sums at most {counted(facts.builder.beats, 'beat')}"
    return (
        f"the partial sum starts again after {counted(restart, 'beat')}"
        if restart is not None and restart < 3
        else None
    )


def same(builder: CaseBuilder, n: int) -> list[Filling]:
    """The largest product in every lane of every beat."""
    return [builder.filling([builder.ends()[1]] * builder.lanes) for _ in range(n)]


def small(builder: CaseBuilder, n: int) -> list[Filling]:
    """The smallest product in every lane of every beat: the sum grows until it swallows them."""
    return [builder.filling([builder.ends()[0]] * builder.lanes) for _ in range(n)]


def crossing(builder: CaseBuilder, n: int) -> list[Filling]:
    """Products that grow and change sign, so that the sum changes sign through zero at every beat."""
    exps = [builder.inside[(i + 1) * (len(builder.inside) - 1) // n] for i in range(n)]
    products = [builder.palette.of(i % 2, exp) or builder.palette.of(0, exp) for i, exp in enumerate(exps)]
    # Of few exponents, the significands grow too.
    return [builder.filling([of[(i + 1) * (len(of) - 1) // n]]) for i, of in enumerate(products)]


def cancelling(builder: CaseBuilder, n: int) -> list[Filling]:
    """A product and its opposite in turn: the sum is exactly zero after every second beat."""
    middle = builder.inside[len(builder.inside) // 2]
    product = builder.palette.of(0, middle)[0]
    back = builder.palette.opposite(product) or builder.palette.of(1, middle)[0]
    return [builder.filling([(product, back)[i % 2]]) for i in range(n)]


def swamped(builder: CaseBuilder, n: int) -> list[Filling]:
    """The largest products first, then small ones of the other sign."""
    return [
        builder.filling([builder.ends()[1]] * builder.lanes),
        *(builder.filling([builder.ends(1)[0]]) for _ in range(n - 1)),
    ]


def dense(builder: CaseBuilder, n: int) -> list[Filling]:
    """Any numbers in all lanes."""
    return [builder.filling([any_pair(builder) for _ in range(builder.lanes)], 0) for _ in range(n)]


def any_pair(builder: CaseBuilder) -> Pair:
    """Any two finite factors; of wide formats, such that the product is inside the result's range."""
    if max(fmt.bits for fmt in builder.factors) > EXHAUSTIVE_BITS:
        exp = builder.rng.choice([exp for exp in builder.inside if exp > builder.inside[-1] - 40])
        product = builder.rng.choice(builder.palette.of(builder.rng.randrange(2), exp) or builder.palette.of(0, exp))
        return product.a, product.b
    a, b = (builder.rng.choice(finite(fmt)) for fmt in builder.factors)
    return a, b


@lru_cache(maxsize=16)
def finite(fmt: Format) -> tuple[int, ...]:
    """Every finite code of a narrow format."""
    return tuple(code for code in all_codes(fmt) if is_finite(fmt, code))


CONTENTS: dict[str, Content] = {
    "same": same,
    "small": small,
    "crossing": crossing,
    "cancelling": cancelling,
    "swamped": swamped,
    "dense": dense,
}


def chain(builder: CaseBuilder) -> None:
    """One, two, three and nine beats of every content, from addends of every kind."""
    fmt = builder.unit.operands.addend
    largest = builder.ends(1)[1]
    addends = {"zero": 0}
    if fmt is not None:
        addends |= {f"zero{index}": code for index, code in enumerate(zeros(fmt)[1:], 1)}
        addends |= {name: code for name, code in numbers(fmt).items() if name in {"one", "least", "largest"}}
    against = (
        builder.addend(0, largest.sig, largest.exp - builder.palette.fraction_bits) if builder.addend_format else None
    )
    if against and not against.before:
        addends["against"] = against.c
    for n, (name, content), (word, c) in cross(LENGTHS, CONTENTS.items(), addends.items()):
        if n <= builder.beats:
            builder.add(f"chain/{name}-{n}-c-{word}", content(builder, n), c)
    for n, sign in cross(LENGTHS, SIGNS):
        _emptied(builder, n, sign)


def _emptied(builder: CaseBuilder, n: int, sign: int) -> None:
    """Beats of zeros only: the partial sum, or the addend, passes through each."""
    product = builder.ends(sign)[1]
    if n <= builder.beats:
        word = f"{n}-{SIGN[sign]}"
        builder.add(
            f"chain/then-zeros-{word}", [builder.filling([product]), *(builder.filling([]) for _ in range(n - 1))]
        )
        if n > 1:
            builder.add(
                f"chain/zeros-then-{word}", [*(builder.filling([]) for _ in range(n - 1)), builder.filling([product])]
            )


def special(builder: CaseBuilder) -> None:
    """NaN and infinities in the first, the middle and the last of three beats: what follows does not undo them."""
    n = min(3, builder.beats)
    plain = builder.ends()[1]
    for side, fmt in enumerate(builder.factors):
        codes = [*nans(fmt)[:1], *infinities(fmt)]
        for code, special_beat in cross(codes, range(n)):
            pair = (plain.a, code) if side else (code, plain.b)
            fillings = [builder.filling([pair if i == special_beat else plain]) for i in range(n)]
            builder.add(f"chain/special-{'ab'[side]}{code:x}-beat{special_beat}", fillings)
        if n > 1 and len(infinities(fmt)) == 2:
            pairs = [(plain.a, code) if side else (code, plain.b) for code in infinities(fmt)]
            builder.add(f"chain/special-{'ab'[side]}-opposed", [builder.filling([pair]) for pair in pairs])
            builder.add(f"chain/special-{'ab'[side]}-alike", [builder.filling([pairs[1]]) for _ in range(n)])


def chains(builder: CaseBuilder, facts: UnitFacts) -> None:
    """Long chains: of any numbers, and of a sum that stands still."""
    for n in dict.fromkeys((1, 2, 3, builder.lanes, LONG)):
        if n <= builder.beats:
            builder.add(f"G11/chain{n:03}", dense(builder, n))
    if builder.beats > 2:
        small, large = builder.ends()
        row: list[Filling] = [builder.filling([large] * builder.lanes), *[builder.filling([small]) for _ in range(3)]]
        builder.add("G11/still", row[: builder.beats])
        back = builder.palette.opposite(small) or small
        builder.add("G11/still-cancelled", [builder.filling([large]), builder.filling([small, back][: builder.lanes])])


ACCUMULATION = window_family("beats", declare_accumulation, (chain, special), (chains,), groups=("G11",))


def declare_promotions(facts: UnitFacts, out: Declared) -> None:
    """Bins of the beats and the effects of promotions."""
    promotion = facts.unit.promotion
    if promotion is not None:
        out.section("promotions")
        beats = promotion.interval // facts.lanes
        words = {**_beside_promotions(beats, "beat"), 2 * beats + 1: "two promotions and a beat"}
        _count_groups({n: out.bin("G11", word) for n, word in words.items()}, out)
        _register(promotion.format, facts.result, out)


def _register(fmt: FloatFormat, result: FloatFormat, out: Declared) -> None:
    """Bins of the additions of results into the register."""
    words = (
        "exact", "rounds up", "rounds down", "ties, to the larger", "ties, to the smaller", "cancels to 0",
        "leaves the register as it was", "swamps the register", "is of a zero partial sum", "is not finite",
    )  # fmt: skip
    bins = {word: out.bin("G11", f"promotion {word}") for word in words}

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for promoted in sampled.explanation.promotions.values():
            hits.update([bins[word] for word in _promoted(promoted, fmt, result)])


def _promoted(promoted: Promoted, fmt: FloatFormat, result: FloatFormat) -> list[str]:
    """The effects of one addition, in the words of the bins."""
    terms = [addend_term(fmt, promoted.register), addend_term(result, promoted.partial)]
    after = addend_term(fmt, promoted.code)
    if any(term.cls in (Class.NAN, Class.INFINITY) for term in (*terms, after)):
        return ["is not finite"]
    register, partial = terms
    if not partial.sig:
        return ["is of a zero partial sum"]
    low = min(term.exp - term.fraction_bits for term in (register, partial, after))
    x, y, z = (in_units(term, low) for term in (register, partial, after))
    if x + y == 0:
        return ["cancels to 0"]
    effects = []
    if x and promoted.code == promoted.register:
        effects.append("leaves the register as it was")
    if x and z == y:
        effects.append("swamps the register")
    if x + y == z:
        return [*effects, "exact"]
    larger = abs(z) > abs(x + y)
    ulp = 1 << max(after.exp - fmt.fraction_bits - low, 0)
    if 2 * abs(z - x - y) == ulp:
        return [*effects, f"ties, to the {'larger' if larger else 'smaller'}"]
    return [*effects, "rounds up" if larger else "rounds down"]


def interval(builder: CaseBuilder) -> None:
    """One beat, one interval and two, and one beat before and after each, of every content and register."""
    beats = builder.unit.promotion_beats
    if beats is None:
        return
    lengths = sorted({1, beats - 1, beats, beats + 1, 2 * beats - 1, 2 * beats, 2 * beats + 1} - {0})
    registers = {name: c for name, c in _registers(builder).items() if name in {"zero0", "one", "neg-normal"}}
    for n, (name, content), (word, c) in cross(lengths, CONTENTS.items(), registers.items()):
        if n <= builder.beats:
            builder.add(f"promotion/beats{n:02}-{name}-c-{word}", content(builder, n), c)


def _registers(builder: CaseBuilder) -> dict[str, int]:
    """Codes of the addend, which the register starts at, by name."""
    fmt = builder.unit.operands.addend
    return named(fmt) if fmt is not None else {"zero0": 0}


def register(builder: CaseBuilder) -> None:
    """Every kind of register with a partial sum of zero, of one product, and of the largest, in both signs."""
    if builder.unit.promotion is None:
        return
    partials: dict[str, tuple[Product, ...]] = {"zero": ()}
    for sign in (0, 1):
        least, most = builder.ends(sign)
        partials |= {f"least{sign}": (least,), f"most{sign}": (most,), f"all{sign}": (most,) * builder.lanes}
    for (name, c), (word, products) in cross(_registers(builder).items(), partials.items()):
        builder.add(f"promotion/register-{name}-partial-{word}", [builder.filling(products)], c)
    for (name, c), (word, pair) in cross(_registers(builder).items(), _special_pairs(builder)):
        if name.endswith(("zero0", "one", "inf", "nan0")):
            builder.add(f"promotion/register-{name}-partial-{word}", [builder.filling([pair])], c)


def _special_pairs(builder: CaseBuilder) -> Iterator[tuple[str, tuple[int, int]]]:
    plain = builder.ends()[1]
    for code in [*infinities(builder.factors[0]), *nans(builder.factors[0])[:1]]:
        yield f"{code:x}", (code, plain.b)


def cancel(builder: CaseBuilder) -> None:
    """Registers that the partial sum cancels exactly, or all but one last place; in the second interval too."""
    fmt, beats = builder.unit.operands.addend, builder.unit.promotion_beats
    if beats is None or not isinstance(fmt, FloatFormat):
        return
    for index, products in enumerate(_sums(builder)):
        sign, exp, sig, _ = unpack(builder.result, builder.measure(Solution(products)).code)
        unit = exp - builder.result.fraction_bits
        for name, size in (("exact", sig << 8), ("more", (sig << 8) + 1), ("less", (sig << 8) - 1)):
            c = exact_code(fmt, 1 - sign, size, unit - 8) if sig else None
            if c is not None:
                filling = builder.filling(products)
                builder.add(f"promotion/cancel{index:02}-{name}", [filling], c)
                if name == "exact":
                    later = [builder.filling([]) for _ in range(beats)]
                    builder.add(f"promotion/cancel{index:02}-second", [*later, filling], c)
                    builder.add(f"promotion/cancel{index:02}-first", [filling, *later, filling], c)


def _sums(builder: CaseBuilder) -> Iterator[tuple[Product, ...]]:
    """Products in several numbers, of small, middle and large exponents, in both signs."""
    exps = builder.inside
    for sign, exp in cross(SIGNS, sorted({exps[0], exps[len(exps) // 3], exps[len(exps) // 2], exps[-1]})):
        products = builder.palette.of(sign, exp)
        if products:
            yield (products[len(products) // 2],)
            yield (products[-1],) * builder.lanes
            if builder.lanes > 2:
                yield tuple(builder.rng.choice(products) for _ in range(builder.lanes // 2))


def tie(builder: CaseBuilder) -> None:
    """Ties of register + partial, and either side of them, at even, odd and all-ones registers, in all signs."""
    promotion, fmt = builder.unit.promotion, builder.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat):
        return
    bits = promotion.format.fraction_bits
    hidden = 1 << bits
    registers = {"even": hidden, "odd": hidden + 1, "ones": 2 * hidden - 1, "mixed": (hidden * 5 // 3) | 2}
    for (name, sig), signs in cross(registers.items(), SIGN_PAIRS):
        for word, exponent, filling in _halves(builder, signs[1]):
            # The partial's leading one is `below` places under the register's last bit.
            for below in range(-1, 4):
                c = exact_code(fmt, signs[0], sig, exponent + below)
                if c is not None:
                    builder.add(f"promotion/tie-{name}-{word}-{below}-{signs[0]}{signs[1]}", [filling], c)


def _halves(builder: CaseBuilder, sign: int) -> Iterator[tuple[str, int, Filling]]:
    """Partial sums of one bit, a little more and a little less: name, exponent of the leading one, beat."""
    bits = builder.palette.fraction_bits
    for exp in builder.tries:
        products = builder.palette.of(sign, exp)
        powers = [product for product in products if product.sig & (product.sig - 1) == 0]
        longer = [product for product in products if product.sig & (product.sig - 1) and product.sig >> bits == 1]
        if powers and longer:
            power = powers[len(powers) // 2]
            yield "half", exp - bits + power.sig.bit_length() - 1, builder.filling([power])
            yield "more", exp, builder.filling([longer[0]])
            yield "most", exp, builder.filling([longer[-1]])
            return


def apart(builder: CaseBuilder) -> None:
    """A partial sum much larger and much smaller than the register, by one place to far more than it has."""
    promotion, fmt = builder.unit.promotion, builder.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat):
        return
    bits = promotion.format.fraction_bits
    _, most = builder.ends()
    exp = builder.definition.partial(builder.measure(Solution((most,))).code).exp
    distances = sorted({1, 2, 12, bits - 1, bits, bits + 1, bits + 2, 2 * bits, 60})
    for places, sign, above in cross(distances, (0, 1), (True, False)):
        for name, sig in (("one", 1), ("ones", (1 << fmt.fraction_bits + 1) - 1)):
            unit = exp + (places if above else -places) - sig.bit_length() + 1
            c = exact_code(fmt, sign, sig, unit)
            if c is not None:
                word = f"{'above' if above else 'below'}{places:02}-{name}-{SIGN[sign]}"
                builder.add(f"promotion/register-{word}", [builder.filling([most])], c)


def overflow(builder: CaseBuilder) -> None:
    """A register at its largest, and partial sums around half its last place; only scales make them so large."""
    promotion, fmt = builder.unit.promotion, builder.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat) or not isinstance(promotion.format, FloatFormat):
        return
    product = builder.palette.of(0, builder.palette.exps[-1])[0]
    ulp = promotion.format.emax - promotion.format.fraction_bits
    c = fmt.max_magnitude << fmt.padding
    for place in (-3, -2, -1, 0, 1):
        shift = ulp + place - product.exp
        if builder.can_shift(shift):
            builder.add(f"promotion/overflow{place:+}", [builder.filling([product], shift=shift)], c)


PROMOTIONS = window_family(
    "promotions", declare_promotions, (interval, register, cancel, tie, apart, overflow), groups=("G11",)
)
