"""An explained dot product in words: its title, what came of each group, promotions, late additions, all as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from hwsim.formats import Class, Format
from hwsim.model.late import Added
from hwsim.model.promotion import Promoted
from hwsim.model.record import Explanation, Group
from hwsim.report.picture import Picture, picture, picture_lines
from hwsim.report.rows import code_text, operand_header, operand_rows, part_tables, term_text, value_text
from hwsim.spec import ExactSum, LateAdd, LateInWindow, Unit
from hwsim.spec.parts import Promotion


def title(record: Explanation) -> str:
    """What was multiplied, in a line."""
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


def promotion_text(rule: Promotion, partial: Format, promoted: Promoted) -> str:
    """One addition into the promotion register, in a line. partial: the format of what is added."""
    register, result = (_code_and_value(rule.format, code) for code in (promoted.register, promoted.code))
    added = _code_and_value(partial, promoted.partial)
    if promoted.scale is not None:
        added += f" * scale {_code_and_value(rule.format, promoted.scale)}"
    return f"promotion: register {register} + partial {added} = {result}, {rule.rounding} to {rule.format.name}"


def _code_and_value(fmt: Format, code: int) -> str:
    return f"{code_text(fmt, code)} ({value_text(fmt, code)})"


def late_text(rule: LateAdd | LateInWindow, unit: Unit, added: Added) -> str:
    """One late addition, in a line."""
    addend, result = _code_and_value(added.addend_format, added.addend), _code_and_value(unit.output, added.code)
    match rule:
        case LateAdd():
            other, rounding = f" + partial {_code_and_value(unit.result.format, added.partial)}", rule.rounding
        case LateInWindow():
            other, rounding = _window_text(added), unit.result.rounding
        case _:
            assert_never(rule)
    return f"late: addend {addend}{other} = {result}, {rounding} to {unit.output.name}"


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
    """What happens to the sum after a group: a promotion, or a late addition, in a line each."""
    unit, promoted, added = record.unit, record.promotions.get(index), record.additions.get(index)
    lines = []
    if unit.promotion is not None and promoted is not None:
        lines.append(promotion_text(unit.promotion, unit.result.format, promoted))
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
    """A group below its title, as lines."""
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
