"""What the roundings of chains and trees cannot do, by the ranges of what they add."""

from __future__ import annotations

from typing import NamedTuple

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat
from hwsim.spec import RoundedSum, Unit
from hwsim.spec.keys import Number, Rounding


class RoundingPlace(NamedTuple):
    """One rounding in a unit: what bins call it, the format and the way of rounding, and whether terms are added.

    flushes: whether subnormal results become zero.
    """

    name: str
    format: Number
    rounding: Rounding
    adds: bool = True
    flushes: bool = False


def impossible(unit: Unit, one: RoundingPlace, word: str) -> str | None:
    """Why no operands of a unit make a rounding of its sum do what a word says; None where nothing is known."""
    rule = unit.sum
    if not isinstance(rule, RoundedSum) or one.name not in ("addition", "product"):
        return None
    fmt = rule.format
    if word == "vanishes":
        return _vanishes(unit, fmt, one)
    if word == "overflows":
        return _overflows(unit, fmt, one.rounding)
    if word == "is not finite":
        return _special(unit, fmt)
    if one.name == "product" and word.endswith(("larger", "smaller", "is subnormal")):
        return _inexact(unit, fmt)
    return None


def _names(unit: Unit) -> str:
    return f"products of {unit.operands.a.name} and {unit.operands.b.name}"


def _quantum(unit: Unit) -> int | None:
    """The exponent of a power of two that every product is a multiple of; None where scales have no least one."""
    scales = [] if unit.scale is None or unit.scale.at != "product" else [unit.scale.a.format, unit.scale.b.format]
    if not all(isinstance(fmt, ExponentFormat) for fmt in scales):
        return None
    low = sum(fmt.min_code - fmt.bias for fmt in scales if isinstance(fmt, ExponentFormat))
    return low + unit.operands.a.quantum_exp + unit.operands.b.quantum_exp


def _vanishes(unit: Unit, fmt: FloatFormat, one: RoundingPlace) -> str | None:
    quantum = _quantum(unit)
    if one.flushes or not fmt.subnormals or quantum is None or quantum < fmt.quantum_exp:
        return None
    return f"{_names(unit)} are multiples of {fmt.name}'s least number, and so is every sum"


def _top(fmt: Number) -> int:
    """The exponent of a power of two that no number of a format exceeds."""
    return fmt.integer_bits if isinstance(fmt, FixedFormat) else fmt.emax + 1


def _overflows(unit: Unit, fmt: FloatFormat, rounding: Rounding) -> str | None:
    lanes = unit.instruction.lanes
    if unit.scale is not None or rounding not in ("rne", "rna"):
        return None
    # Sums of products alone are less than twice what all the largest are together, however they are rounded.
    most = (4 * lanes).bit_length() + sum(_top(one) for one in (unit.operands.a, unit.operands.b))
    if most >= fmt.emax - fmt.fraction_bits:
        return None
    return f"{lanes} {_names(unit)} add less than half a last place to {fmt.name}'s largest number"


def _special(unit: Unit, fmt: FloatFormat) -> str | None:
    inputs = (unit.operands.a, unit.operands.b)
    if unit.promotion is None and unit.late is None and unit.operands.addend is not None:
        return None
    if any(one.infinities or one.has_nan for one in inputs) or unit.scale is not None:
        return None
    if not isinstance(unit.sum, RoundedSum) or unit.sum.product_limit is not None:
        return None
    if _overflows(unit, fmt, unit.sum.rounding) is None:
        return None
    return f"{_names(unit)} are finite, and no sum overflows"


def _inexact(unit: Unit, fmt: FloatFormat) -> str | None:
    quantum, operands = _quantum(unit), unit.operands
    if quantum is None or unit.scale is not None or quantum < fmt.emin:
        return None
    bits, top = operands.a.sig_bits + operands.b.sig_bits, _top(operands.a) + _top(operands.b)
    if bits > fmt.precision or top > fmt.emax:
        return None
    return f"{_names(unit)} are normal numbers of {fmt.name}"
