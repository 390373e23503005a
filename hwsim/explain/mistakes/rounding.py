"""The rounding of a design with a flaw: a sum becomes a float's, or a fixed number's, code."""

from __future__ import annotations

from typing import assert_never

from hwsim.explain.mistakes.flaw import Flaw, LastPlace, UnpackedResult
from hwsim.formats import FixedFormat, FloatFormat
from hwsim.model.rounding import (
    ResultRounding,
    Rounded,
    TinySign,
    flushed_code,
    overflow_code,
    pack,
    round_fixed,
    round_to,
    with_sticky,
)
from hwsim.model.terms import round_magnitude
from hwsim.spec.keys import Overflow, Rounding, Tininess
from hwsim.spec.parts import ResultRule


def rounded_magnitude(place: LastPlace) -> int:
    """A magnitude in units of its last place, rounded, by a specification's rule or by one that is a mistake."""
    if place.shift <= 0:
        return place.sig << -place.shift
    kept, lost, half = place.sig >> place.shift, place.sig & ((1 << place.shift) - 1), 1 << (place.shift - 1)
    match place.rule:
        case "ties-odd":
            return kept + (lost > half or (lost == half and not kept & 1))
        case "ties-up":
            return kept + (lost > half or (lost == half and not place.sign))
        case "ties-down":
            return kept + (lost > half)
        case "rne" | "rna" | "rz" | "ru" | "rd" | "rto":
            return round_magnitude(place.sig, place.shift, place.sign, place.rule)
        case _:
            assert_never(place.rule)


def flawed_float(
    flaw: Flaw,
    fmt: FloatFormat,
    number: tuple[int, int, int],
    rounding: Rounding,
    overflow: Overflow,
    tiny: TinySign = "signed",
    flush: Tininess | None = None,
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to `fmt` by a design with a flaw. number: sign, sig > 0, unit_exp.

    A format without subnormals is rounded to as specified.
    """
    sign, sig, unit_exp = number
    sig, unit_exp = flaw.magnitude(sign, sig, unit_exp)
    if not sig:
        return Rounded(0, None)
    if not fmt.subnormals:
        return round_to(fmt, sign, sig, unit_exp, rounding, overflow, tiny)
    exp = sig.bit_length() - 1 + unit_exp
    binade = max(exp, fmt.emin)
    place = LastPlace(sig, binade - fmt.fraction_bits - unit_exp, sign, rounding, exp < fmt.emin)
    kept = rounded_magnitude(flaw.last_place(place))
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + kept
    made = flaw.number(UnpackedResult(fmt, sign, magnitude, exp + fmt.bias, kept, sig, unit_exp))
    if made is not None:
        code = made << fmt.padding
        return Rounded(code if flush is None else flushed_code(fmt, code), exp)
    if magnitude > fmt.max_magnitude:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True)
    if _flushed(flaw, fmt, (sign, sig, unit_exp), rounding, magnitude, flush):
        magnitude = 0
    if magnitude == 0 and (tiny == "positive" or not fmt.signed_zero):
        sign = 0
    return Rounded(pack(fmt, sign, magnitude), exp)


def _flushed(
    flaw: Flaw,
    fmt: FloatFormat,
    number: tuple[int, int, int],
    rounding: Rounding,
    magnitude: int,
    flush: Tininess | None,
) -> bool:
    """Whether a number, rounded to that magnitude of a code, becomes zero. number: sign, sig > 0, unit_exp."""
    sign, sig, unit_exp = number
    exp = sig.bit_length() - 1 + unit_exp
    match flush:
        case None:
            return False
        case "result":
            return magnitude < 1 << fmt.fraction_bits
        case "after":
            place = LastPlace(sig, exp - fmt.fraction_bits - unit_exp, sign, rounding, exp < fmt.emin)
            kept = rounded_magnitude(flaw.last_place(place))
            return exp + (kept >> fmt.fraction_bits + 1) < fmt.emin
        case "before":
            return exp < fmt.emin
        case _:
            assert_never(flush)


def flawed_fixed(flaw: Flaw, fmt: FixedFormat, number: tuple[int, int, int], rule: ResultRule) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to a fixed format by a design with a flaw. number: as above."""
    sign, sig, unit_exp = number
    sig, unit_exp = flaw.magnitude(sign, sig, unit_exp)
    place = LastPlace(sig, -fmt.fraction_bits - unit_exp, sign, rule.rounding, tiny=False)
    kept = rounded_magnitude(flaw.last_place(place))
    value = flaw.fixed(-kept if sign else kept, fmt.bits)
    if value == 0:
        return Rounded(0, None)
    return round_fixed(fmt, int(value < 0), abs(value), -fmt.fraction_bits, rule.rounding, rule.overflow)


class FlawedRounding(ResultRounding):
    """How a sum is rounded to a unit's result by a design with a flaw."""

    def __init__(self, rule: ResultRule, flaw: Flaw):
        super().__init__(rule)
        self.flaw = flaw

    def total(self, total: int, unit_exp: int | None, sign: int = 0, sticky: bool = False) -> Rounded:
        """As in `ResultRounding`."""
        rule, fmt = self.rule, self.rule.format
        if total == 0 or unit_exp is None:
            return super().total(total, unit_exp, sign)
        if sticky:
            total, unit_exp = with_sticky(total, unit_exp, fmt)
        number = int(total < 0), abs(total), unit_exp
        if isinstance(fmt, FixedFormat):
            return flawed_fixed(self.flaw, fmt, number, rule)
        rounded = flawed_float(self.flaw, fmt, number, rule.rounding, rule.overflow, rule.tiny, rule.flushes)
        return rounded._replace(code=self._own(rounded.code))
