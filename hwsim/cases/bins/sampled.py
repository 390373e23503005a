"""What a case did, as samplers look at it: the model's record, and what follows from it for every term."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.cases.support import one_window
from hwsim.formats import Class
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum

SignedTerm = tuple[int, Term, int, int]


class SampledGroup(NamedTuple):
    """One group of a case.

    a, b: the codes of its lanes. place: where in the case it is. finite: no term is NaN or infinite.
    terms: of each product other than zero its lane, the term, how many of its places are below the window (negative:
    none, with room), and what stands there. Empty unless finite.
    addend: the same of the addend, or of the partial sum, if it is not zero; its lane is -1.
    holders: lanes of the products that have the largest exponent `top`; top is None for zeros only.
    """

    case: Case
    group: Group
    a: tuple[int, ...]
    b: tuple[int, ...]
    place: int
    finite: bool
    terms: list[SignedTerm]
    addend: SignedTerm | None
    holders: list[int]
    top: int | None


class SampledCase(NamedTuple):
    """A whole case."""

    case: Case
    explanation: Explanation
    groups: list[SampledGroup]


def sampled_case(case: Case, explanation: Explanation) -> SampledCase:
    """What a case did. explanation: what the definition makes of it. There are groups in one plain window alone."""
    rule, lanes = explanation.unit.sum, explanation.unit.instruction.lanes
    sampled: list[SampledGroup] = []
    if not isinstance(rule, AlignedSum) or not one_window(explanation.unit):
        return SampledCase(case, explanation, sampled)
    for index, group in enumerate(explanation.groups):
        at = index * lanes
        sampled.append(_group(case, group, case.a[at : at + lanes], case.b[at : at + lanes], index, rule.fraction_bits))
    return SampledCase(case, explanation, sampled)


def _group(case: Case, group: Group, a: tuple[int, ...], b: tuple[int, ...], index: int, window: int) -> SampledGroup:
    top, finite = group.max_exp, group.special is None
    if not finite or top is None:
        return SampledGroup(case, group, a, b, index, finite, [], None, [], None)
    terms, holders = [], []
    for lane, term in enumerate(group.products):
        if term.sig:
            below = top - term.exp + term.fraction_bits - window
            terms.append((lane, term, below, term.sig & ((1 << below) - 1) if below > 0 else 0))
            if term.exp == top:
                holders.append(lane)
    addend, one = None, group.addend
    if one is not None and one.cls is Class.NORMAL:
        below = top - one.exp + one.fraction_bits - window
        addend = (-1, one, below, one.sig & ((1 << below) - 1) if below > 0 else 0)
    return SampledGroup(case, group, a, b, index, True, terms, addend, holders, top)
