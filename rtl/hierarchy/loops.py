"""Statements that differ in indices alone, as loops."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .expressions import END, MARK

INDEX = re.compile(f"{MARK}(\\d+){END}")


def unmarked(text: str) -> str:
    """A text without the marks of its indices."""
    return INDEX.sub(r"\1", text)


def rolled(texts: Sequence[str], variable: str = "i") -> str | None:
    """One text for all of some, in which indices are expressions of their number; None where there is none."""
    if len({INDEX.sub("", text) for text in texts}) > 1 or len(texts) < 2:
        return None
    columns = list(zip(*([int(number) for number in INDEX.findall(text)] for text in texts), strict=True))
    expressions = [_affine(column, variable) for column in columns]
    if None in expressions or all(
        expression == str(column[0]) for expression, column in zip(expressions, columns, strict=True)
    ):
        return None
    found = iter(expressions)
    return INDEX.sub(lambda _: str(next(found)), texts[0])


def _affine(numbers: Sequence[int], variable: str) -> str | None:
    first, step = numbers[0], numbers[1] - numbers[0]
    if any(number != first + step * at for at, number in enumerate(numbers)):
        return None
    if not step:
        return str(first)
    times = variable if abs(step) == 1 else f"{abs(step)} * {variable}"
    if step < 0:
        return f"{first} - {times}"
    return f"{times} + {first}" if first else times


def pieces(texts: Sequence[str]) -> list[tuple[int, str, int]]:
    """Texts in order, as many as can be in each loop: its first, the text, and how many; 1 for no loop."""
    keys = [INDEX.sub("", text) for text in texts]
    numbers = [[int(number) for number in INDEX.findall(text)] for text in texts]
    found: list[tuple[int, str, int]] = []
    at = 0
    while at < len(texts):
        stop = at + 1
        while stop < len(texts) and keys[stop] == keys[at] and _goes_on(numbers[at : stop + 1]):
            stop += 1
        loop = rolled(texts[at:stop])
        stop = stop if loop is not None else at + 1
        found.append((at, loop or unmarked(texts[at]), stop - at))
        at = stop
    return found


def _goes_on(rows: Sequence[Sequence[int]]) -> bool:
    """Whether the last of some rows is as far from the one before as the second is from the first."""
    steps = [second - first for first, second in zip(rows[0], rows[1], strict=True)]
    return [last - before for before, last in zip(rows[-2], rows[-1], strict=True)] == steps
