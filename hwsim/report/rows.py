"""How codes, terms and the operands of a group read: as cells of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from hwsim.formats import Class, Fields, FloatFormat, Format
from hwsim.model.method import Halves
from hwsim.model.record import Group
from hwsim.model.rounding import infinity_code, nan_code, pack
from hwsim.model.terms import Term
from hwsim.model.window import AlignedTerms
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, PairwiseSum, RoundedSum, SequentialSum, WindowSum


def code_text(fmt: Format, code: int) -> str:
    """A code in hexadecimal, as wide as its container."""
    return f"{code:#0{2 + -(-fmt.container_bits // 4)}x}"


def value_text(fmt: Format, code: int) -> str:
    """A code's value, in decimal."""
    return number_text(fmt.decode(code).item())


def number_text(value: float | Fraction) -> str:
    """A number as short as it can be, 3 rather than 3.0; what is no float64 as `5 * 2^-60`."""
    if isinstance(value, Fraction):
        near = float(value)
        if value != Fraction(near):
            places = value.denominator.bit_length() - 1
            return f"{value.numerator} * 2^-{places}" if places else str(value.numerator)
        value = near
    short = abs(value) < 1e15 and value.is_integer() and (value != 0 or math.copysign(1, value) > 0)
    return str(int(value)) if short else repr(value)


def term_text(term: Term) -> str:
    """A term as sign, significand and exponent: `-11 * 2^-3`."""
    if term.cls in (Class.NAN, Class.INFINITY):
        return "NaN" if term.cls is Class.NAN else "-Inf" if term.sign else "+Inf"
    if term.cls is Class.ZERO:
        return "-0" if term.sign else "+0"
    return f"{'-' if term.sign else '+'}{term.sig} * 2^{term.exp - term.fraction_bits}"


def operand_header(group: Group) -> list[str]:
    """The columns of `operand_rows`."""
    scale, convert = ["scale"] if _scaled(group) else [], group.unit.operands.convert
    converted = [] if convert is None else [convert.name]
    return ["term", "a", "", *converted, "b", "", *converted, *scale, "product", *_window_header(group)]


def _scaled(group: Group) -> bool:
    """Whether shared scales enter the products."""
    return group.unit.scale is not None and group.unit.scale.at == "product"


def _window_header(group: Group) -> list[str]:
    """The columns of a window that products stand in; none where it is something else, or nothing, that is aligned."""
    match group.unit.sum:
        case AlignedSum() | EvenOddSum():
            return [] if group.subgroups else ["exp", "distance", "aligned"]
        case SequentialSum() | PairwiseSum() | ExactSum():
            return []
        case _:
            assert_never(group.unit.sum)


def operand_rows(group: Group) -> Iterator[list[str]]:
    """A row for every lane in use, and for the addend: codes, values, the product, its distance and what is left.

    Neighbouring lanes whose factors are all of code 0, with rows that are the same, are one row.
    """
    operands = group.unit.operands
    for lanes in _alike(group):
        lane = lanes[0]
        scale = group.scale_exp[lane]
        yield [
            _indices([group.indices[lane] for lane in lanes]),
            *_factor_cells(operands.a, operands.convert, group.codes_a[lane], group.a[lane]),
            *_factor_cells(operands.b, operands.convert, group.codes_b[lane], group.b[lane]),
            *(["NaN" if scale is None else f"2^{scale}"] if _scaled(group) else []),
            *_cells(group, group.products[lane], lane),
        ]
    if group.addend is not None:
        blank = [""] * (len(operand_header(group)) - 4 - len(_window_header(group)))
        cells = _cells(group, group.addend, len(group.products))
        if group.carried:
            yield ["sum so far", "", "", *blank, *cells]
        else:
            fmt, code = group.addend_format, group.addend_code
            yield ["addend", code_text(fmt, code), value_text(fmt, code), *blank, *cells]


def _alike(group: Group) -> Iterator[list[int]]:
    """The lanes of each row."""
    lanes: list[int] = []
    for lane in range(group.used):
        zero = group.codes_a[lane] == group.codes_b[lane] == 0
        same = bool(lanes) and zero and group.codes_a[lanes[0]] == group.codes_b[lanes[0]] == 0
        same = same and group.indices[lane] == group.indices[lanes[-1]] + 1
        same = same and (group.products[lane], group.scale_exp[lane]) == (
            group.products[lanes[0]],
            group.scale_exp[lanes[0]],
        )
        if lanes and not same:
            yield lanes
            lanes = []
        lanes = [*lanes, lane]
    if lanes:
        yield lanes


def _indices(indices: list[int]) -> str:
    """`3`, or of several `3-7`."""
    return str(indices[0]) if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"


def part_tables(group: Group) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Tables of what a method makes beside terms: scaled subgroups, the windows of `even-odd`, rounded additions."""
    if group.subgroups:
        yield _subgroup_header(group), _subgroup_rows(group)
    if group.halves is not None:
        yield ["lanes", "max_exp", "sum", "at both's", "aligned"], _half_rows(group.halves)
    if isinstance(group.unit.sum, RoundedSum):
        fmt = group.unit.sum.format
        rows = []
        for step in group.steps:
            operands = [term_text(term) for term in step.terms] + [""] * (2 - len(step.terms))
            rows.append([step.name, *operands, code_text(fmt, step.code), value_text(fmt, step.code)])
        yield ["addition", "", "", fmt.name, ""], rows


def _subgroup_header(group: Group) -> list[str]:
    scales = [] if group.subgroups[0].scale_a is None else ["scale a", "scale b"]
    own = [] if group.subgroups[0].kept is None else ["in its window", "max_exp"]
    window = ["exp", "distance", "aligned"] if isinstance(group.unit.sum, WindowSum) else []
    return ["subgroup", *own, "sum", *scales, "term", *window]


def _subgroup_rows(group: Group) -> list[list[str]]:
    size = len(group.products) // len(group.subgroups)
    rows = []
    for index, part in enumerate(group.subgroups):
        first = group.indices[index * size]
        total = Term(int(part.total < 0), part.unit_exp, abs(part.total), 0, Class.NORMAL if part.total else Class.ZERO)
        scales = [
            f"{scale.sig} * 2^{scale.exp}" if scale.cls is not Class.NAN else "NaN"
            for scale in (part.scale_a, part.scale_b)
            if scale is not None
        ]
        windowed = isinstance(group.unit.sum, WindowSum)
        cells = _term_cells(group, part.term, index) if windowed else [term_text(part.term)]
        rows.append([f"{first}-{first + size - 1}", *_own_window(part.kept), term_text(total), *scales, *cells])
    return rows


def _own_window(kept: AlignedTerms | None) -> list[str]:
    """What a subgroup's own window keeps of its products, and that window's max_exp."""
    if kept is None:
        return []
    return [", ".join(map(str, kept.aligned)), "" if kept.max_exp is None else str(kept.max_exp)]


def _half_rows(halves: Halves) -> list[list[str]]:
    both = "" if halves.combined.max_exp is None else str(halves.combined.max_exp)
    rows = []
    for name, half, kept in zip(("even", "odd"), halves[:2], halves.combined.aligned, strict=True):
        alone = ["", ""] if half.max_exp is None else [str(half.max_exp), both]
        rows.append([name, alone[0], str(half.total), alone[1], str(kept)])
    return rows


def _cells(group: Group, term: Term, index: int) -> list[str]:
    """A term, and where it stands in a window, if there is one."""
    return _term_cells(group, term, index) if _window_header(group) else [term_text(term)]


def _factor_cells(fmt: Format, convert: FloatFormat | None, code: int, fields: Fields) -> list[str]:
    """A factor's code and value, whether it is subnormal where it is multiplied, and its code there if converted."""
    value = value_text(fmt, code)
    if fields.cls is Class.SUBNORMAL:
        value += " sub"
    elif fields.cls is Class.ZERO and float(fmt.decode(code)) != 0:
        value += " as 0"
    return [code_text(fmt, code), value, *([] if convert is None else [code_text(convert, _code_of(convert, fields))])]


def _code_of(fmt: FloatFormat, fields: Fields) -> int:
    """The code of a decoded number."""
    if fields.cls is Class.NAN:
        return nan_code(fmt)
    if fields.cls is Class.INFINITY:
        return infinity_code(fmt, fields.sign, "infinity")
    # The hidden bit is 1 in the exponent field of a normal number, which counts from the least one.
    hidden = 1 << fmt.fraction_bits
    magnitude = (fields.exp + fmt.bias) * hidden + fields.sig - hidden if fields.sig else 0
    return pack(fmt, fields.sign, magnitude)


def _term_cells(group: Group, term: Term, index: int) -> list[str]:
    rule = group.unit.sum
    zeros_count = isinstance(rule, WindowSum) and rule.zero_terms == "count"
    counts = term.cls is Class.ZERO and zeros_count and not group.special
    max_exp = group.max_exp
    if group.halves is not None:
        max_exp = group.halves[index % 2].max_exp
    if not (term.cls is Class.NORMAL or counts) or max_exp is None:
        return [term_text(term), "", "", "" if group.special else "0"]
    aligned = "" if group.special else str(group.aligned[index])
    return [term_text(term), str(term.exp), str(max_exp - term.exp), aligned]
