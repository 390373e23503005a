"""Solves for what sets the reference exponent: each lane, the addend, subnormals, and zeros that must not."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGNS, Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.landmarks import negate, numbers, zeros
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend
from hwsim.formats import FloatFormat
from hwsim.spec.keys import Number


def lanes(bench: Bench) -> None:
    """Each lane once as the maximum, and once shifted: against another lane, and against the addend."""
    apart = [d for d in bench.distances if 0 < d <= bench.window] if bench.lanes > 1 else []
    for i in range(bench.lanes):
        other = (i + 1) % bench.lanes
        for sign in SIGNS:
            pair = bench.pair(apart[i % len(apart)], (sign, i % 2)) if apart else None
            if pair:
                bench.add_beat(f"lane/max{i:02}-shift{other:02}-{SIGN[sign]}", pair, lane=i)
            for word, above in (("max", -1 - i % 4), ("shift", 1 + i % 4)):
                # A product in lane i with an addend one to four places above or below it.
                solutions = (bench.with_addend((one,), i % 2, 1, one.exp + above) for one in bench.sign_of(sign))
                bench.add_first(f"lane/{word}{i:02}-addend-{SIGN[sign]}", solutions, lane=i)


def lane_pairs(bench: Bench, facts: UnitFacts) -> None:
    """Each lane as the maximum of a row in which all others straddle the window's end."""
    able = _straddling(bench)
    for lane, sign in cross(range(bench.lanes), SIGNS) if able else ():
        high, low = able[lane % len(able)]
        others = [low if not sign else (low, bench.palette.opposite(low) or low)[i % 2] for i in range(bench.lanes - 1)]
        bench.add_beat(f"G3/max{lane:02}-others-{'alternate' if sign else 'straddle'}", (high, *others), lane=lane)


def _straddling(bench: Bench) -> list[tuple[Product, Product]]:
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


def subnormals(bench: Bench) -> None:
    """A subnormal factor whose product has the largest reference exponent, and leading zeros, beside a larger term."""
    for side, fmt in enumerate(bench.factors):
        if not isinstance(fmt, FloatFormat) or not fmt.subnormals or not fmt.fraction_bits:
            continue
        largest = list(numbers(bench.factors[1 - side]).values())[-1]
        for lead in sorted({0, 1, 2, fmt.fraction_bits // 2, fmt.fraction_bits - 1} & set(range(fmt.fraction_bits))):
            for kind, code in (("one", 1 << lead), ("ones", (2 << lead) - 1)):
                code <<= fmt.padding
                pair = (largest, code) if side else (code, largest)
                if kind == "one" or lead:
                    _leading_zeros(bench, f"{'ab'[side]}-lead{lead}-{kind}", pair)


def _leading_zeros(bench: Bench, name: str, pair: tuple[int, int]) -> None:
    term = bench.definition.product(*pair, bench.neutral)
    near = {0, 1, 2, 3, bench.window - 1, bench.window, bench.window + 1}
    for d, sign in cross(sorted(d for d in near if d >= 0), (0, 1)):
        low = bench.palette.of(sign, term.exp - d)
        word = f"subnormal/{name}-d{d:02}-{SIGN[sign]}"
        if low:
            bench.add_beat(word, [pair, low[-1]])
        added = bench.addend(sign, (1 << bench.addend_bits) - 1, term.exp - d - bench.addend_bits + 1)
        if added:
            bench.add_beat(f"{word}-addend", [pair], added)


def least_subnormals(bench: Bench, facts: UnitFacts) -> None:
    """A subnormal of each number of leading zeros sets max_exp, beside the smallest products; and two subnormals do."""
    least = bench.palette.of(0, bench.palette.exps[0])[:1]
    factors = bench.factors
    for side, fmt in enumerate(factors):
        if isinstance(fmt, FloatFormat) and fmt.subnormals:
            largest = list(numbers(factors[1 - side]).values())[-1]
            for zeros in range(1, fmt.precision):
                code = 1 << fmt.precision - zeros - 1 + fmt.padding
                pair = (largest, code) if side else (code, largest)
                bench.add_beat(f"G3/subnormal-{'ab'[side]}{zeros:02}", [pair, *least])
    codes = [1 << fmt.padding for fmt in factors]
    if bench.lanes > 1 and all(isinstance(fmt, FloatFormat) and fmt.subnormals for fmt in factors):
        bench.add_beat("G3/subnormals", [(codes[0], codes[1])] * bench.lanes)


def zero_times(bench: Bench) -> None:
    """A zero product with a large other factor beside a tiny term: it must have no part in max_exp."""
    a, b = bench.factors
    tiny = bench.palette.of(0, bench.palette.exps[0])[0]
    small = bench.addend(0, 1, bench.palette.exps[0] - 3)
    for i, (x, y) in enumerate(cross(zeros(a), _largest(b))):
        _beside(bench, f"a{i}", (x, y), (tiny.a, tiny.b), small)
    for i, (x, y) in enumerate(cross(_largest(a), zeros(b))):
        _beside(bench, f"b{i}", (x, y), (tiny.a, tiny.b), small)


def _beside(bench: Bench, name: str, empty: tuple[int, int], tiny: tuple[int, int], small: Addend | None) -> None:
    for lane in sorted({0, bench.lanes // 2, bench.lanes - 1}):
        if bench.lanes > 1:
            bench.add(f"zero-times/{name}-lane{lane:02}", [bench.filling([empty, tiny], lane, exact=True)])
        if small:
            filling = bench.filling([empty], lane, exact=True)
            bench.add(f"zero-times/{name}-lane{lane:02}-addend", [*small.before, filling], small.c)
    if bench.lanes > 1:
        row = [*[empty] * (bench.lanes - 1), tiny]
        bench.add(f"zero-times/{name}-all", [bench.filling(row, bench.lanes // 3, exact=True)])


def _largest(fmt: Number) -> list[int]:
    code = list(numbers(fmt).values())[-1]
    other = negate(fmt, code)
    return [code] if other is None else [code, other]
