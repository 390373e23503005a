"""Align and sum: terms become integers in one window, and one integer."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import Class
from hwsim.model.terms import Term


def max_exponent(terms: Sequence[Term], zero_terms: str = "skip", floor: int | None = None) -> int | None:
    """The largest reference exponent of the terms other than zero; None when all are zero.

    zero_terms: `count`: beside a term other than zero, zero terms count with the exponents that they have.
    floor: the least that it is.
    """
    largest = max((term.exp for term in terms if term.cls is Class.NORMAL), default=None)
    if largest is None:
        return None
    if zero_terms == "count":
        largest = max([largest, *(term.exp for term in terms if term.cls is Class.ZERO)])
    return largest if floor is None else max(largest, floor)


def round_magnitude(sig: int, shift: int, sign: int, rounding: str) -> int:
    """sig * 2^-shift as an integer, rounded.

    sig >= 0 is a magnitude whose sign is `sign`; `shift` may be negative (exact).
    rounding: rne (ties to even), rna (ties away), rz, ru (towards +inf), rd (towards -inf), rto (to odd: jam).
    """
    if shift <= 0:
        return sig << -shift
    kept, lost, half = sig >> shift, sig & ((1 << shift) - 1), 1 << (shift - 1)
    if not lost or rounding == "rz":
        return kept
    if rounding == "rto":
        return kept | 1
    if rounding == "rne":
        return kept + (lost > half or (lost == half and kept & 1))
    if rounding == "rna":
        return kept + (lost >= half)
    return kept + (sign if rounding == "rd" else 1 - sign)


# What `sum.lost` does to one term is a rounding of that term to the window.
LOST = {"truncate": "rz", "floor": "rd", "jam": "rto", "rne": "rne", "rna": "rna"}


def align(term: Term, max_exp: int, fraction_bits: int, lost: str) -> int:
    """A term in units of 2^(max_exp - fraction_bits), signed.

    lost: what happens to the bits below the window: truncate (of magnitude), floor, jam, rne, rna.
    """
    shift = (max_exp - term.exp) + term.fraction_bits - fraction_bits
    magnitude = round_magnitude(term.sig, shift, term.sign, LOST[lost])
    return -magnitude if term.sign else magnitude
