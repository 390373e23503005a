"""How wide numbers are: what decides which arithmetic holds them exactly."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, Format
from hwsim.kernels.kernel import Unsuited
from hwsim.spec import Unit

# Between these, products and sums of float64s are neither too large nor too small for its exponents.
FLOAT64_LOW, FLOAT64_HIGH = -960, 900


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


def extent(fmt: Format) -> Extent:
    """The finite numbers of a format."""
    if isinstance(fmt, ExponentFormat):
        return Extent(1, fmt.min_code - fmt.bias, fmt.max_code - fmt.bias + 1)
    if isinstance(fmt, FixedFormat):
        return Extent(max(fmt.bits - 1, 1), -fmt.fraction_bits, fmt.integer_bits + 1)
    return Extent(fmt.precision, fmt.emin - fmt.fraction_bits, fmt.emax + 1)


def products_of(unit: Unit) -> Extent:
    """The products of a unit's factors, without scales. Raises Unsuited where they are not float64s."""
    a, b = unit.operands.multiplied
    return as_float64(extent(a).times(extent(b)), "products")


def scales_of(unit: Unit) -> Extent:
    """The products of both scales."""
    assert unit.scale is not None
    return extent(unit.scale.a.format).times(extent(unit.scale.b.format))


def as_float64(numbers: Extent, what: str) -> Extent:
    """The same. Raises Unsuited where float64 does not hold them, sums of them among them."""
    if numbers.bits > 53:
        raise Unsuited(f"{what} have {numbers.bits} bits, float64 has 53")
    if numbers.low < FLOAT64_LOW or numbers.high > FLOAT64_HIGH:
        raise Unsuited(f"{what} are from 2^{numbers.low} to 2^{numbers.high}, beyond float64's exponents")
    return numbers
