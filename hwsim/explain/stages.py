"""How the stages of a dot product read: as tables, pictures of bits, text and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, assert_never

from pydantic import BaseModel, ConfigDict

from hwsim.base.text import counted
from hwsim.explain.frozen import Text
from hwsim.formats import Class, Fields, FloatFormat, Format, unpack
from hwsim.model.late import Added, Promoted
from hwsim.model.methods import Halves
from hwsim.model.record import Explanation, Group
from hwsim.model.rounding import infinity_code, nan_code, pack
from hwsim.model.terms import AlignedTerms, Term
from hwsim.spec import (
    AlignedSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    RoundedSum,
    Unit,
    WindowSum,
)
from hwsim.spec.parts import Promotion

LOST_SHOWN = 16  # columns below the window; what is further down is only counted
EMPTY = "."


@dataclass(frozen=True, slots=True)
class BitRow:
    """One row of the picture.

    kept: a character for each place of the window, the highest first. lost: the same for the places below it.
    aligned: the integer that the row stands for. note: what the row does not show.
    """

    label: str
    sign: str
    kept: str
    lost: str
    aligned: str
    note: str = ""

    @property
    def bar(self) -> str:
        """The end of the window; the result has none, unless it reaches below."""
        return "|" if self.label != "result" or self.lost.strip() else " "


@dataclass(frozen=True, slots=True)
class Picture:
    """The aligned terms under the window.

    top, last: exponents of the first and the last place of the window. rows: the terms other than zero, sum, result.
    """

    top: int
    max_exp: int
    last: int
    rows: tuple[BitRow, ...]

    @property
    def ruler(self) -> str:
        """A mark over max_exp, as wide as `kept`."""
        return " " * (self.top - self.max_exp) + "v" + " " * (self.max_exp - self.last)

    @property
    def caption(self) -> str:
        """The weights of the places."""
        return f"window 2^{self.top} to 2^{self.last}; v: 2^max_exp = 2^{self.max_exp}; right of |: lost"


def picture(group: Group) -> Picture | None:
    """The window of a group; None where it has none: another method, terms that are all zero, NaN or infinite."""
    if not isinstance(group.unit.sum, AlignedSum) or group.special is not None or group.max_exp is None:
        return None
    last = group.max_exp - group.fraction_bits
    shown = [row for row in zip(*_labelled_terms(group), group.aligned, strict=True) if row[1].cls is Class.NORMAL]
    result, result_unit = _result_bits(group)
    tops = [
        *(term.sig.bit_length() - 1 + term.exp - term.fraction_bits for _, term, _ in shown),
        max(abs(group.total), abs(group.uncut or 0)).bit_length() - 1 + last,
        result.bit_length() - 1 + result_unit if result else last,
    ]
    top = max(group.max_exp, *tops)
    least = min([last, *(_lowest(term) for _, term, _ in shown)])
    depth = min(last - least, LOST_SHOWN)
    rows = [_term_row(*row, (top, last, depth)) for row in shown]
    kept, _, _ = _places(abs(group.total), last, top, last, 0)
    notes = [] if group.growth is None else [f"growth {group.growth:+d}"]
    growth = ", ".join([*notes, "sticky 1"] if group.sticky else notes)
    if group.uncut is not None:
        whole, _, _ = _places(abs(group.uncut), last, top, last, 0)
        rows.append(BitRow("sum", "-" if group.uncut < 0 else "+", whole, " " * depth, str(group.uncut)))
    name = "sum" if group.uncut is None else "cut"
    rows.append(BitRow(name, "-" if group.total < 0 else "+", kept, " " * depth, str(group.total), growth))
    if result:
        rows.append(_result_row(group, result, result_unit, (top, last, depth)))
    return Picture(top, group.max_exp, last, tuple(rows))


def _labelled_terms(group: Group) -> tuple[list[str], list[Term]]:
    """The terms in the window, labelled: products by their index along K, subgroups by their ends, the addend."""
    labels, terms = [str(index) for index in group.indices], list(group.products)
    if group.subgroups:
        size = len(group.products) // len(group.subgroups)
        labels = [f"{i}-{i + size - 1}" for i in group.indices[::size]]
        terms = [part.term for part in group.subgroups]
    return (labels, terms) if group.addend is None else ([*labels, "addend"], [*terms, group.addend])


def _lowest(term: Term) -> int:
    return (term.sig & -term.sig).bit_length() - 1 + term.exp - term.fraction_bits


def _term_row(label: str, term: Term, aligned: int, window: tuple[int, int, int]) -> BitRow:
    kept, lost, further = _places(term.sig, term.exp - term.fraction_bits, *window)
    note = f"and {further} lost places further down" if further > 0 else ""
    return BitRow(label, "-" if term.sign else "+", kept, lost, str(aligned), note)


def _places(sig: int, unit_exp: int, top: int, last: int, depth: int) -> tuple[str, str, int]:
    """The bits of sig * 2^unit_exp from its leading one to its last place: in the window, below it, and how many more.

    depth: places below the window that are shown.
    """
    leading = sig.bit_length() - 1 + unit_exp

    def bit(exp: int) -> str:
        return str(sig >> (exp - unit_exp) & 1) if unit_exp <= exp <= leading else EMPTY

    kept = "".join(bit(exp) for exp in range(top, last - 1, -1))
    lost = "".join(bit(exp) for exp in range(last - 1, last - 1 - depth, -1))
    ones_end = (sig & -sig).bit_length() - 1 + unit_exp if sig else last
    return kept, lost, last - depth - ones_end


def _result_bits(group: Group) -> tuple[int, int]:
    """A finite result's significand, and the exponent of its last place; 0 for zero, NaN and infinity."""
    fmt = group.unit.result.format
    fields = unpack(fmt, group.code)
    return fields.sig, fields.exp - fmt.fraction_bits


def _result_row(group: Group, sig: int, unit_exp: int, window: tuple[int, int, int]) -> BitRow:
    fmt, rule = group.unit.result.format, group.unit.result
    top, last, depth = window
    kept, lost, _ = _places(sig, unit_exp, top, last, depth)
    sign = "-" if group.total < 0 else "+"
    note = "overflow" if group.overflow else f"{rule.rounding} to {fmt.name}"
    return BitRow("result", sign, kept, lost.replace(EMPTY, " "), "", note)


def picture_lines(shown: Picture) -> list[str]:
    """The picture as lines."""
    labels = max(len(row.label) for row in shown.rows)
    numbers = max(len(row.aligned) for row in shown.rows)
    lines = [shown.caption, f"{'':{labels}}   {shown.ruler}"]
    for row in shown.rows:
        bits = f"{row.kept}{row.bar}{row.lost}"
        lines.append(f"{row.label:>{labels}} {row.sign} {bits}  {row.aligned:>{numbers}}  {row.note}")
    return [line.rstrip() for line in lines]


def code_text(fmt: Format, code: int) -> str:
    """A code in hexadecimal, as wide as its container."""
    return f"{code:#0{2 + -(-fmt.container_bits // 4)}x}"


def value_text(fmt: Format, code: int) -> str:
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
    return group.unit.scale is not None and group.unit.scale.at == "product"


def _window_header(group: Group) -> list[str]:
    """The columns of a window that products stand in; none where it is something else, or nothing, that is aligned."""
    match group.unit.sum:
        case WindowSum():
            return [] if group.subgroups else ["exp", "distance", "aligned"]
        case RoundedSum() | ExactSum():
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
    window_cells = [] if group.subgroups[0].kept is None else ["in its window", "max_exp"]
    window = ["exp", "distance", "aligned"] if isinstance(group.unit.sum, WindowSum) else []
    return ["subgroup", *window_cells, "sum", *scales, "term", *window]


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
    """The integers that a subgroup's own window keeps of its products, and that window's max_exp."""
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


def title(record: Explanation) -> str:
    """The title of an explanation, in a line: the products, the addend and the format of the result."""
    unit = record.unit
    addend = f" + {unit.operands.addend.name}" if unit.operands.addend else ""
    converted = f" as {unit.operands.convert.name}" if unit.operands.convert else ""
    return (
        f"{unit.name}: {record.k} products {unit.operands.a.name} x {unit.operands.b.name}{converted}{addend}"
        f" -> {unit.output.name}, in groups of {unit.instruction.lanes}"
    )


def group_title(group: Group) -> str:
    """`group 0: products 0 to 31`, or, where they do not follow one another, `group 0: products 0, 1, 4, 5`."""
    used = group.indices[: group.used]
    if not used:
        return f"group {group.index}: no products"
    listed = f"{used[0]} to {used[-1]}" if used[-1] - used[0] == len(used) - 1 else ", ".join(map(str, used))
    return f"group {group.index}: products {listed}"


def outcome(group: Group) -> str:
    """A group's result, in a line."""
    fmt, code = group.unit.result.format, group.code
    result = f"result {code_text(fmt, code)} = {value_text(fmt, code)} ({fmt.name})"
    if group.special is not None:
        return f"{result}, because {_reason(group)}"
    rounding = "overflow" if group.overflow else "rounded" if group.rounded.inexact else "without rounding"
    if group.steps:
        return f"{result}, {rounding}"
    if isinstance(group.unit.sum, ExactSum):
        return f"exact sum {group.total} * 2^{group.unit_exp}; {result}, {rounding}"
    if group.max_exp is None:
        return f"{result}: every term is zero"
    lost = " and a sticky 1" if group.sticky else ""
    unit = f"2^{group.max_exp - group.fraction_bits}"
    total = f"sum {group.total} * {unit}{lost}"
    if group.uncut is not None:
        total = f"sum {group.uncut} * {unit}, cut to {group.total} * {unit}{lost}"
    return f"max_exp {group.max_exp}, {total}; {result}, {rounding}"


def _reason(group: Group) -> str:
    names = [*(f"product {index}" for index in group.indices), "addend"][: len(group.terms)]
    specials = [
        f"{name} is {term_text(term)}"
        for name, term in zip(names, group.terms, strict=True)
        if term.cls in (Class.NAN, Class.INFINITY)
    ]
    return ", ".join(specials[:4]) + (f" and {len(specials) - 4} more" if len(specials) > 4 else "")


def promotion_text(unit: Unit, rule: Promotion, promoted: Promoted) -> str:
    """One addition into the promotion register, in a line."""
    register, result = (_code_and_value(rule.format, code) for code in (promoted.register, promoted.code))
    added, scaling = _code_and_value(unit.result.format, promoted.partial), unit.scaled_promotion
    if scaling is not None and promoted.first is not None and promoted.scaled is not None:
        name, fmt = scaling.first[1]
        by, scaled = _code_and_value(fmt, promoted.first), _code_and_value(rule.format, promoted.scaled)
        added = f"(partial {added} * {name} {by} = {scaled})"
    else:
        added = f"partial {added}"
    if scaling is not None and promoted.scale is not None:
        name, fmt = scaling.then[1]
        added += f" * {name} {_code_and_value(fmt, promoted.scale)}"
    return f"promotion: register {register} + {added} = {result}, {rule.rounding} to {rule.format.name}"


def _code_and_value(fmt: Format, code: int) -> str:
    return f"{code_text(fmt, code)} ({value_text(fmt, code)})"


def late_text(rule: LateAdd | LateInWindow, unit: Unit, added: Added) -> str:
    addend, result = _code_and_value(added.addend_format, added.addend), _code_and_value(unit.output, added.code)
    match rule:
        case LateAdd():
            joined, rounding = f" + partial {_code_and_value(unit.result.format, added.partial)}", rule.rounding
        case LateInWindow():
            joined, rounding = _window_text(added), unit.result.rounding
        case _:
            assert_never(rule)
    return f"late: addend {addend}{joined} = {result}, {rounding} to {unit.output.name}"


def _window_text(added: Added) -> str:
    """The window of a late addend, which the sum enters before it is rounded."""
    window = added.window
    if window is None or window.max_exp is None:
        return " + sum"
    dropped = " (dropped)" if window.dropped else ""
    unit = f"2^{window.max_exp - window.fraction_bits}"
    both = f" + sum, at max_exp {window.max_exp}: ({window.kept_addend}{dropped} + {window.kept_sum}) * {unit}"
    return f"{both}, cut to {window.total} * 2^{window.unit_exp}" if window.cut else both


def after_group(record: Explanation, index: int) -> list[str]:
    """The steps on the sum after a group, in a line each: a promotion, or a late addition."""
    unit, promoted, added = record.unit, record.promotions.get(index), record.additions.get(index)
    lines = []
    if unit.promotion is not None and promoted is not None:
        lines.append(promotion_text(unit, unit.promotion, promoted))
    if unit.late is not None and added is not None:
        lines.append(late_text(unit.late, unit, added))
    return lines


def result_text(record: Explanation) -> str:
    """The whole dot product's result, in a line."""
    fmt = record.unit.output
    return f"= {code_text(fmt, record.code)} = {value_text(fmt, record.code)} ({fmt.name})"


class CellTable(NamedTuple):
    """A table of an explanation, whose cells are right-aligned."""

    header: list[str]
    rows: list[list[str]]


def group_blocks(record: Explanation, group: Group) -> Iterator[CellTable | Picture | str]:
    """A group below its title: operands, parts, the window as bits, and in a line each the result and what follows.

    A terminal and plain text show the same blocks. A table or a picture stands apart from the block before it.
    """
    yield CellTable(operand_header(group), list(operand_rows(group)))
    for header, rows in part_tables(group):
        yield CellTable(header, rows)
    shown = picture(group)
    if shown is not None:
        yield shown
    yield outcome(group)
    yield from after_group(record, group.index)


def columns(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines, the cells of a column right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def group_lines(record: Explanation, group: Group) -> list[str]:
    lines: list[str] = []
    for block in group_blocks(record, group):
        match block:
            case str():
                lines.append(block)
            case CellTable(header, rows):
                lines += [*([""] if lines else []), *columns([header, *rows])]
            case Picture():
                lines += ["", *picture_lines(block)]
            case _:
                assert_never(block)
    return lines


def text(record: Explanation) -> str:
    """Everything, as plain text."""
    lines = [title(record)]
    for group in record.groups:
        lines += ["", group_title(group), *group_lines(record, group)]
    return "\n".join([*lines, "", result_text(record)])


MOST_GROUPS = 4


class GroupJson(BaseModel):
    """One fused sum. lines: every stage, as text. window: the aligned terms as bits, where the sum has a window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    title: Text
    lines: tuple[Text, ...]
    window: Picture | None = None


class ExplanationJson(BaseModel):
    """A dot product. left_out: groups that are not among `groups`. result: the model's, in a line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Text
    groups: tuple[GroupJson, ...]
    left_out: int = 0
    result: Text

    @property
    def lines(self) -> list[str]:
        """All of it as text: what `hwsim explain` prints."""
        lines = [self.title]
        for group in self.groups:
            lines += ["", group.title, *group.lines]
        if self.left_out:
            lines += ["", f"{counted(self.left_out, 'more group')} left out"]
        return [*lines, "", self.result]


def explanation(record: Explanation, group: int | None = None, most: int = MOST_GROUPS) -> ExplanationJson:
    """The record of a dot product as JSON has it; of a long one, the first groups and the named one.

    group: the one that must be among them. most: so many at most.
    """
    groups = record.groups
    chosen = sorted({*range(min(len(groups), most - (group is not None))), *([] if group is None else [group])})
    kept = tuple(
        GroupJson(
            index=index,
            title=group_title(groups[index]),
            lines=tuple(group_lines(record, groups[index])),
            window=picture(groups[index]),
        )
        for index in chosen
    )
    return ExplanationJson(
        title=title(record), groups=kept, left_out=len(groups) - len(kept), result=result_text(record)
    )
