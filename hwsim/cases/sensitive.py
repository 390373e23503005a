"""Cases in which a small mistake shows: learned from mutants of datapaths that other cases let live.

What such a mutant needs is rare: one bit that is set alone, two exponents that differ in their last places, a sum that
all but vanishes, a zero that is multiplied by something large. And it must show: beside a term with its last bit set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from hwsim.cases.bench import Bench
from hwsim.cases.case import Case
from hwsim.cases.landmarks import infinities, nans
from hwsim.cases.palette import Product
from hwsim.cases.sensitive_factors import code_of_one, small_factors, zeros_beside
from hwsim.cases.sensitive_maxima import comparisons, last_bit
from hwsim.cases.sensitive_registers import (
    cancelling_registers,
    far_registers,
    left_registers,
    partial_bits,
    past_ties,
    small_partials,
    special_registers,
    tied_registers,
)
from hwsim.cases.sensitive_scales import cancelled_maxima, ends_of_scales, exponent_fields, highest_shift, scales_add
from hwsim.cases.solver import Pair
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

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
            number = code_of_one(bench.factors[1 - side])
            nan = bench.rng.choice(codes)
            pair = (nan, number) if side == 0 else (number, nan)
            beat = bench.filling([pair], lane, exact=True)
            bench.add(f"sensitive/nan-{'ab'[side]}-{lane}", (beat,))
            if lane == 0 and bench.beats > 1:
                bench.add(f"sensitive/nan-{'ab'[side]}-handed-on", (beat, bench.filling(())))


def below(bench: Bench) -> None:
    """Terms of all lanes below another one: at each distance in the window, and where one bit says that it is far."""
    palette, exps = bench.palette, bench.palette.exps
    far = [(1 << place) + near for place in range(bench.window.bit_length(), 12) for near in range(4)]
    for number, distance in enumerate(dict.fromkeys((*range(bench.window + 1), *far))):
        lows = exps[len(exps) // 2], exps[0], exps[-1]
        low = lows[number % (3 if distance > bench.window else 2)]
        # So far down that there is an addend so far above.
        shift = min(0, bench.result.emax - 1 - low - distance) if scales_add(bench) else 0
        if not bench.can_shift(shift):
            continue
        products, addend = palette.of(number // 2 % 2, low), last_bit(bench, low + shift + distance)
        row = list(products[-1:]) * bench.lanes
        if row and addend is not None:
            name = f"sensitive/below-{distance}-addend"
            bench.add(name, (*addend.before, bench.filling(row, 0, shift, exact=True)), addend.c)
        high = palette.of(1 - number // 2 % 2, low + distance)
        if row and high and bench.lanes > 1:
            row[number * 5 % bench.lanes] = high[0]
            bench.add(f"sensitive/below-{distance}", (bench.filling(row, 0, exact=True),))


def far_addends(bench: Bench) -> None:
    """An addend far below products that cancel, where one bit says how far: nothing of it may be left."""
    least, most = bench.result.emin, bench.result.emax
    highest = bench.palette.exps[-1] + highest_shift(bench)
    for place in range(max(2, bench.window.bit_length()), (highest - least).bit_length() if bench.addend_bits else 0):
        for distance in range(1 << place, (1 << place) + 4):
            tops = range(least + distance, min(highest, most + distance) + 1)
            for top in bench.rng.sample(tops, len(tops)):
                cancelling, addend = _cancelling_at(bench, top), last_bit(bench, top - distance)
                if cancelling is not None and addend is not None:
                    pair, shift = cancelling
                    row = (pair * bench.lanes)[: bench.lanes // 2 * 2]
                    filling = bench.filling(row, 0, shift, exact=True)
                    bench.add(f"sensitive/far-addend-{distance}", (*addend.before, filling), addend.c)
                    break


def _cancelling_at(bench: Bench, exp: int) -> tuple[tuple[Product, Product], int] | None:
    """Two products of an exponent whose sum is zero, and what scales add to theirs."""
    if not scales_add(bench):
        return None if (pair := bench.cancelling(exp)) is None else (pair, 0)
    for one in bench.rng.sample(bench.palette.exps, len(bench.palette.exps)):
        if bench.can_shift(exp - one) and (pair := bench.cancelling(one)) is not None:
            return pair, exp - one
    return None


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


def small_totals(bench: Bench, more: bool = False) -> None:
    """Totals of any max_exp whose results are the last normal ones, subnormal, or nothing: how far each is moved."""
    bits = bench.window + 1 + max(bench.growths, 0)
    lowest, least = exponent_fields(bench).lowest_exp, bench.result.emin
    near = range(least - bits - 8, least + bits + 4)
    far = range(lowest, near[0])
    for top in (*near, *(far if more else _powers_below(far))):
        # The leading one where the first normal number has it, next to it, as high as can be, and anywhere.
        edge = bench.window + least - top
        places = [edge, bits - 1 - bench.rng.randrange(3), edge - 1, edge + 1, *bench.rng.sample(range(bits), 2)]
        usable = list(dict.fromkeys(place for place in places if 0 <= place < bits))
        for place in usable if more else usable[:1]:
            size = 1 << place | (bench.rng.randrange(1 << place) | 1 if place else 0)
            solution = bench.either(-size if bench.rng.random() < 0.5 else size, [top])
            bench.add_solution(f"sensitive/small-total-{top}-{place}{'-more' * more}", solution)
    for top in far[4:] if more else far[:4]:
        _alone(bench, f"sensitive/nothing-{top}", top)


def _alone(bench: Bench, name: str, top: int) -> None:
    """A negative product of an exponent, beside products of zero: what is so small that nothing is left is -0."""
    for exp in bench.palette.exps:
        products = bench.palette.of(1, exp)
        if products and bench.can_shift(top - exp):
            bench.add(name, (bench.filling(products[:1], shift=top - exp, exact=True),))
            return


def _powers_below(far: range) -> list[int]:
    """The powers of two below the end of a range, and their neighbours."""
    ends = {far.stop - (1 << place) + one for place in range(len(far).bit_length()) for one in (0, 1, 2)}
    return sorted(ends & set(far))


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


# The names key random choices. What serves most comes first: a short set takes the first cases alone.
SOLVERS: Mapping[str, Callable[[Bench], None]] = {
    "single bits": single_bits,
    "not numbers": not_numbers,
    "special registers": special_registers,
    "small partial sums": small_partials,
    "ends of scales": ends_of_scales,
    "small factors": small_factors,
    "below": below,
    "far addends": far_addends,
    "zeros beside": zeros_beside,
    "cancelled maxima": cancelled_maxima,
    "comparisons": comparisons,
    "sparse totals": sparse_totals,
    "small totals": small_totals,
    "vanishing sums": vanishing_sums,
    "partial sums": partial_bits,
    "registers that cancel": cancelling_registers,
    "registers that tie": tied_registers,
    "registers past ties": past_ties,
    "far registers": far_registers,
    "registers of which some is left": left_registers,
    "more registers that cancel": partial(cancelling_registers, more=True),
    "more registers that tie": partial(tied_registers, more=True),
    "more registers past ties": partial(past_ties, more=True),
    "more cancelled maxima": partial(cancelled_maxima, more=True),
    "more comparisons": partial(comparisons, more=True),
    "more zeros": partial(zeros_beside, more=True),
    "more totals": partial(sparse_totals, more=True),
    "more small totals": partial(small_totals, more=True),
    "more sums": partial(vanishing_sums, more=True),
}
