"""A balanced tree of rounded additions in hardware, neighbours first; the addend comes last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hwsim.spec import PairwiseSum, Specified
from hwsim.spec.implementation import parts_of_group

from .rounded import AdditionPlace, rounded_datapath
from .step import Datapath


def tree_datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: a level for each of the tree's, and one for the addend."""
    return rounded_datapath(unit, cuts, _levels(parts_of_group(unit)), _absent(unit))


def _levels(lanes: int) -> Iterator[list[AdditionPlace]]:
    """The additions of each level; an odd one goes up a level as it is."""
    left, level = [f"product{lane}" for lane in range(lanes)], 0
    while len(left) > 1:
        pairs = [AdditionPlace(f"sum{level}_{at // 2}", *left[at : at + 2]) for at in range(0, len(left) - 1, 2)]
        yield pairs
        left = [pair.sum for pair in pairs] + left[2 * len(pairs) :]
        level += 1
    yield [AdditionPlace("sum", left[0], "sum")]


def _absent(unit: Specified) -> int:
    """The code of a zero that changes no sum, where the first group has no addend: -0, or +0 when rounding down."""
    rule, starts = unit.sum, unit.promotion is None and unit.instruction.start == "addend"
    if not isinstance(rule, PairwiseSum) or unit.operands.addend is not None or not starts:
        return 0
    return rule.format.sign_bit if rule.format.signed_zero and rule.rounding != "rd" else 0
