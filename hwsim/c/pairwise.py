"""Pairwise sums in C: a tree of rounded additions."""

from __future__ import annotations

from hwsim.c.group import GroupSum, Sizes, adds
from hwsim.c.parts import part_fields, part_sums, wide_unit_exp
from hwsim.spec import PairwiseSum, Unit
from hwsim.spec.implementation import parts_of_group


def group_sum(unit: Unit, rule: PairwiseSum, sizes: Sizes) -> GroupSum:
    """The sum of a group. Adds the integers that it needs to `sizes`."""
    count = parts_of_group(unit)
    steps = count * (rule.product == "rounded") + count + adds(unit)
    sums = part_sums(unit, sizes)
    fields, unit_exp = part_fields(unit, sums), wide_unit_exp(unit, sums, rule.format, sizes)
    return GroupSum(template="pairwise", steps=steps, format=rule.format, unit_exp=unit_exp, **fields)
