"""One panel of a chart as Altair's layers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from hwsim.study.report.contents import Chart
from hwsim.study.report.labels import Box, LabelPosition, broken, label_positions, width
from hwsim.study.report.libraries import library
from hwsim.study.report.palette import INK, NOTHING, PAPER, QUIET, Look
from hwsim.study.report.scales import AxisScale, PlottedPoint, short, written

LETTERS = 11  # of words inside the frame


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The data and the axes of one panel.

    chart, name : of which chart it is, and its title. places : its points. looks : of each label.
    x : a scale, or the words of an axis of categories. y : a scale; of a heatmap the scale of its values.
    size : of the frame, in pixels. left, under : whether the axes' titles stand here. picks : a legend that is clicked.
    """

    chart: Chart
    name: str
    places: list[PlottedPoint]
    looks: dict[str, Look]
    x: AxisScale | tuple[str, ...]
    y: AxisScale
    size: tuple[int, int]
    left: bool
    under: bool
    picks: bool
    legend: dict[str, Any]

    @property
    def drawn(self) -> set[str]:
        """The labels that have a point here."""
        return {self.chart.series[one.series].label for one in self.places}


def layers(panel: Panel) -> Any:
    """The panel as an Altair chart with its size, whose first marks have a name in the specification."""
    parts = {"lines": _lines, "points": _points, "bars": _bars, "heatmap": _heatmap}[panel.chart.kind](panel)
    alt = library("altair")
    parts[0] = parts[0].properties(name="panel")
    layered = alt.layer(*parts, *_references(panel)).properties(width=panel.size[0], height=panel.size[1])
    return layered.properties(title=alt.Title(panel.name, fontSize=13, anchor="start")) if panel.name else layered


def _rows(panel: Panel) -> list[dict[str, Any]]:
    """The points as Vega's data: series, x, y, low, high, and what a tooltip says besides."""
    rows = []
    for one in panel.places:
        series = panel.chart.series[one.series]
        # An interval that reaches past the end of a logarithmic axis is cut there.
        low = panel.y.low if panel.y.log and one.low <= 0 else one.low
        row = {"series": series.label, "x": one.x, "y": one.y, "low": low, "high": one.high}
        rows.append(row | ({"note": series.notes[one.at]} if series.notes else {}))
    return rows


def _over(panel: Panel, rows: list[dict[str, Any]]) -> Any:
    return library("altair").Chart(library("altair").InlineData(values=rows))


def _x(panel: Panel) -> Any:
    alt, title = library("altair"), panel.chart.x.title if panel.under else None
    if isinstance(panel.x, tuple):
        room = panel.size[0] / max(1, len(panel.x))
        lines = {word: broken(word, room - 8, 12) for word in panel.x}
        steep = any(width(line, 12) > room - 6 for found in lines.values() for line in found)
        # Words that do not fit side by side are broken into lines, or else turned; none is left out.
        axis = alt.Axis(title=title, labelAngle=-35 if steep else 0, labelOverlap=False, grid=False,
                        labelAlign="right" if steep else "center",
                        labelExpr="datum.label" if steep else f"{json.dumps(lines)}[datum.label]")  # fmt: skip
        space = {"paddingInner": 0.2, "paddingOuter": 0.1} if panel.chart.kind == "bars" else {}
        kind = alt.Scale(domain=list(panel.x), **space)
        return alt.X("x:N", sort=list(panel.x), scale=kind, axis=axis)
    axis = alt.Axis(title=title, values=panel.x.ticks, labelExpr=panel.x.label)
    return alt.X("x:Q", scale=alt.Scale(**written(panel.x)), axis=axis)


def _y(panel: Panel, field: str = "y") -> Any:
    alt, title = library("altair"), panel.chart.y.title if panel.left else None
    axis = alt.Axis(title=title, values=panel.y.ticks, labelExpr=panel.y.label)
    return alt.Y(f"{field}:Q", scale=alt.Scale(**written(panel.y)), axis=axis)


def _tooltip(panel: Panel, rows: list[dict[str, Any]]) -> list[Any]:
    alt, chart = library("altair"), panel.chart
    told = [alt.Tooltip("series:N", title="Series")]
    for field, title in (("x", chart.x.title), ("y", chart.y.title)):
        kind = alt.Tooltip("x:N", title=title) if field == "x" and isinstance(panel.x, tuple) else None
        told.append(kind or alt.Tooltip(f"{field}:Q", title=title, format=".5~g"))
    if any(one.low != one.high for one in panel.places):
        told += [alt.Tooltip(f"{field}:Q", title=field, format=".5~g") for field in ("low", "high")]
    return told + ([alt.Tooltip("note:N", title="Note")] if any(row.get("note") for row in rows) else [])


def _colour(panel: Panel) -> Any:
    alt = library("altair")
    domain = list(panel.looks)
    scale = alt.Scale(domain=domain, range=[one.colour for one in panel.looks.values()])
    return alt.Color("series:N", scale=scale, legend=alt.Legend(**panel.legend) if panel.legend else None)


def _shape(panel: Panel) -> Any:
    alt = library("altair")
    scale = alt.Scale(domain=list(panel.looks), range=[one.shape for one in panel.looks.values()])
    return alt.Shape("series:N", scale=scale, legend=alt.Legend(**panel.legend) if panel.legend else None)


def _dash(panel: Panel) -> Any:
    alt = library("altair")
    if all(one.shape != "stroke" for one in panel.looks.values()):
        # Where there is no theory, the legend's markers are whole: dashes are no part of it.
        return alt.StrokeDash("dash:N", scale=None)
    scale = alt.Scale(domain=list(panel.looks), range=[one.dash for one in panel.looks.values()])
    return alt.StrokeDash("series:N", scale=scale, legend=alt.Legend(**panel.legend) if panel.legend else None)


def _opacity(panel: Panel, usual: float) -> Any:
    """The opacity of marks: where a series is picked in the legend, the others fade."""
    alt = library("altair")
    if not panel.picks:
        return alt.value(usual)
    return alt.condition({"param": "picked", "empty": True}, alt.value(usual), alt.value(usual * 0.12))


def _lines(panel: Panel) -> list[Any]:
    rows = _rows(panel)
    x, colour, dash = _x(panel), _colour(panel), _dash(panel)
    theory = {one.label for one in panel.chart.series if one.dashed}
    banded = {panel.chart.series[one.series].label for one in panel.places if one.low != one.high}
    band = _over(panel, [row for row in rows if row["series"] in banded])
    line = _over(panel, [row | {"dash": panel.looks[row["series"]].dash} for row in rows])
    parts = []
    if banded:
        faint = _opacity(panel, 0.16 if len(banded) <= 8 else 0.09)
        parts.append(band.mark_area().encode(
            x=x, y=_y(panel, "low"), y2="high:Q", color=colour, opacity=faint))  # fmt: skip
    parts.append(line.mark_line(strokeWidth=2).encode(
        x=x, y=_y(panel), color=colour, strokeDash=dash, opacity=_opacity(panel, 1)))  # fmt: skip
    dots = _over(panel, [row for row in rows if row["series"] not in theory])
    parts.append(dots.mark_point(filled=True, size=48, opacity=1).encode(
        x=x, y=_y(panel), color=colour, shape=_shape(panel), opacity=_opacity(panel, 1),
        tooltip=_tooltip(panel, rows)))  # fmt: skip
    if theory & panel.drawn:
        # Theory has no markers: something to point at for its tooltip.
        unseen = _over(panel, [row for row in rows if row["series"] in theory])
        parts.append(unseen.mark_circle(size=80, opacity=0).encode(x=x, y=_y(panel), tooltip=_tooltip(panel, rows)))
    return parts


def _points(panel: Panel) -> list[Any]:
    alt, rows = library("altair"), _rows(panel)
    x, colour = _x(panel), _colour(panel)
    fronts = {one.label for one in panel.chart.series if one.front and one.panel == panel.name}
    bars = [row for row in rows if row["low"] != row["high"]]
    parts = []
    if fronts:
        steps = _over(panel, [row for row in rows if row["series"] in fronts])
        parts.append(steps.mark_line(interpolate="step-after", strokeWidth=1.5, opacity=0.8).encode(
            x=x, y=_y(panel), color=colour, order=alt.Order("x:Q")))  # fmt: skip
    if bars:
        parts.append(_over(panel, bars).mark_rule(strokeWidth=1.3).encode(
            x=x, y=_y(panel, "low"), y2="high:Q", color=colour, opacity=_opacity(panel, 0.8)))  # fmt: skip
    theory = {one.label for one in panel.chart.series if one.dashed}
    measured = [row for row in rows if row["series"] not in theory]
    strokes = [row for row in rows if row["series"] in theory]
    for shown, look in ((measured, {"filled": True, "size": 70}), (strokes, {"filled": False, "size": 500})):
        if shown:
            parts.append(_over(panel, shown).mark_point(opacity=1, **look).encode(
                x=x, y=_y(panel), color=colour, shape=_shape(panel), opacity=_opacity(panel, 1),
                tooltip=_tooltip(panel, rows)))  # fmt: skip
    return parts + _names(panel)


def _names(panel: Panel) -> list[Any]:
    """Names beside points where there is room, with a leader where they are far from their point."""
    alt = library("altair")
    named = [(one, series.names[one.at] if series.names else "")
             for one in panel.places for series in [panel.chart.series[one.series]]]  # fmt: skip
    if isinstance(panel.x, tuple) or not any(name for _, name in named):
        return []
    wide, high = panel.size
    at = [(panel.x.position(float(one.x)) * wide, (1 - panel.y.position(one.y)) * high) for one, _ in named]
    found = label_positions(at, [name for _, name in named], (wide, high), LETTERS, _obstacles(panel))
    texts, leaders = [], []
    for (x, y), (_, name), place in zip(at, named, found, strict=True):
        if place is None:
            continue
        texts.append({"left": place.x, "middle": place.y, "name": name})
        if place.far:
            leaders.append({"left": x, "middle": y} | _nearest(x, place, width(name, LETTERS)))
    pixels = {"x": alt.X("left:Q", scale=None, axis=None), "y": alt.Y("middle:Q", scale=None, axis=None)}
    words = _over(panel, texts).mark_text(align="left", baseline="middle", fontSize=LETTERS, color=INK)
    parts = [words.encode(**pixels, text="name:N")]
    if leaders:
        rules = _over(panel, leaders).mark_rule(color=QUIET, strokeWidth=0.7)
        parts.insert(0, rules.encode(**pixels, x2="right:Q", y2="end:Q"))
    return parts


def _obstacles(panel: Panel) -> list[Box]:
    """Boxes that names must not cover: the steps of fronts, reference lines and their labels."""
    (wide, high), boxes = panel.size, []
    if isinstance(panel.x, tuple):
        return []
    for number, series in enumerate(panel.chart.series):
        here = [one for one in panel.places if one.series == number and series.front]
        at = sorted((panel.x.position(float(one.x)) * wide, (1 - panel.y.position(one.y)) * high) for one in here)
        for (left, y), (right, after) in pairwise(at):
            boxes.append(Box(left, y - 2, right, y + 2))
            boxes.append(Box(right - 2, min(y, after), right + 2, max(y, after)))
    for one in _reference_positions(panel):
        letters = width(one.label, LETTERS) + 10
        if one.axis == "x":
            boxes.append(Box(one.at - 1, 0, one.at + 1, high))
            left = one.at if one.first else one.at - letters
            boxes.append(Box(left, 15.0 * one.near, left + letters, 15.0 * one.near + 18))
        else:
            boxes.append(Box(0, one.at - 1, wide, one.at + 1))
            top = one.at if one.near > 1 else one.at - 16
            boxes.append(Box(0 if one.first else wide - letters, top, letters if one.first else wide, top + 16))
    return boxes


def _nearest(x: float, place: LabelPosition, wide: float) -> dict[str, float]:
    return {"right": min(max(x, place.x), place.x + wide), "end": place.y}


def _bars(panel: Panel) -> list[Any]:
    alt, rows = library("altair"), _rows(panel)
    # A bar starts at zero, or where the axis does if it has no zero.
    floor = panel.y.low if panel.y.log else 0.0
    for row in rows:
        row["floor"] = floor
    here = [label for label in panel.looks if label in panel.drawn]
    side = alt.XOffset("series:N", sort=here, scale=alt.Scale(domain=here, paddingInner=0.08))
    x, colour = _x(panel), _colour(panel)
    base = _over(panel, rows)
    parts = [base.mark_bar().encode(x=x, xOffset=side, y=_y(panel), y2="floor:Q", color=colour,
                                    opacity=_opacity(panel, 1), tooltip=_tooltip(panel, rows))]  # fmt: skip
    errors = [row for row in rows if row["low"] != row["high"]]
    if errors:
        rule = _over(panel, errors)
        parts.append(
            rule.mark_rule(color=INK, strokeWidth=1.5).encode(x=x, xOffset=side, y=_y(panel, "low"), y2="high:Q")
        )
    if not panel.y.log:
        parts.append(_over(panel, [{"y": 0}]).mark_rule(color=QUIET).encode(y=_y(panel)))
    return parts


def _heatmap(panel: Panel) -> list[Any]:
    alt, chart = library("altair"), panel.chart
    rows = []
    drawn = {(one.series, one.at): one.y for one in panel.places}
    for number, series in enumerate(chart.series):
        for at, x in enumerate(series.x if series.panel == panel.name else ()):
            value = drawn.get((number, at))
            dark = value is not None and panel.y.position(value) > 0.45
            row = {"series": series.label, "x": x, "y": value, "text": short(series.y[at])}
            note = {"note": series.notes[at]} if series.notes else {}
            rows.append(row | note | {"ink": INK if value is None else "black" if dark else "white"})
    order = [one.label for one in chart.series if one.panel == panel.name]
    y = alt.Y("series:N", sort=order, scale=alt.Scale(domain=order),
              axis=alt.Axis(title=chart.y.title if panel.left else None, grid=False))  # fmt: skip
    title = chart.value.title if chart.value else ""
    kind = {"type": "log", "base": 10} if panel.y.log else {"type": "linear", "zero": False}
    colours = alt.Scale(**kind, domain=[panel.y.low, panel.y.high], nice=False, scheme="viridis")
    legend = alt.Legend(title=title, values=panel.y.ticks, labelExpr=panel.y.label, gradientLength=180)
    tooltip = [alt.Tooltip("series:N", title=chart.y.title), alt.Tooltip("x:N", title=chart.x.title),
               alt.Tooltip("y:Q", title=title, format=".5~g")]  # fmt: skip
    if any(row.get("note") for row in rows):
        tooltip.append(alt.Tooltip("note:N", title="Note"))
    x = _x(panel)
    missing = _over(panel, [row for row in rows if row["y"] is None]).mark_rect(color=NOTHING).encode(x=x, y=y)
    cells = _over(panel, [row for row in rows if row["y"] is not None])
    parts = [cells.mark_rect(stroke=PAPER, strokeWidth=1).encode(
        x=x, y=y, color=alt.Color("y:Q", scale=colours, legend=legend), tooltip=tooltip)]  # fmt: skip
    if any(row["y"] is None for row in rows):
        parts.insert(0, missing)
    for ink in dict.fromkeys(row["ink"] for row in rows):
        text = _over(panel, [row for row in rows if row["ink"] == ink])
        parts.append(text.mark_text(fontSize=LETTERS, baseline="middle", color=ink).encode(x=x, y=y, text="text:N"))
    return parts


class ReferencePosition(NamedTuple):
    """A reference line. at: its pixel. near: how many lie close before it. first: its words are at the left, or right
    of an upright line."""

    axis: str
    value: float
    label: str
    at: float
    near: int
    first: bool


def _reference_positions(panel: Panel) -> list[ReferencePosition]:
    """The positions of reference lines and their labels; labels of lines that are close go to other ends or steps."""
    found = []
    for axis, scale, length in (("y", panel.y, panel.size[1]), ("x", panel.x, panel.size[0])):
        taken: list[float] = []
        ours = [one for one in panel.chart.references if one.axis == axis]
        for one in sorted(ours, key=lambda one: one.value):
            if isinstance(scale, tuple):
                continue
            at = scale.position(one.value) * length
            room = 15 if axis == "y" else width(one.label, LETTERS) + 12
            near = sum(abs(at - other) < room for other in taken)
            taken.append(at)
            first = at + room < length if axis == "x" else near % 2 == 1
            found.append(ReferencePosition(axis, one.value, one.label, length - at if axis == "y" else at, near, first))
    return found


def _references(panel: Panel) -> list[Any]:
    """Lines across the panel, each with its words inside the frame."""
    alt, parts = library("altair"), []
    for one in _reference_positions(panel):
        base = _over(panel, [{one.axis: one.value, "label": one.label}])
        line = {"y": _y(panel)} if one.axis == "y" else {"x": _x(panel)}
        parts.append(base.mark_rule(color=QUIET, strokeDash=[2, 2], strokeWidth=1.2).encode(**line))
        look = {"fontSize": LETTERS, "align": "left" if one.first else "right", "dx": 5 if one.first else -5}
        # Words have a rim of the paper's colour, so that they are read across lines and bars.
        for ink in ({"stroke": PAPER, "strokeWidth": 3, "color": PAPER}, {"color": QUIET}):
            if one.axis == "x":
                text = base.mark_text(baseline="top", dy=4 + 15 * one.near, **look, **ink)
                parts.append(text.encode(**line, y=alt.value(0), text="label:N"))
            else:
                above = {"baseline": "top", "dy": 3} if one.near > 1 else {"baseline": "bottom", "dy": -3}
                text = base.mark_text(**above, **look, **ink)
                parts.append(text.encode(**line, x=alt.value(0 if one.first else panel.size[0]), text="label:N"))
    return parts
