"""G11: the addend beside the products, and chains of beats."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGNS, Bench
from hwsim.cases.bins.declare import Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledCase, SampledGroup
from hwsim.cases.landmarks import infinities, is_finite, nans, numbers, zeros
from hwsim.cases.palette import EXHAUSTIVE_BITS
from hwsim.cases.solver import Filling, Pair
from hwsim.formats import Format
from hwsim.formats.codes import all_codes
from hwsim.model.terms import Term
from hwsim.words import counted

WORDS = ("add", "subtract")
LONG = 128  # beats
LENGTHS = (1, 2, 3, 9)
Content = Callable[[Bench, int], list[Filling]]


def declare_accumulation(facts: UnitFacts, out: Declared) -> None:
    """What an addend and products keep of each other, and chains."""
    if facts.addends:
        _beside(facts, out)
    _chains(facts, out)


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

    @out.groups.append
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


def _kept(term: Term, below: int) -> int:
    """What a term has in the window, whatever becomes of the bits below it."""
    return term.sig >> max(0, below)


def _chains(facts: UnitFacts, out: Declared) -> None:
    most = facts.bench.beats
    lengths = sorted({1, 2, 3, facts.lanes, LONG})
    why = f"the unit sums at most {counted(most, 'beat')}"
    at = {n: out.bin("G11", f"chain of {counted(n, 'beat')}", why if n > most else None) for n in lengths}
    single = why if most < 2 else None
    if single is None and not facts.bench.partials:
        single = "the partial sum starts again with every beat"
    stuck = out.bin("G11", "products that change nothing of a partial sum", single)
    turns = [
        out.bin("G11", f"partial sum from {word}", single or (_three(facts) if index == 2 else None))
        for index, word in enumerate(("+ to -", "- to +", "a number to 0 and on"))
    ]
    sign_bit, padding = facts.result.sign_bit, facts.result.padding

    @out.cases.append
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


def _three(facts: UnitFacts) -> str | None:
    restart = facts.unit.restart
    if facts.bench.beats < 3:
        return f"the unit sums at most {counted(facts.bench.beats, 'beat')}"
    return (
        f"the partial sum starts again after {counted(restart, 'beat')}"
        if restart is not None and restart < 3
        else None
    )


def same(bench: Bench, n: int) -> list[Filling]:
    """The largest product in every lane of every beat."""
    return [bench.filling([bench.ends()[1]] * bench.lanes) for _ in range(n)]


def small(bench: Bench, n: int) -> list[Filling]:
    """The smallest product in every lane of every beat: the sum grows until it swallows them."""
    return [bench.filling([bench.ends()[0]] * bench.lanes) for _ in range(n)]


def crossing(bench: Bench, n: int) -> list[Filling]:
    """Products that grow and change sign, so that the sum changes sign through zero at every beat."""
    exps = [bench.inside[(i + 1) * (len(bench.inside) - 1) // n] for i in range(n)]
    products = [bench.palette.of(i % 2, exp) or bench.palette.of(0, exp) for i, exp in enumerate(exps)]
    # Of few exponents, the significands grow too.
    return [bench.filling([of[(i + 1) * (len(of) - 1) // n]]) for i, of in enumerate(products)]


def cancelling(bench: Bench, n: int) -> list[Filling]:
    """A product and its opposite in turn: the sum is exactly zero after every second beat."""
    middle = bench.inside[len(bench.inside) // 2]
    one = bench.palette.of(0, middle)[0]
    back = bench.palette.opposite(one) or bench.palette.of(1, middle)[0]
    return [bench.filling([(one, back)[i % 2]]) for i in range(n)]


def swamped(bench: Bench, n: int) -> list[Filling]:
    """The largest products first, then small ones of the other sign."""
    return [bench.filling([bench.ends()[1]] * bench.lanes), *(bench.filling([bench.ends(1)[0]]) for _ in range(n - 1))]


def dense(bench: Bench, n: int) -> list[Filling]:
    """Any numbers in all lanes."""
    return [bench.filling([any_pair(bench) for _ in range(bench.lanes)], 0) for _ in range(n)]


def any_pair(bench: Bench) -> Pair:
    """Any two finite factors; of wide formats, such that the product is inside the result's range."""
    if max(fmt.bits for fmt in bench.factors) > EXHAUSTIVE_BITS:
        exp = bench.rng.choice([exp for exp in bench.inside if exp > bench.inside[-1] - 40])
        one = bench.rng.choice(bench.palette.of(bench.rng.randrange(2), exp) or bench.palette.of(0, exp))
        return one.a, one.b
    a, b = (bench.rng.choice(finite(fmt)) for fmt in bench.factors)
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


def chain(bench: Bench) -> None:
    """One, two, three and nine beats of every content, from addends of every kind."""
    fmt = bench.unit.operands.addend
    largest = bench.ends(1)[1]
    addends = {"zero": 0}
    if fmt is not None:
        addends |= {f"zero{index}": code for index, code in enumerate(zeros(fmt)[1:], 1)}
        addends |= {name: code for name, code in numbers(fmt).items() if name in {"one", "least", "largest"}}
    against = bench.addend(0, largest.sig, largest.exp - bench.palette.fraction_bits) if bench.addend_format else None
    if against and not against.before:
        addends["against"] = against.c
    for n, (name, content), (word, c) in cross(LENGTHS, CONTENTS.items(), addends.items()):
        if n <= bench.beats:
            bench.add(f"chain/{name}-{n}-c-{word}", content(bench, n), c)
    for n, sign in cross(LENGTHS, SIGNS):
        _emptied(bench, n, sign)


def _emptied(bench: Bench, n: int, sign: int) -> None:
    """Beats of zeros only: the partial sum, or the addend, passes through each."""
    one = bench.ends(sign)[1]
    if n <= bench.beats:
        word = f"{n}-{SIGN[sign]}"
        bench.add(f"chain/then-zeros-{word}", [bench.filling([one]), *(bench.filling([]) for _ in range(n - 1))])
        if n > 1:
            bench.add(f"chain/zeros-then-{word}", [*(bench.filling([]) for _ in range(n - 1)), bench.filling([one])])


def special(bench: Bench) -> None:
    """NaN and infinities in the first, the middle and the last of three beats: what follows does not undo them."""
    n = min(3, bench.beats)
    plain = bench.ends()[1]
    for side, fmt in enumerate(bench.factors):
        codes = [*nans(fmt)[:1], *infinities(fmt)]
        for code, at in cross(codes, range(n)):
            pair = (plain.a, code) if side else (code, plain.b)
            fillings = [bench.filling([pair if i == at else plain]) for i in range(n)]
            bench.add(f"chain/special-{'ab'[side]}{code:x}-beat{at}", fillings)
        if n > 1 and len(infinities(fmt)) == 2:
            pairs = [(plain.a, code) if side else (code, plain.b) for code in infinities(fmt)]
            bench.add(f"chain/special-{'ab'[side]}-opposed", [bench.filling([pair]) for pair in pairs])
            bench.add(f"chain/special-{'ab'[side]}-alike", [bench.filling([pairs[1]]) for _ in range(n)])


def chains(bench: Bench, facts: UnitFacts) -> None:
    """Long chains: of any numbers, and of a sum that stands still."""
    for n in dict.fromkeys((1, 2, 3, bench.lanes, LONG)):
        if n <= bench.beats:
            bench.add(f"G11/chain{n:03}", dense(bench, n))
    if bench.beats > 2:
        small, large = bench.ends()
        row: list[Filling] = [bench.filling([large] * bench.lanes), *[bench.filling([small]) for _ in range(3)]]
        bench.add("G11/still", row[: bench.beats])
        back = bench.palette.opposite(small) or small
        bench.add("G11/still-cancelled", [bench.filling([large]), bench.filling([small, back][: bench.lanes])])


ACCUMULATION = Family(
    "beats",
    groups={"G11": "accumulation"},
    declare=declare_accumulation,
    directed=(chain, special),
    rest=(chains,),
)
