"""Readings of the method `aligned`: the same window by rules that a specification leaves open (hwsim/explain)."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import Class
from hwsim.model.addition import combine_specials, exact_sum
from hwsim.model.aligned import cut_sum
from hwsim.model.method import Summed, SumMethod, total_term
from hwsim.model.result import ResultRounding
from hwsim.model.terms import Term, addend_term
from hwsim.model.window import cut_magnitude, max_exponent, window
from hwsim.spec import ReadAlignedSum


class ReadAligned(SumMethod):
    """Terms in one window, as a `ReadAlignedSum` has them. result: how a unit's groups are rounded."""

    def __init__(self, rule: ReadAlignedSum, result: ResultRounding):
        self.rule, self.result = rule, result

    def sum(self, terms: Sequence[Term], addend: Term | None, special: Term | None) -> Summed:
        """The sum in the window, with what the group starts from; where a term is special, max_exp alone."""
        rule = self.rule
        if rule.starts_late and not rule.unrounded:
            # The products' sum is rounded first, and may become an infinity, which what the group starts from meets.
            special = combine_specials(terms)
        if rule.leading:
            terms = [renormalised(term) for term in terms]
        inside = terms if addend is None or rule.starts_late else (*terms, addend)
        max_exp = max_exponent(inside, rule.zero_terms, rule.max_exp_floor)
        if special is not None:
            return Summed(special, max_exp=max_exp, aligned=(0,) * len(inside), bits=rule.fraction_bits)
        bits = _all_bits(inside, max_exp) if rule.lossless else rule.fraction_bits
        kept = cut_sum(window(inside, bits, rule.lost, rule.zero_terms, rule.max_exp_floor), rule.cut)
        total, unit_exp = self._cut(kept.total, kept.unit_exp) if rule.significant else (kept.total, kept.unit_exp)
        outcome = total_term(total, unit_exp, inside, rule.zero, self.result.rule.rounding)
        if addend is not None and rule.starts_late:
            outcome = self._with_start(outcome, terms, addend)
        return Summed(outcome, kept.total, kept.unit_exp, kept.max_exp, kept.aligned, bits)

    def _cut(self, total: int, unit_exp: int | None) -> tuple[int, int | None]:
        """A sum, cut to 1 + fraction_bits significant bits."""
        shift = abs(total).bit_length() - 1 - self.rule.fraction_bits
        if unit_exp is None or shift <= 0:
            return total, unit_exp
        kept = cut_magnitude(abs(total), shift, int(total < 0), self.rule.lost)
        return (-kept if total < 0 else kept), unit_exp + shift

    def _with_start(self, products: Term, terms: Sequence[Term], start: Term) -> Term:
        """The products' sum with what the group starts from: exact, or an addition of IEEE 754 after a rounding."""
        rounding = self.result.rule.rounding
        if self.rule.unrounded:
            total, unit_exp = exact_sum((products, start))
            return total_term(total, unit_exp, (*terms, start), self.rule.zero, rounding)
        partial = addend_term(self.result.rule.format, self.result.term(products, False).code)
        special = combine_specials((start, partial))
        if special is not None:
            return special
        total, unit_exp = exact_sum((start, partial))
        return total_term(total, unit_exp, (start, partial), "ieee", rounding)


def renormalised(term: Term) -> Term:
    """A term with the exponent of its leading one, if it has one."""
    if term.cls is not Class.NORMAL or term.sig == 0:
        return term
    places = term.sig.bit_length() - 1 - term.fraction_bits
    return Term(term.sign, term.exp + places, term.sig, term.fraction_bits + places, term.cls)


def _all_bits(terms: Sequence[Term], max_exp: int | None) -> int:
    """The bits below max_exp that a window needs to lose nothing of its terms."""
    lowest = [term.exp - term.fraction_bits for term in terms if term.cls is Class.NORMAL]
    return 0 if max_exp is None else max(0, max_exp - min(lowest))
