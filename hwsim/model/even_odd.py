"""The method `even-odd`: a window for the even lanes, one for the odd lanes, and a third for both sums."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.model.method import Halves, Summed, SumMethod, total_term
from hwsim.model.terms import Term
from hwsim.model.window import AlignedTerms, window
from hwsim.spec import EvenOddSum
from hwsim.spec.keys import Lost, Rounding


class EvenOdd(SumMethod):
    """Even and odd lanes are summed in a window each. An addend is added late, or there is none.

    rounding: the result's, by which a sum of zero may have its sign.
    """

    takes_addend = False

    def __init__(self, rule: EvenOddSum, rounding: Rounding):
        self.rule, self.rounding = rule, rounding

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum of both halves; where a term is special, nothing is aligned."""
        rule, bits = self.rule, self.rule.combine.fraction_bits
        if special is not None:
            return Summed(special, aligned=(0,) * len(terms), bits=bits)
        even, odd = (
            window(terms[first::2], rule.fraction_bits, rule.lost, rule.zero_terms, rule.max_exp_floor)
            for first in (0, 1)
        )
        halves = combine(even, odd, bits, rule.combine.lost)
        both = halves.combined
        outcome = total_term(both.total, both.unit_exp, terms, rule.zero, self.rounding)
        by_lane = tuple((odd if lane % 2 else even).aligned[lane // 2] for lane in range(len(terms)))
        return Summed(outcome, both.total, both.unit_exp, both.max_exp, by_lane, bits, halves)


def combine(even: AlignedTerms, odd: AlignedTerms, fraction_bits: int, lost: Lost) -> Halves:
    """Both sums aligned to the larger of their exponents, and added."""
    return Halves(even, odd, window((even.term, odd.term), fraction_bits, lost, "skip", None))
