"""Decode, convert, multiply, align and sum: codes become terms, terms integers in one window, and their sum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, assert_never

from hwsim.formats import Class, Fields, FloatFormat, Format, unpack
from hwsim.spec.keys import Factor, Lost, Number, Rounding, ZeroSigns


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

    @property
    def is_special(self) -> bool:
        """True if the term is NaN or an infinity."""
        return self.cls is Class.NAN or self.cls is Class.INFINITY

    @property
    def is_nan(self) -> bool:
        """True if the term is NaN."""
        return self.cls is Class.NAN

    @property
    def is_infinite(self) -> bool:
        """True if the term is an infinity."""
        return self.cls is Class.INFINITY

    @property
    def is_number(self) -> bool:
        """True if the term is a number other than zero."""
        return self.cls is Class.NORMAL

    @property
    def is_zero(self) -> bool:
        """True if the term is a zero."""
        return self.cls is Class.ZERO


def some(conditions: Iterable[bool]) -> bool:
    """True if any condition holds. With `greatest` and `least`, all that is asked of the terms of a group together."""
    return any(conditions)


def greatest(candidates: Iterable[tuple[int, bool]]) -> int | None:
    """The largest of the numbers that count; None where none does. candidates: numbers, each with whether it counts."""
    return max((number for number, counts in candidates if counts), default=None)


def least(numbers: Iterable[int]) -> int:
    """The smallest of some numbers."""
    return min(numbers)


def factor(fmt: Factor, to: FloatFormat | None, daz: bool, zeros: ZeroSigns, code: int) -> Fields:
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


ZeroTerms = Literal["skip", "count"]


def max_exponent(terms: Sequence[Term], zero_terms: ZeroTerms = "skip", floor: int | None = None) -> int | None:
    """The largest reference exponent of the terms other than zero; None when all are zero.

    zero_terms: `count`: beside a term other than zero, zero terms count with the exponents that they have.
    floor: the least that it is.
    """
    largest = greatest((term.exp, term.is_number) for term in terms)
    if largest is None:
        return None
    match zero_terms:
        case "skip":
            pass
        case "count":
            zeros = greatest((term.exp, term.is_zero) for term in terms)
            largest = largest if zeros is None else max(largest, zeros)
        case _:
            assert_never(zero_terms)
    return largest if floor is None else max(largest, floor)


def round_magnitude(sig: int, shift: int, sign: int, rounding: Rounding) -> int:
    """sig * 2^-shift as an integer, rounded.

    sig >= 0 is a magnitude whose sign is `sign`; `shift` may be negative (exact).
    rounding: rne (ties to even), rna (ties away), rz, ru (towards +inf), rd (towards -inf), rto (to odd: jam).
    """
    if shift <= 0:
        return sig << -shift
    kept, lost, half = sig >> shift, sig & ((1 << shift) - 1), 1 << (shift - 1)
    if not lost:
        return kept
    match rounding:
        case "rz":
            return kept
        case "rto":
            return kept | 1
        case "rne":
            return kept + (lost > half or (lost == half and kept & 1))
        case "rna":
            return kept + (lost >= half)
        case "ru":
            return kept + 1 - sign
        case "rd":
            return kept + sign
        case _:
            assert_never(rounding)


def cut_magnitude(sig: int, shift: int, sign: int, lost: Lost) -> int:
    """sig * 2^-shift as an integer, its bits below the window lost by that rule; arguments as of `round_magnitude`.

    ones-complement: a magnitude is truncated; a negative number is complemented and never gets the +1, which makes
    its magnitude one more, exact or not. Zero stays zero.
    """
    match lost:
        case "truncate":
            return sig >> shift if shift > 0 else sig << -shift
        case "floor":
            return round_magnitude(sig, shift, sign, "rd")
        case "ceil":
            return round_magnitude(sig, shift, sign, "ru")
        case "jam":
            return round_magnitude(sig, shift, sign, "rto")
        case "rne" | "rna":
            return round_magnitude(sig, shift, sign, lost)
        case "ones-complement":
            return round_magnitude(sig, shift, sign, "rz") + (sign if sig else 0)
        case _:
            assert_never(lost)


def align(term: Term, max_exp: int, fraction_bits: int, lost: Lost) -> int:
    """A term in units of 2^(max_exp - fraction_bits), signed.

    lost: what happens to the bits below the window, as `sum.lost` says.
    """
    shift = (max_exp - term.exp) + term.fraction_bits - fraction_bits
    magnitude = cut_magnitude(term.sig, shift, term.sign, lost)
    return -magnitude if term.sign else magnitude


def lost_part(term: Term, max_exp: int, fraction_bits: int) -> int:
    """The bits of a term's magnitude below the window, in units of its own last place: 0 where none of them is set."""
    return low_bits(term.sig, (max_exp - term.exp) + term.fraction_bits - fraction_bits)


def low_bits(sig: int, places: int) -> int:
    """The lowest places of a magnitude; 0 where there are none. places: may be negative."""
    return 0 if places <= 0 else sig & ((1 << places) - 1)


class AlignedTerms(NamedTuple):
    """Terms in units of 2^(max_exp - fraction_bits), and their sum. max_exp: None where every term is zero."""

    max_exp: int | None
    fraction_bits: int
    aligned: tuple[int, ...]
    total: int

    @property
    def term(self) -> Term:
        """The sum as a term of another window, at this one's max_exp; of class zero only where every term was."""
        exp, cls = (0, Class.ZERO) if self.max_exp is None else (self.max_exp, Class.NORMAL)
        return Term(int(self.total < 0), exp, abs(self.total), self.fraction_bits, cls)

    @property
    def unit_exp(self) -> int | None:
        """The exponent of the unit of the sum; None where every term is zero."""
        return None if self.max_exp is None else self.max_exp - self.fraction_bits


def any_lost(terms: Sequence[Term], aligned: AlignedTerms) -> bool:
    """True if any bit of the magnitudes of the terms is set below their window."""
    if aligned.max_exp is None:
        return False
    return some(lost_part(term, aligned.max_exp, aligned.fraction_bits) != 0 for term in terms)


def window(
    terms: Sequence[Term], fraction_bits: int, lost: Lost, zero_terms: ZeroTerms, floor: int | None
) -> AlignedTerms:
    """Finite terms, aligned to the largest exponent, and summed."""
    return window_at(max_exponent(terms, zero_terms, floor), terms, fraction_bits, lost)


def window_at(max_exp: int | None, terms: Sequence[Term], fraction_bits: int, lost: Lost) -> AlignedTerms:
    """Finite terms, aligned to max_exp, and summed; max_exp is None where every term is zero."""
    if max_exp is None:
        return AlignedTerms(None, fraction_bits, (0,) * len(terms), 0)
    aligned = tuple(align(term, max_exp, fraction_bits, lost) for term in terms)
    return AlignedTerms(max_exp, fraction_bits, aligned, sum(aligned))
