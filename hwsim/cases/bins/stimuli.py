"""Stimuli for the bins that directed cases leave: operands, lanes, and what is lost."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostbits import MOST_DEPTH
from hwsim.cases.bins.operands import classes, pairs
from hwsim.cases.directed_beats import dense, ends
from hwsim.cases.palette import Product
from hwsim.cases.solver import Filling, Pair

SPECIAL = ("NaN", "Inf")
SIGNS = (0, 1)


def class_rows(bench: Bench, facts: UnitFacts) -> None:
    """Every pair of classes of numbers through every lane, a pair in each lane of a row."""
    finite = [pair for pair in pairs(facts) if not any(pair_of[1:] in SPECIAL for pair_of in pair)]
    for row in range(len(finite)):
        held = [finite[(row + lane) % len(finite)] for lane in range(bench.lanes)]
        bench.put(f"G1/numbers{row:03}", [bench.filling([_codes(facts, pair, row) for pair in held], 0, exact=True)])


def class_specials(bench: Bench, facts: UnitFacts) -> None:
    """Every pair of classes with NaN or an infinity through every lane, alone beside numbers, so that it shows."""
    special = [pair for pair in pairs(facts) if any(one[1:] in SPECIAL for one in pair)]
    plain = ends(bench)[0]
    for index, pair in enumerate(special):
        for lane in range(bench.lanes):
            row = [_codes(facts, pair, index + lane), *[(plain.a, plain.b)] * (bench.lanes > 1)]
            bench.put(f"G1/special{index:03}-lane{lane:02}", [bench.filling(row, lane, exact=True)])


def _codes(facts: UnitFacts, pair: tuple[str, str], turn: int) -> Pair:
    """Codes of two classes, in turn."""
    a, b = (classes(fmt)[name] for fmt, name in zip(facts.factors, pair, strict=True))
    return a[turn % len(a)], b[turn * 7 % len(b)]


def _opposite(bench: Bench, one: Product) -> Product:
    return bench.palette.find(1 - one.sign, one.exp, one.sig) or one


def straddling(bench: Bench) -> list[tuple[Product, Product]]:
    """A product for max_exp and one below it that keeps bits and loses bits, for each distance that has such."""
    found = []
    for d in bench.distances:
        places = bench.lost_place(d)
        for exp in bench.tries if 0 < places < bench.palette.fraction_bits + 2 else ():
            below = bench.lost_bits(d)
            high = bench.palette.of(0, exp)
            low = [one for one in bench.palette.of(0, exp - d) if one.sig & below and one.sig >> places]
            if high and low:
                found.append((bench.rng.choice(high), low[-1]))
                break
    return found


def lane_pairs(bench: Bench, facts: UnitFacts) -> None:
    """Each lane as the maximum of a row in which all others straddle the window's end."""
    able = straddling(bench)
    for lane, sign in cross(range(bench.lanes), SIGNS) if able else ():
        high, low = able[lane % len(able)]
        others = [low if not sign else (low, _opposite(bench, low))[i % 2] for i in range(bench.lanes - 1)]
        bench.one(f"G3/max{lane:02}-others-{'alternate' if sign else 'straddle'}", (high, *others), lane=lane)


def lane_alone(bench: Bench, facts: UnitFacts) -> None:
    """Each lane as the maximum of a row in which all others are lower."""
    exps = bench.inside
    for lane in range(bench.lanes) if len(exps) > 1 else ():
        high, low = bench.palette.of(0, exps[-1]), bench.palette.of(lane % 2, exps[-1 - lane % (len(exps) - 1) - 1])
        if high and low:
            bench.one(f"G3/alone{lane:02}", (high[0], *[low[-1]] * (bench.lanes - 1)), lane=lane)


def ties(bench: Bench, facts: UnitFacts) -> None:
    """So many products of one exponent, and the addend with them."""
    for n in facts.landmarks():
        for exp in bench.tries[:4]:
            row = bench.palette.of(0, exp)[-1:] * n
            bench.one(f"G3/tie{n:02}-{exp}", row)
            added = bench.addend(0, 1, exp) if row else None
            if added:
                bench.one(f"G3/tie{n:02}-{exp}-addend", row, added)


def lost_together(bench: Bench, facts: UnitFacts) -> None:
    """Numbers of lanes that lose the same field, below a product and below an addend."""
    counts = sorted({1, 2, 3, bench.lanes // 2, bench.lanes // 2 + 1, bench.lanes - 1} & set(range(1, bench.lanes)))
    for d in bench.distances:
        places = bench.lost_place(d)
        if 0 < places <= bench.palette.fraction_bits + 3:
            for n, field in cross(counts, sorted({1, 1 << places - 1, (1 << places) - 1})):
                pair = bench.pair(d, (0, n % 2), field=field)
                if pair:
                    bench.one(f"G4/d{d:02}-{n:02}-lose-{field:x}", (pair[0], *[pair[1]] * n))
    for exp in bench.tries:
        low = [one for one in bench.palette.of(0, exp) if one.sig & 1][-1:]
        d = bench.window - bench.palette.fraction_bits + 2
        added = bench.addend(0, 1, exp + d) if low and d > 0 else None
        if added and bench.one(f"G4/all-lose-{exp}", (*low * bench.lanes,), added):
            return


def single_bits(bench: Bench, facts: UnitFacts) -> None:
    """One product, or the addend, that loses one bit alone, below products of several sums."""
    bits = bench.addend_bits
    for d, sign in cross(range(bench.window + MOST_DEPTH + 1), SIGNS):
        places = bench.lost_place(d)
        for depth in range(1, min(places, MOST_DEPTH) + 1) if d <= facts.farthest else ():
            pair = bench.pair(d, (sign, d % 2), field=1 << places - depth)
            if pair:
                products = bench.palette.of(sign, pair[0].exp)
                for index in sorted({0, len(products) // 3, len(products) // 2, len(products) - 1}):
                    row = (products[index], pair[1])
                    bench.one(f"G4/single-d{d:02}-depth{depth:02}-{sign}-{index}", row)
    for depth, exp, sign in cross(range(1, bits), bench.tries[:8], SIGNS):
        high = bench.palette.of(sign, exp)
        for word, sig in (("ends", 1 << bits - 1 | 1), ("alone", 1)):
            added = bench.addend(sign, sig, exp - bench.window - depth) if high else None
            for index in sorted({0, len(high) // 2}) if added and added.term.exp <= exp else ():
                name = f"G4/addend-depth{depth:02}-{word}-{exp}-{sign}-{index}"
                bench.one(name, high[index : index + 1], added)


def addend_fields(bench: Bench, facts: UnitFacts) -> None:
    """Each kind of field of an addend that straddles, in both signs."""
    bits = bench.addend_bits
    for places in (1, 2, 3, 4):
        for field, sign in cross(range(1 << places), SIGNS):
            for exp in bench.tries[:16] if bits > places else ():
                high = bench.palette.of(0, exp)
                added = bench.addend(sign, 1 << places | field, exp - bench.window - places)
                if high and added and bench.one(f"G4/addend-{places}-{field:x}-{sign}", high[:1], added):
                    break


def chains(bench: Bench, facts: UnitFacts) -> None:
    """Long chains: of any numbers, and of a sum that stands still."""
    for n in dict.fromkeys((1, 2, 3, bench.lanes, 128)):
        if n <= bench.beats:
            bench.put(f"G11/chain{n:03}", dense(bench, n))
    if bench.beats > 2:
        small, large = ends(bench)
        row: list[Filling] = [bench.filling([large] * bench.lanes), *[bench.filling([small]) for _ in range(3)]]
        bench.put("G11/still", row[: bench.beats])
        back = _opposite(bench, small)
        bench.put("G11/still-cancelled", [bench.filling([large]), bench.filling([small, back][: bench.lanes])])
