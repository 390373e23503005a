"""A mismatch, a row that failed, a minimal case and known causes, as lines for a terminal and for JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.cases.bins.meanings import case_meaning
from hwsim.report.differences import FaultKind, Mismatch, Operand
from hwsim.report.record import Row
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


def kind_lines(kind: FaultKind, number: int, count: int) -> list[str]:
    """A kind of wrong results, whole: the simplest case, its stages, what would explain them, files and command.

    number: of the kind, from 1, of `count`.
    """
    minimal = kind.minimal
    of_many = f" OF KIND {number} OF {count}" if count > 1 else ""
    if minimal is None:
        return [f"NO MINIMAL CASE{of_many}", *fault_lines(kind)]
    lines = [
        f"MINIMAL CASE{of_many}, {minimal.where}",
        *mismatch_lines(minimal),
        *explained_lines(minimal),
        *fault_lines(kind),
    ]
    files = [f"{file.what}: {file.path}" for file in minimal.files]
    return [*lines, *files, *([f"again: {minimal.again}"] if minimal.again else [])]


def kinds_lines(kinds: Sequence[FaultKind]) -> list[str]:
    """All kinds of wrong results, an empty line between two."""
    lines: list[str] = []
    for number, kind in enumerate(kinds, 1):
        lines += [*([""] if lines else []), *kind_lines(kind, number, len(kinds))]
    return lines


def fault_head(kind: FaultKind) -> str:
    """What explains a kind of wrong results and how much speaks for it, or that nothing does."""
    part = f"{kind.wrong:,} of {counted(kind.of, 'compared mismatch')}"
    if kind.causes:
        agrees = kind.causes[0].of - kind.wrong
        return f"explains {part} and agrees with {counted(agrees, 'result')} that {verb(agrees)}:"
    if kind.facts:
        return f"nothing known explains {part}; what they have in common:"
    return f"nothing known explains {part}, and they have nothing simple in common"


def verb(count: int) -> str:
    """What results do that are right."""
    return "matches" if count == 1 else "match"


def fault_lines(kind: FaultKind) -> list[str]:
    """What would explain a kind of wrong results, the likeliest first, or what they have in common."""
    return [fault_head(kind), *(f"  {cause}" for cause in kind.causes), *(f"  {fact}" for fact in kind.facts)]


def all_fault_lines(kinds: Sequence[FaultKind]) -> list[str]:
    """What would explain each kind of wrong results."""
    return [line for kind in kinds for line in fault_lines(kind)]


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
