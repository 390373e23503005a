"""Exact sums in C: a single integer wide enough for every product."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, addends, adds
from hwsim.c.parts import part_fields, part_sums
from hwsim.formats import FixedFormat
from hwsim.spec import ExactSum, Unit

LONGEST = 40  # 2^LONGEST products make the longest exact sum: a terabyte of codes each


def group_sum(unit: Unit, rule: ExactSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    parts = part_sums(unit, sizes)
    spans = (sizes.product if parts is None else parts, *addends(unit))
    unit_exp = min(span.least_exp for span in spans)
    most, *others = (span.most << span.high - span.fraction_bits - unit_exp for span in spans)
    products = _longest(unit, rule)
    count = products if rule.subgroup is None else -(-products // rule.subgroup.lanes)
    total = count * most + max(others)
    sizes.totals.append(total)
    result, fixed = unit.result.format, None
    if isinstance(result, FixedFormat):
        fixed = sizes.cut(total, -unit_exp, result.fraction_bits)
    return GroupSum(
        template="exact",
        lost=("truncate",) if parts is not None else (),
        **part_fields(unit, parts),
        zero_signs=rule.zero == "ieee",
        unit_exp=unit_exp,
        exact_products=products,
        carries=adds(unit) and rule.rounded == "end",
        fixed=fixed,
    )


def _longest(unit: Unit, rule: ExactSum) -> int:
    """The number of products in the longest exact sum."""
    instruction = unit.instruction
    if rule.rounded == "group":
        return instruction.lanes
    if unit.restart is not None:
        return unit.restart * instruction.lanes
    return instruction.k if instruction.chain is None else 1 << LONGEST
