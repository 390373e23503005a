"""The power-of-two scale of a block as a staircase over its largest magnitude.

Every rule of selection grows with amax. In nearly every binade it takes its one step at the same fraction, so that the
scale is the exponent field, a constant, and a comparison; the binades that differ, at the ends, are listed. Where the
steps are is worked out exactly, from the rule's sentence: nothing here is taken from the quantiser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hwsim.formats import ExponentFormat
from hwsim.quantize.rule import Rule, Select

from .numbers import signed_shape

FRACTION, FIELDS, BIAS = 23, 256, 127  # of binary32
HUGE = 1 << 12  # an exponent beyond every one
MOST = (1 << FRACTION) - 1


def floor_log2(x: Fraction) -> int:
    """floor(log2(x)), exactly; x > 0."""
    exp = x.numerator.bit_length() - x.denominator.bit_length()
    return exp if x >= Fraction(2) ** exp else exp - 1


def ceil_log2(x: Fraction) -> int:
    """ceil(log2(x)), exactly; x > 0."""
    exp = floor_log2(x)
    return exp + (x != Fraction(2) ** exp)


def nearest_single(x: Fraction) -> Fraction:
    """A number above 0, rounded to binary32, ties to even; beyond its largest a power of two beyond every one."""
    unit = Fraction(2) ** (max(floor_log2(x), -126) - FRACTION)
    rounded = round(x / unit) * unit  # Python rounds Fractions to the nearest even integer
    return rounded if rounded < Fraction(2) ** 128 else Fraction(2) ** HUGE


def exponent_of(rule: Rule) -> Callable[[Fraction], int]:
    """The scale's exponent for an amax, without limits."""
    largest = Fraction(rule.largest)
    emax = floor_log2(largest)
    match rule.select:
        case Select.FLOOR:
            return lambda amax: floor_log2(amax) - emax
        case Select.CEIL:
            return lambda amax: ceil_log2(amax) - emax
        case Select.EVEN:
            half = Fraction(1, 2 << rule.fraction_bits)
            return lambda amax: floor_log2(amax + half * Fraction(2) ** floor_log2(amax)) - emax
        case Select.RCEIL:
            return lambda amax: _ceil_of_single(nearest_single(nearest_single(amax) / largest))
        case Select.RCEIL_RECIPROCAL:
            reciprocal = nearest_single(1 / largest)
            return lambda amax: _ceil_of_single(nearest_single(nearest_single(amax) * reciprocal))
        case Select.DIVIDE:
            raise TypeError("select 'divide' gives no powers of two")
        case _:
            assert_never(rule.select)


def _ceil_of_single(x: Fraction) -> int:
    return ceil_log2(x) if x else -HUGE


@dataclass(frozen=True)
class BinadeSteps:
    """A binade: the value at its first fraction, and the fractions above which it is one more, in order."""

    first: int
    above: tuple[int, ...]

    def at(self, frac: Value) -> Value:
        """The value at a fraction."""
        value: Value = Const(self.first)
        for step in self.above:
            value = value + (frac > step)
        return value


@dataclass(frozen=True)
class Staircase:
    """The scale's exponent over amax, a binary32 number above 0: within limits, `most` + 1 for what is beyond them.

    offset, above: the exponent is the field + offset, and one more above that fraction (never, where it is the last
    one). others: the binades, by their fields, where that is not so.
    """

    least: int
    most: int
    offset: int
    above: int
    others: dict[int, BinadeSteps]

    @classmethod
    def of(cls, rule: Rule) -> Staircase:
        """A rule's, in the limits of its scale format, a power of two."""
        fmt = rule.scale_format
        assert isinstance(fmt, ExponentFormat)
        exponent, least, most = exponent_of(rule), fmt.emin, fmt.emax
        floor = Fraction(rule.least_amax)

        def limited(field: int, frac: int) -> int:
            amax = Fraction(frac + (1 << FRACTION) * (field > 0)) * Fraction(2) ** (max(field, 1) - BIAS - FRACTION)
            return min(max(exponent(max(amax, floor)), least), most + 1)

        # The middle of the range has no limits: there the pattern is.
        usual = _binade(exponent_at(exponent, BIAS), 0)
        offset, above = usual.first - BIAS, usual.above[0] if usual.above else MOST
        stairs = cls(least, most, offset, above, {})
        for field in range(FIELDS):
            true = _binade(partial(limited, field), int(field == 0))
            if true != _binade(partial(stairs.usual, field), int(field == 0)):
                stairs.others[field] = true
        return stairs

    def usual(self, field: int, frac: int) -> int:
        """The exponent where the pattern holds."""
        return min(max(field + self.offset + (frac > self.above), self.least), self.most + 1)

    @property
    def reach(self) -> int:
        """The most by which an exponent of amax, a finite number, is above its scale's, where there is one."""
        reach = -HUGE
        for field in range(1, FIELDS - 1):
            exp = self.others[field].first if field in self.others else self.usual(field, 0)
            reach = max(reach, field - BIAS - min(exp, self.most))
        return reach

    def drive(self, m: Module, amax: Value) -> Signal:
        """The exponent of an amax other than zero: 31 bits of binary32; infinity counts as 2^128."""
        frac, field = amax[:FRACTION], amax[FRACTION : FRACTION + 8]
        low, high = min(self.least, self.offset), max(self.most + 1, FIELDS + self.offset)
        plain, found = (Signal(signed_shape(low, high), name=name) for name in ("plain", "exponent"))
        up = Const(0) if self.above == MOST else frac > self.above
        m.d.comb += plain.eq(field + self.offset + up)
        m.d.comb += found.eq(Mux(plain < self.least, self.least, Mux(plain > self.most, self.most + 1, plain)))
        for value, steps in self.others.items():
            with m.If(field == value):
                m.d.comb += found.eq(steps.at(frac))
        return found


def exponent_at(exponent: Callable[[Fraction], int], field: int) -> Callable[[int], int]:
    """The exponent at the fractions of a binade of normal numbers."""
    return lambda frac: exponent(Fraction(frac + (1 << FRACTION)) * Fraction(2) ** (field - BIAS - FRACTION))


def _binade(value: Callable[[int], int], start: int) -> BinadeSteps:
    """The steps of a function of a fraction that grows, from a fraction on."""
    first, last = value(start), value(MOST)
    above = []
    for step in range(first, last):
        low, high = start, MOST  # value(low) <= step < value(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if value(middle) <= step else (low, middle)
        above.append(low)
    return BinadeSteps(first, tuple(above))


def scale_code(fmt: ExponentFormat, exponent: Value) -> Value:
    """The code of an exponent within a format's limits."""
    return Cat((exponent + fmt.bias)[: fmt.bits])
