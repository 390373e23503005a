"""Solves for distances between terms: of two products, and of a product and the addend."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN_PAIRS, SIGNS, Bench, signs_of
from hwsim.cases.landmarks import negate, numbers
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Solution


def between_products(bench: Bench) -> None:
    """Every distance between two products, added and subtracted, with bits below the window and without."""
    for d in bench.distances:
        for lost, signs in cross((False, True), SIGN_PAIRS):
            pair = bench.pair(d, signs, lost)
            if pair:
                bench.add_beat(f"distance/d{d:02}-{'lost' if lost else 'exact'}-{signs_of(*signs)}", pair)


def to_the_addend(bench: Bench) -> None:
    """The addend at every distance above and below a product, with a fraction of all ones, of zero, and of one."""
    if not bench.addend_bits:
        return
    last = bench.addend_bits - 1
    fractions = {"ones": (2 << last) - 1, "zero": 1 << last, "one": 1 << last | 1}
    for d, above in cross(range(bench.window + 5), (True, False)):
        for (word, sig), signs in cross(fractions.items(), SIGN_PAIRS):
            if (word != "ones" and signs[0]) or not (d or above):
                continue
            name = f"addend/{'above' if above else 'below'}{d:02}-{word}-{signs_of(*signs)}"
            bench.add_first(name, _at_distance(bench, d if above else -d, signs if above else signs[::-1], sig))


def _at_distance(bench: Bench, d: int, signs: tuple[int, int], sig: int) -> Iterator[Solution]:
    """An addend d places above a product. signs: of the addend and of the product."""
    for exp in bench.shuffled(signs[1]):
        products = (bench.rng.choice(bench.palette.of(signs[1], exp)),)
        solution = bench.with_addend(products, signs[0], sig, exp + d - (bench.addend_bits - 1))
        if solution and solution.addend and solution.addend.term.exp == exp + d:
            yield solution


def extreme_addends(bench: Bench) -> None:
    """Subnormal, smallest normal, largest and other landmark addends, alone and beside small and large products."""
    fmt = bench.addend_format
    if fmt is None:
        return
    exps = bench.palette.exps
    beside: dict[str, tuple[Product, ...]] = {"alone": ()}
    for sign, word in enumerate(("", "-neg")):
        beside[f"least{word}"] = bench.palette.of(sign, exps[0])[:1]
        beside[f"largest{word}"] = bench.palette.of(sign, exps[-1])[-1:]
    for (name, code), (company, products), sign in cross(numbers(fmt).items(), beside.items(), SIGNS):
        signed = negate(fmt, code) if sign else code
        term = None if signed is None else bench.definition.addend(signed)
        if signed is not None and term is not None:
            bench.add_beat(f"extreme/{'neg-' if sign else ''}{name}-{company}", products, Addend(term, signed))
