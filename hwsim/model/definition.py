"""The definition: what a unit of method `aligned` returns, stage by stage, in integers.

`Definition.group` is one fused sum, `Definition.promote` one addition into the promotion register,
`Definition.add_late` the addition of an addend that comes late, and `Definition.dot` a whole dot product. Each returns
every stage. Nothing here knows of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial

from hwsim.formats import Class, ExponentFormat, FloatFormat, Format
from hwsim.model.addition import add, combine_specials, zero_sign
from hwsim.model.rounding import Rounded, flush, infinity_code, pack, round_to
from hwsim.model.stages import Added, Explanation, Group, Promoted
from hwsim.model.terms import Term, addend_term, factor, product
from hwsim.model.window import align, max_exponent
from hwsim.spec import Unit, refuse_unimplemented

# Decoded factors and their products are kept, as far as they are few: all pairs of codes of 16 bits together.
MOST_FACTORS, MOST_PRODUCT_BITS = 1 << 16, 16


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
        a, b = operands.multiplied
        self._fraction_bits = a.fraction_bits + b.fraction_bits
        self._factor_a = lru_cache(MOST_FACTORS)(partial(factor, operands.a, a, operands.daz))
        self._factor_b = lru_cache(MOST_FACTORS)(partial(factor, operands.b, b, operands.daz))
        self._products: dict[tuple[int, int], Term] = {}
        self._keeps = operands.a.bits + operands.b.bits <= MOST_PRODUCT_BITS

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        """The term of two factors' codes; `scale_exp` None is a NaN scale."""
        term = self._products.get((a, b))
        if term is None:
            term = product(self._factor_a(a), self._factor_b(b), self._fraction_bits)
            if self._keeps:
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
        rule = self.unit.sum
        max_exp = max_exponent(terms, rule.zero_terms, rule.max_exp_floor)
        total, aligned, rounded = 0, (0,) * len(terms), self._special(special)
        if special is None:
            if max_exp is not None:
                bits, lost = rule.fraction_bits or 0, rule.lost
                aligned = tuple(align(term, max_exp, bits, lost) for term in terms)
            total = sum(aligned)
            sign = zero_sign(terms, self.unit.result.rounding) if rule.zero == "ieee" else 0
            rounded = self.round(total, max_exp, sign)
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

    def round(self, total: int, max_exp: int | None, sign: int = 0) -> Rounded:
        """The window's sum, rounded to the result format. sign: of a sum of zero."""
        if total == 0 or max_exp is None:
            return Rounded(pack(self.result, sign & self.result.signed_zero, 0), None)
        rule = self.unit.result
        unit_exp = max_exp - (self.unit.sum.fraction_bits or 0)
        rounded = round_to(self.result, int(total < 0), abs(total), unit_exp, rule.rounding, rule.overflow, rule.tiny)
        return flush(self.result, rounded, rule.tiny) if rule.subnormals == "flush" else rounded

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

    def add_late(self, c: int, before: Added | None, partial: int) -> Added:
        """The addend + partial, rounded to the format of late additions.

        c: a code of the addend's format. before: the addition before, whose result takes the place of c, if any.
        partial: a code of the result format.
        """
        rule, fmt = self.unit.late, self.unit.operands.addend
        assert rule is not None and isinstance(rule.format, FloatFormat) and rule.rounding is not None
        assert fmt is not None
        if before is not None:
            fmt, c = rule.format, before.code
        code = add(rule.format, (addend_term(fmt, c), self.partial(partial)), rule.rounding)
        return Added(fmt, c, partial, self.unit.nan if code == rule.format.canonical_nan else code)

    def dot(
        self, a: Sequence[int], b: Sequence[int], c: int = 0, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()
    ) -> Explanation:
        """A dot product of any length that is a multiple of `instruction.fill`.

        a, b: codes. c: a code of the addend's format. scale_a, scale_b: a code for each term.
        """
        unit, instruction, beats = self.unit, self.unit.instruction, self.unit.promotion_beats
        count = len(a) // instruction.lanes
        groups: list[Group] = []
        promotions: dict[int, Promoted] = {}
        additions: dict[int, Added] = {}
        register, added = self.register(c) if beats else 0, None
        for index in range(count):
            here = instruction.indices(index)
            factors = [a[i] for i in here], [b[i] for i in here]
            scales = ([scale_a[i] for i in here], [scale_b[i] for i in here]) if unit.scale else ((), ())
            groups.append(self.group(*factors, self._addend_of(index, groups, c), *scales))
            partial = groups[-1].code
            if beats and (index % beats == beats - 1 or index == count - 1):
                promotions[index] = self.promote(register, partial)
                register = promotions[index].code
            if unit.late is not None and index % instruction.groups == instruction.groups - 1:
                added = additions[index] = self.add_late(c, added, partial)
        code = register if beats else groups[-1].code if added is None else added.code
        return Explanation(unit, tuple(groups), promotions, code, additions)

    def _addend_of(self, index: int, groups: Sequence[Group], c: int) -> Term | None:
        """What a group adds to its products: the result of the one before, +0 where the sum restarts, or c."""
        restart = self.unit.restart
        if restart is not None and index % restart == 0:
            return self.partial(0)
        return self.partial(groups[-1].code) if index else self.addend(c)


def _scale_exponent(a: Format, x: int, b: Format, y: int) -> int | None:
    assert isinstance(a, ExponentFormat) and isinstance(b, ExponentFormat)
    if a.is_nan(x) or b.is_nan(y):
        return None
    return x - a.bias + y - b.bias
