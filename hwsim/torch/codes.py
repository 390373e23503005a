"""Codecs and random words in PyTorch's integer operations, on a tensor's own device; the bits are `hwsim.formats`'.

Nothing is read back from the device, and no shape depends on data. Codes of two and four bytes are signed integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hwsim.formats import ExponentFormat, FixedFormat, Format, TableFormat
from hwsim.formats.reference import choices, encode_reference
from hwsim.formats.rounding import Overflow, Rounding
from hwsim.formats.stochastic import NAME as STOCHASTIC
from hwsim.formats.stochastic import PARITY, ROTATIONS, ROUNDS, WORD, checked_stochastic

MAGNITUDE, INFINITY, HIDDEN = 0x7FFFFFFF, 0x7F800000, 0x00800000  # of binary32
# Of a code and of random bits: of more, what binary32's integers cut off is none, or carries into their sign.
NARROW_BITS, NARROW_RANDOM = 23, 30
LEAST_EXP, MOST_EXP = -1022, 1023  # of binary64's normal numbers


class FloatBits(NamedTuple):
    """The integers of a float's bits: fraction bits and bias, their last shift, magnitude and infinity."""

    fraction: int
    bias: int
    sign: int
    magnitude: int
    infinity: int


SINGLE = FloatBits(23, 127, 31, MAGNITUDE, INFINITY)
DOUBLE = FloatBits(52, 1023, 63, (1 << 63) - 1, 0x7FF << 52)


class Target(NamedTuple):
    """A format, and how numbers are rounded to it.

    fraction_bits, emin, emax: of a float. Two's complement is a float whose numbers are all subnormals, and whose
    negative end is its first normal number.
    most: the last of the steps from zero up; `lopsided` more below zero. base: those that lie below the first number.
    sign: its bit; 0 of two's complement. plus, minus: codes of numbers that are too large; plus_infinity,
    minus_infinity: of infinities. nan: of NaNs. saturates: whether all four are the ends of the range.
    random_bits: of stochastic rounding, else 0. wide: whether binary64's integers are needed.
    """

    rounding: Rounding | None
    fraction_bits: int
    emin: int
    emax: int
    most: int
    lopsided: int
    base: int
    sign: int
    mask: int
    signed_zero: bool
    padding: int
    plus: int
    minus: int
    plus_infinity: int
    minus_infinity: int
    nan: int
    saturates: bool
    random_bits: int
    wide: bool
    dtype: torch.dtype


def refused_format(fmt: Format) -> str | None:
    """Why numbers are not rounded to a format here; None where they are."""
    if isinstance(fmt, ExponentFormat):
        return f"{fmt.name} has no zero"
    if isinstance(fmt, TableFormat):
        return f"{fmt.name} is a table"
    if isinstance(fmt, FixedFormat):
        if not fmt.signed:
            return f"{fmt.name} has no negative numbers"
        return None if fmt.of_operands else f"{fmt.name} has more than 32 bits, or its point outside of them"
    if fmt.bits > 32:
        return f"{fmt.name} has more than 32 bits"
    if not fmt.subnormals and (fmt.underflow != "zero" or fmt.fraction_bits == 0):
        return f"the least number of {fmt.name} stands alone above zero, and smaller ones are rounded to either"
    if fmt.quantum_exp < LEAST_EXP or fmt.emax > MOST_EXP - 1:
        return f"{fmt.name} has exponents at the ends of binary64's"
    return None


@lru_cache(maxsize=128)
def target(
    fmt: Format, rounding: str = "rne", overflow: str = "saturate", symmetric: bool = False, random_bits: int = 0
) -> Target:
    """A format and its rounding as `encode` takes them. symmetric: two's complement without its negative end.

    Raises as `Format.encode` for a rounding or overflow that the format has not.
    """
    if rounding == STOCHASTIC:
        checked_stochastic(fmt, random_bits, 0, 0)
    how = choices(fmt, "rne" if rounding == STOCHASTIC else rounding, overflow, "saturate")
    assert isinstance(how.rounding, Rounding) and not isinstance(fmt, ExponentFormat | TableFormat)
    far = float(np.finfo(np.float64).max)
    ends = encode_reference(fmt, [far, -far, np.inf, -np.inf], how.rounding, overflow, "saturate").tolist()
    within = fmt.emin >= 1 - SINGLE.bias and fmt.emax <= SINGLE.bias
    wide = fmt.bits > NARROW_BITS or random_bits > NARROW_RANDOM or not within
    common: dict[str, Any] = {
        "rounding": None if rounding == STOCHASTIC else how.rounding, "mask": (1 << fmt.bits) - 1,
        "padding": fmt.padding, "random_bits": random_bits, "wide": wide, "dtype": container(fmt),
        "nan": signed(fmt.canonical_nan or 0, fmt), "signed_zero": fmt.signed_zero,
    }  # fmt: skip
    if isinstance(fmt, FixedFormat):
        return Target(
            fraction_bits=fmt.precision, emin=fmt.integer_bits, emax=fmt.integer_bits - 1, most=fmt.max_code, base=0,
            lopsided=0 if symmetric else 1, sign=0, plus=0, minus=0, plus_infinity=0, minus_infinity=0, saturates=True,
            **common,
        )  # fmt: skip
    plus, minus, plus_infinity, minus_infinity = (signed(code, fmt) for code in ends)
    return Target(
        fraction_bits=fmt.fraction_bits, emin=fmt.emin, emax=fmt.emax, most=fmt.max_magnitude, lopsided=0,
        base=0 if fmt.subnormals else 1 << fmt.fraction_bits, sign=fmt.sign_bit if fmt.signed else 0, plus=plus,
        minus=minus, plus_infinity=plus_infinity, minus_infinity=minus_infinity,
        saturates=Overflow(overflow) is Overflow.SATURATE, **common,
    )  # fmt: skip


def container(fmt: Format) -> torch.dtype:
    """The dtype of codes: uint8, int16, int32 or int64."""
    bits = fmt.container_bits
    return torch.uint8 if bits <= 8 else torch.int16 if bits <= 16 else torch.int32 if bits <= 32 else torch.int64


def signed(code: int, fmt: Format) -> int:
    """A code as an integer of its container's dtype."""
    size = torch.iinfo(container(fmt))
    return code - (1 << size.bits) if code > size.max else code


def encode(to: Target, x: Tensor, down: Tensor | None = None, words: Tensor | None = None) -> Tensor:
    """Codes of x / 2^down, each rounded once; NaNs become the canonical NaN, or code 0 in a format without NaN.

    x: float32 or float64. down: integers that broadcast with x; of a float32 x whose subnormals, in the units of
    2^down, are below the format's normal numbers. words: random bits for each number, of stochastic rounding.
    """
    x = x.double() if to.wide else x
    of = DOUBLE if x.dtype == torch.float64 else SINGLE
    bits = x.view(torch.int64 if of is DOUBLE else torch.int32)
    magnitude, sign = bits & of.magnitude, bits >> of.sign
    low, top = to.emin + of.bias, to.emax + 1 + of.bias
    least, most = (low, top) if down is None else (down.to(bits.dtype) + low, down.to(bits.dtype) + top)
    exp = (magnitude >> of.fraction).clamp(min=1)
    sig = magnitude - ((exp - 1) << of.fraction)
    exp = exp.clamp(max=most)  # beyond every number already
    unit = exp.clamp(min=least)
    shift = (unit - exp + (of.fraction - to.fraction_bits)).clamp(max=of.fraction + 2 + to.random_bits)
    steps = (unit - least) << to.fraction_bits
    steps = steps + _rounded(to, sig, shift, steps, sign, words)
    if to.base:
        steps = (steps - to.base).masked_fill(exp < least, 0)
    return _stored(to, of, steps, magnitude, sign).to(to.dtype)


def _rounded(to: Target, sig: Tensor, shift: Tensor, base: Tensor, sign: Tensor, words: Tensor | None) -> Tensor:
    """sig / 2^shift as an integer. base: what it is added to, whose last bit counts where there is no fraction."""
    last = torch.iinfo(sig.dtype).bits - 1
    if to.random_bits:
        assert words is not None
        more = shift - to.random_bits
        out = (sig >> more.clamp(0, last)) << (-more).clamp(min=0) & (1 << to.random_bits) - 1
        return (sig >> shift.clamp(max=last)) + ((out + words) >> to.random_bits)
    match to.rounding:
        case Rounding.RZ:
            return sig >> shift
        case Rounding.RNA:
            return (sig + (1 << (shift - 1))) >> shift
    below = (1 << shift) - 1  # of these any takes what is cut off up
    match to.rounding:
        case Rounding.RU:
            below = below & ~sign
        case Rounding.RD:
            below = below & sign
        case _:
            kept = sig >> shift
            odd = (kept if to.fraction_bits else kept + base) & 1
            below = (1 << (shift - 1)) - 1 + odd if to.rounding is Rounding.RNE else below & (odd - 1)
    return (sig + below) >> shift


def _stored(to: Target, of: FloatBits, steps: Tensor, magnitude: Tensor, sign: Tensor) -> Tensor:
    """Codes of magnitudes as steps from zero, with their signs."""
    over = None if to.saturates else steps > to.most
    steps = torch.minimum(steps, to.most - sign) if to.lopsided else steps.clamp(max=to.most)
    if to.sign:
        minus = sign & to.sign
        code = steps | (minus if to.signed_zero else minus.masked_fill(steps == 0, 0))
    else:
        code = ((steps ^ sign) - sign) & to.mask
    code = code << to.padding if to.padding else code
    if over is not None:
        beyond, infinite = (
            (sign & (minus ^ plus)) ^ plus
            for plus, minus in ((to.plus, to.minus), (to.plus_infinity, to.minus_infinity))
        )
        code = torch.where(magnitude == of.infinity, infinite, torch.where(over, beyond, code))
    return code.masked_fill(magnitude > of.infinity, to.nan)


def decode(fmt: Format, codes: Tensor) -> Tensor:
    """The exact value of every code, float64. fmt: one of normal binary64 numbers."""
    code = (codes.long() & (1 << fmt.container_bits) - 1) >> fmt.padding
    if isinstance(fmt, TableFormat):
        return torch.tensor(fmt.numbers, dtype=torch.float64, device=codes.device)[code]
    if isinstance(fmt, FixedFormat):
        return (code - ((code & fmt.sign_bit) << 1)).double() * 2.0**-fmt.fraction_bits
    if isinstance(fmt, ExponentFormat):
        return _with_nans(power(code - fmt.bias), code, fmt.nan)
    magnitude = code & fmt.sign_bit - 1
    exp, frac = magnitude >> fmt.fraction_bits, magnitude & (1 << fmt.fraction_bits) - 1
    hidden = (exp > 0) if fmt.subnormals else (magnitude > 0)
    sig = frac + (hidden.long() << fmt.fraction_bits)
    value = sig.double() * power(exp.clamp(min=fmt.least_bexp) - (fmt.bias + fmt.fraction_bits))
    if fmt.infinity_magnitude is not None:
        value = value.masked_fill(magnitude == fmt.infinity_magnitude, torch.inf)
    if fmt.signed:
        value = torch.where(code >= fmt.sign_bit, -value, value)
    if fmt.nan == "ieee":
        return value.masked_fill(magnitude > fmt.top_bexp << fmt.fraction_bits, torch.nan)
    return _with_nans(value, code, fmt.nan)


def _with_nans(values: Tensor, code: Tensor, nans: tuple[int, ...]) -> Tensor:
    for nan in nans:
        values = values.masked_fill(code == nan, torch.nan)
    return values


def power(exp: Tensor) -> Tensor:
    """2^exp, float64. exp: int64, -1022 to 1023."""
    return (exp + DOUBLE.bias << DOUBLE.fraction).view(torch.float64)


def random_words(seed: int, count: int, bits: int, device: torch.device) -> Tensor:
    """`hwsim.formats.stochastic.random_words` from counter 0: int32, or int64 of more than 30 bits."""
    keys = [_word(seed), _word(seed >> 32), _word(PARITY ^ seed ^ seed >> 32)]
    place = torch.arange(count, device=device)
    low, high = place.to(torch.int32).add_(keys[0]), (place >> 32).to(torch.int32).add_(keys[1])
    del place
    for turn in range(ROUNDS):
        low.add_(high)
        rotation = ROTATIONS[turn % 8]
        turned = high << rotation
        high.bitwise_right_shift_(32 - rotation).bitwise_and_((1 << rotation) - 1).bitwise_or_(turned).bitwise_xor_(low)
        if turn % 4 == 3:
            injection = turn // 4 + 1
            low.add_(keys[injection % 3])
            high.add_(_word(keys[(injection + 1) % 3] + injection))
    word = low if bits <= NARROW_RANDOM else low.long()
    return (word >> 32 - bits) & (1 << bits) - 1


def _word(value: int) -> int:
    """The low 32 bits as an int32."""
    return (value + (1 << 31) & WORD) - (1 << 31)
