"""Charts and tables declared as data, and filled from records.

A declaration is a mapping, as a preset's YAML file has it; a record a mapping from names to values. Texts, and words
of rows, columns, series and panels, are templates of `str.format` over a record, or the words of the page.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hwsim.study.report.contents import Axis, Chart, Reference, Series, TextTable

Record = Mapping[str, Any]
Declared = Mapping[str, Any]


def percent(value: float) -> str:
    """A share with three digits, in %: 7.45, 0.0552, 1,230."""
    if math.isnan(value):
        return "-"
    shown = 100 * value
    return f"{shown:,.0f}" if abs(shown) >= 1000 else f"{shown:.3g}"


# Format specifications of our own: {snr:decibels}.
SPECIFICATIONS: dict[str, Callable[[Any], str]] = {
    "percent": percent,
    "decibels": lambda value: "exact" if value == math.inf else f"{value:.1f}",
    "ulps": lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.3g}",
    "count": lambda value: "-" if value is None else f"{value:,.0f}",
    "tenths": lambda value: "-" if value is None else f"{value:,.1f}",
    "error": lambda value: f"{value:.1e}" if value else "0",
}


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        own = SPECIFICATIONS.get(format_spec)
        return own(value) if own else format(value, format_spec)


def said(template: str, values: Mapping[str, Any]) -> str:
    """A template with values in its places. Raises KeyError for a value that is not there."""
    return _Formatter().vformat(template, (), values)


def part(declared: Declared, tables: Mapping[str, Sequence[Record]], words: Record) -> Chart | TextTable:
    """A chart or a table.

    declared: `from`, the table of its records, and `where`, from fields to the values that they may have; the keys of
    `chart` or `table` besides. words: what its title and its caption say, besides the fields of the first record.
    """
    records = _chosen(declared, tables)
    words = {**(records[0] if records else {}), **words}
    return chart(declared, records, words) if "chart" in declared else table(declared, records, words)


def pick(declared: Declared, tables: Mapping[str, Sequence[Record]]) -> Record:
    """One record: the first of those that `from` and `where` leave, or that with the `most` or `least` of a field.

    Values that are not numbers count for nothing. Raises ValueError where none is left.
    """
    records = _chosen(declared, tables)
    field = declared.get("most") or declared.get("least")
    if field:
        records = sorted((one for one in records if not math.isnan(one[field])), key=lambda one: float(one[field]))
    if not records:
        raise ValueError(f"no record of {declared}")
    return records[-1 if "most" in declared else 0]


def _chosen(declared: Declared, tables: Mapping[str, Sequence[Record]]) -> list[Record]:
    where = declared.get("where", {})
    return [one for one in tables[declared["from"]] if all(one[key] in some for key, some in where.items())]


def chart(declared: Declared, records: Sequence[Record], words: Record) -> Chart:
    """A chart of records.

    declared: `chart`, its name; `x` and `y`, the axes, `x` with the `field` that it shows, and its `categories` where
    they are not in the records' order, by the word that holds them; `series` and `panel`; `shows`, the field whose
    values are drawn with its interval, FIELD_low to FIELD_high, or from the panels' names to their fields; `dashed`,
    the series of theory. The other keys are those of `Chart`.
    """
    axis = dict(declared["x"])
    field = axis.pop("field")
    if "categories" in axis:
        axis["categories"] = words[axis["categories"]]
    shows = declared["shows"]
    series: dict[tuple[str, str], list[Record]] = {}
    for name, shown in shows.items() if isinstance(shows, Mapping) else ((None, shows),):
        for one in records:
            panel = said(declared.get("panel", ""), one) if name is None else name
            label = said(declared["series"], one)
            low, high = (one.get(f"{shown}{end}", math.nan) for end in ("_low", "_high"))
            point = {"x": one[field], "y": one[shown], "low": low, "high": high, "notes": one.get("note")}
            series.setdefault((panel, label), []).append(point)
    panels, labels = (dict.fromkeys(key[at] for key in series) for at in (0, 1))
    dashed = declared.get("dashed", ())
    rest = {key: declared[key] for key in ("kind", "columns") if key in declared}
    return Chart(
        name=declared["chart"],
        title=said(declared["title"], words),
        caption=said(declared.get("caption", ""), words),
        x=Axis(**axis),
        y=Axis(**declared["y"]),
        value=Axis(**declared["value"]) if "value" in declared else None,
        series=tuple(
            line(label, series[panel, label], panel=panel, dashed=label in dashed)
            for panel in panels
            for label in labels
            if (panel, label) in series
        ),
        references=tuple(Reference(**one) for one in declared.get("references", ())),
        **rest,
    )


def line(label: str, points: Sequence[Record], **look: Any) -> Series:
    """A series of points with x, y, low, high and maybe a note. look: other fields of a series."""
    fields = ["low", "high"] if any(math.isfinite(one["low"]) for one in points) else []
    fields += ["notes"] if any(one.get("notes") for one in points) else []
    look |= {field: tuple(one[field] for one in points) for field in ("x", "y", *fields)}
    return Series(label=label, **look)


def table(declared: Declared, records: Sequence[Record], words: Record) -> TextTable:
    """A table of records.

    declared: `table`, its title; `rows`, from the heads of the words of a row to these. `columns`, pairs of a head and
    a cell, of which every record makes a row; or the head of a record's column, and `cell`, what it has there. `left`:
    heads of columns of words.
    """
    of_rows, columns = declared["rows"], declared["columns"]
    names = [tuple(said(template, one) for template in of_rows.values()) for one in records]
    if isinstance(columns, str):
        heads = list(dict.fromkeys(said(columns, one) for one in records))
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for name, one in zip(names, records, strict=True):
            cells.setdefault(name, {})[said(columns, one)] = said(declared["cell"], one)
        rows = [(*name, *(found.get(head, "") for head in heads)) for name, found in cells.items()]
    else:
        heads = [head for head, _ in columns]
        rows = [(*name, *(said(cell, one) for _, cell in columns)) for name, one in zip(names, records, strict=True)]
    header = (*(said(head, words) for head in of_rows), *heads)
    left = {*header[: len(of_rows)], *declared.get("left", ())}
    return TextTable(
        title=said(declared["table"], words),
        header=header,
        rows=tuple(rows),
        right=tuple(at for at, head in enumerate(header) if head not in left),
        caption=said(declared.get("caption", ""), words),
    )
