"""Sums by rounded additions in one format, whatever their order: what `sequential` and `pairwise` share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import assert_never

from hwsim.model.addition import add
from hwsim.model.method import Addition, Summed, SumMethod
from hwsim.model.terms import Term, addend_term
from hwsim.spec import RoundedSum


class RoundedAdditions(SumMethod):
    """Every addition rounds as the rule says; special values are dealt with one by one."""

    def __init__(self, rule: RoundedSum):
        self.rule = rule

    @property
    def fused(self) -> bool:
        """Whether a product enters an addition exactly; else it is rounded before."""
        match self.rule.product:
            case "fused":
                return True
            case "rounded":
                return False
            case _:
                assert_never(self.rule.product)

    @abstractmethod
    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """Every rounding, in order; the last one has the sum."""

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum that the last addition leaves."""
        additions = self.additions(terms, addend)
        return Summed(self.term(additions[-1]), additions=tuple(additions))

    def add(self, name: str, *terms: Term) -> Addition:
        """One addition, or the rounding of one term."""
        rule = self.rule
        return Addition(name, terms, add(rule.format, terms, rule.rounding, rule.flushes, rule.overflow))

    def term(self, addition: Addition) -> Term:
        """The result of an addition, to go on with."""
        return addend_term(self.rule.format, addition.code)
