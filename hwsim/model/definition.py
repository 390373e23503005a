"""The definition: what a unit returns, stage by stage, in integers.

A dot product is `Definition.open` for its addend, `Definition.step` for each group of products, and `Definition.close`
for the result; what goes from step to step is a value of hwsim/model/methods.py. `Definition.group` is one group's sum,
by the unit's method (hwsim/model/methods.py), and `Definition.dot` a whole dot product, with every stage. Nothing here
knows of cycles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.formats import Class, Fields, FixedFormat, FloatFormat, Format, codes_of, container_dtype
from hwsim.model.hooks import Hooks, Side, passed
from hwsim.model.late import Added, LateAddition, LateOperands, Promoted, Promoter, late_addition, promoter_of
from hwsim.model.methods import (
    AddendToCome,
    Carried,
    ExactSoFar,
    FirstAddend,
    PartialSum,
    PromotedRegister,
    ResultCode,
    method_of,
)
from hwsim.model.record import Explanation, Group
from hwsim.model.rounding import ResultRounding, Rounded, combine_specials
from hwsim.model.scales import (
    ProductScales,
    Subgroup,
    SubgroupScales,
    group_scales,
    is_low,
    subgroup_sums,
)
from hwsim.model.terms import Term, addend_term, factor, limited, positive_zero, product
from hwsim.spec import (
    RoundedSum,
    SparseLike,
    Support,
    Unit,
    UnitLike,
    WindowSum,
    described,
    load_sparse,
    load_unit,
)
from hwsim.spec.arguments import addends, dot_scales, factors, pad, result_array
from hwsim.spec.keys import Factor
from hwsim.spec.sparse import Sparsity, checked_metadata


def supports(unit: Unit) -> Support:
    """The model's support of a unit: it lacks only what no implementation has, and defines all the rest."""
    return described(unit)


# Decoded factors and their products are kept, as far as they are few: all pairs of codes of 16 bits together.
MOST_FACTORS, MOST_PRODUCT_BITS = 1 << 16, 16

ZERO = ResultCode(0)  # what a partial sum starts from where it does not start from an addend


class GroupOperands(NamedTuple):
    """The operands of one group's lanes.

    a, b: a code for each lane. scale_a, scale_b: a code for each lane, or empty for an unscaled unit.
    group: which group of the dot product it is. used: lanes that hold products, None for all; the others fill.
    """

    a: Sequence[int]
    b: Sequence[int]
    scale_a: Sequence[int] = ()
    scale_b: Sequence[int] = ()
    group: int = 0
    used: int | None = None


class Multiplied(NamedTuple):
    """The exponents that shared scales add to products, the products, and the sums of parts, as far as there are.

    The terms that are summed are those of the parts; without any, the products. low: whether the addend is low.
    """

    scale_exp: list[int | None]
    products: tuple[Term, ...]
    subgroups: tuple[Subgroup, ...]
    low: bool


class Stepped(NamedTuple):
    """One step: what goes on, the group's sum, and the promotion or the late addition that followed it, if any."""

    carried: Carried
    group: Group
    addition: Promoted | Added | None = None


class Definition:
    """A unit's arithmetic.

    promoter, late: how partial sums are promoted, and addends added late, None where they are not.
    keep: whether decoded factors and products are kept; codes must then be known numbers.
    hooks: what is other than specified; None for nothing.
    Raises NotImplementedYet for a specification that asks for what this version does not have.
    """

    def __init__(self, unit: Unit, keep: bool = True, hooks: Hooks | None = None):
        supports(unit).demand()
        self.unit, self._hooks = unit, hooks
        operands = unit.operands
        a, b = operands.multiplied
        self._fraction_bits = a.fraction_bits + b.fraction_bits
        self._factor_a, self._factor_b = (
            lru_cache(MOST_FACTORS)(decoder) if keep else decoder
            for decoder in (self._decoder("a", operands.a), self._decoder("b", operands.b))
        )
        self._products: dict[tuple[int, int], Term] = {}
        self._keeps = keep and operands.a.bits + operands.b.bits <= MOST_PRODUCT_BITS
        self._limit = unit.sum.product_limit
        self._scales, self._sums = group_scales(unit), subgroup_sums(unit)
        self._method, self._low_method = method_of(unit, hooks), method_of(unit, hooks, low=True)
        # Where sums are rounded the last adder has rounded, with the hooks.
        self.rounding = ResultRounding(unit.result, None if isinstance(unit.sum, RoundedSum) else hooks)
        self._promoter = promoter_of(unit, hooks)
        self._late = late_addition(unit, hooks)

    def _decoder(self, side: Side, fmt: Factor) -> Callable[[int], Fields]:
        operands, hooks = self.unit.operands, self._hooks
        decoded = partial(factor, fmt, operands.convert, operands.daz, operands.zeros)
        return decoded if hooks is None else lambda code: passed(hooks.factor, decoded(code), side, fmt, code)

    def factor(self, side: Side, code: int) -> Fields:
        """A decoded factor."""
        return self._factor_a(code) if side == "a" else self._factor_b(code)

    @property
    def result(self) -> FloatFormat:
        """The result's format. Raises TypeError for a unit whose result is not a float."""
        fmt = self.unit.result.format
        if isinstance(fmt, FixedFormat):
            raise TypeError(f"the result of {self.unit.name} is not a float: {fmt.name}")
        return fmt

    @property
    def nan(self) -> int:
        """The container's code of a group's NaN."""
        return self.rounding.nan

    @property
    def promoter(self) -> Promoter:
        """The promotion of partial sums. Raises ValueError for a unit that does not promote."""
        if self._promoter is None:
            raise InputError(f"{self.unit.name} has no promotion")
        return self._promoter

    @property
    def late(self) -> LateAddition:
        """The late addition of the addend. Raises ValueError for a unit that does not add one late."""
        if self._late is None:
            raise InputError(f"{self.unit.name} adds no addend late")
        return self._late

    def product(self, a: int, b: int, scale_exp: int | None = 0) -> Term:
        """The term of two factors' codes; `scale_exp` None is a NaN scale."""
        term = self._products.get((a, b)) if self._keeps else None
        if term is None:
            factors = self._factor_a(a), self._factor_b(b)
            term = product(*factors, self._fraction_bits)
            if self._hooks is not None and self._hooks.product is not None:
                term = self._hooks.product(self.scaled(term, 0), *factors)
            if self._keeps:
                self._products[a, b] = term
        return self.scaled(term, scale_exp)

    def products(self, lanes: GroupOperands, scale_exp: Sequence[int | None]) -> tuple[Term, ...]:
        """The terms of a group's products. scale_exp: as `product` takes it, of each lane."""
        terms = tuple(map(self.product, lanes.a, lanes.b, scale_exp))
        return terms if self._hooks is None else passed(self._hooks.products, terms)

    def scaled(self, term: Term, scale_exp: int | None) -> Term:
        """A product with what its scales add to its exponent; None is a NaN scale."""
        if scale_exp is None:
            return Term(0, 0, 0, term.fraction_bits, Class.NAN)
        term = term._replace(exp=term.exp + scale_exp) if scale_exp else term
        return term if self._limit is None else limited(term, self._limit)

    def addend(self, code: int) -> Term | None:
        """The addend `c` as a term; None for a unit without one."""
        fmt = self.unit.operands.addend
        return None if fmt is None else self._decoded_addend(fmt, code)

    def _decoded_addend(self, fmt: Format, code: int) -> Term:
        term = addend_term(fmt, code)
        return term if self._hooks is None else passed(self._hooks.addend, term, fmt, code)

    def _input(self, c: int) -> int:
        fmt = self.unit.operands.addend
        match self.unit.operands.zeros:
            case "signed":
                return c
            case "positive":
                return c if fmt is None else positive_zero(fmt, c, self.unit.flushes_addends)
            case _:
                assert_never(self.unit.operands.zeros)

    def partial(self, code: int) -> Term:
        """A group's result as the next group's addend."""
        return self._decoded_addend(self.unit.result.format, code)

    def round(self, total: int, max_exp: int | None, sticky: bool) -> Rounded:
        """The sum of a window, rounded to the result format; max_exp None is a sum of zero. sticky: as `Summed` has it.

        Raises ValueError for a unit without a window.
        """
        if not isinstance(self.unit.sum, WindowSum):
            raise InputError(f"{self.unit.name} has no window: its method is {self.unit.sum.method}")
        return self.rounding.total(total, None if max_exp is None else max_exp - self.unit.sum.fraction_bits, 0, sticky)

    def multiply(self, lanes: GroupOperands, addend: Term | None) -> Multiplied:
        """What a group sums beside its addend."""
        scale_exp: list[int | None] = [0] * len(lanes.a)
        if isinstance(self._scales, ProductScales):
            scale_exp = self._scales.exponents(lanes.scale_a, lanes.scale_b)
        products, low = self.products(lanes, scale_exp), False
        scales, parts = (lanes.scale_a, lanes.scale_b), tuple[Subgroup, ...]()
        match self._scales:
            case SubgroupScales() as scaled:
                low = scaled.rule.asks_addend and is_low(products, *scaled.decoded(*scales), addend)
                parts = scaled.subgroups(products, *scales, low)
            case ProductScales() | None:
                parts = () if self._sums is None else self._sums.subgroups(products, *scales)
            case _:
                assert_never(self._scales)
        return Multiplied(scale_exp, products, parts, low)

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
        return self._group(GroupOperands(a, b, scale_a, scale_b), None, addend)[0]

    def _group(
        self, lanes: GroupOperands, start: PartialSum | None, addend: Term | None
    ) -> tuple[Group, ResultCode | ExactSoFar]:
        """One group's sum, and what the next group would start from."""
        scale_exp, products, subgroups, low = self.multiply(lanes, addend)
        terms = tuple(part.term for part in subgroups) if subgroups else products
        special = combine_specials(terms if addend is None else (*terms, addend))
        summed = (self._low_method if low else self._method).sum(terms, addend, special)
        rounded = self.rounding.term(summed.outcome, summed.sticky)
        group = Group(
            unit=self.unit,
            index=lanes.group,
            codes_a=tuple(lanes.a),
            codes_b=tuple(lanes.b),
            used=len(lanes.a) if lanes.used is None else lanes.used,
            start=start,
            a=self._recorded(self._factor_a, lanes.a),
            b=self._recorded(self._factor_b, lanes.b),
            scale_exp=tuple(scale_exp),
            products=products,
            addend=addend,
            special=special,
            max_exp=summed.max_exp,
            fraction_bits=summed.bits,
            aligned=summed.aligned,
            total=summed.total,
            unit_exp=summed.unit_exp,
            rounded=rounded,
            halves=summed.halves,
            subgroups=subgroups,
            steps=summed.additions,
            sticky=summed.sticky,
            uncut=summed.uncut,
        )
        return group, self._method.carried(summed, rounded.code)

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        """Decoded factors, for the record alone: sums are of products."""
        return tuple(map(decoded, codes))

    def _addend_of(self, start: PartialSum) -> Term | None:
        """The term that a group adds to its products; None if the unit has no addend, or it is never a term."""
        if not self._method.takes_addend:
            return None
        match start:
            case FirstAddend(code):
                return self.addend(code)
            case ResultCode(code):
                return self.partial(code)
            case ExactSoFar(term):
                return term
            case _:
                assert_never(start)

    def open(self, c: int) -> Carried:
        """The start of the first group. c: a code of the addend's format."""
        addend = self.unit.operands.addend
        c = self._input(c)
        if self._promoter is not None:
            return PromotedRegister(self._promoter.start(c), ZERO)
        if self._late is not None and addend is not None:
            return AddendToCome(c, addend, ZERO)
        return ZERO if self.unit.instruction.start == "zero" else FirstAddend(c)

    def step(self, carried: Carried, lanes: GroupOperands, last: bool = False) -> Stepped:
        """One group, and the promotion or the late addition that is due after it. last: no other group follows."""
        match carried:
            case FirstAddend() | ResultCode() | ExactSoFar():
                group, after = self._group(lanes, carried, self._addend_of(carried))
                return Stepped(after, group)
            case PromotedRegister():
                return self._step_promoted(carried, lanes, last)
            case AddendToCome():
                return self._step_late(carried, lanes, last)
            case _:
                assert_never(carried)

    def _step_promoted(self, before: PromotedRegister, lanes: GroupOperands, last: bool) -> Stepped:
        """A group, and a promotion at the end of the interval and of the dot product."""
        group, partial = self._group(lanes, before.partial, self._addend_of(before.partial))
        scales, groups = before.scales, before.groups + 1
        if scales is None and self.promoter.scaling is not None:
            scales = lanes.scale_a[0], lanes.scale_b[0]
        if groups < self.promoter.groups and not last:
            return Stepped(PromotedRegister(before.register, partial, groups, scales), group)
        promoted = self.promoter.promote(before.register, partial.code, scales)
        return Stepped(PromotedRegister(promoted.code, ZERO), group, promoted)

    def _step_late(self, before: AddendToCome, lanes: GroupOperands, last: bool) -> Stepped:
        """A group, and the late addition after an instruction's last one."""
        group, partial = self._group(lanes, before.partial, self._addend_of(before.partial))
        groups = before.groups + 1
        if groups < self.unit.instruction.groups and not last:
            return Stepped(AddendToCome(before.addend, before.format, partial, groups), group)
        operands = LateOperands(before.addend, before.format, group.code, group.summed, group.special, group.sum_term)
        added = self.late.add(operands)
        return Stepped(AddendToCome(added.code, self.late.output, ZERO), group, added)

    def close(self, carried: Carried) -> int:
        """The code of the result, after the last step. Raises ValueError for a sum of no products."""
        match carried:
            case ResultCode(code) | ExactSoFar(_, code) | PromotedRegister(code) | AddendToCome(code):
                return code
            case FirstAddend():
                raise InputError("a sum of no products has no result")
            case _:
                assert_never(carried)

    def dot(
        self,
        a: Sequence[int],
        b: Sequence[int],
        c: int = 0,
        scale_a: Sequence[int] = (),
        scale_b: Sequence[int] = (),
        k: int | None = None,
    ) -> Explanation:
        """A dot product of any length that is a multiple of `instruction.fill`.

        a, b: codes. c: a code of the addend's format. scale_a, scale_b: a code for each term. k: how many of the
        products are given, None for all; the others fill the last groups.
        """
        return dot_in_modes([self] * (len(a) // self.unit.instruction.lanes), a, b, c, scale_a, scale_b, k)


def dot_in_modes(
    modes: Sequence[Definition],
    a: Sequence[int],
    b: Sequence[int],
    c: int = 0,
    scale_a: Sequence[int] = (),
    scale_b: Sequence[int] = (),
    k: int | None = None,
) -> Explanation:
    """A dot product, each group by a definition of its own. modes: of each group; all of one unit's modes.

    The other arguments are those of `Definition.dot`; where a mode has no scales, those of its group do not count. The
    explanation is of the first group's unit, and each of its groups of its own.
    """
    first = modes[0]
    products = len(a) if k is None else k
    groups: list[Group] = []
    promotions: dict[int, Promoted] = {}
    additions: dict[int, Added] = {}
    carried = first.open(c)
    for index, mode in enumerate(modes):
        here = mode.unit.instruction.indices(index)
        used = len(here) if here[-1] < products else sum(i < products for i in here)
        factors, scales = (_taken(a, here), _taken(b, here)), (_taken(scale_a, here), _taken(scale_b, here))
        operands = GroupOperands(*factors, *scales, index, used)
        carried, group, addition = mode.step(carried, operands, index == len(modes) - 1)
        groups.append(group)
        match addition:
            case Promoted():
                promotions[index] = addition
            case Added():
                additions[index] = addition
            case None:
                pass
            case _:
                assert_never(addition)
    return Explanation(first.unit, tuple(groups), promotions, first.close(carried), additions, c, products)


def _taken(codes: Sequence[int], indices: Sequence[int]) -> tuple[int, ...]:
    """The codes of one group; none of no codes."""
    return tuple(map(codes.__getitem__, indices)) if codes else ()


@lru_cache(maxsize=16)
def definition_of(unit: Unit) -> Definition:
    """A unit's definition, kept for the next call. Raises NotImplementedYet."""
    return Definition(unit)


def selected(rule: Sparsity, b: Sequence[int], indices: Sequence[int]) -> list[int]:
    """The codes of b that what a keeps is multiplied by. indices: of each run that is kept, among its `of`, as it is.

    Raises ValueError where b does not end with the last of these.
    """
    if len(b) * rule.keep != len(indices) * rule.run * rule.of:
        raise InputError(f"b must have {len(indices) * rule.run * rule.of // rule.keep} factors, not {len(b)}")
    taken: list[int] = []
    for number, index in enumerate(indices):
        first = (number // rule.keep * rule.of + min(index, rule.of - 1)) * rule.run
        taken += b[first : first + rule.run]
    return taken


def dot(
    unit: UnitLike | SparseLike,
    a: Any,
    b: Any,
    c: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    metadata: Any = None,
) -> NDArray[Any]:
    """The dot products of n pairs of rows, as `hwsim.dot` takes and returns them."""
    if metadata is not None:
        sparse = load_sparse(unit)
        a = codes_of(sparse.dense.operands.a, a, "a")
        indices, others = (
            checked_metadata(sparse, metadata, a.shape),
            codes_of(sparse.dense.operands.b, b, "b").tolist(),
        )
        b = [selected(sparse.sparsity, row, kept) for row, kept in zip(others, indices.tolist(), strict=True)]
        unit = sparse.dense
    unit = load_unit(unit)
    definition, fill = definition_of(unit), unit.instruction.fill
    codes_a, codes_b = factors(unit, a, b, ("n", "K"))
    arrays = (
        pad(codes_a, fill, 0),
        pad(codes_b, fill, 0),
        addends(unit, c, (len(codes_a),), "c"),
        *dot_scales(unit, scale_a, scale_b, *codes_a.shape),
    )
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    codes = [definition.dot(*row).code for row in rows]
    return result_array(unit, np.array(codes, dtype=container_dtype(unit.output)))
