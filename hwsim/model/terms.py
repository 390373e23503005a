"""Decode and multiply: codes become terms, exactly."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import Class, Fields, Format, unpack


class Term(NamedTuple):
    """One term of a sum: (-1)^sign * sig * 2^(exp - fraction_bits).

    exp: the reference exponent: of a product the sum of its factors' exponents, a subnormal factor counting as emin.
    sig: an integer; sig * 2^-fraction_bits is in [0, 4). Not normalised.
    cls: ZERO, NORMAL (any other number), INFINITY or NAN; `sig` is 0 unless NORMAL.
    """

    sign: int
    exp: int
    sig: int
    fraction_bits: int
    cls: Class


def product(a: Fields, b: Fields, fraction_bits: int, scale_exp: int = 0) -> Term:
    """The exact product of two decoded factors.

    fraction_bits: those of both factors together. scale_exp: the sum of both shared scales' exponents.
    """
    sign = a.sign ^ b.sign
    if Class.NAN in (a.cls, b.cls):
        return Term(0, 0, 0, fraction_bits, Class.NAN)
    if Class.INFINITY in (a.cls, b.cls):
        if Class.ZERO in (a.cls, b.cls):
            return Term(0, 0, 0, fraction_bits, Class.NAN)
        return Term(sign, 0, 0, fraction_bits, Class.INFINITY)
    sig = a.sig * b.sig
    return Term(sign, a.exp + b.exp + scale_exp, sig, fraction_bits, Class.NORMAL if sig else Class.ZERO)


def addend_term(fmt: Format, code: int) -> Term:
    """An addend, or a partial sum, as a term."""
    sign, exp, sig, cls = unpack(fmt, code)
    if cls is Class.SUBNORMAL:
        cls = Class.NORMAL
    return Term(sign, exp, sig, fmt.fraction_bits, cls)
