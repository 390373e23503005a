"""Tables and series as functions: each cell of a table and each point of a series is one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from hwsim.study.intervals import Interval
from hwsim.study.report.contents import Series, TextTable

R = TypeVar("R")
C = TypeVar("C")
X = TypeVar("X", str, int, float)


def grid(
    title: str,
    heads: tuple[str, ...],
    rows: Mapping[Any, R],
    columns: Mapping[Any, C],
    cell: Callable[[R, C], str],
    caption: str = "",
) -> TextTable:
    """A table: the words of each row, and then a cell for each column.

    heads: titles of the words. rows: from the words, one or as many as heads, to what `cell` takes.
    columns: from titles to what `cell` takes.
    """
    first = len(heads)
    return TextTable(
        title=title,
        header=(*heads, *map(str, columns)),
        rows=tuple(
            (*((words,) if first == 1 else words), *(cell(row, column) for column in columns.values()))
            for words, row in rows.items()
        ),
        right=tuple(range(first, first + len(columns))),
        caption=caption,
    )


def listing(
    title: str,
    heads: tuple[str, ...],
    rows: Mapping[Any, R],
    columns: Mapping[str, Callable[[R], str]],
    caption: str = "",
) -> TextTable:
    """A table whose columns are functions of a row; otherwise as `grid`."""
    return grid(title, heads, rows, columns, lambda row, text: text(row), caption)


def each(values: Iterable[R]) -> dict[R, R]:
    """Rows or columns whose values are their own titles."""
    return {value: value for value in values}


def curves(
    labels: Iterable[str],
    x: Iterable[X],
    value: Callable[[str, str, X], float | Interval],
    panels: Iterable[str] = ("",),
    dashed: bool = False,
) -> tuple[Series, ...]:
    """A series for each panel and label: at each x the value of (panel, label, x), an interval or a number alone."""
    places, names = tuple(x), tuple(labels)
    return tuple(
        series_of(label, places, [value(panel, label, at) for at in places], panel=panel, dashed=dashed)
        for panel in panels
        for label in names
    )


def series_of(label: str, x: Iterable[float | str], values: Iterable[float | Interval], **look: Any) -> Series:
    """One series of numbers, or of means with their intervals. look: other fields of a series."""
    points = [one if isinstance(one, Interval) else Interval(float(one), math.nan, math.nan) for one in values]
    means, lows, highs = zip(*points, strict=True)
    low, high = (lows, highs) if any(map(math.isfinite, lows)) else (None, None)
    return Series(label=label, x=tuple(x), y=means, low=low, high=high, **look)
