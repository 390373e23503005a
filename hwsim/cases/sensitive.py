"""Cases in which a small mistake shows: learned from mutants of datapaths that other cases let live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.cases.palette import Product, infinities, largest_code, nans, negate, numbers, zeros
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
from hwsim.cases.solver import Addend, CaseBuilder, Pair
from hwsim.formats import FloatFormat
from hwsim.spec import Unit
from hwsim.spec.keys import Number

TURNS = 8  # of lanes, where there is room for more


def scales_add(bench: CaseBuilder) -> bool:
    """True if scales add to the exponents of products."""
    scale = bench.unit.scale
    return scale is not None and scale.at == "product"


def highest_shift(bench: CaseBuilder) -> int:
    """What scales add at most to exponents."""
    return bench.scale_ends[1] - bench.neutral if scales_add(bench) else 0


@dataclass(frozen=True)
class ExponentFields:
    """Exponents as hardware counts them: the fields of both factors, each at least 1, and of both scales.

    least, most: those of products, the least of neutral scales. down: how far scales go below those.
    lowest: the exponent that the least one stands for. result: the exponent of the least number of the unit's results.
    """

    least: int
    most: int
    lowest: int
    down: int
    result: int

    @property
    def lowest_exp(self) -> int:
        """The exponent of the least field that there is."""
        return self.exp(self.least - self.down)

    def exp(self, field: int) -> int:
        """The exponent that a field stands for."""
        return self.lowest + field - self.least

    def field(self, exp: int) -> int:
        """And the other way round."""
        return self.least + exp - self.lowest

    def visible(self, above: int = 0) -> int:
        """The field of an exponent that is so far above that of the least number of results; at least 1."""
        return max(1, self.field(self.result + above))


def exponent_fields(bench: CaseBuilder) -> ExponentFields:
    """Those of a unit."""
    exps, neutral, down = bench.palette.exps, 0, 0
    if scales_add(bench):
        beat = bench.filling(())
        neutral, down = sum(beat.scale_a[:1] + beat.scale_b[:1]), bench.neutral - bench.scale_ends[0]
    least = 2 + neutral
    most = least + exps[-1] - exps[0] + highest_shift(bench)
    return ExponentFields(least, most, exps[0], down, bench.result.emin - bench.result.fraction_bits)


def shifts_of(bench: CaseBuilder) -> list[int]:
    """What scales add to exponents: 0 first, and where any do, what brings each bit of a field to change in between."""
    if not scales_add(bench):
        return [0]
    exps, fields = bench.palette.exps, exponent_fields(bench)
    middle = fields.field(exps[len(exps) // 2])
    # What overflows shows a wrong exponent, too; what underflows shows nothing.
    low, high = bench.result.emin - exps[0] + 5, highest_shift(bench)
    found = [0]
    for place in range(5, middle.bit_length() + 1):
        odd = (2 * round((middle / (1 << place) - 1) / 2) + 1) << place
        if low <= odd - middle <= high:
            found.append(odd - middle)
    return found


def ends_of_scales(bench: CaseBuilder) -> None:
    """The least and the largest scales, the next to them, and NaN, of either side or both, beside other products."""
    if not scales_add(bench):
        return
    formats = bench.scale_formats
    ends = [sorted({0, 1, fmt.max_code - 1, fmt.max_code, *nans(fmt)[:1]}) for fmt in formats]
    low, high = bench.palette.exps[0], bench.palette.exps[-1]
    least, largest = ([*bench.palette.of(0, exp)[-1:]] for exp in (low, high))
    plain = bench.filling(())
    for x, y in [
        *product(ends[0], ends[1]),
        *product(plain.scale_a[:1], ends[1]),
        *product(ends[0], plain.scale_b[:1]),
    ]:
        for number, row in enumerate((least, largest, largest * bench.lanes)):
            beat = bench.filling(row, 0, exact=True)
            scaled = beat._replace(scale_a=(x,) * len(beat.scale_a), scale_b=(y,) * len(beat.scale_b))
            bench.add(f"sensitive/scales-{x}-{y}-{number}", (scaled,))
    _nearly_nan(bench)


def _nearly_nan(bench: CaseBuilder) -> None:
    """Scales that differ from NaN in one bit, beside those that bring products back into the middle."""
    for side, fmt in enumerate(bench.scale_formats):
        other, row = bench.scale_formats[1 - side], [bench.palette.of(0, bench.palette.exps[-1])[-1]]
        for nan, bit in product(nans(fmt)[:1], range(fmt.bits)):
            code = nan ^ 1 << bit
            back = min(max(bench.neutral - (code - fmt.bias) + other.bias, other.min_code), other.max_code)
            filling = bench.filling(row, 0, exact=True)
            sides = ((code,) * bench.blocks[0], (back,) * bench.blocks[1])
            x, y = sides if side == 0 else ((back,) * bench.blocks[0], (code,) * bench.blocks[1])
            bench.add(f"sensitive/scale-{'ab'[side]}-nan-but-{bit}", (filling._replace(scale_a=x, scale_b=y),))


def cancelled_maxima(bench: CaseBuilder, more: bool = False) -> None:
    """The largest term cancels, far up, where all that is left overflows: what is left tells its exponent."""
    exps, highest, window = bench.palette.exps, highest_shift(bench), bench.window
    if not highest or bench.lanes < 4:
        return
    top = exps[-1] - 1
    tails = [exp for exp in exps if 6 < top - exp <= window - 2 * bench.palette.fraction_bits]
    halves = {one.sig: one for one in bench.palette.of(1, top - 1)}
    pairs = [(one, halves[one.sig]) for one in bench.palette.of(0, top) if one.sig in halves]
    for turn, lane in product(range(1, TURNS + 1) if more else range(2), range(bench.lanes if pairs and tails else 0)):
        high, half = bench.rng.choice(pairs)
        tail = bench.rng.choice(bench.palette.of(turn % 2, tails[0] if turn % 2 else bench.rng.choice(tails)))
        places = bench.rng.sample([one for one in range(bench.lanes) if one != lane], 3)
        row: list[Product | Pair] = [(0, 0)] * bench.lanes
        row[lane] = high
        for place, term in zip(places, (half, half, tail), strict=True):
            row[place] = term
        shift = highest - bench.rng.randrange(24)
        bench.add(f"sensitive/cancelled-{lane}-{turn}-{more:d}", (bench.filling(row, 0, shift, exact=True),))


COMPARISONS = 5  # of comparisons, where there is room for more
TRIES = 64  # of significands that all but cancel


@dataclass(frozen=True)
class ExponentStep:
    """An exponent of the palette, and what scales add to it. field: their sum, as hardware counts it."""

    exp: int
    shift: int
    field: int

    @property
    def place(self) -> int:
        """That of the lowest bit of the field that is set."""
        return (self.field & -self.field).bit_length() - 1


def comparisons(bench: CaseBuilder, more: bool = False) -> None:
    """One exponent one above all others, from lane to lane: each bit decides, and those above it are set and cleared.

    Where lanes are compared, on one side or the other a bit is set, and beside it another bit is, or is not.
    """
    by_place = _by_place(bench)
    for place, steps in sorted(by_place.items()):
        for again, lane in product(range(1, COMPARISONS + 1) if more else [0], range(bench.lanes)):
            step = steps[(again + lane.bit_count() % 2) % len(steps)]
            row, addend = _all_but_cancels(bench, step, lane)
            before, c = ((), 0) if addend is None else (addend.before, addend.c)
            filling = bench.filling(row, 0, step.shift, exact=True)
            bench.add(f"sensitive/maximum-{place}-{again}-{lane}", (*before, filling), c)
    if not more:
        _beside_addends(bench, by_place)


def _beside_addends(bench: CaseBuilder, by_place: dict[int, list[ExponentStep]]) -> None:
    """An addend's exponent one above those of all products, or one below."""
    for place, steps in sorted(by_place.items()):
        for step, above in product(steps[:4], (True, False)):
            exp = min(step.exp + step.shift - (not above), bench.result.emax)
            addend = last_bit(bench, exp)
            row = [bench.rng.choice(bench.palette.of(0, step.exp - above)) for _ in range(bench.lanes)]
            if addend is not None:
                name = f"sensitive/maximum-addend-{place}-{step.field}-{'above' if above else 'below'}"
                bench.add(name, (*addend.before, bench.filling(row, 0, step.shift, exact=True)), addend.c)


def last_bit(bench: CaseBuilder, exp: int) -> Addend | None:
    """An addend of an exponent, with its first bit and the window's last one set."""
    bits = min(bench.window, bench.addend_bits - 1)
    return bench.addend(bench.rng.randrange(2), (1 << bits) | 1, exp - bits) if bits > 0 else None


def _by_place(bench: CaseBuilder) -> dict[int, list[ExponentStep]]:
    """Larger exponents by the bit that tells them from the next lower one, in an order that soon shows all bits above.

    Of a scaled unit those that a result can show.
    """
    exps, fields = bench.palette.exps, exponent_fields(bench)
    highs = [exp for exp in exps if exp - 1 in exps and bench.palette.of(0, exp) and bench.palette.of(0, exp - 1)]
    found = defaultdict(list)
    for field in range(fields.visible(), fields.most + 1) if scales_add(bench) else map(fields.field, highs):
        exp = fields.exp(field)
        usable = [one for one in highs if bench.can_shift(exp - one)]
        if usable:
            # Those at the upper end have others below them in the window.
            chosen = max(usable, key=lambda one: (min(one - exps[0], bench.window), bench.rng.random()))
            step = ExponentStep(chosen, exp - chosen, field)
            found[step.place].append(step)
    return {place: _each_bit(bench, some) for place, some in found.items()}


def _each_bit(bench: CaseBuilder, steps: Sequence[ExponentStep]) -> list[ExponentStep]:
    """Steps in an order in which each bit of a field is soon seen set and cleared; some of many."""

    def bits(step: ExponentStep) -> set[tuple[int, int]]:
        return {(place, step.field >> place & 1) for place in range(16)}

    left = bench.rng.sample(steps, len(steps))
    found, seen = list[ExponentStep](), set[tuple[int, int]]()
    while left and len(found) <= COMPARISONS:
        best = max(left, key=lambda step: len(bits(step) - seen))
        if not bits(best) - seen and seen:
            seen = set()
            continue
        left.remove(best)
        found.append(best)
        seen |= bits(best)
    return found


def _all_but_cancels(bench: CaseBuilder, step: ExponentStep, lane: int) -> tuple[list[Product | Pair], Addend | None]:
    """A row whose largest term is in a lane, next to others one below, and all but a few of its bits cancel.

    Far below is a term that loses its last bit where max_exp is larger: a product, or else an addend.
    """
    sign = bench.rng.randrange(2)
    plain: list[Product | Pair] = [bench.rng.choice(bench.palette.of(0, step.exp - 1)) for _ in range(bench.lanes)]
    plain[lane] = bench.rng.choice(bench.palette.of(0, step.exp))
    cancelling = _nearly(bench, step.exp, sign)
    if cancelling is None or bench.lanes < 4:
        return plain, None
    high, *halves = cancelling
    neighbour = lane ^ 1
    others = [one for one in range(bench.lanes) if one not in (lane, neighbour)]
    others = bench.rng.sample(others, len(others))
    row: list[Product | Pair] = [(0, 0)] * bench.lanes
    row[lane], tail, addend = high, _tail(bench, step.exp, 1 - sign), None
    if tail is not None:
        row[others.pop()] = tail
    elif not step.shift:
        addend = bench.addend(1 - sign, 1, step.exp - bench.window)
    places = [*([neighbour] if neighbour < bench.lanes else []), *others]
    low = [one for one in bench.palette.of(0, step.exp - 1) if bench.palette.opposite(one)]
    for place, half in zip(places, halves, strict=False):
        row[place] = half
    left = places[len(halves) :]
    for first, second in zip(left[::2], left[1::2], strict=False):
        one = bench.rng.choice(low) if low else None
        opposite = one and bench.palette.opposite(one)
        if one and opposite:
            row[first], row[second] = one, opposite
    return row, addend


def _nearly(bench: CaseBuilder, exp: int, sign: int) -> tuple[Product, Product, Product] | None:
    """A product, and two of one exponent below and of the other sign: so little is left that a result has a tail, too.

    But some is: else all three could be lost, and nothing would show.
    """
    palette, bits = bench.palette, bench.palette.fraction_bits
    room = bench.result.fraction_bits + 1 - (bench.window - 1 - bits)  # for what is left, above the window's last bit
    if room <= 0:
        return None
    most = 1 << min(room, bits)
    for _ in range(TRIES):
        high, first = (bench.rng.choice(some) if (some := palette.of(*one)) else None
                       for one in ((sign, exp), (1 - sign, exp - 1)))  # fmt: skip
        if high is None or first is None:
            return None
        left = [second for second in palette.of(1 - sign, exp - 1) if 0 < 2 * high.sig - first.sig - second.sig < most]
        if left:
            return high, first, bench.rng.choice(left)
    return None


def _tail(bench: CaseBuilder, exp: int, sign: int) -> Product | None:
    """A product whose last bit is the window's last one, below a max_exp."""
    for place in range(bench.palette.fraction_bits + 1):
        low = exp - bench.window + bench.palette.fraction_bits - place
        found = [one for one in bench.palette.of(sign, low) if (one.sig & -one.sig).bit_length() - 1 == place]
        if found and low < exp - 1:
            return bench.rng.choice(found)
    return None


ZEROS = 4  # turns of zeros times other numbers, where there is room for more


def zeros_beside(bench: CaseBuilder, more: bool = False) -> None:
    """Zeros times numbers of every exponent, in all lanes, beside a term whose last bit a larger max_exp would lose."""
    least, turn, shifts = bench.palette.exps[0], 0, shifts_of(bench)
    for exp in (*range(least - 4, least), *sorted(bench.tries)):
        for side in range(2):
            for again in range(ZEROS if more else 1):
                shift = shifts[turn % len(shifts)]
                addend, turn = last_bit(bench, exp + shift), turn + 1
                pairs = [_zero_times(bench, side, turn + lane) for lane in range(bench.lanes)]
                if addend is not None:
                    name = f"sensitive/zeros-{'ab'[side]}-{exp}-{again + more}"
                    bench.add(name, (*addend.before, bench.filling(pairs, 0, shift, exact=True)), addend.c)
    _zeros_above(bench, more)
    if not more:
        _zeros_at_each_bit(bench)


def _zeros_above(bench: CaseBuilder, more: bool) -> None:
    """Zeros times the largest number, in all lanes but one, beside the least product with its last bit set."""
    lowest = [one for exp in bench.palette.exps[:2] for one in bench.palette.of(0, exp) if one.sig % 2]
    for lane in range(bench.lanes if more else 2) if lowest and bench.lanes > 1 else ():
        for side in range(2):
            zero = bench.rng.choice(zeros(bench.factors[side]))
            largest = largest_code(bench.factors[1 - side])
            row: list[Product | Pair] = [as_pair(side, zero, largest)] * bench.lanes
            row[lane] = bench.rng.choice(lowest)
            bench.add(f"sensitive/zeros-above-{'ab'[side]}-{lane}-{more:d}", (bench.filling(row, 0, exact=True),))


def _zero_times(bench: CaseBuilder, side: int, turn: int) -> Pair:
    """A zero of one side, times a number of the other: its exponent's field is that of the turn."""
    zero, fmt = bench.rng.choice(zeros(bench.factors[side])), bench.factors[1 - side]
    largest = largest_code(fmt)
    number = bench.rng.randrange(largest + 1)
    if isinstance(fmt, FloatFormat):
        field = turn % (1 << fmt.exponent_bits)
        number = (field << fmt.fraction_bits | bench.rng.randrange(1 << fmt.fraction_bits)) << fmt.padding
        number = min(number, largest)
    return as_pair(side, zero, number)


def _zeros_at_each_bit(bench: CaseBuilder) -> None:
    """Zeros in all lanes whose exponent has a bit that no other term's has, beside an addend that would lose by it."""
    for side in range(2):
        for other in _at_each_bit(bench, 1 - side, 0):
            least = other.exp - other.field + (1 << other.place)  # of those that have that bit
            addend = last_bit(bench, min(least - 4, bench.result.emax))
            pair = as_pair(side, bench.rng.choice(zeros(bench.factors[side])), other.code)
            if addend is not None:
                filling = bench.filling([pair] * bench.lanes, 0, other.shift, exact=True)
                bench.add(f"sensitive/zeros-{'ab'[side]}-bit-{other.place}", (*addend.before, filling), addend.c)


def small_factors(bench: CaseBuilder) -> None:
    """Significands of one bit in all lanes: that a factor is not zero hangs on that bit alone."""
    for side, fmt in enumerate(bench.factors):
        if not isinstance(fmt, FloatFormat):
            continue
        for bit in range(fmt.fraction_bits):
            factor = 1 << bit << fmt.padding
            row = [as_pair(side, factor, code_of_one(bench.factors[1 - side]))] * bench.lanes
            bench.add(f"sensitive/factor-{'ab'[side]}-{bit}", (bench.filling(row, 0, exact=True),))
            for other in _at_each_bit(bench, 1 - side, bench.palette.fraction_bits + 1):
                row = _cancelling(bench, side, factor, other.code)
                name = f"sensitive/factor-{'ab'[side]}-{bit}-bit-{other.place}"
                bench.add(name, (bench.filling(row, 0, other.shift, exact=True),))


class Other(NamedTuple):
    """A number by which a zero or a subnormal is multiplied, and what scales add, so that a bit of the sum is set.

    place: of that bit. field: the sum, as hardware counts exponents. exp: of the product, in the end.
    """

    code: int
    shift: int
    place: int
    field: int
    exp: int


def _at_each_bit(bench: CaseBuilder, side: int, above: int) -> Iterator[Other]:
    """For each bit of a product's exponent numbers of a side. above: how far results' least number products must be."""
    fmt = bench.factors[side]
    if not isinstance(fmt, FloatFormat):
        return
    fields = exponent_fields(bench)
    low = fields.visible(above)
    lift = 1 - fmt.least_bexp
    tops = range(1, (largest_code(fmt) >> fmt.padding + fmt.fraction_bits) + lift + 1)
    for place in range(fields.most.bit_length()):
        for top in bench.rng.sample(tops, len(tops)):
            plain = fields.least - 1 + top
            reached = range(low, fields.most + 1) if scales_add(bench) else (plain,)
            usable = [field for field in reached if field >> place & 1 and bench.can_shift(field - plain)]
            if usable:
                field = bench.rng.choice(usable)
                fraction = bench.rng.randrange(1 << fmt.fraction_bits)
                code = min((top - lift << fmt.fraction_bits | fraction) << fmt.padding, largest_code(fmt))
                yield Other(code, field - plain, place, field, fields.exp(field))
                break


def _cancelling(bench: CaseBuilder, side: int, factor: int, other: int) -> list[Pair]:
    """One product in all lanes, of both signs in turn: of their sum nothing is left, unless one of them is wrong."""
    opposite = negate(bench.factors[1 - side], other)
    pairs = [as_pair(side, factor, one) for one in (other, other if opposite is None else opposite)]
    return (pairs * bench.lanes)[: bench.lanes // 2 * 2 or 1]


def as_pair(side: int, factor: int, other: int) -> Pair:
    """A factor of a side, and one of the other side."""
    return (factor, other) if side == 0 else (other, factor)


def code_of_one(fmt: Number) -> int:
    """The code of 1, or of the number that stands for it."""
    named = numbers(fmt)
    return next(named[name] for name in ("one", "first-normal", "least", "largest") if name in named)


SUMS = 160  # of random signs


def sensitive(unit: Unit, seed: int) -> list[Case]:
    """The cases of a unit of method `aligned`; ids begin with `sensitive/`.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.case`).
    """
    bench = CaseBuilder(unit, seed)
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


def single_bits(bench: CaseBuilder) -> None:
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


def not_numbers(bench: CaseBuilder) -> None:
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


def below(bench: CaseBuilder) -> None:
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


def far_addends(bench: CaseBuilder) -> None:
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


def _cancelling_at(bench: CaseBuilder, exp: int) -> tuple[tuple[Product, Product], int] | None:
    """Two products of an exponent whose sum is zero, and what scales add to theirs."""
    if not scales_add(bench):
        return None if (pair := bench.cancelling(exp)) is None else (pair, 0)
    for one in bench.rng.sample(bench.palette.exps, len(bench.palette.exps)):
        if bench.can_shift(exp - one) and (pair := bench.cancelling(one)) is not None:
            return pair, exp - one
    return None


def sparse_totals(bench: CaseBuilder, more: bool = False) -> None:
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


def small_totals(bench: CaseBuilder, more: bool = False) -> None:
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


def _alone(bench: CaseBuilder, name: str, top: int) -> None:
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


def vanishing_sums(bench: CaseBuilder, more: bool = False) -> None:
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


def _vanishing(bench: CaseBuilder, name: str, negative: Sequence[int], total: int) -> None:
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
SOLVERS: Mapping[str, Callable[[CaseBuilder], None]] = {
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
