"""Mistakes of normalisation and rounding: ties, guard and sticky bits, carries, the ends of the range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from hwsim.explain.mistakes.flaw import Flaw, LastPlace, LastPlaceRule, UnpackedResult
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

OverflowMistake = Literal["exponent wraps", "zero", "largest number", "infinity code", "all ones"]
UnderflowMistake = Literal["exponent wraps", "zero of its sign", "+0", "infinity", "least number"]


@dataclass(frozen=True)
class RoundedOtherwise(Flaw):
    """Every rounding of a float follows another rule."""

    rule: LastPlaceRule

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return place._replace(rule=self.rule)


@dataclass(frozen=True)
class TinyRoundedOtherwise(Flaw):
    """Results below the least normal number are rounded by another rule."""

    rule: LastPlaceRule

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return place._replace(rule=self.rule) if place.tiny else place


@dataclass(frozen=True)
class NegativeRoundedOtherwise(Flaw):
    """Negative results are rounded by another rule."""

    rule: LastPlaceRule

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return place._replace(rule=self.rule) if place.sign else place


@dataclass(frozen=True)
class StickySees(Flaw):
    """What is rounded keeps so many bits below its last place; those further down are lost, or or-ed into the last.

    A guard bit alone is 1; no sticky bit. 0: no guard bit either, so that nothing is rounded up.
    """

    bits: int

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        unseen = place.shift - self.bits
        return place._replace(sig=place.sig >> unseen << unseen) if unseen > 0 else place


@dataclass(frozen=True)
class GuardDropped(Flaw):
    """The guard bit is taken for 0: a half and more counts as less."""

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return place._replace(sig=place.sig & ~(1 << place.shift - 1)) if place.shift > 0 else place


@dataclass(frozen=True)
class TinyShifted(Flaw):
    """Subnormal results are shifted by some places too many before they are rounded."""

    by: int

    def last_place(self, place: LastPlace) -> LastPlace:
        """As in `Flaw`."""
        return place._replace(shift=place.shift + self.by) if place.tiny else place


@dataclass(frozen=True)
class CarryLost(Flaw):
    """Where rounding carries out of the significand, the exponent stays."""

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        return _carried(number, number.magnitude - (1 << number.format.fraction_bits))


@dataclass(frozen=True)
class CarryKept(Flaw):
    """Where rounding carries out of the significand, the result is the largest of its binade."""

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        return _carried(number, number.magnitude - 1)


def _carried(number: UnpackedResult, magnitude: int) -> int | None:
    """The code of another magnitude, where rounding carries; None where it does not, or where no code is so large."""
    fmt = number.format
    if number.kept != 2 << fmt.fraction_bits or magnitude >= fmt.sign_bit:
        return None
    return number.sign * fmt.sign_bit | magnitude


@dataclass(frozen=True)
class OverflowWrong(Flaw):
    """A result that is too large becomes something else."""

    mistake: OverflowMistake

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        if not number.overflows:
            return None
        fmt = number.format
        sign = number.sign * fmt.sign_bit
        match self.mistake:
            case "exponent wraps":
                return sign | number.magnitude & (fmt.sign_bit - 1)
            case "zero":
                return sign
            case "largest number":
                return sign | fmt.max_magnitude
            case "infinity code":
                return sign | fmt.top_bexp << fmt.fraction_bits
            case "all ones":
                return sign | fmt.sign_bit - 1
            case _:
                assert_never(self.mistake)


@dataclass(frozen=True)
class UnderflowWrong(Flaw):
    """A result below the least normal number becomes something else."""

    mistake: UnderflowMistake

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        fmt = number.format
        if number.bexp > 0:
            return None
        sign = number.sign * fmt.sign_bit
        match self.mistake:
            case "exponent wraps":
                fraction = _fraction(number)
                return sign | (number.bexp << fmt.fraction_bits | fraction) & (fmt.sign_bit - 1)
            case "zero of its sign":
                return sign if number.subnormal or number.magnitude == 0 else None
            case "+0":
                return 0 if number.subnormal or number.magnitude == 0 else None
            case "infinity":
                return sign | fmt.top_bexp << fmt.fraction_bits
            case "least number":
                return sign | 1 << fmt.fraction_bits
            case _:
                assert_never(self.mistake)


def _fraction(number: UnpackedResult) -> int:
    """The fraction of a number, normalised, its other bits cut off."""
    bits = number.format.fraction_bits
    length = number.sig.bit_length() - 1
    sig = number.sig << bits - length if length < bits else number.sig >> length - bits
    return sig & ((1 << bits) - 1)


@dataclass(frozen=True)
class VanishedSign(Flaw):
    """A result that rounds to zero has another sign. negative: always so; else never."""

    negative: bool

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        if number.magnitude:
            return None
        return number.format.sign_bit if self.negative else 0


@dataclass(frozen=True)
class VanishedSignKept(Flaw):
    """A result that rounds to zero keeps its sign."""

    def number(self, number: UnpackedResult) -> int | None:
        """As in `Flaw`."""
        return None if number.magnitude else number.sign * number.format.sign_bit


@dataclass(frozen=True)
class ZerosPositive(Flaw):
    """Every result that is a zero is +0."""

    def code(self, unit: Unit, code: int) -> int:
        """As in `Flaw`."""
        fmt = unit.output
        return 0 if isinstance(fmt, FloatFormat) and code == fmt.sign_bit << fmt.padding else code


@dataclass(frozen=True)
class FixedWraps(Flaw):
    """A fixed result that is too large keeps its low bits."""

    def fixed(self, value: int, bits: int) -> int:
        """As in `Flaw`."""
        half = 1 << (bits - 1)
        return (value + half) % (2 * half) - half


@dataclass(frozen=True)
class FixedSaturates(Flaw):
    """A fixed result that is too large becomes the largest of its sign. symmetric: without the least number."""

    symmetric: bool

    def fixed(self, value: int, bits: int) -> int:
        """As in `Flaw`."""
        most = (1 << (bits - 1)) - 1
        return min(max(value, -most if self.symmetric else -most - 1), most)
