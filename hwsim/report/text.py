"""A mismatch, a row that failed, a minimal case and known causes, as lines for a terminal and for JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.cases.bins.meanings import case_meaning
from hwsim.report.record import KnownCause, Mismatch, Operand, Row
from hwsim.words import counted

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
    return f"  {operand.name}  {listed}{f' and {more} more' if more else ''}; {counted(operand.length, 'element')}"


def mismatch_lines(mismatch: Mismatch) -> list[str]:
    """What differs: operands decoded, expected and got, the first stage that differs."""
    what = "" if mismatch.what == "result" else f"{mismatch.what}: "
    distance = f", {mismatch.distance}" if mismatch.distance else ""
    context = f" ({mismatch.context})" if mismatch.context else ""
    lines = [operand_line(operand) for operand in mismatch.operands]
    lines.append(f"  {what}expected {mismatch.expected}, got {mismatch.got}{distance}{context}")
    if mismatch.stage:
        lines.append(f"  first differing stage: {mismatch.stage}")
    if mismatch.remedy:
        lines.append(f"  what to do: {mismatch.remedy}")
    return lines


def explained_lines(mismatch: Mismatch) -> list[str]:
    """Every stage of a mismatch's case, and what sum its result stands for."""
    stages = ["", *mismatch.explanation.lines, ""] if mismatch.explanation else []
    return [*stages, *([f"the design's result: {mismatch.meaning}"] if mismatch.meaning else [])]


def minimal_lines(minimal: Mismatch, causes: Sequence[KnownCause]) -> list[str]:
    """The simplest case that fails, whole: operands, stages, what would explain it, its files and its command."""
    lines = [
        f"MINIMAL CASE, {minimal.where}",
        *mismatch_lines(minimal),
        *explained_lines(minimal),
        *cause_lines(causes),
    ]
    files = [f"{file.what}: {file.path}" for file in minimal.files]
    return [*lines, *files, *([f"again: {minimal.again}"] if minimal.again else [])]


def cause_head(causes: Sequence[KnownCause]) -> str:
    """What the list of known causes is: explanations of everything, or the nearest; empty where there are none."""
    if not causes:
        return ""
    tried = f"({causes[0].of:,} were tried)"
    if all(cause.everything for cause in causes):
        return f"every result is explained by {tried}:"
    return f"nothing known explains every result {tried}; the nearest:"


def cause_lines(causes: Sequence[KnownCause]) -> list[str]:
    """What would explain the results, the best first; no lines where nothing known was looked for."""
    return [*([cause_head(causes)] if causes else []), *(f"  {cause}" for cause in causes)]


def failure_lines(row: Row, mismatches: Sequence[Mismatch]) -> list[str]:
    """Why a row failed, in at most 15 lines: its first mismatch, or how much is missing, and its notes."""
    head = f"{row.unit} · {row.driver} · {row.suite}"
    if mismatches:
        first = mismatches[0]
        at = f"{first.where}; " if first.where else ""
        head += f" · case {first.case}" if first.case else ""
        meaning = case_meaning(first.case)
        lines = [head, *([f"  this case: {meaning}"] if meaning else []), *mismatch_lines(first)]
        lines.append(f"  {at}{counted(row.mismatches, 'mismatch')} in this suite")
        said = "; ".join([*first.notes, *(f"{file.what}: {file.path}" for file in first.files)])
        end = [*([said] if said else []), *([f"again: {first.again}"] if first.again else [])]
    else:
        lines, end = [head, f"  {row.compared:,} of {counted(row.planned, 'result')} compared"], []
    # The last lines say how to go on: they stay, whatever else must go.
    end = [f"  {line}" for line in [*row.notes, *end]]
    return [*lines[: max(2, MOST_LINES - len(end))], *end][:MOST_LINES]
