"""Which units the RTL has."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.spec import AlignedSum, Support, Unit, implemented, wide_codes

from .methods import lacks_of_method


def supports(unit: Unit) -> Support:
    """What of a unit the RTL lacks; first of all what no implementation has."""
    general = implemented(unit)
    if not general:
        return general
    lacks = (*lacks_of_method(unit.sum), *_scale_and_result(unit), *_instruction(unit), *_factors_and_addend(unit))
    lacks = (*lacks, *wide_codes(unit))
    return Support(unit.name, "is in the model, but not in the RTL yet", lacks, tuple(_unseen(unit)))


def _unseen(unit: Unit) -> Iterator[str]:
    """Settings that no result of a unit that the RTL has shows."""
    if unit.operands.zeros == "positive" and isinstance(unit.sum, AlignedSum):
        yield "operands.zeros: positive"  # no sum of zero has the sign of a zero


def _scale_and_result(unit: Unit) -> Iterator[str]:
    scale = unit.scale
    if scale is not None and scale.at != "product":
        yield f"scale.at: {scale.at}"


def _instruction(unit: Unit) -> Iterator[str]:
    if unit.instruction.start == "zero":
        yield "instruction.start: zero"
    if unit.late is not None:
        yield "sum.addend: late"


def _factors_and_addend(unit: Unit) -> Iterator[str]:
    operands, promotion = unit.operands, unit.promotion
    if promotion is not None and operands.addend not in (None, promotion.format):
        yield "operands.addend other than promotion.format"
