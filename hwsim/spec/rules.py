"""Rules between the keys of a specification, and what this version does not implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.yamlfile import RuleError

if TYPE_CHECKING:
    from hwsim.spec.unit import Unit


class NotImplementedYet(ValueError):
    """A valid specification asks for something that this version of hwsim does not have."""


def check(unit: Unit) -> None:
    """Raise RuleError for the first rule that a specification breaks."""
    _check_operands(unit)
    _check_instruction(unit)
    _check_sum(unit)
    _check_result(unit)
    _check_scale(unit)
    _check_promotion(unit)


def _check_operands(unit: Unit) -> None:
    for key in ("a", "b"):
        if isinstance(getattr(unit.operands, key), ExponentFormat):
            raise RuleError(f"operands.{key}", "must be a float or fixed format, not a power of two")
    if unit.operands.addend is not None and not isinstance(unit.operands.addend, FloatFormat):
        raise RuleError("operands.addend", f"must be a float format or none, not {unit.operands.addend.name}")


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


def _check_sum(unit: Unit) -> None:
    method, fraction_bits = unit.sum.method, unit.sum.fraction_bits
    if method in {"aligned", "even-odd"} and fraction_bits is None:
        raise RuleError("sum.fraction_bits", f"is missing: method {method} needs it")
    if method in {"sequential", "pairwise", "exact"} and fraction_bits is not None:
        raise RuleError("sum.fraction_bits", f"has no meaning for method {method}")
    for key, methods in METHOD_KEYS.items():
        if getattr(unit.sum, key) not in (None, False) and method not in methods:
            raise RuleError(f"sum.{key}", f"has no meaning for method {method}")
    if method == "even-odd" and unit.sum.combine is None:
        raise RuleError("sum.combine", "is missing: method even-odd needs it")
    if unit.sum.subgroup is not None and unit.instruction.lanes % unit.sum.subgroup.lanes:
        rule = f"must divide instruction.lanes ({unit.instruction.lanes}), not {unit.sum.subgroup.lanes}"
        raise RuleError("sum.subgroup.lanes", rule)
    _check_addend(unit)


# Keys of `sum` that only some methods have.
METHOD_KEYS = {
    "combine": {"even-odd"},
    "subgroup": {"aligned"},
    "product": {"sequential", "pairwise"},
    "format": {"sequential", "pairwise"},
    "rounding": {"sequential", "pairwise"},
    "flush": {"sequential", "pairwise"},
}


def _check_addend(unit: Unit) -> None:
    if unit.sum.addend is None and unit.operands.addend is not None:
        raise RuleError("sum.addend", f"must not be none: operands.addend is {unit.operands.addend.name}")
    if unit.sum.addend == "late" and unit.late is None:
        raise RuleError("late", "is missing: sum.addend is late")
    if unit.late is not None and unit.sum.addend != "late":
        raise RuleError("late", f"has no meaning with sum.addend {unit.sum.addend or 'none'}")


def _check_result(unit: Unit) -> None:
    result = unit.result.format
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
    if isinstance(unit.result.nan, int) and not _is_nan(result, unit.result.nan):
        raise RuleError("result.nan", f"must be a NaN of {result.name}, not {unit.result.nan:#x}")
    if any(fmt.infinities for fmt in _inputs(unit)) and not result.infinities and unit.result.overflow == "infinity":
        raise RuleError("result.format", f"must have an infinity, because the inputs have; {result.name} has none")


def _is_nan(fmt: FloatFormat, code: int) -> bool:
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
    if unit.scale.at == "promotion" and unit.promotion is None:
        raise RuleError("scale.at", "must not be promotion: there is none")
    if unit.scale.at == "subgroup" and unit.sum.subgroup is None:
        raise RuleError("scale.at", "must not be subgroup: there is no sum.subgroup")


def _check_promotion(unit: Unit) -> None:
    promotion = unit.promotion
    if promotion is None:
        return
    if promotion.interval % unit.instruction.lanes:
        raise RuleError(
            "promotion.interval",
            f"must be a multiple of instruction.lanes ({unit.instruction.lanes}), not {promotion.interval}",
        )
    register, result = promotion.format, unit.result.format
    if not isinstance(register, FloatFormat) or not (register.has_nan and register.signed):
        raise RuleError("promotion.format", f"must be a signed float format with a NaN, not {register.name}")
    if not embeds(result, register):
        raise RuleError(
            "promotion.format", f"must hold every {result.name}, the result's format; {register.name} doesn't"
        )
    if unit.operands.addend is not None and not embeds(unit.operands.addend, register):
        raise RuleError("promotion.format", f"must hold every {unit.operands.addend.name}, the addend's format")


def embeds(inner: Format, outer: Format) -> bool:
    """Whether every finite number of `inner` is one of `outer`."""
    if not isinstance(inner, FloatFormat) or not isinstance(outer, FloatFormat):
        return False
    quantum = inner.emin - inner.fraction_bits >= outer.emin - outer.fraction_bits
    most = (inner.emax, inner.max_magnitude & ((1 << inner.fraction_bits) - 1) << 64 >> inner.fraction_bits)
    room = (outer.emax, outer.max_magnitude & ((1 << outer.fraction_bits) - 1) << 64 >> outer.fraction_bits)
    return inner.fraction_bits <= outer.fraction_bits and quantum and most <= room


def refuse_unimplemented(unit: Unit) -> None:
    """Raise NotImplementedYet, naming the key, for a setting that is in the schema but not yet in the model."""
    refused = {
        "operands.convert": unit.operands.convert is not None,
        "operands.daz: true": unit.operands.daz,
        f"scale.at: {unit.scale and unit.scale.at}": unit.scale is not None and unit.scale.at != "product",
        "scale formats other than a power of two": unit.scale is not None
        and not all(isinstance(side.format, ExponentFormat) for side in (unit.scale.a, unit.scale.b)),
        "instruction.order other than sequential": unit.instruction.order != "sequential",
        "instruction.start: zero": unit.instruction.start == "zero" and unit.operands.addend is not None,
        f"sum.method: {unit.sum.method}": unit.sum.method != "aligned",
        "sum.addend: late": unit.sum.addend == "late",
        "sum.zero_terms: count": unit.sum.zero_terms == "count",
        "sum.max_exp_floor": unit.sum.max_exp_floor is not None,
        "sum.zero: ieee": unit.sum.zero == "ieee",
        "sum.subgroup": unit.sum.subgroup is not None,
        "result.nan: any": unit.result.nan == "any",
        "result.subnormals: flush": unit.result.subnormals == "flush",
        "promotion.operation: fma": unit.promotion is not None and unit.promotion.operation == "fma",
        "result formats without a fraction": unit.result.format.fraction_bits == 0,
        "result formats without subnormals": isinstance(unit.result.format, FloatFormat)
        and not unit.result.format.subnormals,
        "promotion formats without subnormals": unit.promotion is not None
        and isinstance(unit.promotion.format, FloatFormat)
        and not unit.promotion.format.subnormals,
        "promotion formats without infinities": unit.promotion is not None and not unit.promotion.format.infinities,
        "unsigned factors": any(
            isinstance(fmt, FloatFormat) and not fmt.signed for fmt in (unit.operands.a, unit.operands.b)
        ),
    }
    for what, present in refused.items():
        if present:
            raise NotImplementedYet(f"unit {unit.name}: {what} is not implemented yet")


def refuse_unimplemented_in_hardware(unit: Unit) -> None:
    """Raise NotImplementedYet for what the model has and the RTL does not."""
    refuse_unimplemented(unit)
    for key, fmt in (("a", unit.operands.a), ("b", unit.operands.b)):
        if isinstance(fmt, FixedFormat):
            raise NotImplementedYet(
                f"unit {unit.name}: operands.{key}: {fmt.name} is in the model, but not in the RTL yet"
            )
    if unit.promotion is not None and unit.operands.addend not in (None, unit.promotion.format):
        raise NotImplementedYet(
            f"unit {unit.name}: operands.addend other than promotion.format is in the model, but not in the RTL yet"
        )
