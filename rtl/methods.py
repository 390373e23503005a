"""The methods that the RTL has, by the class of the specification's sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    PairwiseSum,
    SequentialSum,
    Specified,
    Support,
    Unit,
    implemented,
    of_modes,
)

from .aligned import aligned_datapath
from .exact import exact_datapath
from .latewindow import general_datapath
from .pairwise import tree_datapath
from .sequential import chain_datapath
from .step import Datapath

# Of a unit and its cuts: from the operands and what is carried from the group before, to a result's code and what is
# carried on.
METHODS: Mapping[type, Callable[[Specified, Sequence[str]], Datapath]] = {
    AlignedSum: aligned_datapath,
    SequentialSum: chain_datapath,
    PairwiseSum: tree_datapath,
    EvenOddSum: general_datapath,
    ExactSum: exact_datapath,
}


def supports(unit: Specified) -> Support:
    """What of a unit, or of one of its modes, the RTL lacks; first of all what no implementation has."""
    return of_modes(unit, _supports)


def _supports(unit: Unit) -> Support:
    general = implemented(unit)
    if not general:
        return general
    lacks = () if type(unit.sum) in METHODS else (f"sum.method: {unit.sum.method}",)
    return Support(unit.name, "is in the model, but not in the RTL yet", lacks, tuple(_unseen(unit)))


def _unseen(unit: Unit) -> Iterator[str]:
    """Settings that no result of a unit that the RTL has shows."""
    if unit.operands.zeros == "positive" and isinstance(unit.sum, AlignedSum):
        yield "operands.zeros: positive"  # no sum of zero has the sign of a zero
