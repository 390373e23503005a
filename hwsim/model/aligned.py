"""The method `aligned`: all terms of a group in one window."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.model.method import Summed, SumMethod, total_term
from hwsim.model.terms import Term
from hwsim.model.window import any_lost, max_exponent, window
from hwsim.spec import AlignedSum
from hwsim.spec.keys import Rounding


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
        outcome = total_term(kept.total, kept.unit_exp, every, rule.zero, self.rounding)
        sticky = rule.sticky and any_lost(every, kept)
        return Summed(outcome, kept.total, kept.unit_exp, kept.max_exp, kept.aligned, bits, sticky=sticky)
