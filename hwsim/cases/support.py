"""Which units have coverage bins, and so directed and covering cases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    NotImplementedYet,
    PairwiseSum,
    SequentialSum,
    Support,
    Unit,
    implemented,
    wide_codes,
)


def draws(unit: Unit) -> Support:
    """What of a unit the drawers of random cases lack: what no implementation has."""
    return implemented(unit)


def supports(unit: Unit) -> Support:
    """What of a unit the bins and directed cases lack: what those who draw cases lack."""
    return draws(unit)


def windows(unit: Unit) -> Support:
    """What of a unit the bins of windows and their solvers lack: what no implementation has, and all but one window.

    Of codes of 64 bits they lack products, which do not fit their integers.
    """
    general = implemented(unit)
    if not general:
        return general
    lacks = (*_of_sum(unit), *_of_others(unit), *wide_codes(unit))
    return Support(unit.name, "is in the model, but has no window bins", lacks)


@lru_cache(maxsize=256)
def one_window(unit: Unit) -> bool:
    """Whether a unit has one plain window, which bins and solvers of their own are for."""
    return bool(windows(unit))


def window_of(unit: Unit) -> AlignedSum:
    """The one window of a unit that has window bins. Raises NotImplementedYet for others."""
    windows(unit).demand()
    if not isinstance(unit.sum, AlignedSum):
        raise NotImplementedYet(f"unit {unit.name}: sum.method: {unit.sum.method} has no window bins")
    return unit.sum


def _of_sum(unit: Unit) -> Iterator[str]:
    match unit.sum:
        case AlignedSum() as rule:
            if rule.subgroup is not None:
                yield "sum.subgroup"
            if rule.cut is not None:
                yield "sum.cut"
            if rule.zero_terms != "skip":
                yield f"sum.zero_terms: {rule.zero_terms}"
            if rule.max_exp_floor is not None and not _adds(unit):
                yield "sum.max_exp_floor without an addend"
            if rule.zero != "positive":
                yield f"sum.zero: {rule.zero}"
        case SequentialSum() | PairwiseSum() | EvenOddSum() | ExactSum():
            yield f"sum.method: {unit.sum.method}"
        case _:
            assert_never(unit.sum)
    if unit.sum.product_limit is not None:
        yield "sum.product_limit"


def _adds(unit: Unit) -> bool:
    """Whether a group may have an addend, c or a partial sum. Where it may, proofs allow for any max_exp."""
    several = unit.instruction.chain is not None or unit.instruction.k > unit.instruction.lanes
    return (unit.operands.addend is not None and unit.promotion is None) or (several and unit.promotion_beats != 1)


def _of_others(unit: Unit) -> Iterator[str]:
    scale, promotion, result = unit.scale, unit.promotion, unit.result
    refused = {
        f"scale.at: {scale and scale.at}": scale is not None and scale.at != "product",
        "result formats without subnormals": not (result.format.subnormals or result.format.twos_complement),
        "promotion formats without subnormals": promotion is not None and not promotion.format.subnormals,
        "promotion formats without infinities": promotion is not None and not promotion.format.infinities,
        "operands.convert": unit.operands.convert is not None,
        "operands.daz: true": unit.operands.daz,
        "instruction.order other than sequential": unit.instruction.order != "sequential",
        "instruction.start: zero": unit.instruction.start == "zero",
        "result.nan: any": result.nan == "any",
        "result.subnormals: flush": result.subnormals == "flush",
        "sum.addend: late": unit.sum.addend == "late",
    }
    return (what for what, lacks in refused.items() if lacks)
