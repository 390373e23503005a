"""Directed cases of the addend: its distance to the products, and the ends of its format."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.directed_align import SIGN_PAIRS, word
from hwsim.cases.landmarks import negate, numbers
from hwsim.cases.solver import Addend


def distance(bench: Bench) -> None:
    """The addend at every distance above and below a product, with a fraction of all ones, of zero, and of one."""
    if not bench.addend_bits:
        return
    last = bench.addend_bits - 1
    fractions = {"ones": (2 << last) - 1, "zero": 1 << last, "one": 1 << last | 1}
    for d, above in cross(range(bench.window + 5), (True, False)):
        for (name, sig), signs in cross(fractions.items(), SIGN_PAIRS):
            if (name != "ones" and signs[0]) or not (d or above):
                continue
            _at_distance(bench, f"addend/{'above' if above else 'below'}{d:02}-{name}-{word(*signs)}", d, signs, sig)


def _at_distance(bench: Bench, name: str, d: int, signs: tuple[int, int], sig: int) -> None:
    """A product, and an addend d places above or below it. signs: of the higher and of the lower one."""
    above = "/above" in name
    sign, other = signs if above else signs[::-1]
    for exp in bench.shuffled(other):
        at = exp + d if above else exp - d
        added = bench.addend(sign, sig, at - (bench.addend_bits - 1))
        if added and added.term.exp == at and bench.one(name, (bench.rng.choice(bench.palette.of(other, exp)),), added):
            return


def extreme(bench: Bench) -> None:
    """Subnormal, smallest normal, largest and other landmark addends, alone and beside small and large products."""
    fmt = bench.addend_format
    if fmt is None:
        return
    exps = bench.palette.exps
    beside = {"alone": (), "least": bench.palette.of(0, exps[0])[:1], "largest": bench.palette.of(0, exps[-1])[-1:]}
    beside["least-neg"] = bench.palette.of(1, exps[0])[:1]
    beside["largest-neg"] = bench.palette.of(1, exps[-1])[-1:]
    for (name, code), (company, products) in cross(numbers(fmt).items(), beside.items()):
        for sign in (0, 1):
            signed = negate(fmt, code) if sign else code
            term = None if signed is None else bench.definition.addend(signed)
            if signed is not None and term is not None:
                bench.one(f"extreme/{'neg-' if sign else ''}{name}-{company}", products, Addend(term, signed))
