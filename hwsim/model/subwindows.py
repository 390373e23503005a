"""Sums of neighbouring products before the sum of their group: in windows of their own, or exact without scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from hwsim.formats import Class, Fields, Format, unpack
from hwsim.model.addition import combine_specials, exact_sum, zero_sign
from hwsim.model.scales import Subgroup
from hwsim.model.terms import Term, product
from hwsim.model.window import AlignedTerms, window
from hwsim.spec import Unit
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup


class SubgroupWindows(NamedTuple):
    """Windows of a group's parts, as `rule` has them. scales: the formats of scales that multiply their sums."""

    rule: WindowSubgroup
    scales: tuple[Format, Format] | None

    def subgroups(
        self, products: Sequence[Term], scale_a: Sequence[int], scale_b: Sequence[int]
    ) -> tuple[Subgroup, ...]:
        """The sums of a group's parts. scale_a, scale_b: a code for each lane, where scales multiply the sums."""
        lanes, parts = self.rule.lanes, []
        for first in range(0, len(products), lanes):
            part = self.subgroup(products[first : first + lanes])
            if self.scales is not None:
                a, b = (unpack(fmt, side[first]) for fmt, side in zip(self.scales, (scale_a, scale_b), strict=True))
                part = self.scaled(part, a, b)
            parts.append(part)
        return tuple(parts)

    def subgroup(self, products: Sequence[Term]) -> Subgroup:
        """One window's sum as a term at its max_exp; one of zero is of class zero, or not, as the rule says.

        A sum of products that are all zero stands at the largest of their exponents.
        """
        bits, special = self.rule.fraction_bits, combine_specials(products)
        if special is not None:
            kept = AlignedTerms(None, bits, (0,) * len(products), 0)
            return Subgroup(0, 0, None, None, special._replace(fraction_bits=bits), kept)
        kept = window(products, bits, self.rule.lost, "skip", None)
        sign = zero_sign(products, "rne") if kept.total == 0 else int(kept.total < 0)
        exp = max(term.exp for term in products) if kept.max_exp is None else kept.max_exp
        term = Term(sign, exp, abs(kept.total), bits, self._class(kept))
        return Subgroup(kept.total, exp - bits, None, None, term, kept)

    def _class(self, kept: AlignedTerms) -> Class:
        if kept.total != 0:
            return Class.NORMAL
        match self.rule.cancelled:
            case "skip":
                return Class.ZERO
            case "count":
                return Class.ZERO if kept.max_exp is None else Class.NORMAL
            case _:
                assert_never(self.rule.cancelled)

    def scaled(self, part: Subgroup, scale_a: Fields, scale_b: Fields) -> Subgroup:
        """A sum times both scales, from left to right, at its exponent plus theirs; a scale of zero makes a zero."""
        term = part.term
        counts = term.cls is Class.NORMAL and term.sig == 0 and scale_a.sig != 0 and scale_b.sig != 0
        for scale, fmt in zip((scale_a, scale_b), self.scales or (), strict=True):
            factor = Fields(term.sign, term.exp, term.sig, term.cls if term.sig or _special(term) else Class.ZERO)
            term = product(factor, scale, term.fraction_bits + fmt.fraction_bits)
        term = term._replace(cls=Class.NORMAL) if counts and term.cls is Class.ZERO else term
        return part._replace(scale_a=scale_a, scale_b=scale_b, term=term)


class UnscaledSums(NamedTuple):
    """Exact sums of a group's parts, which no scales multiply."""

    rule: ExactSubgroup

    def subgroups(
        self, products: Sequence[Term], scale_a: Sequence[int], scale_b: Sequence[int]
    ) -> tuple[Subgroup, ...]:
        """The sums of a group's parts."""
        lanes = self.rule.lanes
        return tuple(self.subgroup(products[first : first + lanes]) for first in range(0, len(products), lanes))

    def subgroup(self, products: Sequence[Term]) -> Subgroup:
        """One exact sum as a term of exponent 0; one of zero is of class zero, or not, as the rule says."""
        special = combine_specials(products)
        if special is not None:
            return Subgroup(0, 0, None, None, special)
        total, unit_exp = exact_sum(products)
        sign = zero_sign(products, "rne") if total == 0 else int(total < 0)
        counts = self.rule.cancelled == "count" and any(term.cls is Class.NORMAL for term in products)
        cls = Class.NORMAL if total or counts else Class.ZERO
        return Subgroup(total, unit_exp, None, None, Term(sign, 0, abs(total), -unit_exp, cls))


def _special(term: Term) -> bool:
    return term.cls in (Class.NAN, Class.INFINITY)


def subgroup_sums(unit: Unit) -> SubgroupWindows | UnscaledSums | None:
    """How parts of a unit's groups are summed; None without parts, and where they are those of `group_scales`."""
    rule, scale = unit.subgroup, unit.scale
    scales = (scale.a.format, scale.b.format) if scale is not None and scale.at == "subgroup" else None
    match rule:
        case WindowSubgroup():
            return SubgroupWindows(rule, scales)
        case ExactSubgroup():
            return UnscaledSums(rule) if scales is None else None
        case None:
            return None
        case _:
            assert_never(rule)
