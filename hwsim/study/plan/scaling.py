"""The scalings of a study: how numbers become the codes and scales that a unit multiplies."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError
from hwsim.formats import ExponentFormat, FixedFormat, Format, container_dtype, get_format
from hwsim.formats.blocks import BlockScale, one_code, scale_shape
from hwsim.formats.catalog import nearest
from hwsim.formats.codes import Codes
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import Apply, Rule, Select, get_rule, quantize, rules
from hwsim.quantize.quantized import spread
from hwsim.quantize.rule import is_f32
from hwsim.quantize.tensors import refusal, suits
from hwsim.spec import Unit

Floats = NDArray[np.float64]
# What is not a rule by name: how numbers meet whatever format the unit's factor has.
OWN: dict[str, tuple[int | None, int | None] | None] = {
    "direct": (None, None),
    "tensor": (None, None),
    "channel": (1, None),
    "block": None,
}


@dataclass(frozen=True)
class SideScaling:
    """The rule by which the numbers of one factor become codes.

    scale: what they are divided by in place of the rule's own scale; None for that.
    enters: whether the rule's scales are those that the unit takes; else they multiply its result, and the unit's own
    scales, where it has any, are 1.
    """

    rule: Rule
    scale: float | None
    enters: bool


@dataclass(frozen=True)
class Scaling:
    """The rules by which the numbers of both factors become codes. name: as the study says it."""

    name: str
    a: SideScaling
    b: SideScaling


@dataclass(frozen=True)
class QuantizedFactor:
    """A factor, ready for `hwsim.gemm`.

    codes: (M, K) or (K, N). scales: what the unit takes, or None. elements: what the codes are worth. each: the
    scales as numbers, one for each element, or None. factor: what the result is to be multiplied by, (M or 1, 1) or
    (1, N or 1); None for 1.
    """

    codes: Codes
    scales: NDArray[Any] | None
    elements: Floats
    each: Floats | None
    factor: Floats | None

    @cached_property
    def values(self) -> Floats:
        """The elements times their scales: exact."""
        return self.elements if self.each is None else self.elements * self.each


def default_scaling(unit: Unit) -> str:
    """`block` for a unit that takes scales, else `direct`."""
    return "direct" if unit.scale is None else "block"


def check_scaling(entry: Any) -> None:
    """Raise SpecError for an entry of `scaling` that says nothing for any unit."""
    if isinstance(entry, Mapping) and {"a", "b"} & set(entry):
        _known(entry, ("a", "b", "name"))
        for side in ("a", "b"):
            if side not in entry:
                raise SpecError(f"scaling of {'ab'.replace(side, '')} alone: {side} is missing")
            check_scaling(entry[side])
        return
    name, changes, _ = _parts(entry)
    if changes.get("rounding") == "stochastic":
        raise SpecError("rounding must not be stochastic in a study's scaling")
    if name not in OWN:
        get_rule(name).replace(**changes)
    elif changes:
        get_rule("tensor-e4m3").replace(**changes)


def resolve(entry: Any, unit: Unit) -> Scaling:
    """Return the scaling that an entry of `scaling` stands for with a unit.

    entry: a name (direct, tensor, channel, block, or a rule of hwsim.quantize); a mapping {rule: NAME, scale: S, name:
    LABEL} and fields of the rule to change; or {a: entry, b: entry}.
    Raises SpecError for unknown names and fields, naming the nearest; for a rule whose codes or scales the unit does
    not take; and for a fixed scale where the unit takes the rule's own.
    """
    check_scaling(entry)
    both = isinstance(entry, Mapping) and "a" in entry
    sides = (entry["a"], entry["b"]) if both else (entry, entry)
    return Scaling(scaling_name(entry), side_scaling(sides[0], unit, "a"), side_scaling(sides[1], unit, "b"))


def scaling_name(entry: Any) -> str:
    """The name of an entry of `scaling` in labels."""
    if isinstance(entry, Mapping) and "name" in entry:
        return str(entry["name"])
    if isinstance(entry, Mapping) and "a" in entry:
        return f"{scaling_name(entry['a'])} x {scaling_name(entry['b'])}"
    name, changes, scale = _parts(entry)
    fields = {**changes, **({} if scale is None else {"scale": f"{scale:g}"})}
    return " ".join([name, *(f"{key}={value}" for key, value in fields.items())])


def _parts(entry: Any) -> tuple[str, dict[str, Any], float | None]:
    """The name of an entry, the fields that it changes, and its fixed scale."""
    if isinstance(entry, str):
        name, changes = entry, {}
    elif isinstance(entry, Mapping) and isinstance(entry.get("rule"), str):
        name, changes = entry["rule"], {key: value for key, value in entry.items() if key not in ("rule", "name")}
    else:
        raise SpecError(
            f"scaling must be a name, {{rule: NAME, scale: S, FIELD: VALUE}} or {{a: ..., b: ...}}, not {entry!r}"
        )
    if name not in OWN and name not in rules():
        raise SpecError(nearest("scaling", name, [*OWN, *rules()]))
    scale = changes.pop("scale", None)
    if scale is not None:
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale <= sys.float_info.max:
            raise SpecError(f"scale must be a number above 0, not {scale!r}")
        if name == "block":
            raise SpecError("scale must be left out of scaling block, which finds a scale for each block")
    if isinstance(changes.get("block"), (list, tuple)):
        changes["block"] = tuple(None if side == "none" else side for side in changes["block"])
    return name, changes, None if scale is None else float(scale)


def _known(entry: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            raise SpecError(nearest("field of scaling", str(key), known))


def side_scaling(entry: Any, unit: Unit, side: str) -> SideScaling:
    """The scaling of a factor, `a` or `b`, by an entry of `scaling`; may round stochastically. Raises as `resolve`."""
    name, changes, scale = _parts(entry)
    fmt: Format = getattr(unit.operands, side)
    if name in OWN:
        rule = _own(name, unit, side, fmt)
        if name == "direct" and scale is None:
            scale = 1.0
        if scale is not None:
            rule = rule.replace(apply=Apply.EXACT)
        rule = rule.replace(**changes)
        if name == "block" and not suits(unit, side, rule):
            raise SpecError(refusal(unit, side, name, rule))
        return SideScaling(rule, scale, name == "block")
    rule = get_rule(name).replace(**changes)
    if not suits(unit, side, rule):
        raise SpecError(refusal(unit, side, name, rule))
    enters = unit.scale is not None
    if scale is not None and enters:
        raise SpecError(f"scale must be left out of scaling {name}: {unit.name} takes a scale for each block")
    return SideScaling(rule, scale, enters)


def _own(name: str, unit: Unit, side: str, fmt: Format) -> Rule:
    f32 = get_format("f32")
    # 2^-149, not 0, is the scale of the smallest numbers; 1 that of zeros.
    divided: dict[str, Any] = {"select": Select.DIVIDE, "apply": Apply.DIVIDE}
    least: dict[str, Any] = {"zero_scale": 1.0, "least_scale": 2.0**-149}
    if name != "block":
        return Rule(element=fmt, scale_format=f32, block=OWN[name] or (None, None), **divided, **least)
    if unit.scale is None:
        raise SpecError(f"scaling block must not go with {unit.name}, which takes no scales; tensor, channel or direct")
    scale: BlockScale = getattr(unit.scale, side)
    across, along = scale.block if side == "a" else (scale.block[1], scale.block[0])
    if isinstance(scale.format, ExponentFormat):
        return Rule(element=fmt, scale_format=scale.format, block=(across, along))
    limits = least if is_f32(scale.format) else {}
    return Rule(element=fmt, scale_format=scale.format, block=(across, along), **divided, **limits)


def apply(side: SideScaling, which: str, unit: Unit, numbers: NDArray[np.float32]) -> QuantizedFactor:
    """Quantise numbers as a factor of a unit.

    which: `a` or `b`. numbers: (M, K) or (K, N), finite. Raises ValueError where a rule makes numbers that are not
    finite of them: there is no exact product of these.
    """
    operand = _made(side, which, unit, numbers)
    factor = 1.0 if operand.factor is None else operand.factor
    if not (np.isfinite(operand.values).all() and np.isfinite(factor).all()):
        raise InputError(
            f"operands.{which}: a scale or a code of {side.rule.element.name} is not finite, which no exact product "
            "goes with; let the rule saturate"
        )
    return operand


def _made(side: SideScaling, which: str, unit: Unit, numbers: NDArray[np.float32]) -> QuantizedFactor:
    if side.scale is not None and math.frexp(side.scale)[0] == 0.5 and not side.rule.flush:
        codes = by_power(side.rule, side.scale, numbers)
        factor = None if side.scale == 1 else np.full((1, 1), side.scale)
        return QuantizedFactor(codes, *_ones(unit, which, side.rule.element.decode(codes)), factor)
    quantized = quantize(numbers, side.rule, -1 if which == "a" else -2, scale=side.scale)
    elements = quantized.element.decode(quantized.codes)
    if side.enters:
        scales = np.asarray(spread(quantized.scale_values, quantized.block, elements.shape))
        factor = None if quantized.tensor_scale is None else np.full((1, 1), float(quantized.tensor_scale))
        return QuantizedFactor(quantized.codes, quantized.scales, elements, scales, factor)
    of = quantized.scale_values
    factor = None if (of == 1).all() else of.reshape(1, 1) if of.size == 1 else of
    return QuantizedFactor(quantized.codes, *_ones(unit, which, elements), factor)


def by_power(rule: Rule, scale: float, numbers: NDArray[np.float32], **random: Any) -> Codes:
    """The codes of numbers divided by a power of two: what `quantize` makes, without its divisions.

    random: `random_bits` and `seed`, of stochastic rounding.
    """
    fmt, scaled = rule.element, numbers if scale == 1 else numbers.astype(np.float64) / scale
    codes = np.asarray(fmt.encode(scaled, rounding=rule.rounding, overflow=rule.overflow, **random))
    if isinstance(fmt, FixedFormat) and rule.symmetric:
        codes[codes == 1 << fmt.bits - 1] += 1
    return codes


def _ones(unit: Unit, which: str, elements: Floats) -> tuple[NDArray[Any] | None, Floats, Floats | None]:
    """Scales of 1 for a unit that takes some; the elements; and those scales as numbers."""
    if unit.scale is None:
        return None, elements, None
    scale: BlockScale = getattr(unit.scale, which)
    ones = np.ones((1, 1)) if is_f32(scale.format) else scale.format.decode(np.full((1, 1), one_code(scale.format)))
    return scales_of_one(unit, which, elements.shape), elements, ones


def scales_of_one(unit: Unit, which: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Scales of 1 for a factor (..., rows, columns) of a unit; None for a unit that takes none."""
    if unit.scale is None:
        return None
    scale: BlockScale = getattr(unit.scale, which)
    size = (*shape[:-2], *scale_shape(shape[-2], shape[-1], scale.block))
    if is_f32(scale.format):
        return np.ones(size, np.float32)
    return np.full(size, one_code(scale.format), container_dtype(scale.format))
