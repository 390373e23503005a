"""Cases in which a small mistake of a promotion's adder shows: sums of a register and a partial sum, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hwsim.cases.palette import exact_code, infinities, nans, negate, numbers, zeros
from hwsim.cases.solver import CaseBuilder, Filling
from hwsim.formats import FloatFormat

EXPONENTS = (0, 3, -4)  # of partial sums, beside that of 1


def _register(builder: CaseBuilder) -> FloatFormat | None:
    """The format of a register that the addend starts."""
    fmt = builder.unit.operands.addend
    return fmt if builder.unit.promotion is not None and isinstance(fmt, FloatFormat) else None


def _partial(builder: CaseBuilder, sign: int, size: int, unit: int) -> Filling | None:
    """A beat whose result is (-1)^sign * size * 2^unit."""
    code = exact_code(builder.result, sign, size, unit)
    solution = None if code is None else builder.solved(-size if sign else size, unit)
    if solution is None or solution.addend is not None or builder.measure(solution).code != code:
        return None
    return builder.filling(solution.products, 0, solution.shift)


def cancelling_registers(builder: CaseBuilder, more: bool = False) -> None:
    """A register and a partial sum that leave one bit, or two: where the leading one is, and the next."""
    fmt = _register(builder)
    if fmt is None:
        return
    places = fmt.precision  # a register just below a power of two has a last bit of this place below it
    for high in range(places):
        lows = list(range(high))
        some = lows if more else [high - (1 << place) for place in range(high.bit_length())][high % 3 :: 3]
        for number, low in enumerate(some if more else [None, *some]):
            remainder = 1 << high | (0 if low is None else 1 << low)
            sign, exp = (high + number) % 2, EXPONENTS[(high + number) % len(EXPONENTS)]
            filling = _partial(builder, sign, 1, exp)
            c = exact_code(fmt, 1 - sign, (1 << places) - remainder, exp - places)
            if filling is not None and c is not None:
                name = f"sensitive/left-{high}-{'alone' if low is None else low}{'-more' * more}"
                builder.add(name, [filling], c)


def _odd_bits(places: int, more: bool) -> Iterator[int]:
    """Places below a tie at which a bit decides it; -1 for none.

    Of few: the ends, and the highest that an adder may keep no bit of its own for.
    """
    yield -1
    yield from range(places) if more else sorted({0, places - 4, places - 3, places - 1} & set(range(places)))


def tied_registers(builder: CaseBuilder, more: bool = False) -> None:
    """Ties of a register and a partial sum at every distance, and each bit that decides them alone, both ways round."""
    fmt = _register(builder)
    if fmt is None:
        return
    bits, partial_bits = fmt.fraction_bits, builder.result.fraction_bits
    for distance in range(1, bits + 3):
        exp, odd = EXPONENTS[distance % len(EXPONENTS)], distance % 2
        large = _partial(builder, 0, 2 + odd, exp - 1)
        for place in _odd_bits(min(distance - 1, bits), more):
            half = 1 << distance - 1 if distance <= bits else 0
            small = 1 << bits | half | (0 if place < 0 else 1 << place)
            c = exact_code(fmt, 0, small, exp - distance - bits)
            if large is not None and c is not None:
                builder.add(f"sensitive/tie-register-{distance}-{place}{'-more' * more}", [large], c)
        above = distance - (bits - partial_bits) - 1  # the place in a partial sum of half of the register's last
        for place in _odd_bits(min(above, partial_bits), more) if above >= 0 else ():
            half = 1 << above if above < partial_bits else 0
            small = 1 << partial_bits | half | (0 if place < 0 else 1 << place)
            # The register stands as far above as it must: partial sums have few exponents.
            filling = _partial(builder, 0, small, exp - partial_bits)
            c = exact_code(
                fmt, 0, 1 << bits | odd | builder.rng.randrange(1 << max(0, bits - 1)) << 1, exp + distance - bits
            )
            if filling is not None and c is not None:
                builder.add(f"sensitive/tie-partial-{distance}-{place}{'-more' * more}", [filling], c)


def far_registers(builder: CaseBuilder) -> None:
    """Registers far above or below a partial sum, where one bit says how far: of the smaller one nothing is left."""
    fmt = _register(builder)
    if fmt is None:
        return
    for place in range(max(2, fmt.precision.bit_length()), fmt.exponent_bits):
        for distance, side in product(range(1 << place, (1 << place) + 4), (1, -1)):
            exp, sign = EXPONENTS[distance % len(EXPONENTS)], distance // 2 % 2
            filling = _partial(builder, sign, 1, exp)
            size = 1 << fmt.fraction_bits | builder.rng.randrange(1 << fmt.fraction_bits)
            c = exact_code(fmt, builder.rng.randrange(2), size, exp + side * distance - fmt.fraction_bits)
            if filling is not None and c is not None:
                builder.add(f"sensitive/far-register-{side * distance}", [filling], c)


def partial_bits(builder: CaseBuilder) -> None:
    """Partial sums with one bit of the fraction, at every exponent that products reach, beside a register of zero."""
    if _register(builder) is None:
        return
    bits = builder.result.fraction_bits
    for number, exp in enumerate(range(builder.inside[0], builder.inside[-1] + 1)):
        place = number % (bits + 1)
        filling = _partial(builder, number % 2, 1 << bits | (1 << place if place < bits else 0), exp - bits)
        if filling is not None:
            builder.add(f"sensitive/partial-{exp}-{place}", [filling], 0)


def special_registers(builder: CaseBuilder) -> None:
    """Registers that are NaN or infinite for two promotions, zeros of both signs, and the ends of the subnormals."""
    fmt, beats = _register(builder), builder.unit.promotion_beats
    if fmt is None or not beats:
        return
    empty = builder.filling((), exact=True)
    for number, code in enumerate([*nans(fmt), *infinities(fmt)]):
        for promotions in (1, 2):
            if promotions * beats <= builder.beats:
                builder.add(f"sensitive/register-special-{number}-{promotions}", [empty] * (promotions * beats), code)
    for number, code in enumerate(zeros(fmt)):
        builder.add(f"sensitive/register-zero-{number}", [empty], code)
    ones = [filling for sign in (0, 1) if (filling := _partial(builder, sign, 1, 0)) is not None]
    for sign, filling in enumerate(ones):
        cancels = exact_code(fmt, 1 - sign, 1, 0)
        if cancels is not None:
            builder.add(f"sensitive/register-cancelled-{sign}", [filling], cancels)
    least = builder.palette.exps[0]
    small = [builder.filling(some[:1]) for sign in (0, 1) if (some := builder.palette.of(sign, least))]
    for name, code in numbers(fmt).items():
        for sign, each in enumerate((code, negate(fmt, code))):
            if each is not None:
                for number, filling in enumerate((empty, *small, *ones)):
                    builder.add(f"sensitive/register-{name}-{sign}-{number}", [filling], each)


def small_partials(builder: CaseBuilder) -> None:
    """Partial sums of every exponent, taken over by a beat of zeros, and by products of some exponents."""
    beats = builder.unit.promotion_beats
    if _register(builder) is None or not builder.partials or (beats is not None and beats < 2):
        return
    least = builder.palette.exps[0]
    lowest, exps = list(builder.palette.of(0, least)[:1]), builder.palette.exps
    for exp in range(least - 2 * builder.palette.fraction_bits, exps[-1] + 4):
        addend = builder.addend(exp % 2, 1, exp)
        above = [exps[(exp * 7 + turn * 5) % len(exps)] for turn in range(2)]
        singles = [list(builder.palette.of(0, exponent)[-1:]) for exponent in above]
        if addend is None:
            continue
        for number, row in enumerate(([], lowest, lowest * builder.lanes, *singles)):
            builder.add(f"sensitive/taken-over-{exp}-{number}", (*addend.before, builder.filling(row, 0, exact=True)))
    # Products so small that they have no exponent of their own: sums of them, alone.
    largest = list(builder.palette.of(1, exps[-1])[-1:])
    tiny = [(x, y) for x in _least_codes(builder, 0) for y in _least_codes(builder, 1)]
    counts = [count for count in (1, 2, 3, 5, builder.lanes) if count <= builder.lanes]
    for count in dict.fromkeys(counts):
        for number, pair in enumerate(tiny):
            for after, row in (("zeros", []), ("largest", largest)):
                fillings = [builder.filling(some, 0, exact=True) for some in ([pair] * count, row)]
                builder.add(f"sensitive/tiny-{count}-{number}-{after}", fillings)


def _least_codes(builder: CaseBuilder, side: int) -> list[int]:
    """The least number of a side's format, and one of three times its size, where there is one."""
    fmt = builder.factors[side]
    return [code << fmt.padding for code in (1, 3)] if isinstance(fmt, FloatFormat) else [1]


def _few(places: int, more: bool) -> Iterator[int]:
    """Fewer places of `_odd_bits`."""
    yield from _odd_bits(places, True) if more else sorted({-1, *({places // 2} & set(range(places)))})


def past_ties(builder: CaseBuilder, more: bool = False) -> None:
    """Sums that leave the larger operand's binade and end at a tie there, or one bit off it; both ways round."""
    fmt = _register(builder)
    if fmt is None:
        return
    sums = _PastTies(builder, fmt, more)
    for distance in range(2, fmt.fraction_bits + 3):
        sums.borrows(distance)
        sums.carries(distance)


class _PastTies:
    """Adds the cases of a distance between the exponents of a register and a partial sum."""

    def __init__(self, builder: CaseBuilder, fmt: FloatFormat, more: bool):
        self.builder, self.fmt, self.more = builder, fmt, more
        self.bits, self.partial_bits = fmt.fraction_bits, builder.result.fraction_bits

    def borrows(self, distance: int) -> None:
        """A power of two, less something: half of the last place of the result is a quarter of the power's."""
        exp = EXPONENTS[distance % len(EXPONENTS)]
        above = distance + self.partial_bits - self.bits - 2  # the place of the half in the partial sum
        for size, place in self._sizes(self.partial_bits, above):
            self._add(f"borrow-register-{distance}-{place}", (1, size, exp - self.partial_bits), (0, 1, exp + distance))
        for size, place in self._sizes(self.bits, distance - 2):
            self._add(f"borrow-partial-{distance}-{place}", (0, 1, exp), (1, size, exp - distance - self.bits))

    def carries(self, distance: int) -> None:
        """The sum reaches the next power of two, and is odd in the larger operand's last place."""
        builder, bits = self.builder, self.bits
        exp = EXPONENTS[distance % len(EXPONENTS)]
        whole = 1 << bits - distance if distance < bits else 0  # of the partial sum, in places of the register
        for place in _few(min(self.partial_bits - bits + distance, self.partial_bits), self.more) if whole > 1 else ():
            odd = builder.rng.randrange(whole // 2) * 2 + 1
            size = (1 << self.partial_bits) | (0 if place < 0 else 1 << place)
            register = (1 << bits + 1) - whole + odd, exp + distance - bits
            self._add(f"carry-register-{distance}-{place}", (0, size, exp - self.partial_bits), (0, *register))
        if distance <= self.partial_bits:
            for size, place in self._sizes(bits, distance):
                partial = 0, (1 << self.partial_bits + 1) - 1, exp - self.partial_bits
                self._add(f"carry-partial-{distance}-{place}", partial, (0, size, exp - distance - bits))

    def _sizes(self, bits: int, half: int) -> Iterator[tuple[int, int]]:
        """Significands with a bit at a place, and one below it or none; and that place."""
        if 0 <= half <= bits:
            for place in _few(half, self.more):
                yield 1 << bits | 1 << half | (0 if place < 0 else 1 << place), place

    def _add(self, name: str, partial: tuple[int, int, int], register: tuple[int, int, int]) -> None:
        """A case of both numbers, (sign, size, exponent of the last place), or of both with other signs."""
        turned = self.builder.rng.randrange(2)
        filling = _partial(self.builder, partial[0] ^ turned, *partial[1:])
        c = exact_code(self.fmt, register[0] ^ turned, *register[1:])
        if filling is not None and c is not None:
            self.builder.add(f"sensitive/past-{name}{'-more' * self.more}", [filling], c)


def left_registers(builder: CaseBuilder) -> None:
    """A register and a partial sum that leave random bits, from any place on."""
    fmt = _register(builder)
    if fmt is None:
        return
    places = fmt.precision
    for high in range(1, places - 1):
        for again in range(2):
            remainder = 1 << high | builder.rng.randrange(1 << high)
            sign, exp = (high + again) % 2, EXPONENTS[high % len(EXPONENTS)]
            filling = _partial(builder, sign, 1, exp)
            c = exact_code(fmt, 1 - sign, (1 << places) - remainder, exp - places)
            if filling is not None and c is not None:
                builder.add(f"sensitive/left-{high}-any-{again}", [filling], c)
