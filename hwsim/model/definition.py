"""The definition: what a unit of method `aligned` returns, stage by stage, in integers.

`Definition.group` is one fused sum, `Definition.promote` one addition into the promotion register, and
`Definition.dot` a whole dot product. Each returns every stage. Nothing here knows of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

from hwsim.formats import Class, ExponentFormat, Fields, FloatFormat, Format, unpack
from hwsim.model.rounding import Rounded, infinity_code, pack, round_to
from hwsim.model.terms import Term, addend_term, product
from hwsim.model.window import align, max_exponent
from hwsim.spec import Unit, refuse_unimplemented


@dataclass(frozen=True, slots=True)
class Group:
    """One fused sum, stage by stage.

    a, b: decoded factors. scale_exp: the exponent that shared scales add to each product, or None where one is NaN.
    terms: the products, and the addend last (None where there is none). special: NaN or infinite, else None.
    max_exp: None when every term is zero. aligned: the terms in units of 2^(max_exp - fraction_bits).
    total: their sum. code: the result, in the result format's container.
    """

    a: tuple[Fields, ...]
    b: tuple[Fields, ...]
    scale_exp: tuple[int | None, ...]
    products: tuple[Term, ...]
    addend: Term | None
    special: Term | None
    max_exp: int | None
    aligned: tuple[int, ...]
    total: int
    rounded: Rounded

    @property
    def code(self) -> int:
        """The result, in the result format's container."""
        return self.rounded.code

    @property
    def overflow(self) -> bool:
        """Whether the rounded sum was too large for the result format."""
        return self.rounded.overflow

    def growth(self, fraction_bits: int) -> int | None:
        """Places that the sum's leading one stands above max_exp (negative: below); None for a zero sum."""
        return abs(self.total).bit_length() - 1 - fraction_bits if self.total else None


@dataclass(frozen=True, slots=True)
class Promoted:
    """One addition into the promotion register: the codes of its operands and of its result."""

    register: int
    partial: int
    code: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A whole dot product: its groups, its promotions by the group that they follow, and its result's code."""

    unit: Unit
    groups: tuple[Group, ...]
    promotions: dict[int, Promoted]
    code: int


Scales = Sequence[Sequence[int]]


class Definition:
    """A unit's arithmetic.

    Raises NotImplementedYet for a specification that asks for what this version does not have.
    """

    def __init__(self, unit: Unit):
        refuse_unimplemented(unit)
        self.unit = unit
        result = unit.result.format
        assert isinstance(result, FloatFormat)
        self.result = result
        operands = unit.operands
        self._factor_a = cache(partial(unpack, operands.a))
        self._factor_b = cache(partial(unpack, operands.b))
        self._products: dict[tuple[int, int], Term] = {}

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        """The term of two factors' codes; `scale_exp` None is a NaN scale."""
        term = self._products.get((a, b))
        if term is None:
            fraction_bits = self.unit.operands.a.fraction_bits + self.unit.operands.b.fraction_bits
            term = product(self._factor_a(a), self._factor_b(b), fraction_bits)
            self._products[a, b] = term
        if scale_exp is None:
            return Term(0, 0, 0, term.fraction_bits, Class.NAN)
        return term._replace(exp=term.exp + scale_exp) if scale_exp else term

    def scale_exponents(self, scale_a: Sequence[int], scale_b: Sequence[int]) -> list[int | None]:
        """The exponent that shared scales add to each product of one group.

        scale_a, scale_b: a code for each lane.
        """
        assert self.unit.scale is not None
        a, b = self.unit.scale.a.format, self.unit.scale.b.format
        return [_scale_exponent(a, x, b, y) for x, y in zip(scale_a, scale_b, strict=True)]

    def group(
        self,
        a: Sequence[int],
        b: Sequence[int],
        addend: Term | None,
        scale_a: Sequence[int] = (),
        scale_b: Sequence[int] = (),
    ) -> Group:
        """One fused sum of `lanes` products and an addend.

        a, b: a code for each lane. scale_a, scale_b: a code for each lane, or empty for an unscaled unit.
        """
        scale_exp = self.scale_exponents(scale_a, scale_b) if self.unit.scale else [0] * len(a)
        products = tuple(map(self.product, a, b, scale_exp))
        terms = products if addend is None else (*products, addend)
        special = combine_specials(terms)
        max_exp = max_exponent(terms)
        total, aligned, rounded = 0, (0,) * len(terms), self._special(special)
        if special is None:
            if max_exp is not None:
                bits, lost = self.unit.sum.fraction_bits or 0, self.unit.sum.lost
                aligned = tuple(align(term, max_exp, bits, lost) for term in terms)
            total = sum(aligned)
            rounded = self.round(total, max_exp)
        return Group(
            a=tuple(map(self._factor_a, a)),
            b=tuple(map(self._factor_b, b)),
            scale_exp=tuple(scale_exp),
            products=products,
            addend=addend,
            special=special,
            max_exp=max_exp,
            aligned=aligned,
            total=total,
            rounded=rounded,
        )

    def round(self, total: int, max_exp: int | None) -> Rounded:
        """The window's sum, rounded to the result format; +0 for a sum of zero."""
        if total == 0 or max_exp is None:
            return Rounded(0, None)
        rule = self.unit.result
        unit_exp = max_exp - (self.unit.sum.fraction_bits or 0)
        return round_to(self.result, int(total < 0), abs(total), unit_exp, rule.rounding, rule.overflow, rule.tiny)

    def _special(self, special: Term | None) -> Rounded:
        if special is None:
            return Rounded(0, None)
        if special.cls is Class.NAN:
            return Rounded(self.nan, None)
        return Rounded(infinity_code(self.result, special.sign, self.unit.result.overflow), None)

    @cached_property
    def nan(self) -> int:
        """The container's code of a group's NaN."""
        rule, canonical = self.unit.result.nan, self.result.canonical_nan
        return rule if isinstance(rule, int) else canonical or 0

    def addend(self, code: int) -> Term | None:
        """The addend `c` as a term; None for a unit without one."""
        fmt = self.unit.operands.addend
        return None if fmt is None else addend_term(fmt, code)

    def partial(self, code: int) -> Term:
        """A group's result as the next group's addend."""
        return addend_term(self.result, code)

    def promote(self, register: int, partial: int) -> Promoted:
        """register + partial, rounded to the promotion format.

        register: a code of the promotion format. partial: a code of the result format.
        """
        rule = self.unit.promotion
        assert rule is not None and isinstance(rule.format, FloatFormat)
        terms = (addend_term(rule.format, register), self.partial(partial))
        return Promoted(register, partial, add(rule.format, terms, rule.rounding))

    def register(self, code: int) -> int:
        """The promotion register's code for an addend `c`."""
        rule, addend = self.unit.promotion, self.unit.operands.addend
        assert rule is not None and isinstance(rule.format, FloatFormat)
        if addend is None:
            return 0
        return code if addend == rule.format else add(rule.format, (addend_term(addend, code),), rule.rounding)

    def dot(
        self, a: Sequence[int], b: Sequence[int], c: int = 0, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()
    ) -> Explanation:
        """A dot product of any length that is a multiple of the lanes.

        a, b: codes. c: a code of the addend's format. scale_a, scale_b: a code for each term.
        """
        lanes, beats = self.unit.instruction.lanes, self.unit.promotion_beats
        groups: list[Group] = []
        promotions: dict[int, Promoted] = {}
        register = self.register(c) if beats else 0
        count = len(a) // lanes
        for index in range(count):
            here = slice(index * lanes, (index + 1) * lanes)
            restarted = beats is not None and index % beats == 0
            if index and not restarted:
                addend: Term | None = self.partial(groups[-1].code)
            else:
                addend = self.partial(0) if beats else self.addend(c)
            groups.append(self.group(a[here], b[here], addend, scale_a[here], scale_b[here]))
            if beats and (index % beats == beats - 1 or index == count - 1):
                promotions[index] = self.promote(register, groups[-1].code)
                register = promotions[index].code
        return Explanation(self.unit, tuple(groups), promotions, register if beats else groups[-1].code)


def combine_specials(terms: Sequence[Term]) -> Term | None:
    """NaN if any term is, or if infinities of both signs meet; else an infinity if there is one; else None."""
    infinity: Term | None = None
    for term in terms:
        if term.cls is Class.NAN:
            return term
        if term.cls is Class.INFINITY:
            if infinity is not None and infinity.sign != term.sign:
                return Term(0, 0, 0, term.fraction_bits, Class.NAN)
            infinity = term
    # A NaN may still follow an infinity; the loop above has then returned.
    return infinity


def add(fmt: FloatFormat, terms: Sequence[Term], rounding: str) -> int:
    """The exact sum of one or two terms, rounded once to `fmt`; IEEE 754-2019's signs of zero."""
    special = combine_specials(terms)
    if special is not None:
        if special.cls is Class.NAN:
            return fmt.canonical_nan or 0
        return infinity_code(fmt, special.sign, "infinity")
    unit_exp = min(term.exp - term.fraction_bits for term in terms)
    total = sum((-1) ** term.sign * term.sig << term.exp - term.fraction_bits - unit_exp for term in terms)
    if total == 0:
        signs = {term.sign for term in terms}
        sign = signs.pop() if len(signs) == 1 and all(term.sig == 0 for term in terms) else int(rounding == "rd")
        return pack(fmt, sign, 0)
    return round_to(fmt, int(total < 0), abs(total), unit_exp, rounding, "infinity").code


def _scale_exponent(a: Format, x: int, b: Format, y: int) -> int | None:
    assert isinstance(a, ExponentFormat) and isinstance(b, ExponentFormat)
    if a.is_nan(x) or b.is_nan(y):
        return None
    return x - a.bias + y - b.bias
