"""The datapaths of a unit: a group's sum by the unit's method, and the adder of what follows it."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.spec import Specified

from .accumulate import accumulation, accumulator, smaller_promotion
from .methods import METHODS, supports
from .numbers import as_float
from .promote import promotion_adder
from .step import Datapath


def datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum, with a register after each step of `cuts`. Raises NotImplementedYet for what the RTL lacks."""
    supports(unit).demand()
    return METHODS[type(unit.sum)](unit, cuts)


def promotion(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """The adder of a unit's promotion register, or of its late addend. Raises TypeError for a unit that has neither."""
    what, rule = accumulation(unit), smaller_promotion(unit, cuts)
    if what is None:
        raise TypeError(f"{unit.name} must have a promotion or a late addition")
    if rule is not None:
        return promotion_adder(as_float(unit.result.format), rule, cuts)
    return accumulator(what, cuts)
