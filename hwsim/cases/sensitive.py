"""Cases in which a small mistake shows: learned from mutants of datapaths that other cases let live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product as cross
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


def scales_add(builder: CaseBuilder) -> bool:
    """True if scales add to the exponents of products."""
    scale = builder.unit.scale
    return scale is not None and scale.at == "product"


def highest_shift(builder: CaseBuilder) -> int:
    """The largest exponent that scales add."""
    return builder.scale_ends[1] - builder.neutral if scales_add(builder) else 0


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


def exponent_fields(builder: CaseBuilder) -> ExponentFields:
    """The fields of a unit's exponents."""
    exps, neutral, down = builder.palette.exps, 0, 0
    if scales_add(builder):
        beat = builder.filling(())
        neutral, down = sum(beat.scale_a[:1] + beat.scale_b[:1]), builder.neutral - builder.scale_ends[0]
    least = 2 + neutral
    most = least + exps[-1] - exps[0] + highest_shift(builder)
    return ExponentFields(least, most, exps[0], down, builder.result.emin - builder.result.fraction_bits)


def shifts_of(builder: CaseBuilder) -> list[int]:
    """Exponents that scales add: 0 first, and where scales add any, those that make each bit of a field change."""
    if not scales_add(builder):
        return [0]
    exps, fields = builder.palette.exps, exponent_fields(builder)
    middle = fields.field(exps[len(exps) // 2])
    # What overflows shows a wrong exponent, too; what underflows shows nothing.
    low, high = builder.result.emin - exps[0] + 5, highest_shift(builder)
    shifts = [0]
    for place in range(5, middle.bit_length() + 1):
        odd = (2 * round((middle / (1 << place) - 1) / 2) + 1) << place
        if low <= odd - middle <= high:
            shifts.append(odd - middle)
    return shifts


def ends_of_scales(builder: CaseBuilder) -> None:
    """The least and the largest scales, the next to them, and NaN, of either side or both, beside other products."""
    if not scales_add(builder):
        return
    formats = builder.scale_formats
    ends = [sorted({0, 1, fmt.max_code - 1, fmt.max_code, *nans(fmt)[:1]}) for fmt in formats]
    low, high = builder.palette.exps[0], builder.palette.exps[-1]
    least, largest = ([*builder.palette.of(0, exp)[-1:]] for exp in (low, high))
    plain = builder.filling(())
    for x, y in [
        *cross(ends[0], ends[1]),
        *cross(plain.scale_a[:1], ends[1]),
        *cross(ends[0], plain.scale_b[:1]),
    ]:
        for number, row in enumerate((least, largest, largest * builder.lanes)):
            beat = builder.filling(row, 0, exact=True)
            scaled = beat._replace(scale_a=(x,) * len(beat.scale_a), scale_b=(y,) * len(beat.scale_b))
            builder.add(f"sensitive/scales-{x}-{y}-{number}", (scaled,))
    _nearly_nan(builder)


def _nearly_nan(builder: CaseBuilder) -> None:
    """Scales that differ from NaN in one bit, beside those that bring products back into the middle."""
    for side, fmt in enumerate(builder.scale_formats):
        other, row = builder.scale_formats[1 - side], [builder.palette.of(0, builder.palette.exps[-1])[-1]]
        for nan, bit in cross(nans(fmt)[:1], range(fmt.bits)):
            code = nan ^ 1 << bit
            back = min(max(builder.neutral - (code - fmt.bias) + other.bias, other.min_code), other.max_code)
            filling = builder.filling(row, 0, exact=True)
            sides = ((code,) * builder.blocks[0], (back,) * builder.blocks[1])
            x, y = sides if side == 0 else ((back,) * builder.blocks[0], (code,) * builder.blocks[1])
            builder.add(f"sensitive/scale-{'ab'[side]}-nan-but-{bit}", (filling._replace(scale_a=x, scale_b=y),))


def cancelled_maxima(builder: CaseBuilder, more: bool = False) -> None:
    """The largest term cancels, far up, where all that is left overflows: what is left tells its exponent."""
    exps, highest, window = builder.palette.exps, highest_shift(builder), builder.window
    if not highest or builder.lanes < 4:
        return
    top = exps[-1] - 1
    tails = [exp for exp in exps if 6 < top - exp <= window - 2 * builder.palette.fraction_bits]
    halves = {product.sig: product for product in builder.palette.of(1, top - 1)}
    pairs = [(product, halves[product.sig]) for product in builder.palette.of(0, top) if product.sig in halves]
    for turn, lane in cross(range(1, TURNS + 1) if more else range(2), range(builder.lanes if pairs and tails else 0)):
        high, half = builder.rng.choice(pairs)
        tail = builder.rng.choice(builder.palette.of(turn % 2, tails[0] if turn % 2 else builder.rng.choice(tails)))
        places = builder.rng.sample([other for other in range(builder.lanes) if other != lane], 3)
        row: list[Product | Pair] = [(0, 0)] * builder.lanes
        row[lane] = high
        for place, term in zip(places, (half, half, tail), strict=True):
            row[place] = term
        shift = highest - builder.rng.randrange(24)
        builder.add(f"sensitive/cancelled-{lane}-{turn}-{more:d}", (builder.filling(row, 0, shift, exact=True),))


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
        """Index of the field's lowest set bit."""
        return (self.field & -self.field).bit_length() - 1


def comparisons(builder: CaseBuilder, more: bool = False) -> None:
    """One exponent one above all others, from lane to lane: each bit decides, and those above it are set and cleared.

    Where lanes are compared, on one side or the other a bit is set, and beside it another bit is, or is not.
    """
    by_place = _by_place(builder)
    for place, steps in sorted(by_place.items()):
        for again, lane in cross(range(1, COMPARISONS + 1) if more else [0], range(builder.lanes)):
            step = steps[(again + lane.bit_count() % 2) % len(steps)]
            row, addend = _all_but_cancels(builder, step, lane)
            before, c = ((), 0) if addend is None else (addend.before, addend.c)
            filling = builder.filling(row, 0, step.shift, exact=True)
            builder.add(f"sensitive/maximum-{place}-{again}-{lane}", (*before, filling), c)
    if not more:
        _beside_addends(builder, by_place)


def _beside_addends(builder: CaseBuilder, by_place: dict[int, list[ExponentStep]]) -> None:
    """An addend's exponent one above those of all products, or one below."""
    for place, steps in sorted(by_place.items()):
        for step, above in cross(steps[:4], (True, False)):
            exp = min(step.exp + step.shift - (not above), builder.result.emax)
            addend = last_bit(builder, exp)
            row = [builder.rng.choice(builder.palette.of(0, step.exp - above)) for _ in range(builder.lanes)]
            if addend is not None:
                name = f"sensitive/maximum-addend-{place}-{step.field}-{'above' if above else 'below'}"
                builder.add(name, (*addend.before, builder.filling(row, 0, step.shift, exact=True)), addend.c)


def last_bit(builder: CaseBuilder, exp: int) -> Addend | None:
    """An addend of an exponent, with its first bit and the window's last one set."""
    bits = min(builder.window, builder.addend_bits - 1)
    return builder.addend(builder.rng.randrange(2), (1 << bits) | 1, exp - bits) if bits > 0 else None


def _by_place(builder: CaseBuilder) -> dict[int, list[ExponentStep]]:
    """Larger exponents by the bit that tells them from the next lower one, in an order that soon shows all bits above.

    Of a scaled unit those that a result can show.
    """
    exps, fields = builder.palette.exps, exponent_fields(builder)
    highs = [exp for exp in exps if exp - 1 in exps and builder.palette.of(0, exp) and builder.palette.of(0, exp - 1)]
    steps = defaultdict(list)
    for field in range(fields.visible(), fields.most + 1) if scales_add(builder) else map(fields.field, highs):
        exp = fields.exp(field)
        usable = [high for high in highs if builder.can_shift(exp - high)]
        if usable:
            # Those at the upper end have others below them in the window.
            chosen = max(usable, key=lambda high: (min(high - exps[0], builder.window), builder.rng.random()))
            step = ExponentStep(chosen, exp - chosen, field)
            steps[step.place].append(step)
    return {place: _each_bit(builder, some) for place, some in steps.items()}


def _each_bit(builder: CaseBuilder, steps: Sequence[ExponentStep]) -> list[ExponentStep]:
    """Steps in an order in which each bit of a field is soon seen set and cleared; some of many."""

    def bits(step: ExponentStep) -> set[tuple[int, int]]:
        return {(place, step.field >> place & 1) for place in range(16)}

    remaining = builder.rng.sample(steps, len(steps))
    chosen, seen = list[ExponentStep](), set[tuple[int, int]]()
    while remaining and len(chosen) <= COMPARISONS:
        best = max(remaining, key=lambda step: len(bits(step) - seen))
        if not bits(best) - seen and seen:
            seen = set()
            continue
        remaining.remove(best)
        chosen.append(best)
        seen |= bits(best)
    return chosen


def _all_but_cancels(builder: CaseBuilder, step: ExponentStep, lane: int) -> tuple[list[Product | Pair], Addend | None]:
    """A row whose largest term is in a lane, next to others one below, and all but a few of its bits cancel.

    Far below is a term that loses its last bit where max_exp is larger: a product, or else an addend.
    """
    sign = builder.rng.randrange(2)
    plain: list[Product | Pair] = [
        builder.rng.choice(builder.palette.of(0, step.exp - 1)) for _ in range(builder.lanes)
    ]
    plain[lane] = builder.rng.choice(builder.palette.of(0, step.exp))
    cancelling = _nearly(builder, step.exp, sign)
    if cancelling is None or builder.lanes < 4:
        return plain, None
    high, *halves = cancelling
    neighbour = lane ^ 1
    others = [other for other in range(builder.lanes) if other not in (lane, neighbour)]
    others = builder.rng.sample(others, len(others))
    row: list[Product | Pair] = [(0, 0)] * builder.lanes
    row[lane], tail, addend = high, _tail(builder, step.exp, 1 - sign), None
    if tail is not None:
        row[others.pop()] = tail
    elif not step.shift:
        addend = builder.addend(1 - sign, 1, step.exp - builder.window)
    places = [*([neighbour] if neighbour < builder.lanes else []), *others]
    low = [product for product in builder.palette.of(0, step.exp - 1) if builder.palette.opposite(product)]
    for place, half in zip(places, halves, strict=False):
        row[place] = half
    places_left = places[len(halves) :]
    for first, second in zip(places_left[::2], places_left[1::2], strict=False):
        product = builder.rng.choice(low) if low else None
        opposite = product and builder.palette.opposite(product)
        if product and opposite:
            row[first], row[second] = product, opposite
    return row, addend


def _nearly(builder: CaseBuilder, exp: int, sign: int) -> tuple[Product, Product, Product] | None:
    """A product, and two of one exponent below and of the other sign: so little is left that a result has a tail, too.

    But some is: else all three could be lost, and nothing would show.
    """
    palette, bits = builder.palette, builder.palette.fraction_bits
    room = (
        builder.result.fraction_bits + 1 - (builder.window - 1 - bits)
    )  # for what is left, above the window's last bit
    if room <= 0:
        return None
    most = 1 << min(room, bits)
    for _ in range(TRIES):
        high, first = (builder.rng.choice(some) if (some := palette.of(*key)) else None
                       for key in ((sign, exp), (1 - sign, exp - 1)))  # fmt: skip
        if high is None or first is None:
            return None
        seconds = [
            second for second in palette.of(1 - sign, exp - 1) if 0 < 2 * high.sig - first.sig - second.sig < most
        ]
        if seconds:
            return high, first, builder.rng.choice(seconds)
    return None


def _tail(builder: CaseBuilder, exp: int, sign: int) -> Product | None:
    """A product whose last bit is the window's last one, below a max_exp."""
    for place in range(builder.palette.fraction_bits + 1):
        low = exp - builder.window + builder.palette.fraction_bits - place
        products = [
            product
            for product in builder.palette.of(sign, low)
            if (product.sig & -product.sig).bit_length() - 1 == place
        ]
        if products and low < exp - 1:
            return builder.rng.choice(products)
    return None


ZEROS = 4  # turns of zeros times other numbers, where there is room for more


def zeros_beside(builder: CaseBuilder, more: bool = False) -> None:
    """Zeros times numbers of every exponent, in all lanes, beside a term whose last bit a larger max_exp would lose."""
    least, turn, shifts = builder.palette.exps[0], 0, shifts_of(builder)
    for exp in (*range(least - 4, least), *sorted(builder.tries)):
        for side in range(2):
            for again in range(ZEROS if more else 1):
                shift = shifts[turn % len(shifts)]
                addend, turn = last_bit(builder, exp + shift), turn + 1
                pairs = [_zero_times(builder, side, turn + lane) for lane in range(builder.lanes)]
                if addend is not None:
                    name = f"sensitive/zeros-{'ab'[side]}-{exp}-{again + more}"
                    builder.add(name, (*addend.before, builder.filling(pairs, 0, shift, exact=True)), addend.c)
    _zeros_above(builder, more)
    if not more:
        _zeros_at_each_bit(builder)


def _zeros_above(builder: CaseBuilder, more: bool) -> None:
    """Zeros times the largest number, in all lanes but one, beside the least product with its last bit set."""
    lowest = [product for exp in builder.palette.exps[:2] for product in builder.palette.of(0, exp) if product.sig % 2]
    for lane in range(builder.lanes if more else 2) if lowest and builder.lanes > 1 else ():
        for side in range(2):
            zero = builder.rng.choice(zeros(builder.factors[side]))
            largest = largest_code(builder.factors[1 - side])
            row: list[Product | Pair] = [as_pair(side, zero, largest)] * builder.lanes
            row[lane] = builder.rng.choice(lowest)
            builder.add(f"sensitive/zeros-above-{'ab'[side]}-{lane}-{more:d}", (builder.filling(row, 0, exact=True),))


def _zero_times(builder: CaseBuilder, side: int, turn: int) -> Pair:
    """A zero of one side, times a number of the other: its exponent's field is that of the turn."""
    zero, fmt = builder.rng.choice(zeros(builder.factors[side])), builder.factors[1 - side]
    largest = largest_code(fmt)
    number = builder.rng.randrange(largest + 1)
    if isinstance(fmt, FloatFormat):
        field = turn % (1 << fmt.exponent_bits)
        number = (field << fmt.fraction_bits | builder.rng.randrange(1 << fmt.fraction_bits)) << fmt.padding
        number = min(number, largest)
    return as_pair(side, zero, number)


def _zeros_at_each_bit(builder: CaseBuilder) -> None:
    """Zeros in all lanes whose exponent has a bit that no other term's has, beside an addend that would lose by it."""
    for side in range(2):
        for other in _at_each_bit(builder, 1 - side, 0):
            least = other.exp - other.field + (1 << other.place)  # of those that have that bit
            addend = last_bit(builder, min(least - 4, builder.result.emax))
            pair = as_pair(side, builder.rng.choice(zeros(builder.factors[side])), other.code)
            if addend is not None:
                filling = builder.filling([pair] * builder.lanes, 0, other.shift, exact=True)
                builder.add(f"sensitive/zeros-{'ab'[side]}-bit-{other.place}", (*addend.before, filling), addend.c)


def small_factors(builder: CaseBuilder) -> None:
    """Significands of one bit in all lanes: that a factor is not zero hangs on that bit alone."""
    for side, fmt in enumerate(builder.factors):
        if not isinstance(fmt, FloatFormat):
            continue
        for bit in range(fmt.fraction_bits):
            factor = 1 << bit << fmt.padding
            row = [as_pair(side, factor, code_of_one(builder.factors[1 - side]))] * builder.lanes
            builder.add(f"sensitive/factor-{'ab'[side]}-{bit}", (builder.filling(row, 0, exact=True),))
            for other in _at_each_bit(builder, 1 - side, builder.palette.fraction_bits + 1):
                row = _cancelling(builder, side, factor, other.code)
                name = f"sensitive/factor-{'ab'[side]}-{bit}-bit-{other.place}"
                builder.add(name, (builder.filling(row, 0, other.shift, exact=True),))


class Other(NamedTuple):
    """A number by which a zero or a subnormal is multiplied, and what scales add, so that a bit of the sum is set.

    place: of that bit. field: the sum, as hardware counts exponents. exp: of the product, in the end.
    """

    code: int
    shift: int
    place: int
    field: int
    exp: int


def _at_each_bit(builder: CaseBuilder, side: int, above: int) -> Iterator[Other]:
    """Numbers of a side for each bit of a product's exponent. above: how far results' least number products must be."""
    fmt = builder.factors[side]
    if not isinstance(fmt, FloatFormat):
        return
    fields = exponent_fields(builder)
    low = fields.visible(above)
    lift = 1 - fmt.least_bexp
    tops = range(1, (largest_code(fmt) >> fmt.padding + fmt.fraction_bits) + lift + 1)
    for place in range(fields.most.bit_length()):
        for top in builder.rng.sample(tops, len(tops)):
            plain = fields.least - 1 + top
            reached = range(low, fields.most + 1) if scales_add(builder) else (plain,)
            usable = [field for field in reached if field >> place & 1 and builder.can_shift(field - plain)]
            if usable:
                field = builder.rng.choice(usable)
                fraction = builder.rng.randrange(1 << fmt.fraction_bits)
                code = min((top - lift << fmt.fraction_bits | fraction) << fmt.padding, largest_code(fmt))
                yield Other(code, field - plain, place, field, fields.exp(field))
                break


def _cancelling(builder: CaseBuilder, side: int, factor: int, other: int) -> list[Pair]:
    """One product in all lanes, of both signs in turn: of their sum nothing is left, unless one of them is wrong."""
    opposite = negate(builder.factors[1 - side], other)
    pairs = [as_pair(side, factor, code) for code in (other, other if opposite is None else opposite)]
    return (pairs * builder.lanes)[: builder.lanes // 2 * 2 or 1]


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
    builder = CaseBuilder(unit, seed)
    for name, solve in SOLVERS.items():
        builder.start("sensitive", name)
        solve(builder)
    return builder.cases


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


def single_bits(builder: CaseBuilder) -> None:
    """Addends that have one bit set or cleared, alone, and handed on to a second beat: each bit of a code counts."""
    fmt = builder.unit.operands.addend
    if not isinstance(fmt, FloatFormat):
        return
    sign = 1 << fmt.bits - 1
    beats = (builder.filling(()),) * min(2, builder.beats)
    infinite = [(f"infinity-{index}", code >> fmt.padding) for index, code in enumerate(infinities(fmt))]
    for name, code in (*infinite, *_bits_alone(fmt)):
        negative = sign if fmt.signed and builder.rng.random() < 0.5 else 0
        builder.add(f"sensitive/addend-{name}", beats, (code ^ negative) << fmt.padding)
    # Taken for a number an infinity is less than it with something large of the other sign.
    for index, (name, code) in enumerate(infinite):
        largest = builder.palette.of(1 - (code >> fmt.bits - 1), builder.palette.exps[-1])
        for shift in {0, highest_shift(builder)} if largest else ():
            row = builder.filling(largest[-1:] * builder.lanes, 0, shift, exact=True)
            builder.add(f"sensitive/addend-{name}-beside-{index}-{shift}", (row,), code << fmt.padding)


def not_numbers(builder: CaseBuilder) -> None:
    """A NaN of either side in one lane, alone; and one that is handed on to a second beat."""
    for side, fmt in enumerate(builder.factors):
        codes = nans(fmt)
        for lane in range(builder.lanes if codes else 0):
            number = code_of_one(builder.factors[1 - side])
            nan = builder.rng.choice(codes)
            pair = (nan, number) if side == 0 else (number, nan)
            beat = builder.filling([pair], lane, exact=True)
            builder.add(f"sensitive/nan-{'ab'[side]}-{lane}", (beat,))
            if lane == 0 and builder.beats > 1:
                builder.add(f"sensitive/nan-{'ab'[side]}-handed-on", (beat, builder.filling(())))


def below(builder: CaseBuilder) -> None:
    """Terms of all lanes below another one: at each distance in the window, and where one bit says that it is far."""
    palette, exps = builder.palette, builder.palette.exps
    far = [(1 << place) + near for place in range(builder.window.bit_length(), 12) for near in range(4)]
    for number, distance in enumerate(dict.fromkeys((*range(builder.window + 1), *far))):
        lows = exps[len(exps) // 2], exps[0], exps[-1]
        low = lows[number % (3 if distance > builder.window else 2)]
        # So far down that there is an addend so far above.
        shift = min(0, builder.result.emax - 1 - low - distance) if scales_add(builder) else 0
        if not builder.can_shift(shift):
            continue
        products, addend = palette.of(number // 2 % 2, low), last_bit(builder, low + shift + distance)
        row = list(products[-1:]) * builder.lanes
        if row and addend is not None:
            name = f"sensitive/below-{distance}-addend"
            builder.add(name, (*addend.before, builder.filling(row, 0, shift, exact=True)), addend.c)
        high = palette.of(1 - number // 2 % 2, low + distance)
        if row and high and builder.lanes > 1:
            row[number * 5 % builder.lanes] = high[0]
            builder.add(f"sensitive/below-{distance}", (builder.filling(row, 0, exact=True),))


def far_addends(builder: CaseBuilder) -> None:
    """An addend far below products that cancel, where one bit says how far: nothing of it may be left."""
    least, most = builder.result.emin, builder.result.emax
    highest = builder.palette.exps[-1] + highest_shift(builder)
    for place in range(
        max(2, builder.window.bit_length()), (highest - least).bit_length() if builder.addend_bits else 0
    ):
        for distance in range(1 << place, (1 << place) + 4):
            tops = range(least + distance, min(highest, most + distance) + 1)
            for top in builder.rng.sample(tops, len(tops)):
                cancelling, addend = _cancelling_at(builder, top), last_bit(builder, top - distance)
                if cancelling is not None and addend is not None:
                    pair, shift = cancelling
                    row = (pair * builder.lanes)[: builder.lanes // 2 * 2]
                    filling = builder.filling(row, 0, shift, exact=True)
                    builder.add(f"sensitive/far-addend-{distance}", (*addend.before, filling), addend.c)
                    break


def _cancelling_at(builder: CaseBuilder, exp: int) -> tuple[tuple[Product, Product], int] | None:
    """Two products of an exponent whose sum is zero, and what scales add to theirs."""
    if not scales_add(builder):
        return None if (pair := builder.cancelling(exp)) is None else (pair, 0)
    for near in builder.rng.sample(builder.palette.exps, len(builder.palette.exps)):
        if builder.can_shift(exp - near) and (pair := builder.cancelling(near)) is not None:
            return pair, exp - near
    return None


def sparse_totals(builder: CaseBuilder, more: bool = False) -> None:
    """Totals of one bit, or of two that are some power of two apart: where the leading one is, and the next."""
    bits = builder.window + 1 + max(builder.growths, 0)
    for high in range(bits):
        lows = [high - (1 << place) for place in range(high.bit_length())]
        # Trees that count zeros end in small parts at the low end.
        chosen = lows[high % len(lows) : high % len(lows) + 1] if lows else []
        first = sorted({*chosen, *(low for low in (1, 2) if low < high)})
        for low in [lower for lower in range(high) if lower not in first] if more else [None, *first]:
            size = 1 << high | (0 if low is None else 1 << low)
            sign = -1 if builder.rng.random() < 0.5 else 1
            solution = builder.either(sign * size, builder.tops(max(0, high - builder.window)))
            builder.add_solution(f"sensitive/total-{high}-{'alone' if low is None else low}", solution)


def small_totals(builder: CaseBuilder, more: bool = False) -> None:
    """Totals of any max_exp whose results are the last normal ones, subnormal, or nothing: how far each is moved."""
    bits = builder.window + 1 + max(builder.growths, 0)
    lowest, least = exponent_fields(builder).lowest_exp, builder.result.emin
    near = range(least - bits - 8, least + bits + 4)
    far = range(lowest, near[0])
    for top in (*near, *(far if more else _powers_below(far))):
        # The leading one where the first normal number has it, next to it, as high as can be, and anywhere.
        edge = builder.window + least - top
        places = [edge, bits - 1 - builder.rng.randrange(3), edge - 1, edge + 1, *builder.rng.sample(range(bits), 2)]
        usable = list(dict.fromkeys(place for place in places if 0 <= place < bits))
        for place in usable if more else usable[:1]:
            size = 1 << place | (builder.rng.randrange(1 << place) | 1 if place else 0)
            solution = builder.either(-size if builder.rng.random() < 0.5 else size, [top])
            builder.add_solution(f"sensitive/small-total-{top}-{place}{'-more' * more}", solution)
    for top in far[4:] if more else far[:4]:
        _alone(builder, f"sensitive/nothing-{top}", top)


def _alone(builder: CaseBuilder, name: str, top: int) -> None:
    """A negative product of an exponent, beside products of zero: what is so small that nothing is left is -0."""
    for exp in builder.palette.exps:
        products = builder.palette.of(1, exp)
        if products and builder.can_shift(top - exp):
            builder.add(name, (builder.filling(products[:1], shift=top - exp, exact=True),))
            return


def _powers_below(far: range) -> list[int]:
    """The powers of two below the end of a range, and their neighbours."""
    ends = {far.stop - (1 << place) + offset for place in range(len(far).bit_length()) for offset in (0, 1, 2)}
    return sorted(ends & set(far))


def vanishing_sums(builder: CaseBuilder, more: bool = False) -> None:
    """Sums of zero or next to it, of many terms: all carries of the sum run through."""
    lanes = builder.lanes
    blocks = [range(first, first + size) for size in _sizes(lanes) for first in range(0, lanes, size)]
    for number, block in enumerate(blocks):
        _vanishing(builder, f"sensitive/sum-{len(block)}-{block[0]}-{more:d}", list(block), -((number + more) % 2))
    for turn in range(SUMS if more else SUMS // 8):
        share = builder.rng.random()
        chosen = [lane for lane in range(lanes) if builder.rng.random() < share]
        _vanishing(builder, f"sensitive/sum-some-{turn}-{more:d}", chosen or [0], -(turn % 2))


def _sizes(lanes: int) -> list[int]:
    return [1 << place for place in range((lanes - 1).bit_length() + 1)]


def _vanishing(builder: CaseBuilder, name: str, negative: Sequence[int], total: int) -> None:
    """A sum of a total, in units of the window's last place, whose negative terms stand in some lanes."""
    palette, lanes = builder.palette, builder.lanes
    others = [lane for lane in range(lanes) if lane not in negative]
    for top in builder.tops(2)[:4]:
        lsb = top - builder.window
        usable = [
            product
            for exp in palette.exps
            if lsb + palette.fraction_bits <= exp <= top
            for product in palette.of(1, exp)
        ]
        if not usable:
            continue
        for most in (0, 2, 4, 6):
            below = [product for product in usable if product.exp <= top - most] or usable
            chosen = [builder.rng.choice(below) for _ in negative]
            size = sum(product.sig << product.exp - palette.fraction_bits - lsb for product in chosen)
            addend = builder.addend(0, size + total, lsb) if not others else None
            if addend is not None and addend.term.exp <= top:
                if builder.add(name, (*addend.before, builder.filling(chosen, 0, exact=True)), addend.c):
                    return
                continue
            positive = palette.decompose(size + total, top, lsb, len(others))
            if positive is None:
                continue
            row: list[Product | Pair] = [(0, 0)] * lanes
            for lane, product in zip((*negative, *others), (*chosen, *positive), strict=False):
                row[lane] = product
            builder.add(name, (builder.filling(row, 0, exact=True),))
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
