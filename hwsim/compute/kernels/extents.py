"""How wide numbers are: what decides which arithmetic holds them exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, Format
from hwsim.spec import Unit

# Between these, products and sums of float64s are neither too large nor too small for its exponents.
FLOAT64_LOW, FLOAT64_HIGH = -960, 900
FLOAT64_BITS = 53


class Extent(NamedTuple):
    """Numbers of at most `bits` significant bits, multiples of 2^low, with magnitudes below 2^high."""

    bits: int
    low: int
    high: int

    def times(self, other: Extent) -> Extent:
        """Products with other numbers."""
        return Extent(self.bits + other.bits, self.low + other.low, self.high + other.high)

    def with_(self, other: Extent) -> Extent:
        """These numbers and others."""
        return Extent(max(self.bits, other.bits), min(self.low, other.low), max(self.high, other.high))

    @property
    def span(self) -> int:
        """Bits of an integer, in units of 2^low, that holds every magnitude below 2^high."""
        return self.high - self.low

    @property
    def are_float32s(self) -> bool:
        """Whether float32 has all of these numbers."""
        return self.bits <= 24 and self.low >= -149 and self.high <= 128

    def not_float64s(self, what: str) -> Iterator[str]:
        """Why float64 does not hold these numbers and sums of them, if it does not. what: their name."""
        if self.bits > FLOAT64_BITS:
            yield f"{what} of {self.bits} bits (float64 has {FLOAT64_BITS})"
        if self.low < FLOAT64_LOW or self.high > FLOAT64_HIGH:
            yield f"{what} from 2^{self.low} to 2^{self.high} (beyond float64's exponents)"


def extent(fmt: Format) -> Extent:
    """The finite numbers of a format."""
    if isinstance(fmt, ExponentFormat):
        return Extent(1, fmt.min_code - fmt.bias, fmt.max_code - fmt.bias + 1)
    if isinstance(fmt, FixedFormat):
        return Extent(max(fmt.bits - 1, 1), -fmt.fraction_bits, fmt.integer_bits + 1)
    return Extent(fmt.precision, fmt.emin - fmt.fraction_bits, fmt.emax + 1)


def exponent_range(fmt: Format) -> tuple[int, int]:
    """The least and the largest exponent that a format's numbers stand at; 0 for all of a fixed format."""
    if isinstance(fmt, ExponentFormat):
        return fmt.min_code - fmt.bias, fmt.max_code - fmt.bias
    return (0, 0) if isinstance(fmt, FixedFormat) else (fmt.emin, fmt.emax)


def scaled_products(unit: Unit) -> bool:
    """Whether scales enter at products."""
    return unit.scale is not None and unit.scale.at == "product"


def factors_of(unit: Unit, scaled: bool) -> tuple[Extent, Extent]:
    """The factors of a and of b, as they are multiplied. scaled: each times its scale, where the unit has scales."""
    a, b = (extent(fmt) for fmt in unit.operands.multiplied)
    if scaled and unit.scale is not None:
        return a.times(extent(unit.scale.a.format)), b.times(extent(unit.scale.b.format))
    return a, b


def products_of(unit: Unit, scaled: bool) -> Extent:
    """The products of a unit's factors. scaled: with both scales."""
    a, b = factors_of(unit, scaled)
    return a.times(b)
