"""Sequential sums in C: one rounded addition after the other."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes
from hwsim.spec import SequentialSum, Unit


def group_sum(unit: Unit, rule: SequentialSum, sizes: Sizes) -> GroupSum:
    """The sum of a group."""
    steps = 1 + unit.instruction.lanes * (1 + (rule.product == "rounded"))
    return GroupSum(template="sequential", steps=steps, format=rule.format)
