"""The datapaths of a unit: a group's sum by the unit's method, and the adder of what follows it."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.formats import FloatFormat
from hwsim.spec import Specified

from .accumulate import accumulation, accumulator, cut_inside
from .methods import METHODS
from .promote import promotion_adder
from .step import Datapath
from .support import supports


def datapath(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """A group's sum, with a register after each step of `cuts`. Raises NotImplementedYet for what the RTL lacks."""
    supports(unit).demand()
    return METHODS[type(unit.sum)].datapath(unit, cuts)


def promotion(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """The adder of a unit's promotion register, or of its late addend. Raises TypeError for a unit that has neither."""
    rule, what = unit.promotion, accumulation(unit)
    if what is None:
        raise TypeError(f"{unit.name} must have a promotion or a late addition")
    partial = unit.result.format
    # A promotion without scales is smaller in an adder of its own, which has no registers inside.
    own = rule is not None and rule.operation == "add" and not cut_inside(what, cuts)
    if rule is not None and own and isinstance(partial, FloatFormat):
        return promotion_adder(partial, rule, cuts)
    return accumulator(what, cuts)
