"""Sums that need no window: special values among terms, and one exact addition with one rounding."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import infinity_code, nan_code, pack, round_to
from hwsim.model.terms import Term
from hwsim.spec.keys import Overflow, Rounding, Tininess


def combine_specials(terms: Sequence[Term]) -> Term | None:
    """NaN if any term is, or if infinities of both signs meet; else an infinity if there is one; else None."""
    infinity: Term | None = None
    for term in terms:
        if term.cls is Class.NAN:
            return term
        if term.cls is Class.INFINITY:
            if infinity is not None and infinity.sign != term.sign:
                return Term(0, 0, 0, term.fraction_bits, Class.NAN)
            infinity = term
    # A NaN may still follow an infinity; the loop above has then returned.
    return infinity


def zero_sign(terms: Sequence[Term], rounding: Rounding) -> int:
    """The sign of a sum of exactly zero, as IEEE 754-2019, section 6.3, has it: that which all terms share.

    Where they differ: positive, and negative when rounding down.
    """
    first = terms[0].sign
    return first if all(term.sign == first for term in terms) else int(rounding == "rd")


def exact_sum(terms: Sequence[Term]) -> tuple[int, int]:
    """The exact sum of finite terms, at least one: an integer, and the exponent of its unit."""
    unit_exp = min(term.exp - term.fraction_bits for term in terms)
    return sum((-1) ** term.sign * term.sig << term.exp - term.fraction_bits - unit_exp for term in terms), unit_exp


def add(
    fmt: FloatFormat,
    terms: Sequence[Term],
    rounding: Rounding,
    flush: Tininess | None = None,
    overflow: Overflow = "ieee",
) -> int:
    """The exact sum of one or two terms, rounded once to `fmt`; IEEE 754-2019's signs of zero.

    overflow: what takes the place of what is too large, and of infinity: what IEEE 754-2019, section 7.4, has for the
    rounding, unless said. flush: what makes a result a zero of its sign by being subnormal.
    """
    special = combine_specials(terms)
    if special is not None:
        if special.cls is Class.NAN:
            return nan_code(fmt)
        return infinity_code(fmt, special.sign, overflow)
    total, unit_exp = exact_sum(terms)
    if total == 0:
        return pack(fmt, zero_sign(terms, rounding) & fmt.signed_zero, 0)
    return round_to(fmt, int(total < 0), abs(total), unit_exp, rounding, overflow, flush=flush).code


def flushed_code(fmt: FloatFormat, code: int) -> int:
    """A code; where it is a subnormal's, that of a zero of its sign."""
    bare = code >> fmt.padding
    if not fmt.subnormals or not 0 < bare & (fmt.sign_bit - 1) < 1 << fmt.fraction_bits:
        return code
    return pack(fmt, int(bool(bare & fmt.sign_bit) and fmt.signed_zero), 0)
