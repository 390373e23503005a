"""The method `exact`: all terms exactly, rounded at the end of K or after each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from hwsim.model.addition import exact_sum
from hwsim.model.carried import ExactSoFar, ResultCode
from hwsim.model.method import Summed, SumMethod, total_term
from hwsim.model.terms import Term
from hwsim.spec import ExactSum
from hwsim.spec.keys import Rounding


class Exact(SumMethod):
    """Products and the addend, or the exact sum so far, are summed exactly.

    rounding: the result's, by which a sum of zero may have its sign.
    """

    def __init__(self, rule: ExactSum, rounding: Rounding):
        self.rule, self.rounding = rule, rounding

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The exact sum; none where a term is special."""
        if special is not None:
            return Summed(special)
        every = terms if addend is None else (*terms, addend)
        total, unit_exp = exact_sum(every)
        return Summed(total_term(total, unit_exp, every, self.rule.zero, self.rounding), total, unit_exp)

    def carried(self, summed: Summed, code: int) -> ResultCode | ExactSoFar:
        """The result after each group, or the exact sum, as the key `rounded` says."""
        match self.rule.rounded:
            case "group":
                return ResultCode(code)
            case "end":
                return ExactSoFar(summed.outcome, code)
            case _:
                assert_never(self.rule.rounded)
