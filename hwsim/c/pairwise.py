"""Pairwise sums in C: a tree of rounded additions."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, adds
from hwsim.c.parts import part_fields, part_sums
from hwsim.spec import PairwiseSum, Unit
from hwsim.spec.implementation import parts_of_group


def group_sum(unit: Unit, rule: PairwiseSum, sizes: Sizes) -> GroupSum:
    """The sum of a group."""
    count = parts_of_group(unit)
    steps = count * (rule.product == "rounded") + count + adds(unit)
    fields = part_fields(unit, part_sums(unit, sizes))
    return GroupSum(template="pairwise", steps=steps, format=rule.format, **fields)
