"""The definition: what a unit returns, stage by stage, in integers.

`Definition.group` is one group's sum, by whatever method (hwsim/model/methods.py), `Definition.promote` one addition
into the promotion register, `Definition.add_late` and `Definition.add_in_window` the addition of an addend that comes
late, and `Definition.dot` a whole dot product. Each returns every stage. Nothing here knows of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial

from hwsim.formats import Class, ExponentFormat, FixedFormat, FloatFormat, Format, unpack
from hwsim.model.addition import add, combine_specials, flushed_code, zero_sign
from hwsim.model.methods import METHODS, Sums
from hwsim.model.parts import LateRule, Subgroup, late_window, subgroup
from hwsim.model.rounding import Rounded, flush, infinity_code, pack, round_fixed, round_to
from hwsim.model.stages import Added, Explanation, Group, Promoted
from hwsim.model.terms import Term, addend_term, factor, limited, product
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
        assert isinstance(result, (FloatFormat, FixedFormat))
        self._format: FloatFormat | FixedFormat = result
        operands = unit.operands
        a, b = operands.multiplied
        self._fraction_bits = a.fraction_bits + b.fraction_bits
        self._factor_a = lru_cache(MOST_FACTORS)(partial(factor, operands.a, a, operands.daz))
        self._factor_b = lru_cache(MOST_FACTORS)(partial(factor, operands.b, b, operands.daz))
        self._products: dict[tuple[int, int], Term] = {}
        self._keeps = operands.a.bits + operands.b.bits <= MOST_PRODUCT_BITS
        self._limit = unit.sum.product_limit
        self._scaled_at = unit.scale.at if unit.scale else None

    @property
    def result(self) -> FloatFormat:
        """The result's format, of a unit whose result is a float."""
        assert isinstance(self._format, FloatFormat)
        return self._format

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        """The term of two factors' codes; `scale_exp` None is a NaN scale."""
        term = self._products.get((a, b))
        if term is None:
            term = product(self._factor_a(a), self._factor_b(b), self._fraction_bits)
            if self._keeps:
                self._products[a, b] = term
        if scale_exp is None:
            return Term(0, 0, 0, term.fraction_bits, Class.NAN)
        term = term._replace(exp=term.exp + scale_exp) if scale_exp else term
        return term if self._limit is None else limited(term, self._limit)

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
        """One sum of `lanes` products and an addend.

        a, b: a code for each lane. scale_a, scale_b: a code for each lane, or empty for an unscaled unit.
        """
        scale_exp = self.scale_exponents(scale_a, scale_b) if self._scaled_at == "product" else [0] * len(a)
        products = tuple(map(self.product, a, b, scale_exp))
        subgroups = self._subgroups(products, scale_a, scale_b) if self._scaled_at == "subgroup" else ()
        summed = tuple(part.term for part in subgroups) if subgroups else products
        terms = summed if addend is None else (*summed, addend)
        special = combine_specials(terms)
        made = METHODS[self.unit.sum.method](self.unit.sum, summed, addend, special is not None)
        return Group(
            a=tuple(map(self._factor_a, a)),
            b=tuple(map(self._factor_b, b)),
            scale_exp=tuple(scale_exp),
            products=products,
            addend=addend,
            special=special,
            max_exp=made.max_exp,
            aligned=made.aligned,
            total=made.total,
            rounded=self._rounded(made, special, terms),
            sum_bits=made.bits,
            halves=made.halves,
            subgroups=subgroups,
            steps=made.steps,
            unit_exp=made.unit_exp,
            carry=self._carry(made, special, terms),
        )

    def _subgroups(
        self, products: Sequence[Term], scale_a: Sequence[int], scale_b: Sequence[int]
    ) -> tuple[Subgroup, ...]:
        """The scaled sums of a group's parts."""
        rule, scale = self.unit.sum.subgroup, self.unit.scale
        assert rule is not None and scale is not None
        a, b = scale.a.format, scale.b.format
        bits = a.fraction_bits + b.fraction_bits
        return tuple(
            subgroup(products[i : i + rule.lanes], unpack(a, scale_a[i]), unpack(b, scale_b[i]), bits)
            for i in range(0, len(products), rule.lanes)
        )

    def _rounded(self, made: Sums, special: Term | None, terms: Sequence[Term]) -> Rounded:
        """The group's result."""
        if made.steps:
            return self._from_step(made.steps[-1].code)
        if special is not None:
            return self._special(special)
        return self._round(made.total, made.unit_exp, self._zero_sign(terms))

    def _zero_sign(self, terms: Sequence[Term]) -> int:
        """The sign of a sum of exactly zero."""
        return zero_sign(terms, self.unit.result.rounding) if self.unit.sum.zero == "ieee" else 0

    def _from_step(self, code: int) -> Rounded:
        """What the last of a chain of additions left, rounded to the result format."""
        assert self.unit.sum.format is not None
        term = addend_term(self.unit.sum.format, code)
        if term.cls in (Class.NAN, Class.INFINITY):
            return self._special(term)
        return self._round(-term.sig if term.sign else term.sig, term.exp - term.fraction_bits, term.sign)

    def _carry(self, made: Sums, special: Term | None, terms: Sequence[Term]) -> Term | None:
        """The exact sum so far, for the next group; None where that starts from the rounded result."""
        if self.unit.sum.method != "exact" or self.unit.sum.rounded == "group":
            return None
        if special is not None:
            return special
        sign = int(made.total < 0) if made.total else self._zero_sign(terms)
        cls = Class.NORMAL if made.total else Class.ZERO
        return Term(sign, made.unit_exp or 0, abs(made.total), 0, cls)

    def round(self, total: int, max_exp: int | None, sign: int = 0) -> Rounded:
        """The window's sum, rounded to the result format. sign: of a sum of zero."""
        return self._round(total, None if max_exp is None else max_exp - (self.unit.sum.fraction_bits or 0), sign)

    def _round(self, total: int, unit_exp: int | None, sign: int) -> Rounded:
        """total * 2^unit_exp, rounded to the result format. sign: of a sum of zero."""
        rule, fmt = self.unit.result, self._format
        if total == 0 or unit_exp is None:
            return Rounded(0 if isinstance(fmt, FixedFormat) else pack(fmt, sign & fmt.signed_zero, 0), None)
        negative = int(total < 0)
        if isinstance(fmt, FixedFormat):
            return round_fixed(fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow)
        rounded = round_to(fmt, negative, abs(total), unit_exp, rule.rounding, rule.overflow, rule.tiny)
        return flush(fmt, rounded, rule.tiny) if rule.subnormals == "flush" else rounded

    def _special(self, special: Term) -> Rounded:
        if special.cls is Class.NAN:
            return Rounded(self.nan, None)
        return Rounded(infinity_code(self.result, special.sign, self.unit.result.overflow), None)

    @cached_property
    def nan(self) -> int:
        """The container's code of a group's NaN."""
        rule = self.unit.result.nan
        canonical = None if isinstance(self._format, FixedFormat) else self._format.canonical_nan
        return rule if isinstance(rule, int) else canonical or 0

    def addend(self, code: int) -> Term | None:
        """The addend `c` as a term; None for a unit without one."""
        fmt = self.unit.operands.addend
        return None if fmt is None else addend_term(fmt, code)

    def partial(self, code: int) -> Term:
        """A group's result as the next group's addend."""
        return addend_term(self._format, code)

    def promote(self, register: int, partial: int, scales: tuple[int, int] | None = None) -> Promoted:
        """register + partial, or register + partial * scale, rounded to the promotion format.

        register: a code of the promotion format. partial: a code of the result format. scales: codes of both operands'
        scales, whose product is first rounded to the promotion format.
        """
        rule = self.unit.promotion
        assert rule is not None and isinstance(rule.format, FloatFormat)
        before = addend_term(rule.format, register)
        if scales is None:
            return Promoted(register, partial, add(rule.format, (before, self.partial(partial)), rule.rounding))
        scale = self.promotion_scale(*scales)
        bits = self._format.fraction_bits + rule.format.fraction_bits
        scaled = product(unpack(self._format, partial), unpack(rule.format, scale), bits)
        return Promoted(register, partial, add(rule.format, (before, scaled), rule.rounding), scale)

    def promotion_scale(self, a: int, b: int) -> int:
        """The product of two scales, rounded to the promotion format."""
        rule, scale = self.unit.promotion, self.unit.scale
        assert rule is not None and scale is not None and isinstance(rule.format, FloatFormat)
        x, y = scale.a.format, scale.b.format
        both = product(unpack(x, a), unpack(y, b), x.fraction_bits + y.fraction_bits)
        return add(rule.format, (both,), rule.rounding)

    def register(self, code: int) -> int:
        """The promotion register's code for an addend `c`."""
        rule, addend = self.unit.promotion, self.unit.operands.addend
        assert rule is not None and isinstance(rule.format, FloatFormat)
        if addend is None:
            return 0
        return code if addend == rule.format else add(rule.format, (addend_term(addend, code),), rule.rounding)

    def _late_addend(self, c: int, before: Added | None) -> tuple[Format, int]:
        """The format and the code of what is added late: c, or the result of the addition before."""
        fmt = self.unit.operands.addend
        assert fmt is not None
        return (fmt, c) if before is None else (self.unit.output, before.code)

    def add_late(self, c: int, before: Added | None, partial: int) -> Added:
        """The addend + partial, rounded to the format of late additions.

        c: a code of the addend's format. before: the addition before, whose result takes the place of c, if any.
        partial: a code of the result format.
        """
        rule = self.unit.late
        assert rule is not None and isinstance(rule.format, FloatFormat) and rule.rounding is not None
        fmt, c = self._late_addend(c, before)
        addend = c
        if rule.flush and isinstance(fmt, FloatFormat):
            addend = flushed_code(fmt, c)
        terms = (addend_term(fmt, addend), self.partial(partial))
        code = add(rule.format, terms, rule.rounding, rule.flush)
        return Added(fmt, c, partial, self.unit.nan if code == rule.format.canonical_nan else code)

    def add_in_window(self, c: int, before: Added | None, group: Group) -> Added:
        """The addend and the group's sum, not rounded yet, in a window of their own, rounded to the result format.

        c, before: as for `add_late`. group: the only one of its instruction.
        """
        rule = self.unit.late
        assert rule is not None and rule.sum_bits is not None and rule.addend_bits is not None and rule.lost is not None
        fmt, c = self._late_addend(c, before)
        addend = addend_term(fmt, c)
        special = combine_specials((addend,) if group.special is None else (group.special, addend))
        if special is not None:
            return Added(fmt, c, group.code, self._special(special).code)
        keys = LateRule(rule.sum_bits, rule.addend_bits, rule.lost, rule.drop_below, self.unit.sum.zero_terms)
        made = late_window(group.sum_term, addend, keys)
        unit_exp = None if made.max_exp is None else made.max_exp - made.fraction_bits
        rounded = self._round(made.total, unit_exp, self._zero_sign((*group.terms, addend)))
        return Added(fmt, c, group.code, rounded.code, made)

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
                at = (index - index % beats) * instruction.lanes
                scaled = ((scale_a[at], scale_b[at]),) if self._scaled_at == "promotion" else ()
                promotions[index] = self.promote(register, partial, *scaled)
                register = promotions[index].code
            if unit.late is not None and index % instruction.groups == instruction.groups - 1:
                if unit.late.operation == "window":
                    added = self.add_in_window(c, added, groups[-1])
                else:
                    added = self.add_late(c, added, partial)
                additions[index] = added
        code = register if beats else groups[-1].code if added is None else added.code
        return Explanation(unit, tuple(groups), promotions, code, additions)

    def _addend_of(self, index: int, groups: Sequence[Group], c: int) -> Term | None:
        """What a group adds to its products: the result of the one before, +0 where the sum restarts, or c.

        None where the unit has no addend, and for `even-odd`, which adds it late.
        """
        if self.unit.sum.method == "even-odd":
            return None
        restart = self.unit.restart
        if restart is not None and index % restart == 0:
            return self.partial(0)
        if not index:
            return self.addend(c)
        return groups[-1].carry or self.partial(groups[-1].code)


def _scale_exponent(a: Format, x: int, b: Format, y: int) -> int | None:
    assert isinstance(a, ExponentFormat) and isinstance(b, ExponentFormat)
    if a.is_nan(x) or b.is_nan(y):
        return None
    return x - a.bias + y - b.bias
