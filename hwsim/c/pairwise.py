"""Pairwise sums in C: a tree of rounded additions."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, adds
from hwsim.spec import PairwiseSum, Unit


def group_sum(unit: Unit, rule: PairwiseSum, sizes: Sizes) -> GroupSum:
    """The sum of a group."""
    lanes = unit.instruction.lanes
    steps = lanes * (rule.product == "rounded") + lanes + adds(unit)
    return GroupSum(template="pairwise", steps=steps, format=rule.format)
