"""Aligned sums in C: one window."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, addends, adds
from hwsim.c.parts import part_fields, part_sums
from hwsim.spec import AlignedSum, Unit
from hwsim.spec.sums import WindowSubgroup


def group_sum(unit: Unit, rule: AlignedSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    product, count = sizes.product, unit.instruction.lanes
    most, fraction_bits, parts = product.most, product.fraction_bits, part_sums(unit, sizes)
    if rule.subgroup is not None and parts is not None:
        most, fraction_bits = parts.most, parts.fraction_bits
        count //= rule.subgroup.lanes
    term = sizes.cut(most, fraction_bits, rule.fraction_bits)
    beside = [sizes.cut(addend.most, addend.fraction_bits, rule.fraction_bits).kept for addend in addends(unit)]
    total = count * term.kept + max(beside)
    sizes.totals.append(total)
    if rule.cut is not None:
        sizes.totals.append(sizes.cut(total, rule.cut.bits, 0).kept << rule.cut.bits)
    return GroupSum(
        template="aligned",
        lost=(
            rule.term_lost,
            *([rule.subgroup.lost] if isinstance(rule.subgroup, WindowSubgroup) else []),
            *([] if rule.cut is None else [rule.cut.lost]),
        ),
        sticky=rule.sticky,
        window_bits=rule.fraction_bits,
        total_bits=rule.fraction_bits,
        terms=count + adds(unit),
        **part_fields(unit, parts),
        zeros_count=rule.zero_terms == "count",
        max_exp_floor=rule.max_exp_floor,
        zero_signs=rule.zero == "ieee",
    )
