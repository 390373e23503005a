"""A chain of rounded additions in hardware: product after product."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.spec import Specified
from hwsim.spec.implementation import parts_of_group

from .rounded import AdditionPlace, rounded_datapath
from .step import Datapath


def chain_datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum: a level for each lane, from the addend or +0."""
    levels = ([AdditionPlace("sum", "sum", f"product{lane}")] for lane in range(parts_of_group(unit)))
    return rounded_datapath(unit, cuts, levels)
