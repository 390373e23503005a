"""Checks the rules between the keys of a specification."""

from __future__ import annotations

from math import lcm
from typing import assert_never

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.formats.blocks import OF_OPERANDS
from hwsim.formats.listed import written
from hwsim.formats.yamlfile import RuleError
from hwsim.spec.keys import ROUNDINGS, Number, Tininess
from hwsim.spec.parts import Scale, UnitKeys
from hwsim.spec.sums import (
    AlignedSum,
    EvenOddSum,
    ExactSubgroup,
    ExactSum,
    LateAdd,
    LateInWindow,
    RoundedSum,
    SubgroupRule,
    WindowSubgroup,
    WindowSum,
)


def holds(inner: Format, outer: FloatFormat) -> bool:
    """True if `outer` has all numbers of `inner`, and its negative zero, infinities and NaN."""
    if isinstance(inner, TableFormat):
        return holds(inner.decoded, outer)
    if isinstance(inner, FloatFormat) and inner.signed_zero and not outer.signed_zero:
        return False
    if (inner.infinities and not outer.infinities) or (inner.has_nan and not outer.has_nan):
        return False
    return embeds(inner, outer) and (outer.signed or not inner.signed)


def embeds(inner: Format, outer: Format) -> bool:
    """True if `outer` has the magnitude of every finite number of `inner`."""
    if isinstance(inner, TableFormat):
        return embeds(inner.decoded, outer)
    if not isinstance(outer, FloatFormat) or isinstance(inner, ExponentFormat):
        return False
    quantum = _quantum(inner)
    if isinstance(inner, FixedFormat):
        fits = inner.precision <= outer.precision
        # The power of two at the negative end; without signs all ones.
        ones = (1 << inner.precision - 1) - 1 << 64 >> inner.precision - 1 if not inner.signed else 0
        most = (inner.integer_bits, 0) if inner.signed else (inner.integer_bits - 1, ones)
    else:
        fits, most = inner.precision <= outer.precision, _most(inner)
    return fits and quantum >= _quantum(outer) and _reaches_down(inner, outer) and most <= _most(outer)


def _quantum(fmt: FloatFormat | FixedFormat) -> int:
    """The exponent of the power of two that every number is a multiple of."""
    return -fmt.fraction_bits if isinstance(fmt, FixedFormat) else fmt.emin - fmt.fraction_bits


def _most(fmt: FloatFormat) -> tuple[int, int]:
    """The largest number in a comparable form: its exponent, and its fraction in units of 2^-64."""
    return fmt.emax, (fmt.max_magnitude & ((1 << fmt.fraction_bits) - 1)) << 64 >> fmt.fraction_bits


def _reaches_down(inner: FloatFormat | FixedFormat, outer: FloatFormat) -> bool:
    """True if `outer` reaches as far down as `inner`; without subnormals its least number is above 2^emin."""
    if outer.subnormals:
        return True
    if isinstance(inner, FloatFormat) and not inner.subnormals:
        return inner.emin >= outer.emin
    return _quantum(inner) > outer.emin


def check(unit: UnitKeys) -> None:
    """Raise RuleError for the first rule that a specification breaks."""
    _check_operands(unit)
    _check_instruction(unit)
    _check_sum(unit)
    _check_start(unit)
    _check_result(unit)
    _check_scale(unit)
    _check_promotion(unit)


def _check_operands(unit: UnitKeys) -> None:
    operands = unit.operands
    if isinstance(operands.addend, FixedFormat) and not isinstance(unit.result.format, FixedFormat):
        raise RuleError("operands.addend", f"must be a float format or none, not {operands.addend.name}")
    for key, factor in (("a", operands.a), ("b", operands.b)):
        if not factor.of_operands:
            raise RuleError(f"operands.{key}", f"{OF_OPERANDS}; {factor.name} has others")
        if isinstance(factor, TableFormat) and written(factor.numbers[0]) != "0":
            rule = f"must have zero at code 0, which fills K; {factor.name} has {written(factor.numbers[0])}"
            raise RuleError(f"operands.{key}", rule)
    convert = operands.convert
    if convert is None:
        return
    for key, factor in (("a", operands.a), ("b", operands.b)):
        if not holds(factor, convert):
            raise RuleError(
                "operands.convert", f"must hold every {factor.name}, the format of {key}; {convert.name} doesn't"
            )


def _check_instruction(unit: UnitKeys) -> None:
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


def _check_start(unit: UnitKeys) -> None:
    """Check that an instruction's start goes with its addend and with a longer K."""
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


def _check_result(unit: UnitKeys) -> None:
    result = unit.result.format
    if unit.result.zero_sign == "any" and not unit.output.signed_zero:
        raise RuleError("result.zero_sign", f"must be promised, not any: {unit.output.name} has no -0")
    flushes, condition = unit.result.flushes, "result.subnormals is keep"
    _check_tininess("result.tininess", unit.result.tininess, condition, flushes, result)
    if isinstance(result, FixedFormat):
        _check_fixed_result(unit, result)
        return
    if unit.result.overflow == "wrap":
        raise RuleError("result.overflow", f"must not be wrap: {result.name} is not a fixed format")
    if unit.result.subnormals == "flush":
        _check_flush("result.subnormals", result)
    if not result.signed:
        raise RuleError("result.format", f"must be a signed float format, not {result.name}")
    if unit.result.overflow == "infinity" and not result.infinities:
        raise RuleError("result.overflow", f"must not be infinity: {result.name} has none")
    if unit.result.overflow == "ieee" and not (result.infinities or result.has_nan):
        raise RuleError("result.overflow", f"must not be ieee: {result.name} has neither infinity nor NaN")
    if unit.result.overflow == "nan" and not result.has_nan:
        raise RuleError("result.overflow", f"must not be nan: {result.name} has no NaN")
    if any(_special(fmt) for fmt in _inputs(unit)) and not result.has_nan:
        raise RuleError("result.format", f"must have a NaN, because the inputs have; {result.name} has none")
    if isinstance(unit.result.nan, int) and not 0 <= unit.result.nan < 1 << result.container_bits:
        raise RuleError("result.nan", f"must be a code of {result.container_bits} bits, not {unit.result.nan:#x}")
    if unit.sum.product_limit is not None and not result.has_nan:
        rule = f"must be none: infinities of both signs add to NaN, and the result's format, {result.name}, has none"
        raise RuleError("sum.product_limit", rule)
    for fmt in (result, unit.late.format if isinstance(unit.late, LateAdd) else result):
        if isinstance(unit.result.nan, int) and not is_nan_code(fmt, unit.result.nan):
            raise RuleError("result.nan", f"must be a NaN of {fmt.name}, not {unit.result.nan:#x}")
    if any(fmt.infinities for fmt in _inputs(unit)) and not result.infinities and unit.result.overflow == "infinity":
        raise RuleError("result.format", f"must have an infinity, because the inputs have; {result.name} has none")


def is_nan_code(fmt: FloatFormat, code: int) -> bool:
    """True if a container's code is NaN: with zeros in its padding, or canonical."""
    padded = code & ((1 << fmt.padding) - 1)
    fits = 0 <= code < 1 << fmt.container_bits
    return code == fmt.canonical_nan or (fits and not padded and fmt.is_nan(code >> fmt.padding))


def _inputs(unit: UnitKeys) -> list[Format]:
    inputs: list[Format] = [unit.operands.a, unit.operands.b]
    if unit.operands.addend is not None:
        inputs.append(unit.operands.addend)
    if unit.scale is not None:
        inputs += [unit.scale.a.format, unit.scale.b.format]
    return inputs


def _special(fmt: Format) -> bool:
    return fmt.has_nan or fmt.infinities


def _check_scale(unit: UnitKeys) -> None:
    if unit.scale is None:
        return
    lanes = unit.instruction.lanes
    for key, length in (("a", unit.scale.a.block[1]), ("b", unit.scale.b.block[0])):
        if length % lanes and lanes % length:
            raise RuleError(
                f"scale.{key}.block", f"must divide or be a multiple of {lanes} lanes along K, not {length}"
            )
    shared = lcm(unit.scale.a.block[1], unit.scale.b.block[0])
    if unit.instruction.chain is None and shared > unit.instruction.k:
        rule = f"must be at most instruction.k ({unit.instruction.k}) along K with that of the other side, because "
        raise RuleError("scale.a.block", f"{rule}instruction.chain is none; whole blocks take {shared} products")
    if unit.instruction.chain is None and (whole := lcm(shared, unit.instruction.fill)) > unit.instruction.k:
        rule = f"must divide instruction.k ({unit.instruction.k}) along K with that of the other side, because "
        raise RuleError("scale.a.block", f"{rule}instruction.chain is none; whole blocks and instructions take {whole}")
    if unit.scale.at == "promotion":
        if unit.promotion is None:
            raise RuleError("scale.at", "must not be promotion: there is none")
        _check_blocks(unit, unit.scale, unit.promotion.interval, "promotion.interval")
    if unit.scale.at == "subgroup":
        subgroup = unit.subgroup
        if subgroup is None:
            raise RuleError("scale.at", "must not be subgroup: there is no sum.subgroup")
        _check_blocks(unit, unit.scale, subgroup.lanes, "sum.subgroup.lanes")


def _check_blocks(unit: UnitKeys, scale: Scale, products: int, key: str) -> None:
    """Check that products which are scaled together share their scales."""
    for side, length in (("a", scale.a.block[1]), ("b", scale.b.block[0])):
        if length % products:
            raise RuleError(f"scale.{side}.block", f"must be a multiple of {key} ({products}) along K, not {length}")
    if unit.instruction.order != "sequential":
        rule = f"must be sequential, because scale.at is {scale.at}"
        raise RuleError("instruction.order", rule)


def _check_promotion(unit: UnitKeys) -> None:
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
    if promotion.operation != "fma" and promotion.first != "scales":
        raise RuleError("promotion.first", f"must be scales unless promotion.operation is fma, not {promotion.first}")
    register, result = promotion.format, unit.result.format
    if not embeds(result, register):
        raise RuleError(
            "promotion.format", f"must hold every {result.name}, the result's format; {register.name} doesn't"
        )
    if unit.operands.addend is not None and not embeds(unit.operands.addend, register):
        raise RuleError("promotion.format", f"must hold every {unit.operands.addend.name}, the addend's format")


def _check_sum(unit: UnitKeys) -> None:
    """Check a sum's settings, and its addend."""
    if isinstance(unit.sum, EvenOddSum):
        _check_even_odd(unit)
    if isinstance(unit.sum, RoundedSum):
        _check_rounded(unit, unit.sum)
    if unit.subgroup is not None:
        _check_subgroup(unit, unit.subgroup)
    _check_addend(unit)
    if unit.late is not None:
        _check_late(unit, unit.late)


def _check_rounded(unit: UnitKeys, rule: RoundedSum) -> None:
    """Check that what rounded sums can be is in the result's format, and that not all of them are flushed."""
    if rule.flush:
        _check_flush("sum.flush", rule.format)
    _check_tininess("sum.tininess", rule.tininess, "sum.flush is false", rule.flushes, rule.format)
    chains, lanes = getattr(rule, "chains", None), unit.instruction.lanes
    if chains is not None and rule.subgroup is not None:
        raise RuleError("sum.chains", "must be none beside sum.subgroup")
    if chains is not None and lanes % chains:
        raise RuleError("sum.chains", f"must divide instruction.lanes ({lanes}), not be {chains}")
    result = unit.result.format
    if rule.overflow == "infinity" and not rule.format.infinities:
        raise RuleError("sum.overflow", f"must not be infinity: {rule.format.name} has none")
    inward = rule.overflow in ("saturate", "propagate") or (
        rule.overflow == "ieee" and ROUNDINGS[rule.rounding].inward == "both"
    )
    if not inward and isinstance(result, FloatFormat) and not result.has_nan:
        because = f"because sums in {rule.format.name} that overflow lead to one; {result.name} has none"
        unless = "sum.rounding is rz" if rule.overflow == "ieee" else "sum.overflow is saturate or propagate"
        raise RuleError("result.format", f"must have a NaN unless {unless}, {because}")


def _check_flush(key: str, fmt: FloatFormat) -> None:
    """Check that a format whose subnormals are flushed has other numbers."""
    if fmt.subnormals and fmt.max_magnitude < 1 << fmt.fraction_bits:
        raise RuleError(key, f"must not flush {fmt.name}: all of its numbers but zero are subnormal")


def _check_tininess(key: str, value: Tininess, condition: str, flushes: Tininess | None, fmt: Number) -> None:
    """Check that what is judged to be subnormal can be. value: the key's. condition: why nothing is flushed."""
    if value == "result":
        return
    if flushes is None:
        raise RuleError(key, f"must be result, because {condition}, not {value}")
    if not isinstance(fmt, FloatFormat) or not (fmt.subnormals and fmt.fraction_bits):
        raise RuleError(key, f"must be result, not {value}: {fmt.name} has no subnormals")


def _check_even_odd(unit: UnitKeys) -> None:
    _one_group(unit, "sum.method is even-odd")
    if unit.sum.addend == "aligned" and unit.operands.addend is not None:
        raise RuleError("sum.addend", "must be late for method even-odd, not aligned")
    if unit.operands.addend is None and unit.instruction.chain is not None:
        rule = "must be none for method even-odd without an addend: a longer K would lose what came before"
        raise RuleError("instruction.chain", rule)


def _one_group(unit: UnitKeys, because: str) -> None:
    k, lanes = unit.instruction.k, unit.instruction.lanes
    if lanes != k:
        raise RuleError("instruction.lanes", f"must be instruction.k ({k}), because {because}, not {lanes}")


def _check_subgroup(unit: UnitKeys, subgroup: SubgroupRule) -> None:
    if unit.instruction.lanes % subgroup.lanes:
        rule = f"must divide instruction.lanes ({unit.instruction.lanes}), not {subgroup.lanes}"
        raise RuleError("sum.subgroup.lanes", rule)
    match subgroup:
        case ExactSubgroup():
            scaled = unit.scale is not None and unit.scale.at == "subgroup"
            if not scaled and not isinstance(unit.sum, RoundedSum):
                rule = "must be aligned unless scale.at is subgroup: exact sums enter at the exponent of their scales"
                raise RuleError("sum.subgroup.method", rule)
            _check_low_addend(unit, subgroup)
        case WindowSubgroup():
            pass
        case _:
            assert_never(subgroup)


def _check_low_addend(unit: UnitKeys, subgroup: ExactSubgroup) -> None:
    """Check what a low addend changes: it goes with scaled sums in a plain window that the addend is aligned in."""
    low = subgroup.low_lanes
    if low is not None and (low >= subgroup.lanes or subgroup.lanes % low):
        rule = f"must divide sum.subgroup.lanes ({subgroup.lanes}), and be less, not {low}"
        raise RuleError("sum.subgroup.low_lanes", rule)
    if not subgroup.asks_addend:
        return
    if subgroup.low_addend == "skip" and subgroup.cancelled == "skip":
        rule = "must be count beside low_addend: skip: what stands above the window is then within a product's reach"
        raise RuleError("sum.subgroup.cancelled", rule)
    key = "sum.subgroup.low_addend" if low is None else "sum.subgroup.low_lanes"
    if not isinstance(unit.sum, AlignedSum):
        raise RuleError(key, f"has no meaning for sum.method {unit.sum.method}")
    for name, value, plain in (
        ("addend", unit.sum.addend, "aligned"), ("zero_terms", unit.sum.zero_terms, "skip"),
        ("zero", unit.sum.zero, "positive"),
    ):  # fmt: skip
        if value != plain:
            raise RuleError(f"sum.{name}", f"must be {plain} beside {key}, not {value or 'none'}")


def _check_addend(unit: UnitKeys) -> None:
    if unit.sum.addend is None and unit.operands.addend is not None:
        raise RuleError("sum.addend", f"must not be none: operands.addend is {unit.operands.addend.name}")
    if unit.sum.addend == "late" and unit.late is None:
        raise RuleError("late", "is missing: sum.addend is late")
    if unit.late is not None and unit.sum.addend != "late":
        raise RuleError("late", f"has no meaning with sum.addend {unit.sum.addend or 'none'}")


def _check_late(unit: UnitKeys, late: LateAdd | LateInWindow) -> None:
    if unit.operands.addend is None:
        raise RuleError("sum.addend", "must not be late: operands.addend is none")
    if isinstance(late, LateInWindow):
        if not isinstance(unit.sum, WindowSum):
            raise RuleError("late.operation", f"must be add for method {unit.sum.method}, which has no window")
        _one_group(unit, "late.operation is window")
        if unit.sum.sticky:
            rule = "must not be sticky, because late.operation is window, which takes the sum before it is rounded"
            raise RuleError("sum.lost", rule)
    else:
        if late.flush:
            _check_flush("late.flush", late.format)
        _check_tininess("late.tininess", late.tininess, "late.flush is false", late.flushes, late.format)


def _check_fixed_result(unit: UnitKeys, result: FixedFormat) -> None:
    """Check a result in a fixed format against the other keys."""
    for key, fixed in (("result.format", result), ("operands.addend", unit.operands.addend)):
        if isinstance(fixed, FixedFormat) and not fixed.signed:
            raise RuleError(key, f"must have a sign; {fixed.name} has none")
    if not isinstance(unit.sum, ExactSum):
        raise RuleError("result.format", f"must be a float format for method {unit.sum.method}, not {result.name}")
    if unit.result.overflow not in ("saturate", "wrap"):
        rule = f"must be saturate or wrap, not {unit.result.overflow}: {result.name} is a fixed format"
        raise RuleError("result.overflow", rule)
    if isinstance(unit.result.nan, int):
        raise RuleError("result.nan", f"must not be a code: {result.name} has no NaN")
    if unit.sum.product_limit is not None:
        raise RuleError("sum.product_limit", f"must be none: it makes infinities, and {result.name} has none")
    for fmt in (unit.operands.a, unit.operands.b, unit.operands.addend):
        if isinstance(fmt, FloatFormat) and (fmt.has_nan or fmt.infinities):
            raise RuleError("result.format", f"must have a NaN, because {fmt.name} has; {result.name} has none")
    if unit.scale is not None and any(side.format.has_nan for side in (unit.scale.a, unit.scale.b)):
        raise RuleError("result.format", f"must have a NaN, because the scales have; {result.name} has none")
