"""Ranges of decoded numbers, and the widths of integers that hold their sums."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format


class Span(NamedTuple):
    """Numbers sig * 2^(exp - fraction_bits), with 0 <= sig <= most and low <= exp <= high."""

    most: int
    fraction_bits: int
    low: int
    high: int

    def times(self, other: Span) -> Span:
        """The range of products of these numbers and others."""
        return Span(*(x * y if index == 0 else x + y for index, (x, y) in enumerate(zip(self, other, strict=True))))

    @property
    def least_exp(self) -> int:
        """The exponent of the power of two that every number is a multiple of."""
        return self.low - self.fraction_bits


def span_of(fmt: Format) -> Span:
    """The range of a format's finite numbers."""
    if isinstance(fmt, ExponentFormat):
        return Span(1, 0, fmt.min_code - fmt.bias, fmt.max_code - fmt.bias)
    if isinstance(fmt, FixedFormat):
        return Span(1 << (fmt.bits - 1), fmt.fraction_bits, 0, 0)
    return Span((1 << fmt.precision) - 1, fmt.fraction_bits, fmt.emin, fmt.emax)


def converted(fmt: Format, to: FloatFormat) -> Span:
    """The range of a format's numbers after conversion to another format, which holds them all."""
    own = span_of(fmt)
    high = own.high if isinstance(fmt, FloatFormat) else own.most.bit_length() - 1 + own.high - own.fraction_bits
    return Span((1 << to.precision) - 1, to.fraction_bits, max(own.least_exp, to.emin), max(high, to.emin))


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
