"""Sums that need no window: special values among terms, and one exact addition with one rounding."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import infinity_code, pack, round_to
from hwsim.model.terms import Term


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


def zero_sign(terms: Sequence[Term], rounding: str) -> int:
    """The sign of a sum of exactly zero, as IEEE 754-2019, section 6.3, has it: that which all terms share.

    Where they differ: positive, and negative when rounding down.
    """
    signs = {term.sign for term in terms}
    return signs.pop() if len(signs) == 1 else int(rounding == "rd")


def add(fmt: FloatFormat, terms: Sequence[Term], rounding: str) -> int:
    """The exact sum of one or two terms, rounded once to `fmt`; IEEE 754-2019's signs of zero."""
    special = combine_specials(terms)
    if special is not None:
        if special.cls is Class.NAN:
            return fmt.canonical_nan or 0
        return infinity_code(fmt, special.sign, "infinity")
    unit_exp = min(term.exp - term.fraction_bits for term in terms)
    total = sum((-1) ** term.sign * term.sig << term.exp - term.fraction_bits - unit_exp for term in terms)
    if total == 0:
        return pack(fmt, zero_sign(terms, rounding), 0)
    return round_to(fmt, int(total < 0), abs(total), unit_exp, rounding, "infinity").code
