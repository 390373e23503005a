"""Rules between the keys of a specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.yamlfile import RuleError
from hwsim.spec.registers import check_register, embeds, holds
from hwsim.spec.sums import check_fixed_result, check_sum

if TYPE_CHECKING:
    from hwsim.spec.unit import Unit


def check(unit: Unit) -> None:
    """Raise RuleError for the first rule that a specification breaks."""
    _check_operands(unit)
    _check_instruction(unit)
    check_sum(unit)
    _check_start(unit)
    _check_result(unit)
    _check_scale(unit)
    _check_promotion(unit)


def _check_operands(unit: Unit) -> None:
    for key in ("a", "b"):
        if isinstance(getattr(unit.operands, key), ExponentFormat):
            raise RuleError(f"operands.{key}", "must be a float or fixed format, not a power of two")
    kinds = (FloatFormat, FixedFormat) if isinstance(unit.result.format, FixedFormat) else FloatFormat
    if unit.operands.addend is not None and not isinstance(unit.operands.addend, kinds):
        raise RuleError("operands.addend", f"must be a float format or none, not {unit.operands.addend.name}")
    convert = unit.operands.convert
    if convert is None:
        return
    if not isinstance(convert, FloatFormat):
        raise RuleError("operands.convert", f"must be a float format, not {convert.name}")
    for key in ("a", "b"):
        factor = getattr(unit.operands, key)
        if not holds(factor, convert):
            raise RuleError(
                "operands.convert", f"must hold every {factor.name}, the format of {key}; {convert.name} doesn't"
            )


def _check_instruction(unit: Unit) -> None:
    k, lanes = unit.instruction.k, unit.instruction.lanes
    if k % lanes:
        raise RuleError("instruction.lanes", f"must divide instruction.k ({k}), not {lanes}")
    order = unit.instruction.order
    if order == "sequential":
        return
    if k % order.modulo:
        raise RuleError("instruction.order.modulo", f"must divide instruction.k ({k}), not {order.modulo}")
    if sorted(index for group in order.groups for index in group) != list(range(order.modulo)):
        raise RuleError("instruction.order.groups", f"must hold each of 0 to {order.modulo - 1} once")
    if any(len(group) * k // order.modulo != lanes for group in order.groups):
        raise RuleError("instruction.order.groups", f"must make groups of instruction.lanes ({lanes}) products")


def _check_start(unit: Unit) -> None:
    """What an instruction starts from and what becomes of the addend, and of the sum so far, must agree."""
    start, addend = unit.instruction.start, unit.operands.addend
    if unit.sum.addend == "late":
        if start != "zero":
            raise RuleError("instruction.start", f"must be zero, because sum.addend is late, not {start}")
        return
    if start == "zero" and addend is not None:
        rule = f"must not be zero unless sum.addend is late: nothing else adds operands.addend ({addend.name})"
        raise RuleError("instruction.start", rule)
    if start == "zero" and unit.instruction.chain is not None:
        rule = "must not be zero unless instruction.chain is none: a longer K would lose what came before"
        raise RuleError("instruction.start", rule)


def _check_result(unit: Unit) -> None:
    result = unit.result.format
    if isinstance(result, FixedFormat):
        check_fixed_result(unit)
        return
    if unit.result.overflow == "wrap":
        raise RuleError("result.overflow", f"must not be wrap: {result.name} is not a fixed format")
    if not isinstance(result, FloatFormat) or not result.signed:
        raise RuleError("result.format", f"must be a signed float format, not {result.name}")
    if unit.result.overflow == "infinity" and not result.infinities:
        raise RuleError("result.overflow", f"must be nan or saturate, not infinity: {result.name} has none")
    if unit.result.overflow == "nan" and not result.has_nan:
        raise RuleError("result.overflow", f"must not be nan: {result.name} has no NaN")
    if any(_special(fmt) for fmt in _inputs(unit)) and not result.has_nan:
        raise RuleError("result.format", f"must have a NaN, because the inputs have; {result.name} has none")
    if isinstance(unit.result.nan, int) and not 0 <= unit.result.nan < 1 << result.container_bits:
        raise RuleError("result.nan", f"must be a code of {result.container_bits} bits, not {unit.result.nan:#x}")
    returned = unit.late.format if unit.late is not None and unit.late.format is not None else result
    for fmt in (result, returned):
        assert isinstance(fmt, FloatFormat)
        if isinstance(unit.result.nan, int) and not is_nan_code(fmt, unit.result.nan):
            raise RuleError("result.nan", f"must be a NaN of {fmt.name}, not {unit.result.nan:#x}")
    if any(fmt.infinities for fmt in _inputs(unit)) and not result.infinities and unit.result.overflow == "infinity":
        raise RuleError("result.format", f"must have an infinity, because the inputs have; {result.name} has none")


def is_nan_code(fmt: FloatFormat, code: int) -> bool:
    """Whether a code of the container is NaN: its padding zero, or the canonical NaN."""
    padded = code & ((1 << fmt.padding) - 1)
    return code == fmt.canonical_nan or (not padded and fmt.is_nan(code >> fmt.padding))


def _inputs(unit: Unit) -> list[Format]:
    inputs = [unit.operands.a, unit.operands.b]
    if unit.operands.addend is not None:
        inputs.append(unit.operands.addend)
    if unit.scale is not None:
        inputs += [unit.scale.a.format, unit.scale.b.format]
    return inputs


def _special(fmt: Format) -> bool:
    return fmt.has_nan or fmt.infinities


def _check_scale(unit: Unit) -> None:
    if unit.scale is None:
        return
    lanes = unit.instruction.lanes
    for key, length in (("a", unit.scale.a.block[1]), ("b", unit.scale.b.block[0])):
        if length % lanes and lanes % length:
            raise RuleError(
                f"scale.{key}.block", f"must divide or be a multiple of {lanes} lanes along K, not {length}"
            )
    if unit.scale.at == "promotion":
        if unit.promotion is None:
            raise RuleError("scale.at", "must not be promotion: there is none")
        _check_blocks(unit, unit.promotion.interval, "promotion.interval")
    if unit.scale.at == "subgroup":
        if unit.sum.subgroup is None:
            raise RuleError("scale.at", "must not be subgroup: there is no sum.subgroup")
        _check_blocks(unit, unit.sum.subgroup.lanes, "sum.subgroup.lanes")


def _check_blocks(unit: Unit, products: int, key: str) -> None:
    """Products that are scaled together must share their scales."""
    assert unit.scale is not None
    for side, length in (("a", unit.scale.a.block[1]), ("b", unit.scale.b.block[0])):
        if length % products:
            raise RuleError(f"scale.{side}.block", f"must be a multiple of {key} ({products}) along K, not {length}")
    if unit.instruction.order != "sequential":
        rule = f"must be sequential, because scale.at is {unit.scale.at}"
        raise RuleError("instruction.order", rule)


def _check_promotion(unit: Unit) -> None:
    promotion = unit.promotion
    if promotion is None:
        return
    if promotion.interval % unit.instruction.lanes:
        raise RuleError(
            "promotion.interval",
            f"must be a multiple of instruction.lanes ({unit.instruction.lanes}), not {promotion.interval}",
        )
    scaled = unit.scale is not None and unit.scale.at == "promotion"
    if scaled != (promotion.operation == "fma"):
        rule = "must be fma, because scale.at is promotion" if scaled else "must be add unless scale.at is promotion"
        raise RuleError("promotion.operation", f"{rule}, not {promotion.operation}")
    register, result = promotion.format, unit.result.format
    check_register("promotion.format", register)
    if not embeds(result, register):
        raise RuleError(
            "promotion.format", f"must hold every {result.name}, the result's format; {register.name} doesn't"
        )
    if unit.operands.addend is not None and not embeds(unit.operands.addend, register):
        raise RuleError("promotion.format", f"must hold every {unit.operands.addend.name}, the addend's format")
