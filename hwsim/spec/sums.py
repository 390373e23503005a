"""Rules of the keys `sum` and `late`: what each method and each operation has, and what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hwsim.formats import FixedFormat, FloatFormat
from hwsim.formats.yamlfile import RuleError
from hwsim.spec.registers import check_register

if TYPE_CHECKING:
    from hwsim.spec.unit import Unit

WINDOW = {"aligned", "even-odd"}
CHAIN = {"sequential", "pairwise"}

# Keys of `sum` that only some methods have, with the value that says nothing; and those that a method needs.
METHOD_KEYS = {
    "fraction_bits": (WINDOW, None),
    "lost": (WINDOW, "truncate"),
    "zero_terms": (WINDOW, "skip"),
    "max_exp_floor": (WINDOW, None),
    "zero": ({*WINDOW, "exact"}, "positive"),
    "combine": ({"even-odd"}, None),
    "subgroup": ({"aligned"}, None),
    "rounded": ({"exact"}, None),
    "product": (CHAIN, None),
    "format": (CHAIN, None),
    "rounding": (CHAIN, None),
    "flush": (CHAIN, False),
}
NEEDED = {
    "aligned": ("fraction_bits",),
    "even-odd": ("fraction_bits", "combine"),
    "sequential": ("product", "format", "rounding"),
    "pairwise": ("product", "format", "rounding"),
    "exact": (),
}


def check_sum(unit: Unit) -> None:
    """Raise RuleError for the first rule of `sum` and `late` that is broken."""
    method = unit.sum.method
    for key, (methods, nothing) in METHOD_KEYS.items():
        if method not in methods and getattr(unit.sum, key) != nothing:
            raise RuleError(f"sum.{key}", f"has no meaning for method {method}")
    for key in NEEDED[method]:
        if getattr(unit.sum, key) is None:
            raise RuleError(f"sum.{key}", f"is missing: method {method} needs it")
    if method in CHAIN:
        check_register("sum.format", unit.sum.format)
    if method == "even-odd":
        _check_even_odd(unit)
    _check_subgroup(unit)
    _check_addend(unit)


def _check_even_odd(unit: Unit) -> None:
    _one_group(unit, "sum.method is even-odd")
    if unit.sum.addend == "aligned" and unit.operands.addend is not None:
        raise RuleError("sum.addend", "must be late for method even-odd, not aligned")
    if unit.operands.addend is None and unit.instruction.chain is not None:
        rule = "must be none for method even-odd without an addend: a longer K would lose what came before"
        raise RuleError("instruction.chain", rule)


def _one_group(unit: Unit, because: str) -> None:
    k, lanes = unit.instruction.k, unit.instruction.lanes
    if lanes != k:
        raise RuleError("instruction.lanes", f"must be instruction.k ({k}), because {because}, not {lanes}")


def _check_subgroup(unit: Unit) -> None:
    subgroup = unit.sum.subgroup
    if subgroup is None:
        return
    if unit.instruction.lanes % subgroup.lanes:
        rule = f"must divide instruction.lanes ({unit.instruction.lanes}), not {subgroup.lanes}"
        raise RuleError("sum.subgroup.lanes", rule)
    if unit.scale is None or unit.scale.at != "subgroup":
        raise RuleError("sum.subgroup", "has no meaning unless scale.at is subgroup: it is scaled sums that it aligns")


def _check_addend(unit: Unit) -> None:
    if unit.sum.addend is None and unit.operands.addend is not None:
        raise RuleError("sum.addend", f"must not be none: operands.addend is {unit.operands.addend.name}")
    if unit.sum.addend == "late" and unit.late is None:
        raise RuleError("late", "is missing: sum.addend is late")
    if unit.late is not None and unit.sum.addend != "late":
        raise RuleError("late", f"has no meaning with sum.addend {unit.sum.addend or 'none'}")
    _check_late(unit)


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
    for key in LATE_KEYS[late.operation]:
        if key != "drop_below" and getattr(late, key) is None:
            raise RuleError(f"late.{key}", f"is missing: operation {late.operation} needs it")
    if late.operation == "add":
        check_register("late.format", late.format)
        return
    if late.flush:
        raise RuleError("late.flush", "has no meaning for operation window")
    if unit.sum.method not in WINDOW:
        raise RuleError("late.operation", f"must be add for method {unit.sum.method}, which has no window")
    _one_group(unit, "late.operation is window")


def check_fixed_result(unit: Unit) -> None:
    """Raise RuleError for what a result in a fixed format does not go with."""
    result = unit.result.format
    assert isinstance(result, FixedFormat)
    if unit.sum.method != "exact":
        raise RuleError("result.format", f"must be a float format for method {unit.sum.method}, not {result.name}")
    if unit.result.overflow not in ("saturate", "wrap"):
        rule = f"must be saturate or wrap, not {unit.result.overflow}: {result.name} is a fixed format"
        raise RuleError("result.overflow", rule)
    if isinstance(unit.result.nan, int):
        raise RuleError("result.nan", f"must not be a code: {result.name} has no NaN")
    for key in ("a", "b", "addend"):
        fmt = getattr(unit.operands, key)
        if isinstance(fmt, FloatFormat) and (fmt.has_nan or fmt.infinities):
            raise RuleError("result.format", f"must have a NaN, because {fmt.name} has; {result.name} has none")
    if unit.scale is not None and any(side.format.has_nan for side in (unit.scale.a, unit.scale.b)):
        raise RuleError("result.format", f"must have a NaN, because the scales have; {result.name} has none")
