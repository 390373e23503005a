"""A mismatch, and a row that failed, as lines for a terminal and for JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.report.record import Mismatch, Operand, Row

MOST_LINES = 15
MOST_OPERANDS = 6


def operand_line(operand: Operand) -> str:
    """An operand on a line: `a  [2] 0xc2 (-2.5); 32 elements`."""
    shown = [f"{element.code} ({element.value})" for element in operand.elements[:MOST_OPERANDS]]
    if not operand.length:
        return f"  {operand.name}  {', '.join(shown)}"
    parts = [f"[{element.index}] {text}" for element, text in zip(operand.elements, shown, strict=False)]
    more = len(operand.elements) - len(parts)
    listed = ", ".join(parts) or "all zero"
    return f"  {operand.name}  {listed}{f' and {more} more' if more else ''}; {operand.length} elements"


def mismatch_lines(mismatch: Mismatch) -> list[str]:
    """What differs: operands decoded, expected and got, the first stage that differs."""
    what = "" if mismatch.what == "result" else f"{mismatch.what}: "
    distance = f", {mismatch.distance}" if mismatch.distance else ""
    context = f" ({mismatch.context})" if mismatch.context else ""
    lines = [operand_line(operand) for operand in mismatch.operands]
    lines.append(f"  {what}expected {mismatch.expected}, got {mismatch.got}{distance}{context}")
    if mismatch.stage:
        lines.append(f"  first differing stage: {mismatch.stage}")
    return [*lines, *(f"  it would be explained by: {sentence}" for sentence in mismatch.semantics[:2])]


def failure_lines(row: Row, mismatches: Sequence[Mismatch]) -> list[str]:
    """Why a row failed, in at most 15 lines: its first mismatch, or how much is missing, and its notes."""
    head = f"{row.unit} · {row.driver} · {row.suite}"
    if mismatches:
        first = mismatches[0]
        at = f"{first.where}; " if first.where else ""
        head += f" · case {first.case}" if first.case else ""
        lines = [head, *mismatch_lines(first), f"  {at}{row.mismatches} mismatches in this suite"]
        said = "; ".join([*first.notes, *(f"{file.what}: {file.path}" for file in first.files)])
        end = [*([said] if said else []), *([f"again: {first.again}"] if first.again else [])]
    else:
        lines, end = [head, f"  {row.compared} of {row.planned} results compared"], []
    # The last lines say how to go on: they stay, whatever else must go.
    end = [f"  {line}" for line in [*row.notes, *end]]
    return [*lines[: max(2, MOST_LINES - len(end))], *end][:MOST_LINES]
