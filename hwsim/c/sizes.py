"""How wide a unit's integers are, and how far its terms are shifted."""

from __future__ import annotations

from dataclasses import dataclass, field

from hwsim.c.ranges import Cut, Range, converted, range_of
from hwsim.formats import FixedFormat, Format
from hwsim.spec import Unit

LONGEST = 40  # 2^LONGEST products make the longest exact sum: a terabyte of codes each


@dataclass
class Sizes:
    """What a unit's integers hold.

    product: the products, with the scales that enter them. term: how they, or their scaled sums, come into the window.
    half, late_sum, fixed: how the sum of a half, the sum beside a late addend, and an exact sum come into another one.
    part_exp, unit_exp: the exponents of the units of exact sums, of subgroups and of groups.
    cuts: everything that is shifted down. totals: the largest magnitude of every sum.
    """

    product: Range
    term: Cut | None = None
    half: Cut | None = None
    late_sum: Cut | None = None
    fixed: Cut | None = None
    part_exp: int | None = None
    unit_exp: int | None = None
    cuts: list[Cut] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def cut(self, most: int, fraction_bits: int, bits: int) -> Cut:
        """Integers that are shifted into a window."""
        made = Cut(most, fraction_bits, bits)
        self.cuts.append(made)
        self.totals.append(made.kept)
        return made

    @property
    def bits(self) -> int:
        """Bits of a signed integer for all of it; 0 where there is none.

        A shift by one place more than there are bits must be one that C defines, and leave less than half.
        """
        shifted = max((cut.shifted + 2 for cut in self.cuts), default=0)
        return max([shifted, *(total.bit_length() + 1 for total in self.totals)])


def sizes(unit: Unit) -> Sizes:
    """A unit's."""
    made = Sizes(_products(unit))
    method = unit.sum.method
    if method == "aligned":
        _aligned(unit, made)
    elif method == "even-odd":
        _even_odd(unit, made)
    elif method == "exact":
        _exact(unit, made)
    if unit.late is not None and unit.late.operation == "window":
        _late_window(unit, made)
    return made


def _products(unit: Unit) -> Range:
    operands = unit.operands
    sides = [
        range_of(fmt) if operands.convert is None else converted(fmt, operands.convert)
        for fmt in (operands.a, operands.b)
    ]
    if unit.scale is not None and unit.scale.at == "product":
        sides += [range_of(unit.scale.a.format), range_of(unit.scale.b.format)]
    made = sides[0]
    for side in sides[1:]:
        made = made.times(side)
    return made


def group_addends(unit: Unit) -> list[Format]:
    """The formats of what a group may add to its products."""
    if unit.sum.method == "even-odd":
        return []
    formats: list[Format] = [unit.result.format]
    if unit.restart is None and unit.operands.addend is not None:
        formats.append(unit.operands.addend)
    return formats


def _aligned(unit: Unit, made: Sizes) -> None:
    rule, bits = unit.sum, unit.sum.fraction_bits or 0
    most, fraction_bits, count = made.product.most, made.product.fraction_bits, unit.instruction.lanes
    if rule.subgroup is not None and unit.scale is not None:
        scales = range_of(unit.scale.a.format).times(range_of(unit.scale.b.format))
        made.part_exp = made.product.least_exp
        total = rule.subgroup.lanes * (most << made.product.high - made.product.low)
        most, fraction_bits, count = (
            total * scales.most,
            scales.fraction_bits - made.part_exp,
            count // rule.subgroup.lanes,
        )
        made.totals += [total, most]
    made.term = made.cut(most, fraction_bits, bits)
    addends = [range_of(fmt) for fmt in group_addends(unit)]
    beside = [made.cut(one.most, one.fraction_bits, bits).kept for one in addends]
    made.totals.append(count * made.term.kept + max(beside))


def _even_odd(unit: Unit, made: Sizes) -> None:
    combine = unit.sum.combine
    assert combine is not None
    bits = unit.sum.fraction_bits or 0
    made.term = made.cut(made.product.most, made.product.fraction_bits, bits)
    half = -(-unit.instruction.lanes // 2) * made.term.kept
    made.half = made.cut(half, bits, combine.fraction_bits)
    made.totals += [half, 2 * made.half.kept]


def _late_window(unit: Unit, made: Sizes) -> None:
    late = unit.late
    assert late is not None and late.sum_bits is not None and late.addend_bits is not None
    bits = max(late.sum_bits, late.addend_bits)
    own = unit.sum.combine.fraction_bits if unit.sum.combine is not None else unit.sum.fraction_bits or 0
    made.late_sum = made.cut(max(made.totals), own, late.sum_bits)
    ranges = [range_of(fmt) for fmt in (unit.operands.addend, unit.output) if fmt is not None]
    addend = max(made.cut(one.most, one.fraction_bits, late.addend_bits).kept for one in ranges)
    made.totals.append((made.late_sum.kept << bits - late.sum_bits) + (addend << bits - late.addend_bits))


def _exact(unit: Unit, made: Sizes) -> None:
    addends = [range_of(fmt) for fmt in group_addends(unit)]
    unit_exp = min(one.least_exp for one in (made.product, *addends))
    most = [one.most << one.high - one.fraction_bits - unit_exp for one in (made.product, *addends)]
    made.unit_exp = unit_exp
    made.totals.append(exact_products(unit) * most[0] + max(most[1:]))
    if isinstance(unit.result.format, FixedFormat):
        made.fixed = made.cut(made.totals[0], -unit_exp, unit.result.format.fraction_bits)


def exact_products(unit: Unit) -> int:
    """Products of the longest exact sum."""
    instruction = unit.instruction
    if unit.sum.rounded == "group":
        return instruction.lanes
    if unit.restart is not None:
        return unit.restart * instruction.lanes
    return instruction.k if instruction.chain is None else 1 << LONGEST
