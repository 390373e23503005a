"""Compiled integer arithmetic: rounding, codes, and sums wider than 64 bits."""

from __future__ import annotations

from typing import Any

from hwsim.compiled import compiled, inlined

# Roundings of a magnitude, by number.
RZ, RD, RNE, RTO, RNA, RU = range(6)
BY_NAME = {"rz": RZ, "rd": RD, "rne": RNE, "rto": RTO, "rna": RNA, "ru": RU}

# A format as a row of integers: what `rounded` and `decoded` take.
FRACTION, EMIN, MOST, SIGN_BIT, PADDING, ROUNDING, POSITIVE, FLUSH = range(8)

LIMB, MASK = 32, (1 << 32) - 1
FAR = 62  # bits of a magnitude, at most


@inlined
def length(x: int) -> int:
    """Bits of x, which is at least 0 and below 2^63."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if x >> step:
            x >>= step
            bits += step
    return bits + (1 if x else 0)


@inlined
def cut(sig: int, shift: int, sign: int, rounding: int) -> int:
    """sig * 2^-shift, rounded to an integer. sig: 0 to 2^62; a negative shift must leave it within 63 bits."""
    if shift <= 0:
        return sig << -shift
    if shift > FAR:
        kept, rest, half = 0, sig, 0
    else:
        kept, rest, half = sig >> shift, sig & ((1 << shift) - 1), 1 << (shift - 1)
    if rest == 0 or rounding == RZ:
        return kept
    if rounding == RTO:
        return kept | 1
    if rounding == RD:
        return kept + sign
    if rounding == RU:
        return kept + 1 - sign
    if half == 0 or rest < half:
        return kept
    if rest > half or rounding == RNA:
        return kept + 1
    return kept + (kept & 1)


@compiled
def rounded(fmt: Any, sign: int, sig: int, unit_exp: int) -> Any:
    """The code of (-1)^sign * sig * 2^unit_exp; -1 where it is too large. sig > 0."""
    exp = length(sig) - 1 + unit_exp
    binade = max(exp, fmt[EMIN])
    magnitude = ((binade - fmt[EMIN]) << fmt[FRACTION]) + cut(
        sig, binade - fmt[FRACTION] - unit_exp, sign, fmt[ROUNDING]
    )
    if magnitude > fmt[MOST]:
        return -1
    if fmt[FLUSH] and magnitude < 1 << fmt[FRACTION]:
        magnitude = 0
    if magnitude == 0 and fmt[POSITIVE]:
        sign = 0
    return (sign * fmt[SIGN_BIT] | magnitude) << fmt[PADDING]


@inlined
def decoded(fmt: Any, code: int) -> tuple[int, int]:
    """A finite code's signed significand and its reference exponent."""
    code >>= fmt[PADDING]
    magnitude = code & (fmt[SIGN_BIT] - 1)
    biased, sig = magnitude >> fmt[FRACTION], magnitude & ((1 << fmt[FRACTION]) - 1)
    if biased:
        sig |= 1 << fmt[FRACTION]
        biased -= 1
    return (-sig if code & fmt[SIGN_BIT] else sig), biased + fmt[EMIN]


@compiled
def add_to(words: Any, lowest: int, value: int, unit_exp: int) -> None:
    """Add value * 2^unit_exp to a sum of 32-bit limbs, the first of which has unit 2^lowest. |value| < 2^62."""
    if value == 0:
        return
    sign = -1 if value < 0 else 1
    size = abs(value)
    at, shift = (unit_exp - lowest) >> 5, (unit_exp - lowest) & 31
    low, high = (size & MASK) << shift, (size >> LIMB) << shift
    words[at] += sign * (low & MASK)
    words[at + 1] += sign * ((low >> LIMB) + (high & MASK))
    words[at + 2] += sign * (high >> LIMB)


@compiled
def gathered(words: Any) -> tuple[int, int, int]:
    """The sign of a sum of limbs, its first 62 bits or fewer, and the place of the last of these bits.

    Lower bits are jammed into the last, which changes no rounding to 60 bits or fewer. The limbs are overwritten.
    """
    carry = 0
    for i in range(len(words)):
        here = words[i] + carry
        carry = here >> LIMB
        words[i] = here & MASK
    sign = 1 if carry < 0 else 0
    if sign:
        borrow = 1
        for i in range(len(words)):
            here = (words[i] ^ MASK) + borrow
            borrow = here >> LIMB
            words[i] = here & MASK
    top = len(words) - 1
    while top > 0 and words[top] == 0:
        top -= 1
    sig, place, sticky = words[top], top * LIMB, 0
    if top > 0:
        room = FAR - length(sig)
        if room >= LIMB:
            sig, place, room = sig << LIMB | words[top - 1], place - LIMB, room - LIMB
            rest = top - 2
        else:
            rest = top - 1
        if rest >= 0 and room > 0:
            sig, place = sig << room | words[rest] >> (LIMB - room), place - room
            sticky = words[rest] & ((1 << (LIMB - room)) - 1)
            rest -= 1
        for i in range(rest + 1):
            sticky |= words[i]
    return sign, sig | (1 if sticky else 0), place
