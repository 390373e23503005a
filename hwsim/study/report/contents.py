"""The contents of a report, validated: charts and tables as data. Nothing here draws."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from hwsim.errors import InputError

Kind = Literal["lines", "points", "heatmap"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis, or the colours of a heatmap.

    title : what is measured, with its unit: "Length K (products)", "SNR (dB)", "Relative error".
    log : the base of a logarithmic axis, 2 or 10; None is linear. What is not above zero has no place on it.
    categories : the order of an axis of words; without it, words come in the order in which series name them.
    zero : a linear axis that starts at zero.
    """

    title: str
    log: int | None = None
    categories: tuple[str, ...] | None = None
    zero: bool = False

    def __post_init__(self) -> None:
        _said("axis title", self.title)
        if self.log not in (None, 2, 10):
            raise InputError(f"axis {self.title!r}: log must be 2, 10 or None, not {self.log!r}")
        if self.log and self.zero:
            raise InputError(f"axis {self.title!r}: a logarithmic axis has no zero")
        if self.categories is not None:
            _coerce(self, "categories", str)
            if self.log or not self.categories or len(set(self.categories)) != len(self.categories):
                raise InputError(f"axis {self.title!r}: categories must be different words on an axis that is not log")


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one colour and shape. Numbers of any kind (NumPy's too) are taken; NaN and infinities have no point.

    label : its name in the legend; of a heatmap, its row. The same label in two panels has the same colour.
    x : places: numbers, or words for an axis of categories.
    y : values, one for each place.
    low, high : a confidence interval of each value: a band of lines, or a thin line.
    dashed : theory rather than measurement: a dashed line without markers (lines), or a short stroke (points).
    panel : charts of the same panel are drawn together; panels stand side by side and share their axes.
    notes : what a tooltip says of each point, besides its numbers.
    names : words printed beside each point ("" for none; points).
    front : a step line without markers, as a Pareto front through points of other series: x is to be small (points).
    like : the label of the series whose colour it takes: theory beside what was measured.
    """

    label: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    dashed: bool = False
    panel: str = ""
    notes: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    front: bool = False
    like: str = ""

    def __post_init__(self) -> None:
        _said("series label", self.label)
        _coerce(self, "x", lambda one: one if isinstance(one, str) else float(one))
        for field, kind in (("y", float), ("low", float), ("high", float), ("notes", str), ("names", str)):
            if getattr(self, field) is not None:
                _coerce(self, field, kind)
                if len(getattr(self, field)) != len(self.x):
                    raise InputError(
                        f"series {self.label!r}: {field} has {len(getattr(self, field))} entries, x {len(self.x)}"
                    )
        if len({isinstance(one, str) for one in self.x}) > 1:
            raise InputError(f"series {self.label!r}: x must be all numbers or all words")
        if (self.low is None) != (self.high is None):
            raise InputError(f"series {self.label!r}: low and high go together")
        for low, value, high in zip(self.low or (), self.y, self.high or (), strict=False):
            if low > high or value < low or value > high:  # never true of NaN
                raise InputError(f"series {self.label!r}: {value} is not between low {low} and high {high}")

    @property
    def worded(self) -> bool:
        """Whether x are words."""
        return any(isinstance(one, str) for one in self.x)


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A line across every panel at a value of one axis, with words beside it."""

    value: float
    label: str
    axis: Literal["x", "y"] = "y"

    def __post_init__(self) -> None:
        _said("reference label", self.label)
        if self.axis not in ("x", "y") or not math.isfinite(self.value):
            raise InputError(f"reference {self.label!r}: a finite value on x or y, not {self.value} on {self.axis!r}")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One figure.

    name : of its files, NAME.png and NAME.svg: letters, digits, dot, dash, underscore.
    title, caption : above the figure; the caption is plain text and is wrapped.
    x, y : axes. Of a heatmap, x are columns and y titles its rows, which are series.
    value : what a heatmap's cells hold: the title of its colours, log for colours by the logarithm.
    series, references : what is drawn, in the order of the legend.
    kind : lines (with bands; x are numbers), points (of words side by side), or heatmap (values in cells).
    command : the command that makes the figure, printed small below it.
    columns : how many panels stand side by side; None chooses.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""
    value: Axis | None = None
    references: tuple[Reference, ...] = ()
    kind: Kind = "lines"
    command: str = ""
    columns: int | None = None

    def __post_init__(self) -> None:
        _file_name("chart", self.name)
        _said(f"chart {self.name}: title", self.title)
        object.__setattr__(self, "series", tuple(self.series))
        object.__setattr__(self, "references", tuple(self.references))
        for holds, rule in self._rules():
            if not holds:
                raise InputError(f"chart {self.name}: {rule}")

    def _rules(self) -> Iterable[tuple[bool, str]]:
        labels = [(one.panel, one.label) for one in self.series]
        twice = next((one for one in labels if labels.count(one) > 1), None)
        places = [one for one in self.series if one.x]
        yield self.kind in get_args(Kind), f"kind must be one of {', '.join(get_args(Kind))}, not {self.kind!r}"
        yield bool(self.series), "a chart has at least one series"
        yield twice is None, f"two series of a panel are called {twice and twice[1]!r}"
        yield len({one.worded for one in places}) < 2, "series with words and with numbers on the x axis"
        words = bool(places) and places[0].worded
        yield words or not places or self.kind != "heatmap", "a heatmap has words on the x axis"
        yield not (words and self.kind == "lines"), "lines join numbers: words on the x axis have points"
        yield not (words and any(one.front for one in places)), "a front has numbers on the x axis"
        yield not (words and self.x.log), "an x axis of words is not logarithmic"
        yield words or self.x.categories is None or not places, "an x axis with categories has words"
        named = [x for one in places for x in one.x if isinstance(x, str)]
        unknown = next((x for x in named if x not in (self.x.categories or named)), None)
        yield unknown is None, f"{unknown!r} is not among the x axis's categories"
        yield all(len(set(one.x)) == len(one.x) for one in places if words), "a series has one value for each word"
        yield (self.kind == "heatmap") == (self.value is not None), "a heatmap, and nothing else, has a value axis"
        yield self.y.categories is None, "only the x axis has categories"
        yield not (self.kind == "heatmap" and (self.y.log or self.references)), "a heatmap has neither log y nor lines"
        known = {one.label for one in self.series}
        strange = next((one.like for one in self.series if one.like and one.like not in known), None)
        yield strange is None, f"a series is like {strange!r}, which is not there"
        yield not (words and any(one.axis == "x" for one in self.references)), "a reference on an x axis of words"
        yield self.columns is None or self.columns >= 1, f"columns must be at least 1, not {self.columns}"

    @property
    def words_of_x(self) -> tuple[str, ...]:
        """The words of the x axis in their order; none where it has numbers."""
        named = dict.fromkeys(one for series in self.series for one in series.x if isinstance(one, str))
        return self.x.categories if self.x.categories is not None and named else tuple(named)

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in the order in which series name them."""
        return tuple(dict.fromkeys(one.panel for one in self.series))

    @property
    def labels(self) -> tuple[str, ...]:
        """The series' labels in the order of the legend, each once."""
        return tuple(dict.fromkeys(one.label for one in self.series))


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table of words. right : columns (from 0) that hold numbers, set to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        _said("table title", self.title)
        _coerce(self, "header", str)
        object.__setattr__(self, "rows", tuple(tuple(map(str, row)) for row in self.rows))
        object.__setattr__(self, "right", tuple(self.right))
        if not self.header:
            raise InputError(f"table {self.title!r}: a table has columns")
        for at, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise InputError(f"table {self.title!r}: row {at} has {len(row)} cells, the header {len(self.header)}")
        if not set(self.right) <= set(range(len(self.header))):
            raise InputError(f"table {self.title!r}: right must name columns 0 to {len(self.header) - 1}")


@dataclass(frozen=True, kw_only=True)
class KeyNumber:
    """A number that a page opens with. what : is measured, in a few words. value : with its unit. of : what has it."""

    what: str
    value: str
    of: str = ""

    def __post_init__(self) -> None:
        _said("key number", self.what)
        _said(f"value of {self.what!r}", self.value)


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
        _file_name("report", self.name)
        _said(f"report {self.name}: title", self.title)
        for field in ("key", "summary", "parts", "sources"):
            if isinstance(getattr(self, field), str):
                raise TypeError(f"report {self.name}: {field} is a tuple, not one string")
            object.__setattr__(self, field, tuple(getattr(self, field)))
        made = (
            replace(one, command=one.command or self.command) if isinstance(one, Chart) else one for one in self.parts
        )
        object.__setattr__(self, "parts", tuple(made))
        names = [one.name for one in self.charts]
        if len(set(names)) != len(names):
            raise InputError(f"report {self.name}: two charts of one name among {', '.join(names)}")

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts of the report, in order."""
        return tuple(one for one in self.parts if isinstance(one, Chart))

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The tables of the report, in order."""
        return tuple(one for one in self.parts if isinstance(one, TextTable))


def _said(what: str, text: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{what} must be words, not {text!r}")


def _file_name(what: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"{what} name must be letters, digits, dots, dashes and underscores, not {name!r}")


def _coerce(one: Any, field: str, kind: Callable[[Any], Any]) -> None:
    values: Sequence[Any] = getattr(one, field)
    if isinstance(values, str):
        raise TypeError(f"{type(one).__name__} {field} is a tuple, not one string")
    object.__setattr__(one, field, tuple(kind(value) for value in values))
