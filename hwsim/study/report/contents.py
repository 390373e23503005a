"""The contents of a report: charts and tables as data, and numbers in words. Nothing here draws."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hwsim.base.errors import InputError

Kind = Literal["lines", "points"]
Row = Mapping[str, Any]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MEANT = re.compile(r"([\\`*_{}\[\]<>|~])")  # what means something in Markdown


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis. title: what is measured, with its unit. log: the base of a logarithmic axis, 2 or 10.

    categories: the order of an axis of words. zero: whether a linear axis starts at zero.
    """

    title: str
    log: int | None = None
    categories: tuple[str, ...] | None = None
    zero: bool = False


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A line across every panel at a value of one axis, with words beside it."""

    value: float
    label: str
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One figure, which `charts` draws.

    name: of its files, NAME.png and NAME.svg. title, caption: plain text.
    rows: of each point `series`, `x` and `y`; and where it has them `low` and `high`, the ends of an interval; `panel`,
    panels stand side by side and share their y axis; `note`, what its tooltip says; `name`, words beside it.
    kind: lines join numbers; points stand side by side at the words of x, or anywhere where x are numbers.
    theory: from series of theory, which are dashed, to the series whose colour they have. front: a series of steps
    without markers, as a Pareto front. command: the command that makes the figure.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    rows: Sequence[Row]
    kind: Kind = "lines"
    caption: str = ""
    theory: Mapping[str, str] = field(default_factory=dict)
    front: str = ""
    references: tuple[Reference, ...] = ()
    command: str = ""

    def __post_init__(self) -> None:
        _check_name("chart", self.name)
        if not self.rows:
            raise InputError(f"chart {self.name}: a chart has at least one point")

    def values(self, key: str) -> list[str]:
        """The different words of a field, in the order of the rows."""
        return list(dict.fromkeys(str(row.get(key, "")) for row in self.rows))

    @property
    def numbers(self) -> TextTable:
        """All its points as a table, those too that have no place on its axes."""
        titles = {"panel": "Panel", "series": "Series", "x": self.x.title, "y": self.y.title}
        titles |= {key: key.capitalize() for key in ("low", "high", "name", "note")}
        used = {key: title for key, title in titles.items() if any(row.get(key, "") != "" for row in self.rows)}
        cells = [tuple(_number(row.get(key, "")) for key in used) for row in self.rows]
        numeric = [
            index for index, key in enumerate(used) if any(isinstance(row.get(key), (int, float)) for row in self.rows)
        ]
        title = f"Numbers of: {self.title}"
        return TextTable(title=title, header=tuple(used.values()), rows=tuple(cells), right=tuple(numeric))

    @property
    def missing(self) -> str:
        """The number of points without a place on the axes, in words; empty where none is missing."""
        counts: dict[str, int] = {}
        for row in self.rows:
            for value, log in ((row["y"], self.y.log), (row["x"], self.x.log)):
                if reason := _unplaced(value, log):
                    counts[reason] = counts.get(reason, 0) + 1
                    break
        reasons = "; ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
        return f"Not drawn: {reasons}." if reasons else ""

    @property
    def placed(self) -> list[Row]:
        """The rows that the axes can show."""
        return [row for row in self.rows if not _unplaced(row["y"], self.y.log) and not _unplaced(row["x"], self.x.log)]


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _unplaced(value: Any, log: int | None) -> str:
    if isinstance(value, str):
        return ""
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    return "not above zero, so without a place on a logarithmic axis" if log and value <= 0 else ""


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table of words. right : columns (from 0) that hold numbers, set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        for n, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise InputError(f"table {self.title!r}: row {n} has {len(row)} cells, the header {len(self.header)}")


def table(
    title: str, columns: Mapping[str, Callable[[Any], str]], records: Iterable[Any], left: int = 1, caption: str = ""
) -> TextTable:
    """A table with a row for each record. columns: from heads to cells; the first `left` of them are words."""
    rows = tuple(tuple(cell(record) for cell in columns.values()) for record in records)
    right = tuple(range(left, len(columns)))
    return TextTable(title=title, header=tuple(columns), rows=rows, right=right, caption=caption)


@dataclass(frozen=True, kw_only=True)
class KeyNumber:
    """A number that a page opens with. what : is measured, in a few words. value : with its unit. of : what has it."""

    what: str
    value: str
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyReport:
    """A page: what was found and its key numbers, paragraphs of plain text, then charts and tables in their order.

    name : of its files. command : what makes the page again, and each of its charts unless that says another.
    verdict : what was found, in a sentence or two. sources : papers and documents, one a line, plain text.
    """

    name: str
    title: str
    command: str
    verdict: str = ""
    key: tuple[KeyNumber, ...] = ()
    summary: tuple[str, ...] = ()
    parts: tuple[Chart | TextTable, ...] = ()
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name("report", self.name)
        parts = (
            replace(part, command=part.command or self.command) if isinstance(part, Chart) else part
            for part in self.parts
        )
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(part for part in self.parts if isinstance(part, Chart))

    @property
    def tables(self) -> tuple[TextTable, ...]:
        return tuple(part for part in self.parts if isinstance(part, TextTable))


def _check_name(kind: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"{kind} name must be letters, digits, dots, dashes and underscores, not {name!r}")


def markdown(of: TextTable) -> str:
    """A table as GitHub's Markdown, ending in a newline: rows of cells, numbers to the right, the caption below.

    The title is not in it: it is the page's heading. Cells are plain text, whatever characters they hold.
    """
    dashes = [" ---: " if column in of.right else " --- " for column in range(len(of.header))]
    lines = [_line(of.header), f"|{'|'.join(dashes)}|", *map(_line, of.rows)]
    below = ["", _plain(of.caption)] if of.caption else []
    return "\n".join([*lines, *below]) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    return MEANT.sub(r"\\\1", " ".join(text.split()))


def decibels(value: float) -> str:
    """An SNR in dB to a tenth; `exact` where nothing is wrong."""
    return "exact" if value == math.inf else f"{value:.1f}"


def scientific(value: float) -> str:
    """An error with two digits: 1.2e-05, or 0."""
    return f"{value:.1e}" if value else "0"


def counted_or_dash(value: float | None, digits: int = 0) -> str:
    """A number with commas between thousands, or a dash for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def short(value: float) -> str:
    """A number in few characters: 0.0123, 1.23, 123, and 1.2e-5 or 1.2e6 where it is small or large."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if "e" in text or 0 < abs(value) < 0.00995:
        digits, power = f"{value:.1e}".split("e")
        text = f"{digits.removesuffix('.0')}e{int(power)}"
    return text.replace("-", "−", 1) if value < 0 else text


def spread(value: float, half: float) -> str:
    """A number and half the width of its interval, to as many digits as the interval tells: 81.0 ± 0.4, (2 ± 3)e-4.

    The half is rounded to one digit, or to two where these are below 36. Without one the number is short.
    """
    if not (math.isfinite(value) and math.isfinite(half) and half > abs(value) * 1e-6):
        return short(value)
    largest = max(abs(value), half)
    power = 0 if 0.01 <= largest < 1e5 else math.floor(math.log10(largest))
    value, half = value / 10.0**power, half / 10.0**power
    digits = -math.floor(math.log10(half))
    if half * 10.0**digits < 3.55:
        digits += 1
    digits = max(0, digits)
    # What rounds to zero has no sign.
    text = f"{round(value, digits) + 0.0:.{digits}f} ± {half:.{digits}f}".replace("-", "−", 1)
    return f"({text})e{power}" if power else text
