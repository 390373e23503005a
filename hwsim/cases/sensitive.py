"""Cases in which a small mistake shows: learned from mutants of datapaths that other cases let live.

What such a mutant needs is rare: one bit that is set alone, two exponents that differ in their last places, a sum that
all but vanishes, a zero that is multiplied by something large. And it must show: beside a term with its last bit set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from hwsim.cases.bench import Bench
from hwsim.cases.case import Case
from hwsim.cases.landmarks import infinities, nans, numbers, zeros
from hwsim.cases.palette import Product
from hwsim.cases.sensitive_registers import (
    cancelling_registers,
    left_registers,
    partial_bits,
    past_ties,
    small_partials,
    special_registers,
    tied_registers,
)
from hwsim.cases.sensitive_scales import cancelled_maxima, ends_of_scales, highest_shift, shifts_of
from hwsim.cases.solver import Addend, Pair
from hwsim.formats import FloatFormat
from hwsim.spec import Unit
from hwsim.spec.keys import Number

TURNS = 8  # of comparisons, where there is room for more
ZEROS = 4  # turns of zeros times other numbers, likewise
SUMS = 160  # of random signs


def sensitive(unit: Unit, seed: int) -> list[Case]:
    """The cases of a unit of method `aligned`; ids begin with `sensitive/`.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    bench = Bench(unit, seed)
    for name, solve in SOLVERS.items():
        bench.start("sensitive", name)
        solve(bench)
    return bench.cases


def _bits_alone(fmt: FloatFormat) -> Iterator[tuple[str, int]]:
    """Codes with one bit set, with one bit cleared, and those that differ from infinity in one."""
    bits = fmt.bits - fmt.signed
    every = (1 << bits) - 1
    for bit in range(bits):
        yield f"{bit}", 1 << bit
    for bit in range(bits):
        yield f"not-{bit}", every ^ 1 << bit
    for infinity in infinities(fmt)[:1]:
        for bit in range(bits):
            yield f"inf-{bit}", infinity >> fmt.padding ^ 1 << bit


def single_bits(bench: Bench) -> None:
    """Addends that have one bit set or cleared, alone, and handed on to a second beat: each bit of a code counts."""
    fmt = bench.unit.operands.addend
    if not isinstance(fmt, FloatFormat):
        return
    sign = 1 << fmt.bits - 1
    beats = (bench.filling(()),) * min(2, bench.beats)
    infinite = [(f"infinity-{at}", code >> fmt.padding) for at, code in enumerate(infinities(fmt))]
    for name, code in (*infinite, *_bits_alone(fmt)):
        negative = sign if fmt.signed and bench.rng.random() < 0.5 else 0
        bench.add(f"sensitive/addend-{name}", beats, (code ^ negative) << fmt.padding)
    # Taken for a number an infinity is less than it with something large of the other sign.
    for at, (name, code) in enumerate(infinite):
        largest = bench.palette.of(1 - (code >> fmt.bits - 1), bench.palette.exps[-1])
        for shift in {0, highest_shift(bench)} if largest else ():
            row = bench.filling(largest[-1:] * bench.lanes, 0, shift, exact=True)
            bench.add(f"sensitive/addend-{name}-beside-{at}-{shift}", (row,), code << fmt.padding)


def not_numbers(bench: Bench) -> None:
    """A NaN of either side in one lane, alone; and one that is handed on to a second beat."""
    for side, fmt in enumerate(bench.factors):
        codes = nans(fmt)
        for lane in range(bench.lanes if codes else 0):
            number = _one(bench.factors[1 - side])
            nan = bench.rng.choice(codes)
            pair = (nan, number) if side == 0 else (number, nan)
            beat = bench.filling([pair], lane, exact=True)
            bench.add(f"sensitive/nan-{'ab'[side]}-{lane}", (beat,))
            if lane == 0 and bench.beats > 1:
                bench.add(f"sensitive/nan-{'ab'[side]}-handed-on", (beat, bench.filling(())))


def zeros_beside(bench: Bench, more: bool = False) -> None:
    """Zeros times numbers of every exponent, in all lanes, beside a term whose last bit a larger max_exp would lose."""
    least, turn, shifts = bench.palette.exps[0], 0, shifts_of(bench)
    for exp in (*range(least - 4, least), *sorted(bench.tries)):
        for side in range(2):
            for again in range(ZEROS if more else 1):
                shift = shifts[turn % len(shifts)]
                addend, turn = _last_bit(bench, exp + shift), turn + 1
                pairs = [_zero_times(bench, side, turn + lane) for lane in range(bench.lanes)]
                if addend is not None:
                    name = f"sensitive/zeros-{'ab'[side]}-{exp}-{again + more}"
                    bench.add(name, (*addend.before, bench.filling(pairs, 0, shift, exact=True)), addend.c)
    _zeros_above(bench, more)


def _zeros_above(bench: Bench, more: bool) -> None:
    """Zeros times the largest number, in all lanes but one, beside the least product with its last bit set."""
    lowest = [one for exp in bench.palette.exps[:2] for one in bench.palette.of(0, exp) if one.sig % 2]
    for lane in range(bench.lanes if more else 2) if lowest and bench.lanes > 1 else ():
        for side in range(2):
            zero = bench.rng.choice(zeros(bench.factors[side]))
            largest = numbers(bench.factors[1 - side])["largest"]
            row: list[Product | Pair] = [(zero, largest) if side == 0 else (largest, zero)] * bench.lanes
            row[lane] = bench.rng.choice(lowest)
            bench.add(f"sensitive/zeros-above-{'ab'[side]}-{lane}-{more:d}", (bench.filling(row, 0, exact=True),))


def _zero_times(bench: Bench, side: int, turn: int) -> Pair:
    """A zero of one side, times a number of the other: its exponent's field is that of the turn."""
    zero, fmt = bench.rng.choice(zeros(bench.factors[side])), bench.factors[1 - side]
    largest = numbers(fmt)["largest"]
    number = bench.rng.randrange(largest + 1)
    if isinstance(fmt, FloatFormat):
        field = turn % (1 << fmt.exponent_bits)
        number = (field << fmt.fraction_bits | bench.rng.randrange(1 << fmt.fraction_bits)) << fmt.padding
        number = min(number, largest)
    return (zero, number) if side == 0 else (number, zero)


def _last_bit(bench: Bench, exp: int) -> Addend | None:
    """An addend of an exponent, with its first bit and the window's last one set."""
    bits = min(bench.window, bench.addend_bits - 1)
    return bench.addend(bench.rng.randrange(2), (1 << bits) | 1, exp - bits) if bits > 0 else None


def small_factors(bench: Bench) -> None:
    """Significands of one bit in all lanes: that a factor is not zero hangs on that bit alone."""
    for side, fmt in enumerate(bench.factors):
        if not isinstance(fmt, FloatFormat):
            continue
        for bit in range(fmt.fraction_bits):
            other = _one(bench.factors[1 - side])
            pair = (1 << bit << fmt.padding, other) if side == 0 else (other, 1 << bit << fmt.padding)
            bench.add(f"sensitive/factor-{'ab'[side]}-{bit}", (bench.filling([pair] * bench.lanes, 0, exact=True),))


def _one(fmt: Number) -> int:
    """The code of 1, or of the number that stands for it."""
    named = numbers(fmt)
    return next(named[name] for name in ("one", "first-normal", "least", "largest") if name in named)


def below(bench: Bench) -> None:
    """Terms of all lanes below another one: at each distance in the window, and where one bit says that it is far."""
    palette, exps = bench.palette, bench.palette.exps
    far = [(1 << place) + near for place in range(bench.window.bit_length(), 12) for near in range(4)]
    for number, distance in enumerate((*range(bench.window + 1), *far)):
        low = exps[0] if number % 2 else exps[len(exps) // 2]
        products, addend = palette.of(number // 2 % 2, low), _last_bit(bench, low + distance)
        row = list(products[-1:]) * bench.lanes
        if row and addend is not None:
            name = f"sensitive/below-{distance}-addend"
            bench.add(name, (*addend.before, bench.filling(row, 0, exact=True)), addend.c)
        high = palette.of(1 - number // 2 % 2, low + distance)
        if row and high and bench.lanes > 1:
            row[number * 5 % bench.lanes] = high[0]
            bench.add(f"sensitive/below-{distance}", (bench.filling(row, 0, exact=True),))


def sparse_totals(bench: Bench, more: bool = False) -> None:
    """Totals of one bit, or of two that are some power of two apart: where the leading one is, and the next."""
    bits = bench.window + 1 + max(bench.growths, 0)
    for high in range(bits):
        lows = [high - (1 << place) for place in range(high.bit_length())]
        # Trees that count zeros end in small parts at the low end.
        chosen = lows[high % len(lows) : high % len(lows) + 1] if lows else []
        first = sorted({*chosen, *(low for low in (1, 2) if low < high)})
        for low in [one for one in range(high) if one not in first] if more else [None, *first]:
            size = 1 << high | (0 if low is None else 1 << low)
            sign = -1 if bench.rng.random() < 0.5 else 1
            solution = bench.either(sign * size, bench.tops(max(0, high - bench.window)))
            bench.add_solution(f"sensitive/total-{high}-{'alone' if low is None else low}", solution)


def vanishing_sums(bench: Bench, more: bool = False) -> None:
    """Sums of zero or next to it, of many terms: all carries of the sum run through."""
    lanes = bench.lanes
    blocks = [range(first, first + size) for size in _sizes(lanes) for first in range(0, lanes, size)]
    for number, block in enumerate(blocks):
        _vanishing(bench, f"sensitive/sum-{len(block)}-{block[0]}-{more:d}", list(block), -((number + more) % 2))
    for at in range(SUMS if more else SUMS // 8):
        share = bench.rng.random()
        chosen = [lane for lane in range(lanes) if bench.rng.random() < share]
        _vanishing(bench, f"sensitive/sum-some-{at}-{more:d}", chosen or [0], -(at % 2))


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


def comparisons(bench: Bench, more: bool = False) -> None:
    """One exponent above all others, from lane to lane, and they all but agree, or begin to differ at any bit."""
    beat = bench.filling(())
    least = 2 + sum(beat.scale_a[:1] + beat.scale_b[:1])
    pairs_by_shift = {shift: _neighbours(bench.palette.exps, least + shift) for shift in shifts_of(bench)}
    chosen = {
        (shift, place): _each_bit(bench, some, least + shift)[: TURNS + 1]
        for shift, pairs in pairs_by_shift.items()
        for place, some in sorted(pairs.items())
    }
    for again, (shift, pairs) in product(range(1, TURNS + 1) if more else [0], pairs_by_shift.items()):
        # Shifted, the pairs whose fields differ at the bit that the shift is for, and others where there is room.
        places = sorted(pairs) if more or not shift else sorted(pairs)[-1:]
        for turn, lane in product(range(len(places)), range(bench.lanes)):
            those = chosen[shift, places[(turn + lane) % len(places)]]
            high, low = those[again % len(those)]
            row = [bench.rng.choice(bench.palette.of(0, low)) for _ in range(bench.lanes)]
            row[lane] = bench.rng.choice(bench.palette.of(0, high))
            name = f"sensitive/maximum-{again * len(places) + turn}-{lane}-{shift}-{more:d}"
            bench.add(name, (bench.filling(row, 0, shift, exact=True),))
    pairs = _neighbours(bench.palette.exps, least)
    places = sorted(pairs)
    for place in places:
        for exps in _both_ways(bench.rng.choice(pairs[place])):
            addend = _last_bit(bench, exps[0])
            row = [bench.rng.choice(bench.palette.of(0, exps[1])) for _ in range(bench.lanes)]
            if addend is not None:
                name = f"sensitive/maximum-addend-{place}-{exps[0]}-{more:d}"
                bench.add(name, (*addend.before, bench.filling(row, 0, exact=True)), addend.c)


def _each_bit(bench: Bench, pairs: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """The pairs, in an order in which each bit of a field is soon seen set and cleared. least: the first field."""

    def bits(pair: tuple[int, int]) -> set[tuple[int, int]]:
        field = pair[0] - bench.palette.exps[0] + least
        return {(place, field >> place & 1) for place in range(16)}

    left = bench.rng.sample(pairs, len(pairs))
    found = list[tuple[int, int]]()
    seen = set[tuple[int, int]]()
    while left:
        best = max(left, key=lambda pair: len(bits(pair) - seen))
        if not bits(best) - seen and seen:
            seen = set()
            continue
        left.remove(best)
        found.append(best)
        seen |= bits(best)
    return found


def _both_ways(pair: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    return pair, (pair[1], pair[0])


def _neighbours(exps: Sequence[int], least: int) -> dict[int, list[tuple[int, int]]]:
    """By place, two exponents whose fields differ at that bit and at all bits below it. least: the first one's field.

    The field of a product is the sum of its factors' and scales' fields, as hardware adds them: at least 1 for each.
    """
    found = defaultdict(list)
    for high in exps:
        field = high - exps[0] + least
        for place in range(field.bit_length()):
            low = (field ^ ((1 << place + 1) - 1)) - least + exps[0]
            if field >> place & 1 and low in exps:
                found[place].append((high, low))
    return found


# The names key random choices. What serves most comes first: a short set takes the first cases alone.
SOLVERS: Mapping[str, Callable[[Bench], None]] = {
    "single bits": single_bits,
    "not numbers": not_numbers,
    "special registers": special_registers,
    "small partial sums": small_partials,
    "ends of scales": ends_of_scales,
    "small factors": small_factors,
    "below": below,
    "zeros beside": zeros_beside,
    "cancelled maxima": cancelled_maxima,
    "comparisons": comparisons,
    "sparse totals": sparse_totals,
    "vanishing sums": vanishing_sums,
    "partial sums": partial_bits,
    "registers that cancel": cancelling_registers,
    "registers that tie": tied_registers,
    "registers past ties": past_ties,
    "registers of which some is left": left_registers,
    "more registers that cancel": partial(cancelling_registers, more=True),
    "more registers that tie": partial(tied_registers, more=True),
    "more registers past ties": partial(past_ties, more=True),
    "more cancelled maxima": partial(cancelled_maxima, more=True),
    "more comparisons": partial(comparisons, more=True),
    "more zeros": partial(zeros_beside, more=True),
    "more totals": partial(sparse_totals, more=True),
    "more sums": partial(vanishing_sums, more=True),
}
