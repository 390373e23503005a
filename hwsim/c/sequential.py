"""Sequential sums in C: one rounded addition after the other."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes
from hwsim.c.parts import part_fields, part_sums
from hwsim.spec import SequentialSum, Unit
from hwsim.spec.implementation import parts_of_group


def group_sum(unit: Unit, rule: SequentialSum, sizes: Sizes) -> GroupSum:
    """The sum of a group."""
    steps = 1 + parts_of_group(unit) * (1 + (rule.product == "rounded"))
    fields = part_fields(unit, part_sums(unit, sizes))
    return GroupSum(template="sequential", steps=steps, format=rule.format, **fields)
