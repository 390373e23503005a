"""Which units the RTL has."""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec import Support, Unit

from .methods import lacks_of_method


def supports(unit: Unit) -> Support:
    """What of a unit the RTL lacks; first of all, and in other words, what the model lacks too."""
    missing = tuple(_in_no_implementation(unit))
    if missing:
        return Support(unit.name, "is not implemented yet", missing)
    lacks = (*lacks_of_method(unit.sum), *_scale_and_result(unit), *_instruction(unit), *_factors_and_addend(unit))
    return Support(unit.name, "is in the model, but not in the RTL yet", lacks)


def _in_no_implementation(unit: Unit) -> Iterator[str]:
    scale, result = unit.scale, unit.result.format
    sides = () if scale is None or scale.at != "product" else (scale.a, scale.b)
    if not all(isinstance(side.format, ExponentFormat) for side in sides):
        yield "scale formats other than a power of two"
    if isinstance(result, FloatFormat) and result.fraction_bits == 0:
        yield "result formats without a fraction"
    if any(isinstance(fmt, FloatFormat) and not fmt.signed for fmt in (unit.operands.a, unit.operands.b)):
        yield "unsigned factors"
    if unit.late is not None and unit.promotion is not None:
        yield "sum.addend: late with a promotion"


def _scale_and_result(unit: Unit) -> Iterator[str]:
    scale, promotion = unit.scale, unit.promotion
    if scale is not None and scale.at != "product":
        yield f"scale.at: {scale.at}"
    if _lacks_subnormals(unit.result.format):
        yield "result formats without subnormals"
    if promotion is not None and _lacks_subnormals(promotion.format):
        yield "promotion formats without subnormals"
    if promotion is not None and not promotion.format.infinities:
        yield "promotion formats without infinities"
    if unit.result.nan == "any":
        yield "result.nan: any"
    if unit.result.subnormals == "flush":
        yield "result.subnormals: flush"


def _lacks_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FloatFormat) and not fmt.subnormals


def _instruction(unit: Unit) -> Iterator[str]:
    if unit.operands.convert is not None:
        yield "operands.convert"
    if unit.operands.daz:
        yield "operands.daz: true"
    if unit.instruction.order != "sequential":
        yield "instruction.order other than sequential"
    if unit.instruction.start == "zero":
        yield "instruction.start: zero"
    if unit.late is not None:
        yield "sum.addend: late"


def _factors_and_addend(unit: Unit) -> Iterator[str]:
    operands, promotion = unit.operands, unit.promotion
    for key, fmt in (("a", operands.a), ("b", operands.b)):
        if isinstance(fmt, FixedFormat):
            yield f"operands.{key}: {fmt.name}"
    if promotion is not None and operands.addend not in (None, promotion.format):
        yield "operands.addend other than promotion.format"
