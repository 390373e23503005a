"""Shared scales and sums of subgroups: where they enter the arithmetic of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from hwsim.base.errors import InputError
from hwsim.formats import Class, ExponentFormat, Fields, Format, unpack
from hwsim.model.rounding import combine_specials, exact_sum, zero_sign
from hwsim.model.terms import AlignedTerms, Term, greatest, product, window
from hwsim.spec import Unit
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup


class ProductScales(NamedTuple):
    """Powers of two, whose exponents add to those of the products. a, b: the formats of both sides' scales."""

    a: ExponentFormat
    b: ExponentFormat

    def exponents(self, scale_a: Sequence[int], scale_b: Sequence[int]) -> list[int | None]:
        """The exponent that scales add to each product; None where one is NaN. scale_a, scale_b: a code a lane."""
        return [scale_exponent(self.a, x, self.b, y) for x, y in zip(scale_a, scale_b, strict=True)]


def scale_exponent(a: ExponentFormat, x: int, b: ExponentFormat, y: int) -> int | None:
    """The sum of two scales' exponents; None where one is NaN."""
    if a.is_nan(x) or b.is_nan(y):
        return None
    return x - a.bias + y - b.bias


class Subgroup(NamedTuple):
    """The sum of a part of a group, and its scales, if it has any.

    total, unit_exp: the sum, 0 where it is not finite. term: scaled, to be summed with others. kept: its window, if it
    has one of its own.
    """

    total: int
    unit_exp: int
    scale_a: Fields | None
    scale_b: Fields | None
    term: Term
    kept: AlignedTerms | None = None


class SubgroupScales(NamedTuple):
    """Scales that multiply exact sums of products, as `rule` has them. a, b: the formats of both sides' scales."""

    rule: ExactSubgroup
    a: Format
    b: Format

    def subgroups(
        self, products: Sequence[Term], scale_a: Sequence[int], scale_b: Sequence[int], low: bool = False
    ) -> tuple[Subgroup, ...]:
        """The scaled sums of a group's parts. scale_a, scale_b: a code for each lane. low: the addend is low."""
        bits = self.a.fraction_bits + self.b.fraction_bits
        lanes = self.rule.least_lanes if low else self.rule.lanes
        return tuple(
            self.subgroup(products[i : i + lanes], unpack(self.a, scale_a[i]), unpack(self.b, scale_b[i]), bits)
            for i in range(0, len(products), lanes)
        )

    def decoded(self, scale_a: Sequence[int], scale_b: Sequence[int]) -> tuple[tuple[Fields, ...], tuple[Fields, ...]]:
        """The scales of every lane."""
        return tuple(unpack(self.a, code) for code in scale_a), tuple(unpack(self.b, code) for code in scale_b)

    def subgroup(
        self, products: Sequence[Term], scale_a: Fields, scale_b: Fields, scale_fraction_bits: int
    ) -> Subgroup:
        """One scaled sum; where its products cancel, it is of class zero or not, as the rule says."""
        part = subgroup(products, scale_a, scale_b, scale_fraction_bits)
        match self.rule.cancelled:
            case "skip":
                return part
            case "count":
                scaled = part.term.cls is Class.ZERO and scale_a.sig != 0 and scale_b.sig != 0
                cancels = scaled and any(term.cls is Class.NORMAL for term in products)
                return part._replace(term=part.term._replace(cls=Class.NORMAL)) if cancels else part
            case _:
                assert_never(self.rule.cancelled)


def is_low(products: Sequence[Term], scale_a: Sequence[Fields], scale_b: Sequence[Fields], addend: Term | None) -> bool:
    """True if the addend is zero, or its exponent below that of a product other than zero, scales counted.

    A product under a scale of zero is zero. scale_a, scale_b: of each product.
    """
    largest = greatest(
        (term.exp + x.exp + y.exp, term.is_number & (x.sig != 0) & (y.sig != 0))
        for term, x, y in zip(products, scale_a, scale_b, strict=True)
    )
    return largest is not None and (addend is None or not addend.is_number or addend.exp < largest)


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


def group_scales(unit: Unit) -> ProductScales | SubgroupScales | None:
    """The scales of products and of exact sums of a group; None without them.

    Raises ValueError for what the specification's rules and `supports` refuse.
    """
    if unit.scale is None:
        return None
    a, b = unit.scale.a.format, unit.scale.b.format
    match unit.scale.at:
        case "product":
            if isinstance(a, ExponentFormat) and isinstance(b, ExponentFormat):
                return ProductScales(a, b)
            raise InputError(f"scales of products must be powers of two, not {a.name} and {b.name}")
        case "subgroup":
            match unit.subgroup:
                case ExactSubgroup() as rule:
                    return SubgroupScales(rule, a, b)
                case WindowSubgroup():
                    return None
                case None:
                    raise InputError(f"scales of subgroups need sum.subgroup, which {unit.name} has not")
                case _:
                    assert_never(unit.subgroup)
        case "promotion":
            return None
        case _:
            assert_never(unit.scale.at)


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
            aligned = AlignedTerms(None, bits, (0,) * len(products), 0)
            return Subgroup(0, 0, None, None, special._replace(fraction_bits=bits), aligned)
        aligned = window(products, bits, self.rule.lost, "skip", None)
        sign = zero_sign(products, "rne") if aligned.total == 0 else int(aligned.total < 0)
        exp = max(term.exp for term in products) if aligned.max_exp is None else aligned.max_exp
        term = Term(sign, exp, abs(aligned.total), bits, self._class(aligned))
        return Subgroup(aligned.total, exp - bits, None, None, term, aligned)

    def _class(self, aligned: AlignedTerms) -> Class:
        if aligned.total != 0:
            return Class.NORMAL
        match self.rule.cancelled:
            case "skip":
                return Class.ZERO
            case "count":
                return Class.ZERO if aligned.max_exp is None else Class.NORMAL
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
    """The sums of parts of a unit's groups; None without parts, and where they are those of `group_scales`."""
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
