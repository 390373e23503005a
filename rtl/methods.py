"""The datapaths of a unit: a group's sum by the unit's method, and the adder of what follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hwsim.formats import TableFormat
from hwsim.rtl.accumulate import accumulation, accumulator, promotion_adder, smaller_promotion
from hwsim.rtl.aligned import window_datapath
from hwsim.rtl.exact import exact_datapath
from hwsim.rtl.numbers import as_float
from hwsim.rtl.rounded import chain_datapath, tree_datapath
from hwsim.rtl.step import Datapath
from hwsim.rtl.tabledecode import decoding
from hwsim.spec import (
    AlignedSum,
    AnyUnit,
    EvenOddSum,
    ExactSum,
    PairwiseSum,
    SequentialSum,
    Specified,
    Support,
    Unit,
    dense_of,
    implemented,
    of_modes,
)
from hwsim.spec.support import in_beats

# Of a unit, its cuts, and whether factors are decoded apart: from the operands and what is carried from the group
# before, to a result's code and what is carried on.
METHODS: Mapping[type, Callable[[Specified, Sequence[str], bool], Datapath]] = {
    AlignedSum: window_datapath,
    SequentialSum: chain_datapath,
    PairwiseSum: tree_datapath,
    EvenOddSum: window_datapath,
    ExactSum: exact_datapath,
}


def supports(unit: AnyUnit) -> Support:
    """The RTL's support of a unit, or of its modes; it lacks first of all what no implementation has."""
    return in_beats(unit, of_modes(dense_of(unit), _supports))


def _supports(unit: Unit) -> Support:
    general = implemented(unit)
    if not general:
        return general
    return Support(unit.name, "is in the model, but not in the RTL yet", tuple(_lacks(unit)), tuple(_unseen(unit)))


MOST_ROWS = 1 << 12  # of a field in a table's decoder


def _lacks(unit: Unit) -> Iterator[str]:
    """Settings that the RTL does not have."""
    for side, fmt in (("a", unit.operands.a), ("b", unit.operands.b)):
        if isinstance(fmt, TableFormat) and (rows := decoding(fmt).rows) > MOST_ROWS:
            yield f"operands.{side}: {fmt.name}, whose decoder has {rows} rows, more than {MOST_ROWS},"
    if type(unit.sum) not in METHODS:
        yield f"sum.method: {unit.sum.method}"


def _unseen(unit: Unit) -> Iterator[str]:
    """Settings that no result of a unit that the RTL has shows."""
    if unit.operands.zeros == "positive" and isinstance(unit.sum, AlignedSum):
        yield "operands.zeros: positive"  # no sum of zero has the sign of a zero


def datapath(unit: Specified, cuts: Sequence[str], apart: bool = False) -> Datapath:
    """A group's sum, with a register after each step of `cuts`.

    apart: whether factors and scales are decoded elsewhere, and join after `decode`.
    Raises NotImplementedYet for what the RTL lacks.
    """
    supports(unit).demand()
    return METHODS[type(unit.sum)](unit, cuts, apart)


def promotion(unit: Specified, cuts: Sequence[str]) -> Datapath:
    """The adder of a unit's promotion register, or of its late addend. Raises TypeError for a unit that has neither."""
    adder, rule = accumulation(unit), smaller_promotion(unit, cuts)
    if adder is None:
        raise TypeError(f"{unit.name} must have a promotion or a late addition")
    if rule is not None:
        return promotion_adder(as_float(unit.result.format), rule, cuts)
    return accumulator(adder, cuts)
