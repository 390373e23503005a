"""Stimuli for the bins that directed cases leave: pairs of terms, and terms under an addend that loses them."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.lostbits import kind
from hwsim.cases.directed_sum import large, opposite
from hwsim.cases.landmarks import infinities, nans, numbers
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend
from hwsim.formats import FloatFormat

SIGNS = (0, 1)


def distances(bench: Bench, facts: UnitFacts) -> None:
    """Every distance between products that has a bin, exact and not; of wide formats directed cases have a few."""
    for d, signs, lost in cross(facts.distances, cross(SIGNS, SIGNS), (False, True)):
        pair = bench.pair(d, signs, lost) if bench.lanes > 1 else None
        if pair:
            bench.one(f"G2/d{d:02}-{signs[0]}{signs[1]}-{'lost' if lost else 'exact'}", pair)


def subnormals(bench: Bench, facts: UnitFacts) -> None:
    """A subnormal of each number of leading zeros sets max_exp, beside the smallest products; and two subnormals do."""
    least = bench.palette.of(0, bench.palette.exps[0])[:1]
    factors = bench.factors
    for side, fmt in enumerate(factors):
        if isinstance(fmt, FloatFormat) and fmt.subnormals:
            largest = list(numbers(factors[1 - side]).values())[-1]
            for zeros in range(1, fmt.precision):
                code = 1 << fmt.precision - zeros - 1 + fmt.padding
                pair = (largest, code) if side else (code, largest)
                bench.one(f"G3/subnormal-{'ab'[side]}{zeros:02}", [pair, *least])
    codes = [1 << fmt.padding for fmt in factors]
    if bench.lanes > 1 and all(isinstance(fmt, FloatFormat) and fmt.subnormals for fmt in factors):
        bench.one("G3/subnormals", [(codes[0], codes[1])] * bench.lanes)


def under_addend(bench: Bench, facts: UnitFacts) -> None:
    """Each kind of lost field of one product below an addend; and 1, 2, ... all lanes that lose it."""
    counts = sorted({1, 2, 3, bench.lanes // 2, bench.lanes - 1, bench.lanes} - {0})
    for places in range(1, facts.width):
        d = places + facts.window - facts.bits
        sampled: set[tuple[str, int]] = set()
        for sign in SIGNS if d >= 0 and bench.addend_bits else ():
            for one in bench.sign_of(sign):
                field = one.sig & ((1 << places) - 1)
                key = kind(field, places), sign
                added = _above(bench, one, d) if key not in sampled else None
                if added is None:
                    continue
                sampled.add(key)
                for n in counts if field else (1,):
                    bench.one(f"G4/under-addend-{places}-{key[0].replace(' ', '-')}-{sign}-{n:02}", (one,) * n, added)


def _above(bench: Bench, one: Product, d: int) -> Addend | None:
    added = bench.addend(0, 1, one.exp + d)
    return added if added and added.term.exp == one.exp + d else None


def hidden(bench: Bench, facts: UnitFacts) -> None:
    """Products whose sum an addend cancels in the window, with one bit more below it."""
    for place, sign in cross(range(bench.window + 1), SIGNS if bench.addend_bits else ()):
        total = (-1) ** sign << place
        found = bench.total(total, bench.tops(place - bench.window))
        if found is None or found.addend or not found.products:
            continue
        top = max(one.exp for one in found.products) + found.shift
        for below in (1, 2, 3):
            added = bench.addend(1 - sign, (1 << place + below) + 1, top - bench.window - below)
            if added and added.term.exp <= top:
                name = f"G5/hidden{place:02}-{below}-{'neg' if sign else 'pos'}"
                bench.one(name, found.products, added, shift=found.shift)


def shifts_lost(bench: Bench, facts: UnitFacts) -> None:
    """Every place of the sum's leading one, beside a product that loses bits."""
    for growth, sign, back in cross(range(-bench.window, 1), SIGNS, SIGNS):
        total = 3 << bench.window + growth if back else 1 << bench.window + growth
        for extra in (0, 1, -1):
            found = bench.total(-total - extra if sign else total + extra, bench.tops(growth))
            if found is None or found.addend or len(found.products) >= bench.lanes:
                continue
            top = max(one.exp for one in found.products)
            low = _losing(bench, top, sign ^ back)
            if low:
                name = f"G5/left{-growth:02}-lost{extra:+}-{back}-{'neg' if sign else 'pos'}"
                bench.one(name, (*found.products, low), shift=found.shift)


def shifts_cancelled(bench: Bench, facts: UnitFacts) -> None:
    """Two products that cancel, one that is left at each place, and one far below that loses bits."""
    bits = bench.palette.fraction_bits
    for place, sign, back in cross(range(1, bench.window + 1), SIGNS, SIGNS if bench.lanes > 3 else ()):
        for exp in bench.tries:
            high = large(bench, exp)
            other, low = high and opposite(bench, high), _losing(bench, exp, sign ^ back)
            for d in range(max(0, place - bits), place + bits) if high and other and low else ():
                left = [
                    one
                    for one in bench.palette.of(sign, exp - d)
                    if bits + d + 1 - one.sig.bit_length() == place and (not back or one.sig & (one.sig - 1))
                ]
                name = f"G5/left{place:02}-cancelled-{back}-{'neg' if sign else 'pos'}-{exp}-{d}"
                if left and high and other and low and bench.one(name, (high, other, left[0], low)):
                    break
            else:
                continue
            break


def _losing(bench: Bench, top: int, sign: int) -> Product | None:
    """A product that loses bits under an exponent, as small as can be."""
    for exp in bench.palette.exps:
        below = bench.lost_bits(top - exp) if exp <= top else 0
        for one in bench.palette.of(sign, exp) if below else ():
            if one.sig & below:
                return one
    return None


def specials(bench: Bench, facts: UnitFacts) -> None:
    """NaN in one lane and an infinity in another."""
    plain = [numbers(fmt).get("one", 1) for fmt in bench.factors]
    named = {"NaN": nans, "Inf": infinities}
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in named}
    for name, codes in named.items():
        found[name] += [(code, plain[1]) for code in codes(bench.factors[0])[:1]]
        found[name] += [(plain[0], code) for code in codes(bench.factors[1])[:1]]
    for index, pair in enumerate(cross(found["NaN"], found["Inf"])):
        if bench.lanes > 1:
            bench.put(f"G10/beside{index}", [bench.filling(pair, exact=True)])
