"""A chain of rounded additions in hardware: product after product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hwsim.spec import SequentialSum, Specified
from hwsim.spec.implementation import parts_of_group

from .rounded import AdditionPlace, rounded_datapath
from .step import Datapath


def lacks(rule: SequentialSum) -> Iterator[str]:
    """The settings of a chain that the RTL does not have: none."""
    yield from ()


def datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: a level for each lane, from the addend or +0."""
    levels = ([AdditionPlace("sum", "sum", f"product{lane}")] for lane in range(parts_of_group(unit)))
    return rounded_datapath(unit, cuts, levels)
