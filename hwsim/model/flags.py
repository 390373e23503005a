"""Status flags beside a result: what IEEE 754 has them say of one operation with one rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, assert_never, get_args

from hwsim.formats import Class, FixedFormat, FloatFormat, Format
from hwsim.model.methods import FirstAddend
from hwsim.model.record import Explanation, Group
from hwsim.model.rounding import combine_specials, exact_sum, round_to, tiny_after
from hwsim.model.terms import Term
from hwsim.spec import ExactSum, RoundedSum, SequentialSum, Unit, WindowSum

FlagName = Literal["invalid", "divide_by_zero", "overflow", "underflow", "inexact", "nan"]
FLAG_NAMES: tuple[FlagName, ...] = get_args(FlagName)


class FlagRules(NamedTuple):
    """Choices that IEEE 754 leaves open.

    tininess: whether a result is tiny by its exact value, or as it would be rounded with an unbounded exponent (section
    7.5). signaling: which operands that are NaN raise invalid: those whose first fraction bit is 0, which signal
    (section 6.2.1), none of them, or all, quiet ones too.
    """

    tininess: Literal["before", "after"] = "after"
    signaling: Literal["invalid", "quiet", "all"] = "invalid"


def undefined(unit: Unit, name: FlagName, products: int | None) -> str:
    """The reason why a flag of a unit is not defined; empty where it is.

    products: of every dot product; None where they may have any number.
    """
    fmt = unit.output
    if name == "nan":
        return "" if isinstance(fmt, FloatFormat) and fmt.has_nan else f"{fmt.name} has no NaN"
    if reason := _rounded_more(unit, products):
        return f"IEEE 754 defines it for one rounding, and {unit.name} {reason}"
    if name == "invalid" and unit.subgroup is not None:
        return f"{unit.name} sums parts of a group first, of which IEEE 754 says nothing"
    if isinstance(fmt, FixedFormat):
        return "" if name in ("overflow", "inexact", "divide_by_zero") else f"the result is a fixed number, {fmt.name}"
    if unit.result.subnormals == "flush" or unit.operands.daz:
        return f"{unit.name} takes subnormals for zeros, which IEEE 754 does not"
    if name == "underflow" and not fmt.subnormals:
        return f"{fmt.name} has no subnormals"
    if fmt.infinity_magnitude is None and any(_infinite(operand) for operand in _formats(unit)):
        return f"{fmt.name} has no infinity, and operands have"
    return ""


def _rounded_more(unit: Unit, products: int | None) -> str:
    """The reason why a dot product is not rounded just once, at its end; empty where it is."""
    if unit.promotion is not None:
        return "promotes partial sums"
    if unit.late is not None:
        return "adds the addend late"
    if unit.sum.product_limit is not None:
        return "limits its products"
    one_group = products is not None and products <= unit.instruction.lanes
    match unit.sum:
        case ExactSum(rounded="group") if not one_group:
            return "rounds after each group"
        case ExactSum():
            return ""
        case SequentialSum(product="fused", flush=False) as rule if products == 1 and rule.format == unit.result.format:
            return ""
        case RoundedSum():
            return "rounds every addition, and dot products have several"
        case WindowSum():
            return "loses bits below its window"
        case _:
            assert_never(unit.sum)


def _formats(unit: Unit) -> Iterator[Format]:
    yield from (unit.operands.a, unit.operands.b)
    if unit.operands.addend is not None:
        yield unit.operands.addend


def _infinite(fmt: Format) -> bool:
    return isinstance(fmt, FloatFormat) and fmt.infinity_magnitude is not None


def flag(explanation: Explanation, name: FlagName, rules: FlagRules) -> bool | None:
    """The value of a flag for a dot product; None where IEEE 754 leaves it open.

    The flag must be defined: `undefined`. It is that of default exception handling: an underflow that is exact raises
    none (section 7.5). `nan`: the result is NaN. Division by zero: never.
    """
    last = explanation.groups[-1]
    match name:
        case "nan":
            fmt = explanation.unit.output
            return isinstance(fmt, FloatFormat) and fmt.is_nan(explanation.code >> fmt.padding)
        case "divide_by_zero":
            return False
        case "invalid":
            return _invalid(explanation, rules)
        case "overflow" | "underflow" | "inexact":
            return last.special is None and _of_rounding(last, name, rules)
        case _:
            assert_never(name)


def _of_rounding(group: Group, name: Literal["overflow", "underflow", "inexact"], rules: FlagRules) -> bool:
    """A flag of the only rounding of a sum that is a number."""
    rule, fmt = group.unit.result, group.unit.result.format
    rounded, rounding = group.rounded, rule.rounding
    total, unit_exp = group.total, group.unit_exp
    if isinstance(group.unit.sum, SequentialSum):
        rounding = group.unit.sum.rounding
        total, unit_exp = exact_sum(group.steps[-1].terms)
        if total and isinstance(fmt, FloatFormat):
            rounded = round_to(fmt, int(total < 0), abs(total), unit_exp, rounding, group.unit.sum.overflow)
    match name:
        case "overflow":
            return rounded.overflow
        case "inexact":
            return rounded.inexact
        case "underflow":
            if not rounded.inexact or rounded.overflow or unit_exp is None or isinstance(fmt, FixedFormat):
                return False
            before = rules.tininess == "before"
            return rounded.tiny and (before or tiny_after(fmt, int(total < 0), abs(total), unit_exp, rounding))
        case _:
            assert_never(name)


def _invalid(explanation: Explanation, rules: FlagRules) -> bool | None:
    """True if a NaN was made of operands that are none, or an operand is a NaN that raises invalid.

    Open where both a NaN that raises none and an invalid operation are in one sum: implementations differ (section
    7.2).
    """
    match rules.signaling:
        case "invalid":
            raised = _signals(explanation)
        case "all":
            raised = _has_nan(explanation)
        case "quiet":
            raised = False
        case _:
            assert_never(rules.signaling)
    if raised:
        return True
    terms = [term for group in explanation.groups for term in _made(group)]
    combined = combine_specials(terms)
    invalid = combined is not None and combined.cls is Class.NAN
    return None if invalid and _has_nan(explanation) else invalid


def _made(group: Group) -> Iterator[Term]:
    """The terms of a group without those of operands that are NaN."""
    for a, b, scale, term in zip(group.a, group.b, group.scale_exp, group.products, strict=True):
        if Class.NAN not in (a.cls, b.cls) and scale is not None:
            yield term
    if isinstance(group.start, FirstAddend) and group.addend is not None and group.addend.cls is not Class.NAN:
        yield group.addend


def _has_nan(explanation: Explanation) -> bool:
    for group in explanation.groups:
        if any(Class.NAN in (a.cls, b.cls) for a, b in zip(group.a, group.b, strict=True)) or None in group.scale_exp:
            return True
        if isinstance(group.start, FirstAddend) and group.addend is not None and group.addend.cls is Class.NAN:
            return True
    return False


def _signals(explanation: Explanation) -> bool:
    operands = explanation.unit.operands
    for group in explanation.groups:
        if any(signaling(operands.a, code) for code in group.codes_a):
            return True
        if any(signaling(operands.b, code) for code in group.codes_b):
            return True
    return operands.addend is not None and signaling(operands.addend, explanation.c)


def signaling(fmt: Format, code: int) -> bool:
    """True if a stored code is a NaN whose first fraction bit is 0, of a format with IEEE 754's NaNs."""
    if not isinstance(fmt, FloatFormat) or fmt.nan != "ieee":
        return False
    bare = code >> fmt.padding
    return fmt.is_nan(bare) and not bare >> fmt.fraction_bits - 1 & 1
