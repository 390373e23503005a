"""Widths of a unit's numbers, from its formats: kernels and C take the widths of integers and floats from here.

A range is a fact of the unit, so that those who share nothing else share these. That integers are wide enough is
checked elsewhere: by sanitizers, by proofs, and by results at the ends of ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.spec.unit import Unit

# Between these, products and sums of float64s are neither too large nor too small for its exponents.
FLOAT64_LOW, FLOAT64_HIGH = -960, 900
FLOAT64_BITS = 53


class Extent(NamedTuple):
    """Numbers of at most `bits` significant bits, multiples of 2^low, with magnitudes below 2^high."""

    bits: int
    low: int
    high: int

    def times(self, other: Extent) -> Extent:
        """The extent of products with other numbers."""
        return Extent(self.bits + other.bits, self.low + other.low, self.high + other.high)

    def with_(self, other: Extent) -> Extent:
        """The extent of these numbers and others."""
        return Extent(max(self.bits, other.bits), min(self.low, other.low), max(self.high, other.high))

    @property
    def span(self) -> int:
        """Bits of an integer, in units of 2^low, that holds every magnitude below 2^high."""
        return self.high - self.low

    @property
    def are_float32s(self) -> bool:
        """True if float32 has all of these numbers."""
        return self.bits <= 24 and self.low >= -149 and self.high <= 128

    def not_float64s(self, name: str) -> Iterator[str]:
        """Yield reasons why float64 does not hold these numbers and sums of them. name: of the numbers."""
        if self.bits > FLOAT64_BITS:
            yield f"{name} of {self.bits} bits (float64 has {FLOAT64_BITS})"
        if self.low < FLOAT64_LOW or self.high > FLOAT64_HIGH:
            yield f"{name} from 2^{self.low} to 2^{self.high} (beyond float64's exponents)"


class Span(NamedTuple):
    """Numbers sig * 2^(exp - fraction_bits), with 0 <= sig <= most and low <= exp <= high."""

    most: int
    fraction_bits: int
    low: int
    high: int

    def times(self, other: Span) -> Span:
        """Products of these numbers and others."""
        bits = self.fraction_bits + other.fraction_bits
        return Span(self.most * other.most, bits, self.low + other.low, self.high + other.high)

    @property
    def least_exp(self) -> int:
        """The exponent of the power of two that every number is a multiple of."""
        return self.low - self.fraction_bits

    @property
    def significant_bits(self) -> int:
        """Bits of the longest significand without zeros at its end."""
        return (self.most - 1 | 1).bit_length()

    @property
    def places_before(self) -> int:
        """Significands are below 2^that, or, of two's complement, are -2^that."""
        return self.significant_bits - self.fraction_bits

    def largest_in(self, unit_exp: int) -> int:
        """The largest number, in units of 2^unit_exp, of which every number is a multiple."""
        return self.most << self.high - self.fraction_bits - unit_exp

    @property
    def extent(self) -> Extent:
        """The same numbers by their ends alone."""
        return Extent(self.significant_bits, self.least_exp, self.most.bit_length() + self.high - self.fraction_bits)


def span_of(fmt: Format) -> Span:
    """A format's finite numbers; of a table, as they are multiplied."""
    if isinstance(fmt, TableFormat):
        return span_of(fmt.decoded)
    if isinstance(fmt, ExponentFormat):
        return Span(1, 0, fmt.min_code - fmt.bias, fmt.max_code - fmt.bias)
    if isinstance(fmt, FixedFormat):
        return Span(max(fmt.steps_down, fmt.max_code), fmt.fraction_bits, 0, 0)
    return Span((1 << fmt.precision) - 1, fmt.fraction_bits, fmt.emin, fmt.emax)


def extent(fmt: Format) -> Extent:
    """The ends of a format's finite numbers."""
    return span_of(fmt).extent


def exponent_range(fmt: Format) -> tuple[int, int]:
    """The least and the largest exponent that a format's numbers stand at; 0 for all of a fixed format."""
    return span_of(fmt)[2:]


def converted(fmt: Format, to: FloatFormat) -> Span:
    """A format's numbers after conversion to another format, which holds them all."""
    span = span_of(fmt)
    high = span.high if isinstance(fmt, FloatFormat) else span.most.bit_length() - 1 + span.high - span.fraction_bits
    return Span((1 << to.precision) - 1, to.fraction_bits, max(span.least_exp, to.emin), max(high, to.emin))


class ShiftedIn(NamedTuple):
    """Integers up to `most` with `fraction_bits`, shifted into a window of `bits`: up first, and then down."""

    most: int
    fraction_bits: int
    bits: int

    @property
    def up(self) -> int:
        """Places that the integers are shifted up."""
        return max(0, self.bits - self.fraction_bits)

    @property
    def down(self) -> int:
        """Places that they are shifted down, in addition to the distance to max_exp."""
        return max(0, self.fraction_bits - self.bits)

    @property
    def shifted(self) -> int:
        """Bits of the largest integer before it is shifted down."""
        return (self.most << self.up).bit_length()

    @property
    def kept(self) -> int:
        """The largest integer after it is shifted down, rounded up."""
        return (self.most << self.up >> self.down) + 1


def scales_at(unit: Unit, place: str) -> list[Span]:
    """The scales of a and of b that enter at `product`, `subgroup` or `promotion`; none where none enter there."""
    if unit.scale is None or unit.scale.at != place:
        return []
    return [span_of(unit.scale.a.format), span_of(unit.scale.b.format)]


def product_span(unit: Unit) -> Span:
    """The products, with the scales that enter them."""
    operands = unit.operands
    sides = [
        span_of(fmt) if operands.convert is None else converted(fmt, operands.convert)
        for fmt in (operands.a, operands.b)
    ]
    return reduce(Span.times, [*sides, *scales_at(unit, "product")])


def scaled_products(unit: Unit) -> bool:
    """True if scales enter at products."""
    return unit.scale is not None and unit.scale.at == "product"


def factors_of(unit: Unit, scaled: bool) -> tuple[Extent, Extent]:
    """The factors of a and of b, as they are multiplied. scaled: each times its scale, where the unit has scales."""
    a, b = (extent(fmt) for fmt in unit.operands.multiplied)
    if scaled and unit.scale is not None:
        return a.times(extent(unit.scale.a.format)), b.times(extent(unit.scale.b.format))
    return a, b


def products_of(unit: Unit, scaled: bool) -> Extent:
    """The ends of the products of a unit's factors. scaled: with both scales."""
    a, b = factors_of(unit, scaled)
    return a.times(b)


def growth_of(unit: Unit) -> int:
    """Bits that a window's sum has before its reference exponent: of its sign, of products, and of their number."""
    places = sum(span_of(fmt).places_before for fmt in unit.operands.multiplied)
    return 2 + places + unit.instruction.lanes.bit_length()
