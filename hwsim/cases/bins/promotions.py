"""G11: where promotion comes, and what the register does with the partial sum."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGN_PAIRS, SIGNS, Bench
from hwsim.cases.bins.accumulation import CONTENTS
from hwsim.cases.bins.declare import Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.operands import named
from hwsim.cases.bins.sampled import SampledCase
from hwsim.cases.landmarks import exact_code, infinities, nans
from hwsim.cases.palette import Product
from hwsim.cases.solver import Filling, Solution
from hwsim.formats import Class, FloatFormat, unpack
from hwsim.model.late import Promoted
from hwsim.model.terms import Term, addend_term


def declare_promotions(facts: UnitFacts, out: Declared) -> None:
    """Where promotion comes, and what it does."""
    promotion = facts.unit.promotion
    if promotion is not None:
        _boundaries(promotion.interval // facts.lanes, out)
        _register(promotion.format, facts.result, out)


def _boundaries(beats: int, out: Declared) -> None:
    """Where a sum ends, beside promotions every so many beats."""
    words = {beats - 1: "one beat before", beats: "at", beats + 1: "one beat after"}
    at = {n: out.bin("G11", f"the sum ends {word} a promotion") for n, word in words.items() if n}
    twice = out.bin("G11", "two promotions and a beat")

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        count = len(sampled.groups)
        if count in at:
            hits.add(at[count])
        if count == 2 * beats + 1:
            hits.add(twice)


def _register(fmt: FloatFormat, result: FloatFormat, out: Declared) -> None:
    """What an addition of a result into the register does."""
    words = (
        "exact", "rounds up", "rounds down", "ties, to the larger", "ties, to the smaller", "cancels to 0",
        "leaves the register as it was", "swamps the register", "is of a zero partial sum", "is not finite",
    )  # fmt: skip
    at = {word: out.bin("G11", f"promotion {word}") for word in words}

    @out.cases.append
    def sample(sampled: SampledCase, hits: Hits) -> None:
        for promoted in sampled.explanation.promotions.values():
            hits.update([at[word] for word in _promoted(promoted, fmt, result)])


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


def interval(bench: Bench) -> None:
    """One beat, one interval and two, and one beat before and after each, of every content and register."""
    beats = bench.unit.promotion_beats
    if beats is None:
        return
    lengths = sorted({1, beats - 1, beats, beats + 1, 2 * beats - 1, 2 * beats, 2 * beats + 1} - {0})
    registers = {name: c for name, c in _registers(bench).items() if name in {"zero0", "one", "neg-normal"}}
    for n, (name, content), (word, c) in cross(lengths, CONTENTS.items(), registers.items()):
        if n <= bench.beats:
            bench.add(f"promotion/beats{n:02}-{name}-c-{word}", content(bench, n), c)


def _registers(bench: Bench) -> dict[str, int]:
    """Codes of the addend, which the register starts at, by name."""
    fmt = bench.unit.operands.addend
    return named(fmt) if fmt is not None else {"zero0": 0}


def register(bench: Bench) -> None:
    """Every kind of register with a partial sum of zero, of one product, and of the largest, in both signs."""
    if bench.unit.promotion is None:
        return
    partials: dict[str, tuple[Product, ...]] = {"zero": ()}
    for sign in (0, 1):
        least, most = bench.ends(sign)
        partials |= {f"least{sign}": (least,), f"most{sign}": (most,), f"all{sign}": (most,) * bench.lanes}
    for (name, c), (word, products) in cross(_registers(bench).items(), partials.items()):
        bench.add(f"promotion/register-{name}-partial-{word}", [bench.filling(products)], c)
    for (name, c), (word, pair) in cross(_registers(bench).items(), _special_pairs(bench)):
        if name.endswith(("zero0", "one", "inf", "nan0")):
            bench.add(f"promotion/register-{name}-partial-{word}", [bench.filling([pair])], c)


def _special_pairs(bench: Bench) -> Iterator[tuple[str, tuple[int, int]]]:
    plain = bench.ends()[1]
    for code in [*infinities(bench.factors[0]), *nans(bench.factors[0])[:1]]:
        yield f"{code:x}", (code, plain.b)


def cancel(bench: Bench) -> None:
    """Registers that the partial sum cancels exactly, or all but one last place; in the second interval too."""
    fmt, beats = bench.unit.operands.addend, bench.unit.promotion_beats
    if beats is None or not isinstance(fmt, FloatFormat):
        return
    for index, products in enumerate(_sums(bench)):
        sign, exp, sig, _ = unpack(bench.result, bench.measure(Solution(products)).code)
        unit = exp - bench.result.fraction_bits
        for name, size in (("exact", sig << 8), ("more", (sig << 8) + 1), ("less", (sig << 8) - 1)):
            c = exact_code(fmt, 1 - sign, size, unit - 8) if sig else None
            if c is not None:
                filling = bench.filling(products)
                bench.add(f"promotion/cancel{index:02}-{name}", [filling], c)
                if name == "exact":
                    later = [bench.filling([]) for _ in range(beats)]
                    bench.add(f"promotion/cancel{index:02}-second", [*later, filling], c)
                    bench.add(f"promotion/cancel{index:02}-first", [filling, *later, filling], c)


def _sums(bench: Bench) -> Iterator[tuple[Product, ...]]:
    """Products in several numbers, of small, middle and large exponents, in both signs."""
    exps = bench.inside
    for sign, exp in cross(SIGNS, sorted({exps[0], exps[len(exps) // 3], exps[len(exps) // 2], exps[-1]})):
        products = bench.palette.of(sign, exp)
        if products:
            yield (products[len(products) // 2],)
            yield (products[-1],) * bench.lanes
            if bench.lanes > 2:
                yield tuple(bench.rng.choice(products) for _ in range(bench.lanes // 2))


def tie(bench: Bench) -> None:
    """Ties of register + partial, and either side of them, at even, odd and all-ones registers, in all signs."""
    promotion, fmt = bench.unit.promotion, bench.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat):
        return
    bits = promotion.format.fraction_bits
    hidden = 1 << bits
    registers = {"even": hidden, "odd": hidden + 1, "ones": 2 * hidden - 1, "mixed": (hidden * 5 // 3) | 2}
    for (name, sig), signs in cross(registers.items(), SIGN_PAIRS):
        for word, at, filling in _halves(bench, signs[1]):
            # The partial's leading one is `below` places under the register's last bit.
            for below in range(-1, 4):
                c = exact_code(fmt, signs[0], sig, at + below)
                if c is not None:
                    bench.add(f"promotion/tie-{name}-{word}-{below}-{signs[0]}{signs[1]}", [filling], c)


def _halves(bench: Bench, sign: int) -> Iterator[tuple[str, int, Filling]]:
    """Partial sums of one bit, a little more and a little less: name, exponent of the leading one, beat."""
    bits = bench.palette.fraction_bits
    for exp in bench.tries:
        products = bench.palette.of(sign, exp)
        powers = [one for one in products if one.sig & (one.sig - 1) == 0]
        more = [one for one in products if one.sig & (one.sig - 1) and one.sig >> bits == 1]
        if powers and more:
            one = powers[len(powers) // 2]
            yield "half", exp - bits + one.sig.bit_length() - 1, bench.filling([one])
            yield "more", exp, bench.filling([more[0]])
            yield "most", exp, bench.filling([more[-1]])
            return


def apart(bench: Bench) -> None:
    """A partial sum much larger and much smaller than the register, by one place to far more than it has."""
    promotion, fmt = bench.unit.promotion, bench.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat):
        return
    bits = promotion.format.fraction_bits
    _, most = bench.ends()
    exp = bench.definition.partial(bench.measure(Solution((most,))).code).exp
    distances = sorted({1, 2, 12, bits - 1, bits, bits + 1, bits + 2, 2 * bits, 60})
    for places, sign, above in cross(distances, (0, 1), (True, False)):
        for name, sig in (("one", 1), ("ones", (1 << fmt.fraction_bits + 1) - 1)):
            unit = exp + (places if above else -places) - sig.bit_length() + 1
            c = exact_code(fmt, sign, sig, unit)
            if c is not None:
                word = f"{'above' if above else 'below'}{places:02}-{name}-{SIGN[sign]}"
                bench.add(f"promotion/register-{word}", [bench.filling([most])], c)


def overflow(bench: Bench) -> None:
    """A register at its largest, and partial sums around half its last place; only scales make them so large."""
    promotion, fmt = bench.unit.promotion, bench.unit.operands.addend
    if promotion is None or not isinstance(fmt, FloatFormat) or not isinstance(promotion.format, FloatFormat):
        return
    one = bench.palette.of(0, bench.palette.exps[-1])[0]
    ulp = promotion.format.emax - promotion.format.fraction_bits
    c = fmt.max_magnitude << fmt.padding
    for place in (-3, -2, -1, 0, 1):
        shift = ulp + place - one.exp
        if bench.can_shift(shift):
            bench.add(f"promotion/overflow{place:+}", [bench.filling([one], shift=shift)], c)


PROMOTIONS = Family(
    "promotions",
    groups={"G11": "accumulation"},
    declare=declare_promotions,
    directed=(interval, register, cancel, tie, apart, overflow),
)
