"""The method `aligned`: all terms of a group in one window."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.model.method import Summed, SumMethod, total_term
from hwsim.model.terms import Term
from hwsim.model.window import AlignedTerms, any_lost, cut_magnitude, max_exponent, window
from hwsim.spec import AlignedSum
from hwsim.spec.keys import Rounding
from hwsim.spec.sums import SumCut


class Aligned(SumMethod):
    """Products, or scaled sums of them, and the addend are aligned to the largest exponent, and summed.

    rounding: the result's, by which a sum of zero may have its sign.
    """

    def __init__(self, rule: AlignedSum, rounding: Rounding):
        self.rule, self.rounding = rule, rounding

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum in the window; where a term is special, max_exp alone."""
        rule, every = self.rule, terms if addend is None else (*terms, addend)
        bits = rule.fraction_bits
        if special is not None:
            max_exp = max_exponent(every, rule.zero_terms, rule.max_exp_floor)
            return Summed(special, max_exp=max_exp, aligned=(0,) * len(every), bits=bits)
        kept = window(every, bits, rule.term_lost, rule.zero_terms, rule.max_exp_floor)
        left = cut_sum(kept, rule.cut)
        outcome = total_term(left.total, left.unit_exp, every, rule.zero, self.rounding)
        sticky = rule.sticky and any_lost(every, kept)
        uncut = None if rule.cut is None else kept.total
        return Summed(outcome, left.total, kept.unit_exp, kept.max_exp, kept.aligned, bits, sticky=sticky, uncut=uncut)


def cut_sum(kept: AlignedTerms, rule: SumCut | None) -> AlignedTerms:
    """A window's sum without the places that `sum.cut` has it lose: zeros stand there. None: it loses none."""
    if rule is None:
        return kept
    total = kept.total
    left = cut_magnitude(abs(total), rule.bits, int(total < 0), rule.lost) << rule.bits
    return kept._replace(total=-left if total < 0 else left)
