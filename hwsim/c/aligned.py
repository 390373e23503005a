"""Aligned sums in C: one window."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, addends, adds
from hwsim.c.ranges import span_of
from hwsim.spec import AlignedSum, Unit


def group_sum(unit: Unit, rule: AlignedSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    product, count = sizes.product, unit.instruction.lanes
    most, fraction_bits = product.most, product.fraction_bits
    part_exp = None
    if rule.subgroup is not None and unit.scale is not None:
        scales = span_of(unit.scale.a.format).times(span_of(unit.scale.b.format))
        part_exp = product.least_exp
        total = rule.subgroup.lanes * (most << product.high - product.low)
        most, fraction_bits = total * scales.most, scales.fraction_bits - part_exp
        count //= rule.subgroup.lanes
        sizes.totals += [total, most]
    term = sizes.cut(most, fraction_bits, rule.fraction_bits)
    beside = [sizes.cut(addend.most, addend.fraction_bits, rule.fraction_bits).kept for addend in addends(unit)]
    sizes.totals.append(count * term.kept + max(beside))
    return GroupSum(
        template="aligned",
        lost=(rule.term_lost,),
        sticky=rule.sticky,
        window_bits=rule.fraction_bits,
        total_bits=rule.fraction_bits,
        terms=count + adds(unit),
        parts=count if rule.subgroup is not None else 0,
        part_lanes=rule.subgroup.lanes if rule.subgroup is not None else 0,
        part_exp=part_exp,
        part_bits=fraction_bits if part_exp is not None else None,
        zeros_count=rule.zero_terms == "count",
        max_exp_floor=rule.max_exp_floor,
        zero_signs=rule.zero == "ieee",
    )
