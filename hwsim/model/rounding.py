"""Normalise and round: an integer and its unit become a code, rounded once."""

from __future__ import annotations

from typing import Literal, NamedTuple, assert_never

from hwsim.errors import InputError
from hwsim.formats import FixedFormat, FloatFormat
from hwsim.model.window import round_magnitude
from hwsim.spec.keys import Number, Overflow, Rounding, Tininess

TinySign = Literal["signed", "positive"]


class Rounded(NamedTuple):
    """A rounded result.

    code: the container's code. exp: exponent of the leading one before rounding, None for zero.
    overflow, inexact, tiny: IEEE 754's flags, `tiny` before rounding.
    """

    code: int
    exp: int | None
    overflow: bool = False
    inexact: bool = False
    tiny: bool = False


def with_sticky(total: int, unit_exp: int, fmt: Number) -> tuple[int, int]:
    """total * 2^unit_exp and a 1 farther below than any rounding to `fmt` tells from an infinitely small one.

    total: other than zero; the 1 adds to its magnitude. Returns the integer, and the exponent of its unit.
    A float's last place is at most `fraction_bits` below the total's, and half of it one more; a fixed format's stands
    where it stands.
    """
    places = fmt.fraction_bits + 2
    if isinstance(fmt, FixedFormat):
        places = max(2, places + unit_exp)
    magnitude = (abs(total) << places) | 1
    return (-magnitude if total < 0 else magnitude), unit_exp - places


def round_to(
    fmt: FloatFormat,
    sign: int,
    sig: int,
    unit_exp: int,
    rounding: Rounding,
    overflow: Overflow,
    tiny: TinySign = "signed",
    flush: Tininess | None = None,
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to `fmt`. sig > 0.

    overflow: what takes the place of a result that, rounded with an unbounded exponent, is too large.
    tiny: `positive` drops the sign of a result that rounds to zero. flush: what makes a result zero by being subnormal.
    A format without subnormals has nothing between zero and its least number; its key `underflow` chooses.
    """
    if not fmt.subnormals:
        return _round_bare(fmt, sign, sig, unit_exp, rounding, overflow, tiny)
    exp = sig.bit_length() - 1 + unit_exp
    binade = max(exp, fmt.emin)
    shift = binade - fmt.fraction_bits - unit_exp
    kept = round_magnitude(sig, shift, sign, rounding)
    # A carry out of the fraction runs into the exponent field, as it should.
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + kept
    overflowed = magnitude > fmt.max_magnitude
    inexact = overflowed or (shift > 0 and kept << shift != sig)
    if overflowed:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True, inexact=True)
    if flush is not None and _flushed(fmt, (sign, sig, unit_exp), rounding, magnitude, flush):
        magnitude, inexact = 0, True
    if magnitude == 0 and (tiny == "positive" or not fmt.signed_zero):
        sign = 0
    return Rounded(pack(fmt, sign, magnitude), exp, inexact=inexact, tiny=exp < fmt.emin)


def _flushed(
    fmt: FloatFormat, number: tuple[int, int, int], rounding: Rounding, magnitude: int, flush: Tininess
) -> bool:
    """Whether a number, which rounds to that magnitude of a code, becomes zero. number: sign, sig > 0, unit_exp."""
    sign, sig, unit_exp = number
    match flush:
        case "result":
            return magnitude < 1 << fmt.fraction_bits
        case "after":
            return tiny_after(fmt, sign, sig, unit_exp, rounding)
        case "before":
            return sig.bit_length() - 1 + unit_exp < fmt.emin
        case _:
            assert_never(flush)


def tiny_after(fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding) -> bool:
    """Whether a number, rounded to the format's bits with an unbounded exponent, is below the least normal one."""
    exp = sig.bit_length() - 1 + unit_exp
    kept = round_magnitude(sig, exp - fmt.fraction_bits - unit_exp, sign, rounding)
    return exp + (kept >> fmt.fraction_bits + 1) < fmt.emin


def _round_bare(
    fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding, overflow: Overflow, tiny: TinySign
) -> Rounded:
    """`round_to` of a format without subnormals."""
    exp = sig.bit_length() - 1 + unit_exp
    hidden, shift = 1 << fmt.fraction_bits, exp - fmt.fraction_bits - unit_exp
    kept = round_magnitude(sig, shift, sign, rounding)
    magnitude = (exp - fmt.emin) * hidden + kept - hidden
    inexact = shift > 0 and kept << shift != sig
    if magnitude > fmt.max_magnitude:
        return Rounded(overflow_code(fmt, sign, rounding, overflow), exp, overflow=True, inexact=True)
    if magnitude <= 0 and fmt.underflow == "nearby":
        magnitude = _zero_or_least(fmt, sign, sig, unit_exp, rounding)
    if magnitude <= 0:
        sign = 0 if tiny == "positive" or not fmt.signed_zero else sign
        return Rounded(pack(fmt, sign, 0), exp, inexact=True, tiny=True)
    return Rounded(pack(fmt, sign, magnitude), exp, inexact=inexact or (kept <= hidden and exp <= fmt.emin))


def _zero_or_least(fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding) -> int:
    """0 or 1: the code, without its sign, that the rounding chooses for a number below a bare format's least one."""
    least_exp = fmt.emin - fmt.fraction_bits
    low = min(unit_exp, least_exp)
    value, least = sig << unit_exp - low, (1 << fmt.fraction_bits) + 1 << least_exp - low
    match rounding:
        case "rne":
            return int(2 * value > least)
        case "rna":
            return int(2 * value >= least)
        case "rz":
            return 0
        case "rto":
            return 1
        case "ru":
            return 1 - sign
        case "rd":
            return sign
        case _:
            assert_never(rounding)


def round_fixed(
    fmt: FixedFormat, sign: int, sig: int, unit_exp: int, rounding: Rounding, overflow: Overflow
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to a fixed format. sig > 0.

    overflow: `saturate`, or `wrap`: modulo 2^bits. Raises ValueError for another, which a fixed format has no code for.
    """
    shift = -fmt.fraction_bits - unit_exp
    kept = round_magnitude(sig, shift, sign, rounding)
    value, most = -kept if sign else kept, 1 << (fmt.bits - 1)
    exceeds = not -most <= value < most
    if exceeds:
        match overflow:
            case "saturate":
                value = -most if sign else most - 1
            case "wrap":
                value %= 2 * most
            case "infinity" | "nan" | "ieee" | "propagate":
                raise InputError(f"{fmt.name}, a fixed format, has no {overflow}")
            case _:
                assert_never(overflow)
    inexact = exceeds or (shift > 0 and kept << shift != sig)
    return Rounded(value % (2 * most), sig.bit_length() - 1 + unit_exp, overflow=exceeds, inexact=inexact)


def pack(fmt: FloatFormat, sign: int, magnitude: int) -> int:
    """A container's code from a sign and the bits of a magnitude."""
    return (sign * fmt.sign_bit | magnitude) << fmt.padding


def nan_code(fmt: FloatFormat) -> int:
    """The container's code of a format's NaN. Raises ValueError for a format without one."""
    if fmt.canonical_nan is None:
        raise InputError(f"{fmt.name} has no NaN")
    return fmt.canonical_nan


def overflow_code(fmt: FloatFormat, sign: int, rounding: Rounding, overflow: Overflow) -> int:
    """What a finite result that is too large becomes under a policy.

    Raises ValueError for a policy that the format has no code for.
    """
    match overflow:
        case "nan":
            return nan_code(fmt)
        case "saturate" | "propagate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "ieee" if rounds_inward(fmt, sign, rounding):
            return pack(fmt, sign, fmt.max_magnitude)
        case "infinity" | "ieee":
            return infinity_code(fmt, sign, overflow)
        case "wrap":
            raise InputError(f"{fmt.name}, a float format, does not wrap")
        case _:
            assert_never(overflow)


def rounds_inward(fmt: FloatFormat, sign: int, rounding: Rounding) -> bool:
    """Whether `ieee` takes a number of that sign that is too large to the largest one, not to infinity.

    IEEE 754-2019, section 7.4. Rounding to odd, which IEEE 754 lacks, takes the one whose code is odd: in its formats
    the largest number, as in Boldo and Melquiond 2008. Without an infinity it takes what is outside, NaN.
    """
    match rounding:
        case "rne" | "rna":
            return False
        case "rz":
            return True
        case "ru":
            return sign == 1
        case "rd":
            return sign == 0
        case "rto":
            return fmt.infinity_magnitude is not None and fmt.max_magnitude % 2 == 1
        case _:
            assert_never(rounding)


def infinity_code(fmt: FloatFormat, sign: int, overflow: Overflow) -> int:
    """What an infinite result becomes under a policy: infinity where the format has one, unless all saturate.

    Raises ValueError for a policy that the format has no code for.
    """
    match overflow:
        case "saturate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "infinity" | "ieee" | "nan" | "propagate" if fmt.infinity_magnitude is not None:
            return pack(fmt, sign, fmt.infinity_magnitude)
        case "propagate":
            return pack(fmt, sign, fmt.max_magnitude)
        case "nan" | "ieee":
            return nan_code(fmt)
        case "infinity":
            raise InputError(f"{fmt.name} has no infinity")
        case "wrap":
            raise InputError(f"{fmt.name}, a float format, does not wrap")
        case _:
            assert_never(overflow)
