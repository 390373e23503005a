"""Sequential sums in C: one rounded addition after the other."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes
from hwsim.c.parts import part_fields, part_sums, wide_unit_exp
from hwsim.spec import SequentialSum, Unit
from hwsim.spec.implementation import parts_of_group


def group_sum(unit: Unit, rule: SequentialSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    steps = 1 + parts_of_group(unit) * (1 + (rule.product == "rounded"))
    sums = part_sums(unit, sizes)
    fields, unit_exp = part_fields(unit, sums), wide_unit_exp(unit, sums, rule.format, sizes)
    return GroupSum(template="sequential", steps=steps, format=rule.format, unit_exp=unit_exp, **fields)
