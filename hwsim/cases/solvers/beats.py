"""Solves for sums of several beats: the rounded partial sum is the next beat's addend."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGNS, Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.landmarks import infinities, is_finite, nans, numbers, zeros
from hwsim.cases.palette import EXHAUSTIVE_BITS, Product
from hwsim.cases.solver import Filling, Pair
from hwsim.formats import Format

LENGTHS = (1, 2, 3, 9)
Content = Callable[[Bench, int], list[Filling]]


def ends(bench: Bench, sign: int = 0) -> tuple[Product, Product]:
    """The smallest and the largest product of a sign, by exponent, inside the result's range."""
    exps = [exp for exp in bench.inside if bench.palette.of(sign, exp)]
    return bench.palette.of(sign, exps[0])[0], bench.palette.of(sign, exps[-1])[-1]


def same(bench: Bench, n: int) -> list[Filling]:
    """The largest product in every lane of every beat."""
    return [bench.filling([ends(bench)[1]] * bench.lanes) for _ in range(n)]


def small(bench: Bench, n: int) -> list[Filling]:
    """The smallest product in every lane of every beat: the sum grows until it swallows them."""
    return [bench.filling([ends(bench)[0]] * bench.lanes) for _ in range(n)]


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
    return [bench.filling([ends(bench)[1]] * bench.lanes), *(bench.filling([ends(bench, 1)[0]]) for _ in range(n - 1))]


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
    return tuple(code for code in range(1 << fmt.container_bits) if is_finite(fmt, code))


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
    largest = ends(bench, 1)[1]
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
    one = ends(bench, sign)[1]
    if n <= bench.beats:
        word = f"{n}-{SIGN[sign]}"
        bench.add(f"chain/then-zeros-{word}", [bench.filling([one]), *(bench.filling([]) for _ in range(n - 1))])
        if n > 1:
            bench.add(f"chain/zeros-then-{word}", [*(bench.filling([]) for _ in range(n - 1)), bench.filling([one])])


def special(bench: Bench) -> None:
    """NaN and infinities in the first, the middle and the last of three beats: what follows does not undo them."""
    n = min(3, bench.beats)
    plain = ends(bench)[1]
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
    for n in dict.fromkeys((1, 2, 3, bench.lanes, 128)):
        if n <= bench.beats:
            bench.add(f"G11/chain{n:03}", dense(bench, n))
    if bench.beats > 2:
        small, large = ends(bench)
        row: list[Filling] = [bench.filling([large] * bench.lanes), *[bench.filling([small]) for _ in range(3)]]
        bench.add("G11/still", row[: bench.beats])
        back = bench.palette.opposite(small) or small
        bench.add("G11/still-cancelled", [bench.filling([large]), bench.filling([small, back][: bench.lanes])])
