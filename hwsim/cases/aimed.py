"""Cases of a few terms whose sum is aimed at a place where a rounding changes: drawn without end.

A case has some terms of chosen distances and significands. One of them is what the terms before it lack of a number
that is chosen for what a rounding does there: a tie, a number of the format, a power of two, an end of the range, or
zero; or it is as near to that as a term comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from hwsim.cases.bins.adder_rows import number_code
from hwsim.cases.bins.outcomes import roundings
from hwsim.cases.case import Case, Pair, Rows, Scales
from hwsim.cases.drawing import Stream
from hwsim.cases.palette import infinities, nans, numbers, zeros
from hwsim.formats import Class, ExponentFormat, FixedFormat, Format, TableFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.spec import Unit
from hwsim.spec.keys import Factor, Number

BEATS = 4  # of a case, at most, unless a promotion takes more
QUOTIENT = 64  # bits of what is divided by a scale


class Dyadic(NamedTuple):
    """n * 2^exp."""

    n: int
    exp: int

    @property
    def leading(self) -> int:
        """The exponent of the leading one; n is not 0."""
        return abs(self.n).bit_length() - 1 + self.exp

    def plus(self, other: Dyadic) -> Dyadic:
        """The sum."""
        low = min(self.exp, other.exp)
        return Dyadic((self.n << self.exp - low) + (other.n << other.exp - low), low)

    def times(self, other: Dyadic) -> Dyadic:
        """The product."""
        return Dyadic(self.n * other.n, self.exp + other.exp)

    def over(self, other: Dyadic, bits: int) -> Dyadic:
        """The quotient, to so many bits; the last one says whether there is more. other: not 0."""
        quotient, rest = divmod(abs(self.n) << bits, abs(other.n))
        n = 2 * quotient + (rest > 0)
        return Dyadic(-n if (self.n < 0) != (other.n < 0) else n, self.exp - other.exp - bits - 1)

    @property
    def negative(self) -> Dyadic:
        """The number of the other sign."""
        return Dyadic(-self.n, self.exp)


ZERO, ONE = Dyadic(0, 0), Dyadic(1, 0)


class SignificantPlaces(NamedTuple):
    """A format's significant bits, the exponents of its least and of its largest number, and of its last place."""

    bits: int
    low: int
    top: int
    quantum: int


@lru_cache(maxsize=64)
def span_of(fmt: Factor) -> SignificantPlaces:
    """The span of a format."""
    if isinstance(fmt, FixedFormat):
        return SignificantPlaces(fmt.precision, fmt.quantum_exp, fmt.integer_bits - 1, fmt.quantum_exp)
    if isinstance(fmt, TableFormat):
        return SignificantPlaces(fmt.precision, fmt.emin, fmt.emax, fmt.quantum_exp)
    return SignificantPlaces(
        fmt.precision, fmt.quantum_exp if fmt.subnormals else fmt.emin + 1, fmt.emax, fmt.quantum_exp
    )


def number_of(fmt: Format, code: int) -> Dyadic:
    """The number of a code; 0 of NaN and infinities."""
    sign, exp, sig, cls = unpack(fmt, code)
    return ZERO if cls in (Class.NAN, Class.INFINITY) else Dyadic(-sig if sign else sig, exp - fmt.fraction_bits)


def next_code(fmt: Factor, number: Dyadic, way: int) -> int | None:
    """The code of a format's number next to another: towards zero (way 0), away from it (1), or the nearer one (2)."""
    if not number.n:
        return None
    span, size = span_of(fmt), abs(number.n)
    exp = max(number.leading - span.bits + 1, span.quantum)
    shift = exp - number.exp
    if shift <= 0:
        return number_code(fmt, int(number.n < 0), size, number.exp)
    kept, lost = size >> shift, size & (1 << shift) - 1
    kept += lost > 0 if way == 1 else way == 2 and lost >> shift - 1
    return number_code(fmt, int(number.n < 0), kept, exp) if kept else None


def _code(fmt: Factor, sign: int, sig: int, leading: int) -> int | None:
    """The code of a significand with its leading one at an exponent; None where the format has no such number."""
    return number_code(fmt, sign, sig, leading - sig.bit_length() + 1)


class Aimer:
    """Draws cases of a unit, one after the other."""

    def __init__(self, unit: Unit, seed: int):
        self.unit, self.rng, self.lanes = unit, Stream(seed, "aimed"), unit.instruction.lanes
        self.a, self.b, self.c = unit.operands.a, unit.operands.b, unit.operands.addend
        self.formats = list(dict.fromkeys(place.format for place in roundings(unit).values()))
        self.spans = span_of(self.a), span_of(self.b)
        self.low = self.spans[0].low + self.spans[1].low
        self.top = self.spans[0].top + self.spans[1].top + 1
        self.least = False  # whether all terms are among the least, and idle lanes hold zeros of either sign
        self.reach = max(span_of(fmt).bits for fmt in self.formats) + sum(span.bits for span in self.spans) + 3

    def case(self, number: int) -> Case | None:
        """A case of that number; None where none came of what was drawn."""
        rng, rows = self.rng, Rows(self.unit)
        beats, scales = self._beats(rows), self._scales()
        self.least = rng.randrange(8) == 0
        scale = self._scale(scales)
        kinds = ["product"] * rng.choice((1, 1, 2, 2, 3, 4))
        if self.c is not None and rng.randrange(4):
            kinds.insert(rng.randrange(len(kinds) + 1), "addend")
        aimed = rng.randrange(len(kinds) + 2)
        grid, c, total = self._idle(beats), 0, ZERO
        for index, kind in enumerate(kinds):
            aims = index == aimed or (index == len(kinds) - 1 and rng.randrange(2) == 0)
            if kind == "addend" and self.c is not None:
                c = self._addend(self.c, total, aims) or 0
                total = total.plus(number_of(self.c, c))
            elif (pair := self._pair(total, aims, scale)) is not None:
                beat, lane = rng.randrange(beats), rng.randrange(self.lanes)
                grid[beat][lane] = pair
                if rng.randrange(12) == 0:  # the same once more
                    grid[beat][(lane + 1) % self.lanes] = pair
                x, y = number_of(self.a, pair[0]), number_of(self.b, pair[1])
                total = total.plus(x.times(y).times(scale))
        name = f"aimed/{number:06}"
        return rows.cases[name] if rows.add(name, grid, c, 0, scales) else None

    def _beats(self, rows: Rows) -> int:
        interval = self.unit.promotion_beats
        most = BEATS if interval is None else max(BEATS, min(2 * interval + 1, 3 * BEATS))
        most = most if rows.most is None else min(rows.most, most)
        return 1 if self.rng.randrange(3) else self.rng.randint(1, most)

    def _idle(self, beats: int) -> list[list[Pair]]:
        """Beats of zeros: of +0, or of a zero of some sign times a number."""
        rng = self.rng
        plain = rng.randrange(2 if self.least else 8) > 0
        idle = (0, 0) if plain else (rng.choice(zeros(self.a)), rng.choice(list(numbers(self.b).values())))
        return [[idle] * self.lanes for _ in range(beats)]

    # Numbers.

    def _significand(self, bits: int) -> int:
        """A significand of so many bits: the ends of its binade, with one bit, in a row of ones, or any."""
        rng, high = self.rng, 1 << bits - 1
        of = (high, 2 * high - 1, high | 1, high | 1 << rng.randrange(bits), 2 * high - (1 << rng.randrange(bits)))
        kind = rng.randrange(8)
        return of[kind] if kind < len(of) else high | rng.randrange(high)

    def _some_bits(self, bits: int) -> int:
        """A significand of all bits of a format, mostly, or of fewer."""
        return self._significand(bits if self.rng.randrange(4) else 1 + self.rng.randrange(bits))

    def _exponent(self, low: int, top: int, beside: int | None) -> int:
        """An exponent in a range: mostly so far from another one that terms overlap, or somewhat farther."""
        rng, kind = self.rng, self.rng.randrange(8)
        if top <= low:
            return low
        if self.least:
            return min(low + rng.randrange(4), top)
        if beside is not None and kind < 6:
            far = rng.randrange(self.reach if kind < 5 else 4 * self.reach)
            return min(max(beside + (-far if rng.randrange(4) else far), low), top)
        if kind == 6:
            return min(low + rng.randrange(4), top)
        return max(top - rng.randrange(4), low) if kind == 7 else rng.randint(low, top)

    def _target(self, total: Dyadic) -> Dyadic:
        """A number at which a rounding changes, or next to it: in a sum's binade, mostly, or at an end of a format."""
        rng = self.rng
        span = span_of(rng.choice(self.formats))
        near = total.leading if total.n else self._exponent(span.low, span.top, None)
        normal = span.quantum + span.bits - 1
        exponent = rng.choice(
            (
                *(near + step for step in (-2, -1, 0, 0, 0, 1, 2)),
                normal + rng.randint(-2, 1),
                span.top + rng.randint(-1, 1),
                span.quantum + rng.randrange(span.bits),
            )
        )
        last = max(exponent - span.bits + 1, span.quantum)
        sig = self._significand(exponent - last + 1) if exponent >= last else rng.randrange(2)
        number = Dyadic(4 * sig + rng.choice((0, 2, 2, 2)), last - 2)
        off = rng.choice((-1, 0, 0, 1))
        if off:
            number = number.plus(Dyadic(off, last - 2 - rng.randrange(4) if rng.randrange(2) else self.low))
        negative = total.n < 0 if total.n and rng.randrange(4) else rng.randrange(2) == 1
        return number.negative if negative else number

    def _missing(self, total: Dyadic) -> Dyadic:
        """The number that a sum lacks of a number that is aimed at, or of zero."""
        return total.negative if self.rng.randrange(6) == 0 else self._target(total).plus(total.negative)

    # Terms.

    def _pair(self, total: Dyadic, aims: bool, scale: Dyadic) -> Pair | None:
        """Factors of the next product."""
        rng = self.rng
        if rng.randrange(40) == 0:
            return self._end(self.a), self._end(self.b)
        if aims and not total.n and rng.randrange(2):
            return self._ending()
        if aims and not self.least and (missing := self._missing(total)).n:
            return self._near(missing.over(scale, QUOTIENT))
        beside = total.over(scale, QUOTIENT).leading if total.n else None
        sigs = [self._some_bits(span.bits) for span in self.spans]
        return self._laid(sigs[0], sigs[1], self._exponent(self.low, self.top, beside))

    def _end(self, fmt: Factor) -> int:
        """A code at which something begins or ends, zero, infinite or NaN."""
        return self.rng.choice([*numbers(fmt).values(), *zeros(fmt), *nans(fmt)[:1], *infinities(fmt)])

    def _exps(self, leading: int) -> range:
        """The exponents of a first factor with which a product may have its leading one there, or next to it."""
        a, b = self.spans
        return range(max(a.low, leading - b.top - 1), min(a.top, leading - b.low) + 1)

    def _laid(self, x: int, y: int, leading: int) -> Pair | None:
        """Codes of two significands whose product has its leading one there, or next to it; of either sign."""
        rng, exps = self.rng, self._exps(leading)
        for _ in range(3 if exps else 0):
            exp = exps[(0, -1, len(exps) // 2)[rng.randrange(3)]] if rng.randrange(2) else rng.choice(exps)
            codes = _code(self.a, rng.randrange(2), x, exp), _code(self.b, 0, y, leading - exp)
            if codes[0] is not None and codes[1] is not None:
                return codes[0], codes[1]
        return None

    def _near(self, number: Dyadic) -> Pair | None:
        """Factors whose product is near a number other than 0."""
        rng, exps = self.rng, self._exps(number.leading)
        for _ in range(4 if exps else 0):
            exp = rng.choice(exps) if rng.randrange(2) else exps[len(exps) // 2]
            first = _code(self.a, 0, self._some_bits(self.spans[0].bits), exp)
            if first is not None:
                quotient = number.over(number_of(self.a, first), self.reach)
                second = next_code(self.b, quotient, rng.randrange(3))
                if second is not None:
                    return first, second
        return None

    def _ending(self) -> Pair | None:
        """Factors whose product ends in bits at which its rounding changes, or next to them."""
        rng, (a, b) = self.rng, self.spans
        whole, kept = a.bits + b.bits, span_of(rng.choice(self.formats)).bits
        places = whole - kept - rng.randrange(2) if whole - kept > 2 and rng.randrange(4) else 1 + rng.randrange(whole)
        x, field = self._significand(a.bits) | 1, min(places, b.bits)
        low = (rng.choice((1 << places - 1, 0)) + rng.choice((-1, 0, 1))) % (1 << places) >> places - field
        y = low * pow(x, -1, 1 << field) % (1 << field)
        room = b.bits - field
        y |= (rng.randrange(1 << room) | rng.randrange(2) << room >> 1) << field if room else 0
        return self._laid(x, y, self._exponent(self.low, self.top, None)) if y else None

    def _addend(self, fmt: Number, total: Dyadic, aims: bool) -> int | None:
        """The addend's code; None for 0."""
        rng, span = self.rng, span_of(fmt)
        if rng.randrange(30) == 0:
            return self._end(fmt)
        if aims and (code := next_code(fmt, self._missing(total), rng.randrange(3))) is not None:
            return code
        leading = self._exponent(span.low, span.top, total.leading if total.n else None)
        sig = self._some_bits(span.bits)
        number = Dyadic(-sig if rng.randrange(2) else sig, leading - sig.bit_length() + 1)
        return next_code(fmt, number, 0)

    # Scales.

    def _scales(self) -> Scales | None:
        """Codes of the scales of both sides, which blocks have in turn."""
        scale, rng = self.unit.scale, self.rng
        if scale is None:
            return None
        a, b = (
            (self._scale_code(side.format), *(self._scale_code(side.format) for _ in range(rng.randrange(2))))
            for side in (scale.a, scale.b)
        )
        return a, b

    def _scale_code(self, fmt: Format) -> int:
        """One, near it, at an end, one bit off NaN or any."""
        rng, kind, neutral = self.rng, self.rng.randrange(8), one_code(fmt)
        if kind < 2:
            return neutral
        if kind == 2:
            special = nans(fmt)[:1]
            near = ((code >> fmt.padding ^ 1 << rng.randrange(fmt.bits)) << fmt.padding for code in special)
            return rng.choice([0, *special, *near])
        if isinstance(fmt, ExponentFormat):
            ends = fmt.min_code, fmt.min_code + 1, fmt.max_code - 1, fmt.max_code
            code = (
                neutral + rng.randint(-40, 40)
                if kind < 5
                else rng.choice(ends)
                if kind == 5
                else rng.randrange(1 << fmt.bits)
            )
            return min(max(code, fmt.min_code), fmt.max_code)
        return rng.choice(list(numbers(fmt).values())) if kind < 5 else rng.randrange(1 << fmt.bits) << fmt.padding

    def _scale(self, scales: Scales | None) -> Dyadic:
        """The number that the first scales multiply by; 1 where they are no numbers other than 0."""
        scale = self.unit.scale
        if scale is None or scales is None:
            return ONE
        x, y = number_of(scale.a.format, scales[0][0]), number_of(scale.b.format, scales[1][0])
        return x.times(y) if x.n and y.n else ONE


def aimed(unit: Unit, seed: int) -> Iterator[Case]:
    """Cases of a unit without end, the same for the same unit and seed."""
    aimer = Aimer(unit, seed)
    return (case for number in count() if (case := aimer.case(number)) is not None)
