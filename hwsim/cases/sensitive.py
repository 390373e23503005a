"""Cases in which a small mistake shows: learned from mutants of datapaths that other cases let live.

What such a mutant needs is rare: one bit that is set alone, two exponents that differ in their last places, a sum that
all but vanishes, a zero that is multiplied by something large. And it must show: beside a term with its last bit set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hwsim.cases.bench import Bench
from hwsim.cases.case import Case
from hwsim.cases.landmarks import infinities, numbers, zeros
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Pair
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

ROUNDS = 12  # of comparisons, each of which meets every pair of neighbours in a tree once
SUMS = 6  # of random signs, for each share of negative terms


def sensitive(unit: Unit, seed: int) -> list[Case]:
    """The cases of a unit of method `aligned`; ids begin with `sensitive/`.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    bench = Bench(unit, seed)
    for solve in (single_bits, zeros_beside, vanishing_sums, comparisons):
        bench.start("sensitive", solve.__name__)
        solve(bench)
    return bench.cases


def _bits_alone(fmt: FloatFormat) -> Iterator[tuple[str, int]]:
    """Codes with one bit set, with one bit cleared, and NaNs of one bit."""
    bits = fmt.bits - fmt.signed
    every = (1 << bits) - 1
    for bit in range(bits):
        yield f"{bit}", 1 << bit
    for bit in range(bits):
        yield f"not-{bit}", every ^ 1 << bit
    for infinity in infinities(fmt)[:1]:
        for bit in range(fmt.fraction_bits):
            yield f"inf-{bit}", infinity >> fmt.padding | 1 << bit


def single_bits(bench: Bench) -> None:
    """Addends that have one bit set or cleared, alone: each bit of a code counts."""
    fmt = bench.unit.operands.addend
    if not isinstance(fmt, FloatFormat):
        return
    sign = 1 << fmt.bits - 1
    for name, code in _bits_alone(fmt):
        negative = sign if fmt.signed and bench.rng.random() < 0.5 else 0
        bench.add(f"sensitive/addend-{name}", (bench.filling(()),), (code | negative) << fmt.padding)


def zeros_beside(bench: Bench) -> None:
    """Zeros times numbers of every exponent, in all lanes, beside a term whose last bit a larger max_exp would lose."""
    for exp in bench.tries:
        for side in range(2):
            pairs = [_zero_times(bench, side) for _ in range(bench.lanes)]
            addend = _last_bit(bench, exp)
            if addend is not None:
                name = f"sensitive/zeros-{'ab'[side]}-{exp}"
                bench.add(name, (*addend.before, bench.filling(pairs, 0, exact=True)), addend.c)
    for exp in bench.tries[:: max(1, len(bench.tries) // 8)]:
        for side in range(2):
            pairs = [_zero_times(bench, side) for _ in range(bench.lanes)]
            low = bench.palette.of(0, exp)[-1:]
            if low and bench.lanes > 1:
                lane = bench.rng.randrange(bench.lanes)
                pairs[lane] = (low[0].a, low[0].b)
                bench.add(f"sensitive/zeros-{'ab'[side]}-beside-{exp}", (bench.filling(pairs, 0, exact=True),))


def _zero_times(bench: Bench, side: int) -> Pair:
    """A zero of one side, times any number of the other."""
    zero = bench.rng.choice(zeros(bench.factors[side]))
    fmt = bench.factors[1 - side]
    largest = numbers(fmt)["largest"]
    number = bench.rng.choice([largest, bench.rng.randrange(largest + 1)])
    if isinstance(fmt, FloatFormat) and fmt.padding:
        number = number >> fmt.padding << fmt.padding
    return (zero, number) if side == 0 else (number, zero)


def _last_bit(bench: Bench, exp: int) -> Addend | None:
    """An addend of an exponent, with its first bit and the window's last one set."""
    bits = min(bench.window, bench.addend_bits - 1)
    return bench.addend(bench.rng.randrange(2), (1 << bits) | 1, exp - bits) if bits > 0 else None


def vanishing_sums(bench: Bench) -> None:
    """Sums of zero or next to it, of many terms: all carries of the sum run through."""
    lanes = bench.lanes
    blocks = [range(first, first + size) for size in _sizes(lanes) for first in range(0, lanes, size)]
    for number, block in enumerate(blocks):
        _vanishing(bench, f"sensitive/sum-{len(block)}-{block[0]}", list(block), number % 3)
    for tenths in (1, 3, 5, 7, 9):
        for at in range(SUMS):
            chosen = [lane for lane in range(lanes) if bench.rng.random() < tenths / 10]
            _vanishing(bench, f"sensitive/sum-{tenths}-tenths-{at}", chosen or [0], at % 3)


def _sizes(lanes: int) -> list[int]:
    return [1 << place for place in range((lanes - 1).bit_length() + 1)]


def _vanishing(bench: Bench, name: str, negative: Sequence[int], total: int) -> None:
    """A sum of a total, in units of the window's last place, whose negative terms stand in some lanes."""
    palette, lanes = bench.palette, bench.lanes
    others = [lane for lane in range(lanes) if lane not in negative]
    for top in bench.tops(2)[:4]:
        lsb = top - bench.window
        usable = [
            one for exp in palette.exps if lsb + palette.fraction_bits <= exp <= top for one in palette.of(1, exp)
        ]
        if not usable:
            continue
        for most in (0, 2, 4, 6):
            below = [one for one in usable if one.exp <= top - most] or usable
            chosen = [bench.rng.choice(below) for _ in negative]
            size = sum(one.sig << one.exp - palette.fraction_bits - lsb for one in chosen)
            addend = bench.addend(0, size + total, lsb) if not others else None
            if addend is not None and addend.term.exp <= top:
                if bench.add(name, (*addend.before, bench.filling(chosen, 0, exact=True)), addend.c):
                    return
                continue
            positive = palette.decompose(size + total, top, lsb, len(others))
            if positive is None:
                continue
            row: list[Product | Pair] = [(0, 0)] * lanes
            for lane, one in zip((*negative, *others), (*chosen, *positive), strict=False):
                row[lane] = one
            bench.add(name, (bench.filling(row, 0, exact=True),))
            return


def comparisons(bench: Bench) -> None:
    """Two products that meet in a tree of comparisons, whose exponents begin to differ at any bit."""
    palette, lanes = bench.palette, bench.lanes
    first = palette.exps[0] - 1
    pairs = []
    for place in range((palette.exps[-1] - first).bit_length()):
        for high in palette.exps:
            # The exponents, counted from the least, differ in this bit and disagree in all below it.
            bits = high - first
            low = bits ^ (1 << place + 1) - 1
            if bits >> place & 1 and low + first in palette.exps:
                pairs.append((high, low + first))
    if not pairs:
        return
    nodes = [(at, size) for size in _sizes(lanes)[1:] for at in range(0, lanes, size) if at + size // 2 < lanes]
    for turn in range(ROUNDS):
        order = bench.rng.sample(pairs, len(pairs))
        for number, (at, size) in enumerate(nodes):
            high, low = order[number % len(order)]
            left = at + bench.rng.randrange(size // 2)
            right_end = min(at + size, lanes)
            right = at + size // 2 + bench.rng.randrange(right_end - at - size // 2)
            exps = (high, low) if bench.rng.random() < 0.5 else (low, high)
            row: list[Product | Pair] = [(0, 0)] * lanes
            for lane, exp in zip((left, right), exps, strict=True):
                row[lane] = bench.rng.choice(palette.of(0, exp) or palette.of(1, exp))
            bench.add(f"sensitive/maximum-{turn}-{at}-{size}", (bench.filling(row, 0, exact=True),))
