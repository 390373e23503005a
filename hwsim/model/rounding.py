"""Normalise and round: an integer and its unit become a code, rounded once."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import FloatFormat
from hwsim.model.window import round_magnitude


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


def round_to(
    fmt: FloatFormat, sign: int, sig: int, unit_exp: int, rounding: str, overflow: str, tiny: str = "signed"
) -> Rounded:
    """(-1)^sign * sig * 2^unit_exp, rounded once to `fmt`. sig > 0.

    overflow: what takes the place of a result that, rounded with an unbounded exponent, is too large.
    tiny: `positive` drops the sign of a result that rounds to zero.
    """
    exp = sig.bit_length() - 1 + unit_exp
    binade = max(exp, fmt.emin)
    shift = binade - fmt.fraction_bits - unit_exp
    kept = round_magnitude(sig, shift, sign, rounding)
    # A carry out of the fraction runs into the exponent field, as it should.
    magnitude = ((binade - fmt.emin) << fmt.fraction_bits) + kept
    overflowed = magnitude > fmt.max_magnitude
    inexact = overflowed or (shift > 0 and kept << shift != sig)
    if overflowed:
        return Rounded(overflow_code(fmt, sign, overflow), exp, overflow=True, inexact=True)
    if magnitude == 0 and (tiny == "positive" or not fmt.signed_zero):
        sign = 0
    return Rounded(pack(fmt, sign, magnitude), exp, inexact=inexact, tiny=exp < fmt.emin)


def flush(fmt: FloatFormat, rounded: Rounded, tiny: str) -> Rounded:
    """A rounded result; where it is subnormal, zero instead, with its sign unless `tiny` is `positive`."""
    code = rounded.code >> fmt.padding
    if not 0 < code & (fmt.sign_bit - 1) < 1 << fmt.fraction_bits:
        return rounded
    sign = int(bool(code & fmt.sign_bit) and tiny == "signed" and fmt.signed_zero)
    return rounded._replace(code=pack(fmt, sign, 0), inexact=True)


def pack(fmt: FloatFormat, sign: int, magnitude: int) -> int:
    """A container's code from a sign and the bits of a magnitude."""
    return (sign * fmt.sign_bit | magnitude) << fmt.padding


def overflow_code(fmt: FloatFormat, sign: int, overflow: str) -> int:
    """What an overflow, or an infinity, becomes under a policy."""
    if overflow == "nan":
        assert fmt.canonical_nan is not None
        return fmt.canonical_nan
    magnitude = fmt.max_magnitude if overflow == "saturate" else fmt.infinity_magnitude
    assert magnitude is not None
    return pack(fmt, sign, magnitude)


def infinity_code(fmt: FloatFormat, sign: int, overflow: str) -> int:
    """An infinite result: the largest where the policy saturates, else infinity where the format has one."""
    if overflow != "saturate" and fmt.infinities:
        return overflow_code(fmt, sign, "infinity")
    return overflow_code(fmt, sign, overflow)
