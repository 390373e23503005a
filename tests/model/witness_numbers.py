"""Numbers and formats of the witness in exact rationals: its own table, decoding, rounding and addition."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple


class Form(NamedTuple):
    """A format.

    top: `ieee` (infinities, NaNs), `nan` (only the last code), `fnuz` (only the code of -0), `finite`; or kind `fixed`,
    `power`. bare: no subnormals; `zero` or `nearby`, where numbers below the least one go.
    """

    exponent_bits: int
    fraction_bits: int
    bias: int
    top: str
    container: int
    nan: int = -1  # canonical
    bare: str = ""
    signed: bool = True

    @property
    def padding(self) -> int:
        return self.container - self.signed - self.exponent_bits - self.fraction_bits

    @property
    def emin(self) -> int:
        return (0 if self.bare else 1) - self.bias

    @property
    def least(self) -> Fraction:
        """The least number of a format without subnormals."""
        return (1 + two(-self.fraction_bits)) * two(self.emin)


FORMS = {
    "e4m3": Form(4, 3, 7, "nan", 8, 0x7F),
    "e5m2": Form(5, 2, 15, "ieee", 8, 0x7F),
    "e4m3-all-finite": Form(4, 3, 7, "finite", 8),
    "e5m2-all-finite": Form(5, 2, 15, "finite", 8),
    "e3m2": Form(3, 2, 3, "finite", 6),
    "e2m3": Form(2, 3, 1, "finite", 6),
    "e2m1": Form(2, 1, 1, "finite", 4),
    "f16": Form(5, 10, 15, "ieee", 16, 0x7FFF),
    "bf16": Form(8, 7, 127, "ieee", 16, 0x7FFF),
    "tf32": Form(8, 10, 127, "ieee", 32, 0x7FFFFFFF),
    "e8m13": Form(8, 13, 127, "ieee", 32, 0x7FFFFFFF),
    "f32": Form(8, 23, 127, "ieee", 32, 0x7FFFFFFF),
    "f64": Form(11, 52, 1023, "ieee", 64, 0x7FFFFFFFFFFFFFFF),
    "mxint8": Form(0, 6, 0, "fixed", 8),
    "int8": Form(0, 0, 0, "fixed", 8),
    "uint8": Form(0, 0, 0, "fixed", 8, signed=False),
    "int4": Form(0, 0, 0, "fixed", 4),
    "uint4": Form(0, 0, 0, "fixed", 4, signed=False),
    "i32": Form(0, 0, 0, "fixed", 32),
    "int16": Form(0, 0, 0, "fixed", 16),
    "i64": Form(0, 0, 0, "fixed", 64),
    "fixed43": Form(0, 18, 0, "fixed", 43),
    "fixed73": Form(0, 32, 0, "fixed", 73),
    "fixed100": Form(0, 84, 0, "fixed", 100),
    "coarse": Form(0, -5, 0, "fixed", 19),
    "fine": Form(0, 40, 0, "fixed", 35),
    "e4m3-finite": Form(4, 3, 7, "finite", 8),
    "e5m2-finite": Form(5, 2, 15, "finite", 8),
    "e4m3fnuz": Form(4, 3, 8, "fnuz", 8, 0x80),
    "e5m2fnuz": Form(5, 2, 16, "fnuz", 8, 0x80),
    "hfp8-e4m3": Form(4, 3, 11, "finite", 8, -1, "zero"),
    "hfp8-e5m2": Form(5, 2, 15, "nan", 8, 0x7F, "zero"),
    "dlfloat16": Form(6, 9, 31, "nan", 16, 0x7FFF, "zero"),
    "bare-nearby": Form(6, 9, 31, "nan", 16, 0x7FFF, "nearby"),
    "ue4m3": Form(4, 3, 7, "nan", 7, 0x7F, "", False),
    "e8m0": Form(8, 0, 127, "power", 8),
}


class Number(NamedTuple):
    """A number, with the exponent that alignment goes by. kind: finite, inf, nan."""

    kind: str
    negative: bool
    value: Fraction
    exp: int


@cache
def two(exp: int) -> Fraction:
    """2^exp."""
    return Fraction(2) ** exp


NAN = Number("nan", False, Fraction(0), 0)
PLUS_ZERO = Number("finite", False, Fraction(0), 0)


@cache
def read(name: str, code: int) -> Number:
    """What a code is."""
    form = FORMS[name]
    if form.top == "fixed":
        half = 1 << form.container - 1
        value = (code - 2 * half if code >= half and form.signed else code) * two(-form.fraction_bits)
        return Number("finite", value < 0, value, 0)
    if form.top == "power":
        return NAN if code == 255 else Number("finite", False, two(code - 127), code - 127)
    code >>= form.padding
    fraction = code % (1 << form.fraction_bits)
    biased = code >> form.fraction_bits & ((1 << form.exponent_bits) - 1)
    negative = bool(code >> form.fraction_bits >> form.exponent_bits)
    if form.top == "ieee" and biased == (1 << form.exponent_bits) - 1:
        return NAN if fraction else Number("inf", negative, Fraction(0), 0)
    if form.top == "fnuz" and negative and not biased and not fraction:
        return NAN
    if form.top == "nan" and biased == (1 << form.exponent_bits) - 1 and fraction == (1 << form.fraction_bits) - 1:
        return NAN
    hidden = 1 if biased or (form.bare and fraction) else 0
    exp = biased - form.bias if biased else form.emin
    magnitude = (hidden + Fraction(fraction, 1 << form.fraction_bits)) * two(exp)
    return Number("finite", negative, -magnitude if negative else magnitude, exp)


@cache
def codes_by_value(name: str) -> dict[tuple[bool, Fraction], int]:
    """The code of every finite number of a format of at most 16 bits, by sign and magnitude."""
    numbers = {code: read(name, code) for code in range(1 << FORMS[name].container)}
    return {(n.negative, abs(n.value)): code for code, n in numbers.items() if n.kind == "finite"}


def write(name: str, negative: bool, magnitude: Fraction) -> int:
    """The code of a number that the format has; fnuz formats have no negative zero."""
    form = FORMS[name]
    negative = negative and (magnitude != 0 or form.top != "fnuz")
    if form.top == "ieee" and form.exponent_bits == 8:  # binary32, or the upper bits of one
        bits: int = struct.unpack("<I", struct.pack("<f", float(magnitude)))[0]
        return (bits | negative << 31) >> 32 - form.container
    if name == "f64":
        double: int = struct.unpack("<Q", struct.pack("<d", float(magnitude)))[0]
        return double | negative << 63
    if name == "f16":
        half: int = struct.unpack("<H", struct.pack("<e", float(magnitude)))[0]
        return half | negative << 15
    return codes_by_value(name)[negative, magnitude]


@cache
def largest(name: str) -> Fraction:
    """The largest finite number."""
    form = FORMS[name]
    if form.top == "ieee":
        return (2 - two(-form.fraction_bits)) * two(form.bias)
    return max(magnitude for _, magnitude in codes_by_value(name))


def floor_log2(value: Fraction) -> int:
    """The exponent of the binade that a positive value lies in."""
    exp = value.numerator.bit_length() - value.denominator.bit_length()
    return exp if two(exp) <= value else exp - 1


def choose(low: int, value: Fraction, negative: bool, mode: str) -> int:
    """`low` or low + 1: to which of these neighbours a magnitude between them goes."""
    if value == low:
        return low
    to_low, to_high = value - low, low + 1 - value
    if mode in ("rne", "rna") and to_low != to_high:
        return low if to_low < to_high else low + 1
    even, odd = (low, low + 1) if low % 2 == 0 else (low + 1, low)
    away, toward = low + 1, low
    return {
        "rne": even,
        "rna": away,
        "rz": toward,
        "rto": odd,
        "ru": toward if negative else away,
        "rd": away if negative else toward,
    }[mode]


def rounded(
    name: str, value: Fraction, mode: str, overflow: str, tiny: str = "signed", flush: str | None = None
) -> int:
    """The code of the neighbour of a value other than zero that the rounding picks, with no upper end yet.

    flush: which value must not be below the least normal one: the `result`, the one `before`, or one `after` rounding
    to as many bits as a normal number has.
    """
    form, negative, magnitude = FORMS[name], value < 0, abs(value)
    if form.top == "fixed":
        return fixed(form, value, mode, overflow)
    exp = floor_log2(magnitude)
    ulp = two((exp if form.bare else max(exp, form.emin)) - form.fraction_bits)
    near = choose(math.floor(magnitude / ulp), magnitude / ulp, negative, mode) * ulp
    if form.bare == "nearby" and magnitude < form.least:
        near = choose(0, magnitude / form.least, negative, mode) * form.least
    if form.bare and near < form.least:
        near = Fraction(0)
    if near > largest(name):
        return beyond(name, negative, overflow, mode)
    own = two(exp - form.fraction_bits)
    judged = {
        "result": near,
        "before": magnitude,
        "after": choose(math.floor(magnitude / own), magnitude / own, negative, mode) * own,
    }
    if flush and not form.bare and judged[flush] < two(form.emin):
        near = Fraction(0)
    return write(name, negative and not (near == 0 and tiny == "positive"), near)


def fixed(form: Form, value: Fraction, mode: str, overflow: str) -> int:
    """The code of a fixed format's neighbour of a value; too large, it saturates, or wraps round."""
    scaled = abs(value) * two(form.fraction_bits)
    whole = choose(math.floor(scaled), scaled, value < 0, mode) * (-1 if value < 0 else 1)
    half = 1 << form.container - 1
    if overflow == "saturate":
        whole = min(max(whole, -half), half - 1)
    return whole % (2 * half)


def beyond(name: str, negative: bool, overflow: str, mode: str) -> int:
    """A finite number that is too large. To odd: the largest number of formats of IEEE 754 has an odd code."""
    form = FORMS[name]
    inward = mode == "rz" or mode == ("ru" if negative else "rd") or (mode == "rto" and form.top == "ieee")
    if overflow in ("saturate", "propagate") or (overflow == "ieee" and inward):
        return write(name, negative, largest(name))
    return form.nan if overflow == "nan" else endless(name, negative, overflow)


def endless(name: str, negative: bool, overflow: str) -> int:
    """An infinity."""
    form = FORMS[name]
    if overflow == "saturate" or (overflow == "propagate" and form.top != "ieee"):
        return write(name, negative, largest(name))
    if form.top != "ieee":
        return form.nan
    top = ((1 << form.exponent_bits) - 1) << form.fraction_bits
    return (negative << (form.exponent_bits + form.fraction_bits) | top) << form.padding


def add(name: str, numbers: Sequence[Number], mode: str, flush: str | None = None, overflow: str = "ieee") -> int:
    """One or two numbers added with one rounding, as IEEE 754 has it; NaN for infinity where there is none."""
    special = specials(numbers)
    if special is not None:
        return FORMS[name].nan if special.kind == "nan" else endless(name, special.negative, overflow)
    total = sum(number.value for number in numbers)
    if total == 0:
        # IEEE 754-2019, section 6.3: equal zeros keep their sign; else +0, and -0 when rounding down.
        signs = {number.negative for number in numbers}
        return write(name, signs == {True} or (len(signs) == 2 and mode == "rd"), Fraction(0))
    return rounded(name, Fraction(total), mode, overflow, flush=flush)


def specials(terms: Sequence[Number]) -> Number | None:
    """NaN, or infinity, if the terms make one."""
    infinities = [term for term in terms if term.kind == "inf"]
    if any(term.kind == "nan" for term in terms) or len({term.negative for term in infinities}) == 2:
        return NAN
    return infinities[0] if infinities else None


def scaled(factors: Sequence[Number]) -> Number:
    """The exact product; its exponent is the sum of the factors'."""
    if any(factor.kind == "nan" for factor in factors):
        return NAN
    negative = sum(factor.negative for factor in factors) % 2 == 1
    if any(factor.kind == "inf" for factor in factors):
        zero = any(factor.kind == "finite" and factor.value == 0 for factor in factors)
        return NAN if zero else Number("inf", negative, Fraction(0), 0)
    value = math.prod(factor.value for factor in factors)
    return Number("finite", negative, value, sum(factor.exp for factor in factors))


def keep(ratio: Fraction, lost: str) -> int:
    """What is left of a term in whole window bits."""
    if lost == "floor":
        return math.floor(ratio)
    if lost == "ceil":
        return math.ceil(ratio)
    if lost == "ones-complement":
        return math.floor(ratio) if ratio >= 0 else -math.floor(-ratio) - 1
    mode = {"truncate": "rz", "sticky": "rz", "jam": "rto"}.get(lost, lost)
    magnitude = choose(math.floor(abs(ratio)), abs(ratio), ratio < 0, mode)
    return -magnitude if ratio < 0 else magnitude
