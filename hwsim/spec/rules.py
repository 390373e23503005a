"""Rules between the keys of a specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.yamlfile import RuleError

if TYPE_CHECKING:
    from hwsim.spec.unit import Unit


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
    _check_late(unit)
    _check_start(unit)


# Keys of `late` that only one operation has.
LATE_KEYS = {"add": ("format", "rounding"), "window": ("sum_bits", "addend_bits", "lost", "drop_below")}


def _check_late(unit: Unit) -> None:
    late = unit.late
    if late is None:
        return
    if unit.operands.addend is None:
        raise RuleError("sum.addend", "must not be late: operands.addend is none")
    for operation, keys in LATE_KEYS.items():
        for key in keys:
            if operation != late.operation and getattr(late, key) is not None:
                raise RuleError(f"late.{key}", f"has no meaning for operation {late.operation}")
    if late.operation != "add":
        return
    for key in LATE_KEYS["add"]:
        if getattr(late, key) is None:
            raise RuleError(f"late.{key}", "is missing: operation add needs it")
    _check_register("late.format", late.format)


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
        if isinstance(unit.result.nan, int) and not _is_nan(fmt, unit.result.nan):
            raise RuleError("result.nan", f"must be a NaN of {fmt.name}, not {unit.result.nan:#x}")
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
    _check_register("promotion.format", register)
    if not embeds(result, register):
        raise RuleError(
            "promotion.format", f"must hold every {result.name}, the result's format; {register.name} doesn't"
        )
    if unit.operands.addend is not None and not embeds(unit.operands.addend, register):
        raise RuleError("promotion.format", f"must hold every {unit.operands.addend.name}, the addend's format")


def _check_register(key: str, fmt: Format | None) -> None:
    if not isinstance(fmt, FloatFormat) or not (fmt.has_nan and fmt.signed):
        raise RuleError(key, f"must be a signed float format with a NaN, not {fmt and fmt.name}")


def holds(inner: Format, outer: FloatFormat) -> bool:
    """Whether `outer` has everything that `inner` has: its numbers, negative zero, infinities and NaN."""
    if isinstance(inner, FloatFormat) and inner.signed_zero and not outer.signed_zero:
        return False
    if (inner.infinities and not outer.infinities) or (inner.has_nan and not outer.has_nan):
        return False
    signed = not isinstance(inner, FloatFormat) or inner.signed
    return embeds(inner, outer) and (outer.signed or not signed)


def embeds(inner: Format, outer: Format) -> bool:
    """Whether the magnitude of every finite number of `inner` is that of one of `outer`."""
    if not isinstance(outer, FloatFormat) or isinstance(inner, ExponentFormat):
        return False
    quantum = _quantum(inner)
    if isinstance(inner, FixedFormat):
        # Magnitudes below 2^(bits - 1) in units of the quantum, and that power of two itself.
        fits, most = inner.bits - 1 <= outer.precision, (inner.integer_bits, 0)
    else:
        fits, most = inner.precision <= outer.precision, _most(inner)
    return fits and quantum >= _quantum(outer) and _reaches_down(inner, outer) and most <= _most(outer)


def _quantum(fmt: FloatFormat | FixedFormat) -> int:
    """The exponent of what every number is a multiple of."""
    return -fmt.fraction_bits if isinstance(fmt, FixedFormat) else fmt.emin - fmt.fraction_bits


def _most(fmt: FloatFormat) -> tuple[int, int]:
    """The largest number, in a form that compares: its exponent, and its fraction in units of 2^-64."""
    return fmt.emax, fmt.max_magnitude & ((1 << fmt.fraction_bits) - 1) << 64 >> fmt.fraction_bits


def _reaches_down(inner: FloatFormat | FixedFormat, outer: FloatFormat) -> bool:
    """Whether no number of `inner` is below all of `outer`, whose numbers, without subnormals, begin above 2^emin."""
    if outer.subnormals:
        return True
    if isinstance(inner, FloatFormat) and not inner.subnormals:
        return inner.emin >= outer.emin
    return _quantum(inner) > outer.emin
