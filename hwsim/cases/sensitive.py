"""Cases in which a small mistake shows.

Of any unit those that are aimed at places of roundings; of one window also such as tell mutants of datapaths that
others let live: each bit of an addend, comparisons of exponents, and small totals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from itertools import product as cross

from hwsim.cases.aimed import aimed
from hwsim.cases.case import Case, one_window
from hwsim.cases.palette import Product, infinities
from hwsim.cases.solver import Addend, CaseBuilder, Pair
from hwsim.formats import FloatFormat
from hwsim.spec import Unit


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
        """The field that stands for an exponent."""
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


STEPS = 5  # of exponents, for each place
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


def comparisons(builder: CaseBuilder) -> None:
    """One exponent one above all others, from lane to lane: each bit decides, and those above it are set and cleared.

    Where lanes are compared, on one side or the other a bit is set, and beside it another bit is, or is not.
    """
    by_place = _by_place(builder)
    for place, steps in sorted(by_place.items()):
        for lane in range(builder.lanes):
            step = steps[lane.bit_count() % 2 % len(steps)]
            row, addend = _all_but_cancels(builder, step, lane)
            before, c = ((), 0) if addend is None else (addend.before, addend.c)
            filling = builder.filling(row, 0, step.shift, exact=True)
            builder.add(f"sensitive/maximum-{place}-{lane}", (*before, filling), c)
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
    while remaining and len(chosen) <= STEPS:
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
    others = [index for index in range(builder.lanes) if index not in (lane, neighbour)]
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


AIMED = 1024  # cases that are aimed at places of roundings


def sensitive(unit: Unit, seed: int) -> list[Case]:
    """The cases of a unit; ids begin with `aimed/` and `sensitive/`. The same for the same unit and seed.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.case`).
    """
    cases = list(islice(aimed(unit, seed), AIMED))
    if one_window(unit):
        builder = CaseBuilder(unit, seed)
        for name, solve in SOLVERS.items():
            builder.start("sensitive", name)
            solve(builder)
        cases += builder.cases
    return cases


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


def small_totals(builder: CaseBuilder) -> None:
    """Totals of any max_exp whose results are the last normal ones, subnormal, or nothing: how far each is moved."""
    bits = builder.window + 1 + max(builder.growths, 0)
    lowest, least = exponent_fields(builder).lowest_exp, builder.result.emin
    near = range(least - bits - 8, least + bits + 4)
    far = range(lowest, near[0])
    for top in (*near, *_powers_below(far)):
        # The leading one where the first normal number has it, next to it, as high as can be, and anywhere.
        edge = builder.window + least - top
        places = [edge, bits - 1 - builder.rng.randrange(3), edge - 1, edge + 1, *builder.rng.sample(range(bits), 2)]
        usable = list(dict.fromkeys(place for place in places if 0 <= place < bits))
        for place in usable[:1]:
            size = 1 << place | (builder.rng.randrange(1 << place) | 1 if place else 0)
            solution = builder.either(-size if builder.rng.random() < 0.5 else size, [top])
            builder.add_solution(f"sensitive/small-total-{top}-{place}", solution)
    for top in far[:4]:
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


# The names key random choices.
SOLVERS: Mapping[str, Callable[[CaseBuilder], None]] = {
    "single bits": single_bits,
    "comparisons": comparisons,
    "small totals": small_totals,
}
