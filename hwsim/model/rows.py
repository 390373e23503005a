"""How codes, terms and the operands of a group read: as cells of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.model.explained import ExplainedGroup
from hwsim.model.rounding import pack
from hwsim.model.terms import Term


def code_text(fmt: Format, code: int) -> str:
    """A code in hexadecimal, as wide as its container."""
    return f"{code:#0{2 + -(-fmt.container_bits // 4)}x}"


def value_text(fmt: Format, code: int) -> str:
    """A code's value, in decimal."""
    return number_text(float(fmt.decode(code)))


def number_text(value: float) -> str:
    """A number as short as it can be, 3 rather than 3.0."""
    short = abs(value) < 1e15 and value.is_integer() and (value != 0 or math.copysign(1, value) > 0)
    return str(int(value)) if short else repr(value)


def term_text(term: Term) -> str:
    """A term as sign, significand and exponent: `-11 * 2^-3`."""
    if term.cls in (Class.NAN, Class.INFINITY):
        return "NaN" if term.cls is Class.NAN else "-Inf" if term.sign else "+Inf"
    if term.cls is Class.ZERO:
        return "-0" if term.sign else "+0"
    return f"{'-' if term.sign else '+'}{term.sig} * 2^{term.exp - term.fraction_bits}"


def operand_header(group: ExplainedGroup) -> list[str]:
    """The columns of `operand_rows`."""
    scale, convert = ["scale"] if group.unit.scale else [], group.unit.operands.convert
    converted = [] if convert is None else [convert.name]
    return ["term", "a", "", *converted, "b", "", *converted, *scale, "product", "exp", "distance", "aligned"]


def operand_rows(group: ExplainedGroup) -> Iterator[list[str]]:
    """A row for every lane in use, and for the addend: codes, values, the product, its distance and what is left."""
    operands = group.unit.operands
    for lane in range(group.used):
        scale = group.scale_exp[lane]
        yield [
            str(group.indices[lane]),
            *_factor_cells(operands.a, operands.convert, group.codes_a[lane], group.a[lane]),
            *_factor_cells(operands.b, operands.convert, group.codes_b[lane], group.b[lane]),
            *(["NaN" if scale is None else f"2^{scale}"] if group.unit.scale else []),
            *_term_cells(group, lane),
        ]
    if group.addend is not None:
        fmt, code = group.addend_format, group.addend_code
        blank = [""] * (len(operand_header(group)) - 7)
        yield ["addend", code_text(fmt, code), value_text(fmt, code), *blank, *_term_cells(group, len(group.products))]


def _factor_cells(fmt: Format, convert: Format | None, code: int, fields: Fields) -> list[str]:
    """A factor's code and value, whether it is subnormal where it is multiplied, and its code there if converted."""
    value = value_text(fmt, code)
    if fields.cls is Class.SUBNORMAL:
        value += " sub"
    elif fields.cls is Class.ZERO and float(fmt.decode(code)) != 0:
        value += " as 0"
    return [code_text(fmt, code), value, *([] if convert is None else [code_text(convert, _code_of(convert, fields))])]


def _code_of(fmt: Format, fields: Fields) -> int:
    """The code of a decoded number of a float format."""
    assert isinstance(fmt, FloatFormat)
    if fields.cls is Class.NAN:
        return fmt.canonical_nan or 0
    if fields.cls is Class.INFINITY:
        return pack(fmt, fields.sign, fmt.infinity_magnitude or 0)
    # The hidden bit is 1 in the exponent field of a normal number, which counts from the least one.
    hidden = 1 << fmt.fraction_bits
    magnitude = (fields.exp + fmt.bias) * hidden + fields.sig - hidden if fields.sig else 0
    return pack(fmt, fields.sign, magnitude)


def _term_cells(group: ExplainedGroup, index: int) -> list[str]:
    term = group.terms[index]
    counts = term.cls is Class.ZERO and group.unit.sum.zero_terms == "count" and not group.special
    if not (term.cls is Class.NORMAL or counts) or group.max_exp is None:
        return [term_text(term), "", "", "" if group.special else "0"]
    aligned = "" if group.special else str(group.aligned[index])
    return [term_text(term), str(term.exp), str(group.max_exp - term.exp), aligned]
