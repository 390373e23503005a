"""G7, of `sum.lost: sticky`: sums that are rounded otherwise because a term lost a 1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross
from typing import assert_never

from hwsim.cases.bench import SIGN, SIGNS, Bench
from hwsim.cases.bins.declare import MARKS, Declared, Family, Hits
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledGroup, SignedTerm
from hwsim.cases.palette import Product
from hwsim.cases.solver import Solution
from hwsim.spec.keys import Rounding
from hwsim.words import counted

MOST_LOW = 12  # products that are tried as the one that loses a 1, of each sign
MOST_DEPTH = 64  # places below the window in which a single lost 1 is asked for


def tells(rounding: Rounding, sign: int) -> bool:
    """Whether a rounding can give another result of a sum of that sign because something is below its places."""
    match rounding:
        case "rne" | "rto":
            return True
        case "ru":
            return sign == 0
        case "rd":
            return sign == 1
        case "rz" | "rna":
            return False
        case _:
            assert_never(rounding)


def ends(rounding: Rounding) -> str:
    """What a sum ends in that such a rounding takes otherwise: half a last place, or nothing below an even one."""
    match rounding:
        case "rne":
            return "half"
        case "ru" | "rd" | "rto" | "rz" | "rna":
            return "nothing"
        case _:
            assert_never(rounding)


def declare_sticky(facts: UnitFacts, out: Declared) -> None:
    """Sums of each sign that a lost 1 of a product or of the addend, of each sign, alone rounds otherwise."""
    rounding = facts.unit.result.rounding
    signs = [sign for sign in SIGNS if tells(rounding, sign)] if facts.sticky else []
    kinds = ["a product", *(["the addend"] if facts.addends else [])]
    name = "a 1 that {} {} lost alone decides the rounding of a {} sum"
    at = {
        (kind, low, sign): out.bin("G7", name.format(MARKS[low], kind, MARKS[sign]), _never(facts, low != sign))
        for sign, low, kind in cross(signs, SIGNS, kinds)
    }
    lanes = {
        lane: out.bin("G7", f"a 1 that lane {lane} lost alone decides the rounding", _never(facts, False))
        for lane in range(facts.lanes if signs else 0)
    }
    deep = {
        depth: out.bin("G7", f"a 1 that is lost {counted(depth, 'place')} below the window alone decides the rounding")
        for depth in (depths(facts.bench) if signs else ())
    }

    @out.groups.append
    def sample(sampled: SampledGroup, hits: Hits) -> None:
        lost = losing(sampled)
        if not sampled.group.sticky or len(lost) != 1 or not signs or not decides(facts, sampled):
            return
        lane, term, places, bits = lost[0]
        hits.add(at["the addend" if lane < 0 else "a product", term.sign, int(sampled.group.total < 0)])
        if lane >= 0:
            hits.add(lanes[lane])
        depth = places - bits.bit_length() + 1
        if bits & (bits - 1) == 0 and depth in deep:
            hits.add(deep[depth])


def depths(bench: Bench) -> list[int]:
    """How far below the window a product can lose a single 1, beside another that has the window's exponent."""
    if bench.lanes < 2 or bench.unit.scale is not None:
        return []
    least, most = bench.result_exps
    tops = [exp for exp in bench.palette.exps if least + bench.window <= exp < most - 2]
    found = {
        bench.lost_place(top - exp) - one.sig.bit_length() + 1
        for exp in bench.palette.exps
        for one in _powers(bench, 0, exp)
        for top in tops
    }
    return sorted(depth for depth in found if 0 < depth <= MOST_DEPTH)


def _powers(bench: Bench, sign: int, exp: int) -> list[Product]:
    """The products of a sign and an exponent whose significands are powers of two."""
    return [one for one in bench.palette.of(sign, exp) if one.sig & (one.sig - 1) == 0]


def losing(sampled: SampledGroup) -> list[SignedTerm]:
    """The terms that lose a 1."""
    every = sampled.terms if sampled.addend is None else [*sampled.terms, sampled.addend]
    return [one for one in every if one[3]]


def decides(facts: UnitFacts, sampled: SampledGroup) -> bool:
    """Whether the case's last sum would be rounded otherwise if no term had lost a 1."""
    if (sampled.place + 1) * facts.lanes != len(sampled.case.a):
        return False
    group = sampled.group
    return facts.bench.definition.round(group.total, sampled.top, False).code != group.code


def _never(facts: UnitFacts, differ: bool) -> str | None:
    """Why no such sum is there, or None. differ: the term that loses a 1 has not the sign of the sum."""
    return facts.loses or (facts.together if differ else None)


def deciding(bench: Bench) -> None:
    """Such sums: in all signs, of a product and of the addend, and with the product that loses a 1 in each lane."""
    rounding = bench.unit.result.rounding
    if not bench.rule.sticky:
        return
    for sign, low in cross(SIGNS, SIGNS):
        if not tells(rounding, sign):
            continue
        name = f"{SIGN[sign]}-{SIGN[low]}"
        bench.add_first(f"sticky/addend-{name}", _with_addend(bench, sign, low))
        for lane in range(bench.lanes):
            bench.add_first(f"sticky/lane{lane:02}-{name}", _with_product(bench, sign, low), lane)
    for depth, low in cross(depths(bench), SIGNS):
        sign = next(sign for sign in (low, 1 - low) if tells(rounding, sign))
        solutions = _at_depth(bench, sign, low, depth)
        bench.add_first(f"sticky/depth{depth:02}-{SIGN[low]}", solutions, depth % bench.lanes)


def _totals(bench: Bench, sign: int) -> Iterator[tuple[int, list[int]]]:
    """Sums that a rounding takes otherwise if something is below them, and exponents to try as max_exp."""
    fraction, half = bench.result.fraction_bits, ends(bench.unit.result.rounding) == "half"
    for cut in range(int(half), max(bench.window - fraction, 0) + bench.growths + 1):
        for kept in (1 << fraction, 1 << fraction | 2, 1 << min(fraction, bench.window)):
            total = kept << cut | (1 << cut - 1 if half else 0)
            yield -total if sign else total, bench.tops(total.bit_length() - 1 - bench.window)


def _with_addend(bench: Bench, sign: int, low: int) -> Iterator[Solution]:
    for total, tops in _totals(bench, sign):
        for top in tops:
            addend = bench.addend(low, 1, top - bench.window - 1)
            if addend is not None and addend.term.exp <= top:
                yield from (found._replace(addend=addend) for found in bench.alone(total, top))


def _with_product(bench: Bench, sign: int, low: int) -> Iterator[Solution]:
    """The product that loses a 1 comes first."""
    for total, tops in _totals(bench, sign):
        for top, one in cross(tops, _lowest(bench, low)):
            yield from _beside(bench, total, top, one)


def _at_depth(bench: Bench, sign: int, low: int, depth: int) -> Iterator[Solution]:
    """The product that loses a single 1, so far below the window, comes first; then those of least exponent."""
    exps = {*bench.palette.exps}
    powers = [one for exp in bench.palette.exps for one in _powers(bench, low, exp)]
    for one, (total, _) in cross(powers, _totals(bench, sign)):
        top = one.exp + depth + one.sig.bit_length() - 1 - bench.palette.fraction_bits + bench.window
        if top in exps and bench.lost_place(top - one.exp) - one.sig.bit_length() + 1 == depth:
            yield from _beside(bench, total, top, one)


def _lowest(bench: Bench, sign: int) -> list[Product]:
    """Products of a sign, of the least exponents and significands that there are."""
    products = (one for exp in bench.palette.exps for one in bench.palette.of(sign, exp))
    return [one for _, one in zip(range(MOST_LOW), products, strict=False)]


def _beside(bench: Bench, total: int, top: int, one: Product) -> Iterator[Solution]:
    """One product that loses a 1, and others with which the sum is `total`: alone, or with an addend."""
    below = bench.lost_place(top - one.exp)
    kept = one.sig >> below
    if one.sig == kept << below:
        return
    rest = total + kept if one.sign else total - kept
    solutions = [*bench.alone(rest, top), bench.total(rest, [top], addend=True)] if rest else []
    for found in solutions:
        if found is not None and not found.shift and len(found.products) < bench.lanes:
            solution = found._replace(products=(one, *found.products))
            group = bench.measure(solution)
            if group.sticky and (group.total, group.max_exp) == (total, top):
                yield solution


STICKY = Family("sticky", groups={}, declare=declare_sticky, directed=(deciding,))
