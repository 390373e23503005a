"""Sums of parts of a group: the even and the odd lanes of `even-odd`, and the scaled subgroups of `aligned`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hwsim.formats import Class, Fields
from hwsim.model.addition import combine_specials, exact_sum, zero_sign
from hwsim.model.terms import Term, product
from hwsim.model.window import align, max_exponent


class Window(NamedTuple):
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


def window(terms: Sequence[Term], fraction_bits: int, lost: str, zero_terms: str, floor: int | None) -> Window:
    """Finite terms, aligned to the largest exponent, and summed."""
    max_exp = max_exponent(terms, zero_terms, floor)
    if max_exp is None:
        return Window(None, fraction_bits, (0,) * len(terms), 0)
    aligned = tuple(align(term, max_exp, fraction_bits, lost) for term in terms)
    return Window(max_exp, fraction_bits, aligned, sum(aligned))


class Halves(NamedTuple):
    """The sums of `even-odd`: of the lanes 0, 2, ..., of the lanes 1, 3, ..., and both in a window of their own."""

    even: Window
    odd: Window
    combined: Window


def combine(even: Window, odd: Window, fraction_bits: int, lost: str) -> Halves:
    """Both sums aligned to the larger of their exponents, and added."""
    return Halves(even, odd, window((even.term, odd.term), fraction_bits, lost, "skip", None))


class LateWindow(NamedTuple):
    """The window of a late addend: the sum and the addend, aligned to the larger exponent.

    fraction_bits: of the total; sum_bits and addend_bits are what the two keep. dropped: the addend was too small.
    """

    max_exp: int | None
    fraction_bits: int
    kept_sum: int
    kept_addend: int
    dropped: bool

    @property
    def total(self) -> int:
        """Sum and addend together, in units of 2^(max_exp - fraction_bits)."""
        return self.kept_sum + self.kept_addend


class LateRule(NamedTuple):
    """The keys of `late` for operation `window`, and how zeros count."""

    sum_bits: int
    addend_bits: int
    lost: str
    drop_below: int | None
    zero_terms: str


def late_window(total: Term, addend: Term, rule: LateRule) -> LateWindow:
    """Finite sum and addend in one window.

    Each is cut to its own number of bits; the integers are in units of the finer of the two.
    """
    bits = max(rule.sum_bits, rule.addend_bits)
    max_exp = max_exponent((total, addend), rule.zero_terms)
    if max_exp is None:
        return LateWindow(None, bits, 0, 0, False)
    dropped = rule.drop_below is not None and addend.sig != 0 and addend.exp < max_exp - rule.drop_below
    kept_sum = align(total, max_exp, rule.sum_bits, rule.lost) << bits - rule.sum_bits
    kept_addend = 0 if dropped else align(addend, max_exp, rule.addend_bits, rule.lost) << bits - rule.addend_bits
    return LateWindow(max_exp, bits, kept_sum, kept_addend, dropped)


class Subgroup(NamedTuple):
    """One exact sum and its scales. total, unit_exp: the sum, 0 where it is not finite. term: scaled, to be aligned."""

    total: int
    unit_exp: int
    scale_a: Fields
    scale_b: Fields
    term: Term


def subgroup(products: Sequence[Term], scale_a: Fields, scale_b: Fields, scale_fraction_bits: int) -> Subgroup:
    """The exact sum of products, times both scales' significands, at the exponent of the scales.

    scale_fraction_bits: those of both scales together.
    """
    special = combine_specials(products)
    total, unit_exp = (0, 0) if special is not None else exact_sum(products)
    sign = zero_sign(products, "rne") if total == 0 else int(total < 0)
    cls = special.cls if special is not None else Class.NORMAL if total else Class.ZERO
    summed = Fields(special.sign if special is not None else sign, 0, abs(total), cls)
    # A term's significand is in units of 2^-fraction_bits, which takes the exponent of the sum's unit in.
    bits = scale_fraction_bits - unit_exp
    first = product(summed, scale_a, bits)
    if first.cls in (Class.NAN, Class.INFINITY):
        summed = Fields(first.sign, 0, 0, first.cls)
    else:
        summed = Fields(first.sign, scale_a.exp, first.sig, first.cls)
    return Subgroup(total, unit_exp, scale_a, scale_b, product(summed, scale_b, bits))
