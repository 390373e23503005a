"""The claims of each method of summing, by the class of the specification's sum, and what has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hwsim.formats import FixedFormat
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.datapathclaims import DatapathClaims
from hwsim.prove.elaborated import datapath_circuits
from hwsim.prove.exact import ExactClaims
from hwsim.prove.latewindow import LateWindowClaims
from hwsim.prove.modal import ModalClaims
from hwsim.prove.relations import StepCircuits
from hwsim.prove.roundedsums import RoundedSumClaims
from hwsim.prove.subgroups import SubgroupClaims
from hwsim.prove.windows import WindowsClaims
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateInWindow,
    ModalUnit,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Specified,
    Sum,
    Support,
    Unit,
)
from hwsim.spec.implementation import one_plain_window
from hwsim.spec.sums import WindowSubgroup

Claims = Callable[[Unit, Sequence[str], Mapping[str, Circuit]], DatapathClaims]


def _aligned(unit: Unit) -> Claims:
    return _plain if one_plain_window(unit) else _windows(unit)


def _plain(unit: Unit, cuts: Sequence[str], steps: Mapping[str, Circuit]) -> DatapathClaims:
    return AlignedClaims(unit, cuts, StepCircuits.joined(steps))


def _windows(unit: Unit) -> Claims:
    if isinstance(unit.late, LateInWindow):
        return LateWindowClaims
    return WindowsClaims if unit.subgroup is None else SubgroupClaims


# Of a unit with such a sum, what makes its claims.
METHODS: Mapping[type[Sum], Callable[[Unit], Claims]] = {
    AlignedSum: _aligned,
    EvenOddSum: _windows,
    ExactSum: lambda unit: ExactClaims,
    SequentialSum: lambda unit: RoundedSumClaims,
    PairwiseSum: lambda unit: RoundedSumClaims,
}


def provable(unit: Specified) -> Support:
    """What of a unit no claim covers, though its RTL may have it."""
    lacks = _lacks(unit) if isinstance(unit, Unit) else _modes_lack(unit)
    return Support(unit.name, "is in the RTL, but no proof covers it yet", tuple(lacks), ())


def plain_window(unit: Unit, where: str) -> Support:
    """What of a unit is more than a sum in one window of products of factors as they come, though it may be proved.

    where: what such units alone have, in words.
    """
    return Support(unit.name, where, tuple(_not_plain(unit)), ())


def method_claims(unit: Specified, cuts: Sequence[str], steps: Mapping[str, Circuit] | None = None) -> DatapathClaims:
    """The claims of a unit's method. Raises NotImplementedYet for what no claim covers.

    steps: the circuits of its datapath's steps, where they are at hand.
    """
    provable(unit).demand()
    steps = datapath_circuits(unit, cuts) if steps is None else steps
    if isinstance(unit, ModalUnit):
        return ModalClaims(unit, cuts, steps)
    return METHODS[type(unit.sum)](unit)(unit, cuts, steps)


def _lacks(unit: Unit) -> Iterator[str]:
    if type(unit.sum) not in METHODS:
        yield f"sum.method: {unit.sum.method}"
    if unit.subgroup is not None and isinstance(unit.late, LateInWindow):
        yield "sum.subgroup beside late.operation: window"
    if unit.subgroup is not None and unit.subgroup.lanes == 1:
        yield "sum.subgroup.lanes: 1"
    if isinstance(unit.subgroup, WindowSubgroup):
        yield "sum.subgroup.method: aligned"
    if unit.subgroup is not None and isinstance(unit.sum, ExactSum | RoundedSum):
        yield f"sum.subgroup of sum.method: {unit.sum.method}"


def _modes_lack(unit: ModalUnit) -> Iterator[str]:
    """Which units of several modes have no claims."""
    if isinstance(unit.sum, AlignedSum) and not one_plain_window(unit):
        yield "modes of another window than a plain one"
    elif not isinstance(unit.sum, (AlignedSum, RoundedSum)):
        yield f"modes of sum.method: {unit.sum.method}"
    if unit.sum.product_limit is not None:
        yield "modes with sum.product_limit"


def _window(unit: Unit) -> Iterator[str]:
    """What of a window is more than products and an addend, of which those that are zero count for nothing."""
    rule = unit.sum
    if isinstance(rule, AlignedSum):
        if rule.subgroup is not None:
            yield "sum.subgroup"
        if rule.cut is not None:
            yield "sum.cut"
        if rule.zero_terms == "count":
            yield "sum.zero_terms: count"
        if rule.zero == "ieee":
            yield "sum.zero: ieee"


def _not_plain(unit: Unit) -> Iterator[str]:
    rule, operands = unit.sum, unit.operands
    if not isinstance(rule, AlignedSum):
        yield f"sum.method: {rule.method}"
    yield from _window(unit)
    if rule.product_limit is not None:
        yield "sum.product_limit"
    if unit.scale is not None and unit.scale.at != "product":
        yield f"scale.at: {unit.scale.at}"
    for key, fmt in (("a", operands.a), ("b", operands.b)):
        if isinstance(fmt, FixedFormat):
            yield f"operands.{key}: {fmt.name}"
    if operands.convert is not None:
        yield "operands.convert"
    if unit.late is not None or unit.instruction.start == "zero":
        yield "an addend that is added late"
    if unit.promotion is not None and operands.addend not in (None, unit.promotion.format):
        yield "operands.addend other than promotion.format"
