"""Decode, convert and multiply: codes become terms, exactly."""

from __future__ import annotations

from typing import NamedTuple, assert_never

from hwsim.formats import Class, Fields, FloatFormat, Format, unpack
from hwsim.spec.keys import Number, ZeroSigns


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

    @property
    def integer(self) -> int:
        """`sig` with the sign."""
        return -self.sig if self.sign else self.sig


def factor(fmt: Number, to: FloatFormat | None, daz: bool, zeros: ZeroSigns, code: int) -> Fields:
    """A factor's code, decoded and made ready to multiply.

    to: the format that it is converted to, which holds every number of `fmt`; None for none.
    daz: whether a subnormal of the format that is multiplied counts as a zero of its sign. zeros: whether a zero, and
    what counts as one, keeps its sign.
    """
    fields = unpack(fmt, code)
    if to is not None:
        fields = convert(fields, fmt.fraction_bits, to)
    if daz and fields.cls is Class.SUBNORMAL:
        fields = fields._replace(sig=0, cls=Class.ZERO)
    if fields.cls is not Class.ZERO:
        return fields
    match zeros:
        case "signed":
            return fields
        case "positive":
            return fields._replace(sign=0)
        case _:
            assert_never(zeros)


def positive_zero(fmt: Number, code: int, flush: bool) -> int:
    """An addend's code; that of +0 where it is a zero, or, with `flush`, a subnormal."""
    cls = unpack(fmt, code).cls
    return 0 if cls is Class.ZERO or (flush and cls is Class.SUBNORMAL) else code


def convert(fields: Fields, fraction_bits: int, to: FloatFormat) -> Fields:
    """A decoded number in another format that holds it, as that format has it: subnormal there, or normal.

    fraction_bits: those of the format that it was decoded from.
    """
    if fields.cls in (Class.NAN, Class.INFINITY):
        return fields
    if fields.sig == 0:
        return fields._replace(exp=to.emin)
    leading = fields.sig.bit_length() - 1 + fields.exp - fraction_bits
    exp = max(leading, to.emin)
    shift = fields.exp - fraction_bits - (exp - to.fraction_bits)
    # Exact: the format holds the number, so that a shift to the right loses zeros.
    sig = fields.sig << shift if shift >= 0 else fields.sig >> -shift
    return Fields(fields.sign, exp, sig, Class.NORMAL if leading >= to.emin else Class.SUBNORMAL)


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


def limited(term: Term, limit: int) -> Term:
    """A product; an infinity of its sign where its magnitude is 2^limit or more."""
    if term.cls is not Class.NORMAL:
        return term
    if term.sig.bit_length() - 1 + term.exp - term.fraction_bits < limit:
        return term
    return Term(term.sign, 0, 0, term.fraction_bits, Class.INFINITY)
