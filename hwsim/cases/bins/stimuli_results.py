"""Stimuli for the bins that directed cases leave: sums, results, and the ends of the range."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.directed_round import solved
from hwsim.cases.directed_sum import MOST_TOPS, large, opposite
from hwsim.cases.palette import Product
from hwsim.formats import unpack

SIGNS = (0, 1)
FEW = 8  # exponents of products up to which each is tried as the largest


def near(bench: Bench, facts: UnitFacts) -> None:
    """Results on the codes at which a format changes, and next to them: by products, or by the addend alone."""
    fmt = bench.result
    first, one = 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    most = fmt.max_magnitude
    steps = (1, 2, first - 1, first, first + 1, one - 1, one, one + 1, 2 * one, most - 1, most)
    for magnitude, sign in cross(steps, SIGNS):
        result(bench, f"G8/{magnitude:x}-{'neg' if sign else 'pos'}", magnitude, sign)
    for step, sign, binade in cross((-1, 0, 1), SIGNS, range(2, 12)):
        magnitude = one + (binade << fmt.fraction_bits) + step
        if magnitude < most:
            result(bench, f"G8/binade{binade}{step:+}-{'neg' if sign else 'pos'}", magnitude, sign)


def result(bench: Bench, name: str, magnitude: int, sign: int) -> None:
    """Cases whose result is a code: by products, beside an addend, and by an addend alone."""
    fmt = bench.result
    _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
    unit = exp - fmt.fraction_bits
    bench.found(name, solved(bench, -sig if sign else sig, unit))
    # Sums that are rounded to it, or to its neighbours; what is new is kept.
    for top in bench.palette.exps if len(bench.palette.exps) < FEW else ():
        down = top - bench.window - unit
        for step in (0, 1):
            total = (sig >> down if down >= 0 else sig << -down) + step
            bench.found(f"{name}-top{top}-{step}", bench.total(-total if sign else total, [top]) if total else None)
    added = bench.addend(sign, sig, unit)
    if added:
        bench.one(f"{name}-addend", (), added)


def pushed(bench: Bench, facts: UnitFacts) -> None:
    """Addends near the ends of their format's range, and products of about their size that push them over or back."""
    fmt = bench.addend_format or bench.result
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude
    zones = {"largest": most - 1, "least-normal": first + 1, "subnormal": first - 1, "middle-subnormal": first // 2}
    for (word, magnitude), signs in cross(zones.items(), cross(SIGNS, SIGNS)):
        _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
        added = bench.addend(signs[0], sig, exp - fmt.fraction_bits)
        one = beside(bench, signs[1], exp) if added else None
        if added and one:
            bench.one(f"G9/{word}-{signs[0]}{signs[1]}", one[:1], added, shift=one[1])


def beside(bench: Bench, sign: int, exp: int) -> tuple[Product, int] | None:
    """A product whose exponent, scaled, is near this one; and the shift of the scales."""
    for source in bench.tries:
        products = bench.palette.of(sign, source)
        for step in (0, -1, 1, -2, 2, -3, -4, -5, -6):
            shift = exp + step - source if bench.unit.scale is not None else 0
            if products and bench.can_shift(shift) and abs(source + shift - exp) <= bench.window - 2:
                return products[-1], shift
    return None


def shifts(bench: Bench, facts: UnitFacts) -> None:
    """Every place of the sum's leading one, above and below max_exp, with an addend and without."""
    for growth, sign in cross(range(-bench.window, facts.most_growth + 1), SIGNS):
        for word, low in (("", 0), ("-odd", 1)):
            total = 1 << bench.window + growth | low
            tops = bench.tops(growth)
            name = f"G6/growth{growth:+03}{word}-{'neg' if sign else 'pos'}"
            signed = -total if sign else total
            bench.found(name, bench.total(signed, tops))
            bench.found(f"{name}-addend", bench.total(signed, tops, addend=True))


def cut(bench: Bench, facts: UnitFacts) -> None:
    """Sums with each pattern of last, guard and sticky bits, and with every run of zeros."""
    fraction = bench.result.fraction_bits
    for places in range(max(facts.most_cut, 0) + 1):
        for last, low, sign in cross((0, 1), sorted(_patterns(places)), SIGNS):
            total = (1 << fraction | last) << places | low
            _total(bench, f"G7/cut{places}-{last}-{low:x}-{'neg' if sign else 'pos'}", -total if sign else total)
    for zeros in range(fraction + 1):
        total = 1 << fraction | 1 << zeros
        for places in range(max(facts.most_cut, 0) + 1):
            _total(bench, f"G7/zeros{zeros:02}-cut{places}", total << places)


def _patterns(places: int) -> set[int]:
    half = 1 << places - 1 if places else 0
    single = {1 << place for place in range(places - 1)}
    return {0, half, *single, *(half | one for one in single)}


def _total(bench: Bench, name: str, total: int) -> None:
    tops = bench.tops(abs(total).bit_length() - 1 - bench.window)
    bench.found(name, bench.total(total, tops) or bench.total(total, tops, addend=True))


def largest(bench: Bench, facts: UnitFacts) -> None:
    """The largest product in all lanes, in both signs; and sums that are a power of two, the largest there is."""
    exp = bench.palette.exps[-1]
    for sign in SIGNS:
        bench.one(f"G6/all-largest-{'neg' if sign else 'pos'}", bench.palette.of(sign, exp)[-1:] * bench.lanes)
    bits = bench.addend_bits
    total = 1 << bench.window + facts.most_growth
    parts = [part for part in range(1, 32) if bits > 5 and bench.window > 4]
    for top, sign, part in cross(bench.tops(facts.most_growth)[:2], SIGNS, parts):
        # The addend takes what so many lanes of products cannot hold.
        added = bench.addend(sign, part, top - 4)
        rest = total - (part << bench.window - 4)
        products = bench.palette.decompose(-rest if sign else rest, top, top - bench.window, bench.lanes)
        if added and products:
            bench.one(f"G6/power-{top}-{part:02}-{'neg' if sign else 'pos'}", products, added)


def sticky(bench: Bench, facts: UnitFacts) -> None:
    """As few large products as grow so far, and one whose lowest bits are guard and sticky."""
    fraction = bench.result.fraction_bits
    for cut, top in cross(range(2, facts.most_cut + 1), bench.tops(facts.most_growth)[:2]):
        growth = cut + fraction - bench.window
        if growth < 0:
            _cancelled(bench, cut, top, growth)
            continue
        low = (1 << max(0, cut - (bench.window - facts.bits))) - 1
        high = [one for one in bench.palette.of(0, top) if not one.sig & low]
        count = -(-(1 << growth + facts.bits) // high[-1].sig) if high and growth >= 0 else 1
        if not high or count >= bench.lanes:
            continue
        for place, guard in cross(range(cut - 1), (0, 1)):
            one = _ending(bench, top, 1 << place | guard << cut - 1, cut)
            if one:
                bench.one(f"G7/sticky-{cut}-{place}-{guard}-{top}", (*high[-1:] * count, one))


def _cancelled(bench: Bench, cut: int, top: int, growth: int) -> None:
    """Two products that cancel, and one below them that alone is the sum."""
    high = large(bench, top)
    back = high and opposite(bench, high)
    for place, guard in cross(range(cut - 1), (0, 1)) if high and back and bench.lanes > 2 else ():
        one = _ending(bench, top, 1 << place | guard << cut - 1, cut, bench.window + growth + 1)
        if high and back and one:
            bench.one(f"G7/sticky-{cut}-{place}-{guard}-{top}", (high, back, one))


def _ending(bench: Bench, top: int, field: int, places: int, length: int | None = None) -> Product | None:
    """A product with nothing below the window, whose last places in it are so. length: its bits in the window."""
    mask = (1 << places) - 1
    for exp in bench.palette.exps:
        shift = exp - bench.palette.fraction_bits - (top - bench.window)
        for one in bench.palette.of(0, exp) if 0 <= shift < places and exp <= top else ():
            if one.sig << shift & mask == field and length in (None, one.sig.bit_length() + shift):
                return one
    return None


def remaining(bench: Bench, facts: UnitFacts) -> None:
    """Two opposite products that cancel, and one that straddles the window's end."""
    for d, sign in cross(bench.distances, SIGNS):
        places = bench.lost_place(d)
        for exp in bench.tries[:MOST_TOPS] if 0 < places < bench.palette.fraction_bits + 2 else ():
            high = large(bench, exp)
            back = high and opposite(bench, high)
            low = [one for one in bench.palette.of(sign, exp - d) if one.sig & bench.lost_bits(d) and one.sig >> places]
            if high and back and low:
                bench.one(f"G5/remaining-d{d:02}-{'neg' if sign else 'pos'}", (high, back, low[-1]))
                break
