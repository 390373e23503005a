"""How an explained dot product reads: its window as a picture of bits, its result in words."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.formats import Class, FloatFormat, unpack
from hwsim.model.stages import Added, Promoted
from hwsim.model.terms import Term
from hwsim.report.explained import Explained, ExplainedGroup
from hwsim.report.rows import code_text, operand_header, operand_rows, part_tables, term_text, value_text

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
        """What the places weigh."""
        return f"window 2^{self.top} to 2^{self.last}; v: 2^max_exp = 2^{self.max_exp}; right of |: lost"


def picture(group: ExplainedGroup) -> Picture | None:
    """The window of a group; None where it has none: another method, terms that are all zero, NaN or infinite."""
    if not group.in_window or group.max_exp is None:
        return None
    last = group.max_exp - group.fraction_bits
    shown = [(label, term, kept) for label, term, kept in group.in_window if term.cls is Class.NORMAL]
    result, result_unit = _result_bits(group)
    tops = [
        *(term.sig.bit_length() - 1 + term.exp - term.fraction_bits for _, term, _ in shown),
        abs(group.total).bit_length() - 1 + last,
        result.bit_length() - 1 + result_unit if result else last,
    ]
    top = max(group.max_exp, *tops)
    least = min([last, *(_lowest(term) for _, term, _ in shown)])
    depth = min(last - least, LOST_SHOWN)
    rows = [_term_row(*row, (top, last, depth)) for row in shown]
    kept, _, _ = _places(abs(group.total), last, top, last, 0)
    growth = "" if group.growth is None else f"growth {group.growth:+d}"
    rows.append(BitRow("sum", "-" if group.total < 0 else "+", kept, " " * depth, str(group.total), growth))
    if result:
        rows.append(_result_row(group, result, result_unit, (top, last, depth)))
    return Picture(top, group.max_exp, last, tuple(rows))


def _lowest(term: Term) -> int:
    """The exponent of a term's last one."""
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


def _result_bits(group: ExplainedGroup) -> tuple[int, int]:
    """A finite result's significand, and the exponent of its last place; 0 for zero, NaN and infinity."""
    fmt = group.unit.result.format
    assert isinstance(fmt, FloatFormat)
    fields = unpack(fmt, group.result)
    return fields.sig, fields.exp - fmt.fraction_bits


def _result_row(group: ExplainedGroup, sig: int, unit_exp: int, window: tuple[int, int, int]) -> BitRow:
    fmt, rule = group.unit.result.format, group.unit.result
    top, last, depth = window
    kept, lost, _ = _places(sig, unit_exp, top, last, depth)
    sign = "-" if group.total < 0 else "+"
    note = "overflow" if group.overflow else f"{rule.rounding} to {fmt.name}"
    return BitRow("result", sign, kept, lost.replace(EMPTY, " "), "", note)


def title(explained: Explained) -> str:
    """What was multiplied, in a line."""
    unit = explained.unit
    addend = f" + {unit.operands.addend.name}" if unit.operands.addend else ""
    converted = f" as {unit.operands.convert.name}" if unit.operands.convert else ""
    return (
        f"{unit.name}: {explained.k} products {unit.operands.a.name} x {unit.operands.b.name}{converted}{addend}"
        f" -> {unit.output.name}, in groups of {unit.instruction.lanes}"
    )


def group_title(group: ExplainedGroup) -> str:
    """`group 0: products 0 to 31`, or, where they do not follow one another, `group 0: products 0, 1, 4, 5`."""
    used = group.indices[: group.used]
    if not used:
        return f"group {group.index}: no products"
    listed = f"{used[0]} to {used[-1]}" if used[-1] - used[0] == len(used) - 1 else ", ".join(map(str, used))
    return f"group {group.index}: products {listed}"


def outcome(group: ExplainedGroup) -> str:
    """A group's result, in a line."""
    fmt, code = group.unit.result.format, group.result
    result = f"result {code_text(fmt, code)} = {value_text(fmt, code)} ({fmt.name})"
    if group.special is not None:
        return f"{result}, because {_reason(group)}"
    rounding = "overflow" if group.overflow else "rounded" if group.rounded.inexact else "without rounding"
    if group.steps:
        return f"{result}, {rounding}"
    if group.unit.sum.method == "exact":
        return f"exact sum {group.total} * 2^{group.unit_exp}; {result}, {rounding}"
    if group.max_exp is None:
        return f"{result}: every term is zero"
    return f"max_exp {group.max_exp}, sum {group.total} * 2^{group.max_exp - group.fraction_bits}; {result}, {rounding}"


def _reason(group: ExplainedGroup) -> str:
    names = [*(f"product {index}" for index in group.indices), "addend"][: len(group.terms)]
    found = [
        f"{name} is {term_text(term)}"
        for name, term in zip(names, group.terms, strict=True)
        if term.cls in (Class.NAN, Class.INFINITY)
    ]
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def promotion_text(explained: Explained, promoted: Promoted) -> str:
    """One addition into the promotion register, in a line."""
    rule, inner = explained.unit.promotion, explained.unit.result.format
    assert rule is not None
    register, result = (
        f"{code_text(rule.format, code)} ({value_text(rule.format, code)})"
        for code in (promoted.register, promoted.code)
    )
    partial = f"{code_text(inner, promoted.partial)} ({value_text(inner, promoted.partial)})"
    if promoted.scale is not None:
        partial += f" * scale {code_text(rule.format, promoted.scale)} ({value_text(rule.format, promoted.scale)})"
    return f"promotion: register {register} + partial {partial} = {result}, {rule.rounding} to {rule.format.name}"


def late_text(explained: Explained, added: Added) -> str:
    """One late addition, in a line."""
    rule, inner, outer = explained.unit.late, explained.unit.result.format, explained.unit.output
    assert rule is not None
    parts = ((added.addend_format, added.addend), (inner, added.partial), (outer, added.code))
    addend, partial, result = (f"{code_text(fmt, code)} ({value_text(fmt, code)})" for fmt, code in parts)
    if rule.operation == "window":
        return (
            f"late: addend {addend}{_window_text(added)} = {result}, {explained.unit.result.rounding} to {outer.name}"
        )
    return f"late: addend {addend} + partial {partial} = {result}, {rule.rounding} to {outer.name}"


def _window_text(added: Added) -> str:
    """The window of a late addend, which the sum enters before it is rounded."""
    made = added.window
    if made is None or made.max_exp is None:
        return " + sum"
    dropped = " (dropped)" if made.dropped else ""
    unit = f"2^{made.max_exp - made.fraction_bits}"
    return f" + sum, at max_exp {made.max_exp}: ({made.kept_addend}{dropped} + {made.kept_sum}) * {unit}"


def after_group(explained: Explained, index: int) -> list[str]:
    """What happens to the sum after a group: a promotion, or a late addition, in a line each."""
    promoted, added = explained.promotions.get(index), explained.additions.get(index)
    lines = [] if promoted is None else [promotion_text(explained, promoted)]
    return lines if added is None else [*lines, late_text(explained, added)]


def result_text(explained: Explained) -> str:
    """The whole dot product's result, in a line."""
    fmt = explained.unit.output
    return f"= {code_text(fmt, explained.result)} = {value_text(fmt, explained.result)} ({fmt.name})"


def columns(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines, the cells of a column right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def picture_lines(shown: Picture) -> list[str]:
    """The picture as lines."""
    labels = max(len(row.label) for row in shown.rows)
    numbers = max(len(row.aligned) for row in shown.rows)
    lines = [shown.caption, f"{'':{labels}}   {shown.ruler}"]
    for row in shown.rows:
        bits = f"{row.kept}{row.bar}{row.lost}"
        lines.append(f"{row.label:>{labels}} {row.sign} {bits}  {row.aligned:>{numbers}}  {row.note}")
    return [line.rstrip() for line in lines]


def group_lines(explained: Explained, group: ExplainedGroup) -> list[str]:
    """A group below its title, as lines: operands, parts, the window as bits, the result and what follows it."""
    shown = picture(group)
    lines = columns([operand_header(group), *operand_rows(group)])
    for header, rows in part_tables(group):
        lines += ["", *columns([header, *rows])]
    lines += ["", *picture_lines(shown)] if shown else []
    return [*lines, outcome(group), *after_group(explained, group.index)]


def text(explained: Explained) -> str:
    """Everything, as plain text."""
    lines = [title(explained)]
    for group in explained.groups:
        lines += ["", group_title(group), *group_lines(explained, group)]
    return "\n".join([*lines, "", result_text(explained)])
