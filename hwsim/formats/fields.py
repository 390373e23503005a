"""One code taken apart into integers: the definition that every codec and the model share."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from hwsim.formats.format import ExponentFormat, FixedFormat, Format


class Class(StrEnum):
    """What a code is."""

    ZERO = "zero"
    SUBNORMAL = "subnormal"
    NORMAL = "normal"
    INFINITY = "infinity"
    NAN = "nan"


class Fields(NamedTuple):
    """A code, decoded: (-1)^sign * sig * 2^(exp - fraction_bits), where finite.

    sign: 0 or 1. exp: unbiased; emin for zeros and subnormals, which are not normalised.
    sig: significand with the hidden bit. Infinities and NaNs have exp and sig 0.
    """

    sign: int
    exp: int
    sig: int
    cls: Class


def unpack(fmt: Format, code: int) -> Fields:
    """A code's fields.

    code: as stored, in [0, 2^container_bits). Padding must be zero, except in the canonical NaN.
    Raises ValueError for a code out of range or with bits in its padding.
    """
    if not 0 <= code < 1 << fmt.container_bits:
        raise ValueError(f"{code:#x} is no {fmt.name} code: they have {fmt.container_bits} bits")
    if isinstance(fmt, FixedFormat):
        value = code - (code >> (fmt.bits - 1) << fmt.bits)
        return Fields(int(value < 0), 0, abs(value), Class.NORMAL if value else Class.ZERO)
    if isinstance(fmt, ExponentFormat):
        if fmt.is_nan(code):
            return Fields(0, 0, 0, Class.NAN)
        return Fields(0, code - fmt.bias, 1, Class.NORMAL)
    if fmt.padding and code & ((1 << fmt.padding) - 1) and code != fmt.canonical_nan:
        raise ValueError(f"{code:#x} is no {fmt.name} code: the low {fmt.padding} bits must be zero")
    code >>= fmt.padding
    sign = code >> (fmt.exponent_bits + fmt.fraction_bits)
    magnitude = code & (fmt.sign_bit - 1)
    if fmt.is_nan(code):
        return Fields(sign, 0, 0, Class.NAN)
    if magnitude == fmt.infinity_magnitude:
        return Fields(sign, 0, 0, Class.INFINITY)
    bexp, frac = magnitude >> fmt.fraction_bits, magnitude & ((1 << fmt.fraction_bits) - 1)
    if magnitude == 0:
        return Fields(sign, fmt.emin, 0, Class.ZERO)
    if bexp == 0 and fmt.subnormals:
        return Fields(sign, fmt.emin, frac, Class.SUBNORMAL)
    return Fields(sign, bexp - fmt.bias, frac | 1 << fmt.fraction_bits, Class.NORMAL)
