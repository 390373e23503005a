"""One panel of a chart as Vega-Lite's layers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from hwsim.study.report.channels import Panel, Rows, Spec, categorical, quantity
from hwsim.study.report.labels import LETTERS, Box, label_positions, width
from hwsim.study.report.palette import INK, NOTHING, PAPER, QUIET
from hwsim.study.report.scales import short

MOST_BANDS = 3
LABEL = {"field": "label", "type": "nominal"}


def layers(panel: Panel, name: str) -> Spec:
    """The panel as a layered view with its size. name: of its first marks."""
    match panel.chart.kind:
        case "lines":
            parts = _lines(panel)
        case "points":
            parts = _points(panel)
        case "heatmap":
            parts = _heatmap(panel)
    parts[0] |= {"name": name}
    view: Spec = {"layer": [*parts, *_references(panel)], "width": panel.size[0], "height": panel.size[1]}
    return view | ({"title": {"text": panel.name, "fontSize": 13, "anchor": "start"}} if panel.name else {})


def _layer(rows: Rows, mark: str, encoding: Spec, **look: Any) -> Spec:
    return {"data": {"values": rows}, "mark": {"type": mark, **look}, "encoding": encoding}


def _rows(panel: Panel) -> Rows:
    """The points as Vega's data: series, x, y, low, high, and what a tooltip says besides."""
    rows = []
    for one in panel.places:
        series = panel.chart.series[one.series]
        # An interval that reaches past the end of a logarithmic axis is cut there.
        low = panel.y.low if panel.y.log and one.low <= 0 else one.low
        row = {"series": series.label, "x": one.x, "y": one.y, "low": low, "high": one.high}
        rows.append(row | ({"note": series.notes[one.at]} if series.notes else {}))
    return rows


def _theory(panel: Panel, rows: Rows) -> tuple[Rows, Rows]:
    """The rows of what was measured, and those of theory."""
    theory = {one.label for one in panel.chart.series if one.dashed}
    return [row for row in rows if row["series"] not in theory], [row for row in rows if row["series"] in theory]


def _lines(panel: Panel) -> list[Spec]:
    rows = [row | _sizes(panel, row["series"]) for row in _rows(panel)]
    measured, theory = _theory(panel, rows)
    x, y, colour, tooltip = panel.x_channel(), panel.y_channel(), panel.colour(), panel.tooltip(rows)
    at = {"x": x, "y": y}
    parts = _intervals(panel, rows, at | {"color": colour})
    dashed = [row | {"dash": panel.looks[row["series"]].dash} for row in rows]
    line = at | {"color": colour, "strokeDash": panel.dash(), "opacity": panel.opacity(1), "strokeWidth": _own("wide")}
    parts.append(_layer(dashed, "line", line))
    dots = at | {"color": colour, "shape": panel.shape(), "opacity": panel.opacity(1), "tooltip": tooltip}
    parts.append(_layer(measured, "point", dots | {"size": _own("large")}, filled=True, opacity=1))
    if theory:
        # Theory has no markers: something to point at for its tooltip.
        parts.append(_layer(theory, "circle", at | {"tooltip": tooltip}, size=80, opacity=0))
    return parts


def _own(field: str) -> Spec:
    """A channel whose numbers are pixels."""
    return quantity(field, scale=None, legend=None)


def _sizes(panel: Panel, label: str) -> dict[str, float]:
    """How wide a series' line is and how large its markers: it is seen on both sides of others that lie on it."""
    rank = min(panel.rank(label), 5)
    return {"wide": 2 + 3 * rank, "large": 48 * (1 + rank) ** 1.5}


def _intervals(panel: Panel, rows: Rows, at: Spec) -> list[Spec]:
    """Confidence intervals of lines: bands of up to three series, and thin lines of more, whose bands would mix."""
    found = [row for row in rows if row["low"] != row["high"]]
    banded = list(dict.fromkeys(row["series"] for row in found))
    if not banded:
        return []
    ends = at | {"y": panel.y_channel("low"), "y2": {"field": "high"}}
    if len(banded) <= MOST_BANDS:
        whole = [row for row in rows if row["series"] in banded]
        return [_layer(whole, "area", ends | {"opacity": panel.opacity(0.16)}, clip=True)]
    if isinstance(panel.x, tuple):
        return [_layer(found, "rule", ends | {"opacity": panel.opacity(0.7)}, strokeWidth=1.3, clip=True)]
    # Those of one place stand beside one another.
    apart = [row | {"aside": panel.x.moved(row["x"], _aside(banded, row["series"]) / panel.size[0])} for row in found]
    ends |= {"x": panel.x_channel("aside"), "opacity": panel.opacity(0.7)}
    return [_layer(apart, "rule", ends, strokeWidth=1.3, clip=True)]


def _aside(labels: list[str], label: str) -> float:
    """Pixels from the place of a point to its interval's line."""
    return (labels.index(label) - (len(labels) - 1) / 2) * min(2.5, 20 / len(labels))


def _points(panel: Panel) -> list[Spec]:
    rows = [row | _sizes(panel, row["series"]) | {"slot": panel.slot(row["series"])} for row in _rows(panel)]
    measured, theory = _theory(panel, rows)
    at = {"x": panel.x_channel(), "y": panel.y_channel(), "color": panel.colour(), **panel.side_by_side()}
    fronts = {one.label for one in panel.chart.series if one.front and one.panel == panel.name}
    intervals = [row for row in rows if row["low"] != row["high"]]
    parts = []
    if fronts:
        steps = [row for row in rows if row["series"] in fronts]
        step = at | {"order": quantity("x")}
        parts.append(_layer(steps, "line", step, interpolate="step-after", strokeWidth=1.5, opacity=0.8))
    if intervals:
        rule = at | {"y": panel.y_channel("low"), "y2": {"field": "high"}, "opacity": panel.opacity(0.8)}
        parts.append(_layer(intervals, "rule", rule, strokeWidth=1.3, clip=True))
    dots = at | {"shape": panel.shape(), "opacity": panel.opacity(1), "tooltip": panel.tooltip(rows)}
    if measured or not theory:
        # A front's points are points of others: it is its line alone.
        large = [row | {"large": row["large"] * 1.5} for row in measured if row["series"] not in fronts]
        parts.append(_layer(large, "point", dots | {"size": _own("large")}, filled=True, opacity=1))
    if theory:
        parts.append(_layer(theory, "point", dots, filled=False, size=500, opacity=1))
    return parts + _names(panel)


def _names(panel: Panel) -> list[Spec]:
    """Names beside points where there is room, with a leader where they are far from their point."""
    names = [panel.chart.series[one.series].names for one in panel.places]
    named = [(one, of[one.at] if of else "") for one, of in zip(panel.places, names, strict=True)]
    if isinstance(panel.x, tuple) or not any(name for _, name in named):
        return []
    wide, high = panel.size
    at = [(panel.x.position(float(one.x)) * wide, (1 - panel.y.position(one.y)) * high) for one, _ in named]
    found = label_positions(at, [name for _, name in named], (wide, high), _obstacles(panel))
    texts, leaders = [], []
    for (x, y), (_, name), place in zip(at, named, found, strict=True):
        if place is None:
            continue
        texts.append({"left": place.x, "middle": place.y, "name": name})
        if place.far:
            nearest = min(max(x, place.x), place.x + width(name, LETTERS))
            leaders.append({"left": x, "middle": y, "right": nearest, "end": place.y})
    pixels = {"x": quantity("left", scale=None, axis=None), "y": quantity("middle", scale=None, axis=None)}
    words = pixels | {"text": {"field": "name", "type": "nominal"}}
    parts = [_layer(texts, "text", words, align="left", baseline="middle", fontSize=LETTERS, color=INK)]
    if leaders:
        ends = pixels | {"x2": {"field": "right"}, "y2": {"field": "end"}}
        parts.insert(0, _layer(leaders, "rule", ends, color=QUIET, strokeWidth=0.7))
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


def _heatmap(panel: Panel) -> list[Spec]:
    chart = panel.chart
    rows: Rows = []
    drawn = {(one.series, one.at): one.y for one in panel.places}
    for number, series in enumerate(chart.series):
        for at, x in enumerate(series.x if series.panel == panel.name else ()):
            value = drawn.get((number, at))
            dark = value is not None and panel.y.position(value) > 0.45
            row = {"series": series.label, "x": x, "y": value, "text": short(series.y[at])}
            note = {"note": series.notes[at]} if series.notes else {}
            rows.append(row | note | {"ink": INK if value is None else "black" if dark else "white"})
    order = [one.label for one in chart.series if one.panel == panel.name]
    axis = {"title": chart.y.title if panel.left else None, "grid": False}
    cell = {"x": panel.x_channel(), "y": categorical("series", sort=order, scale={"domain": order}, axis=axis)}
    title = chart.value.title if chart.value else ""
    long = max(80, min(180, panel.size[1]))
    legend = {"title": title, "values": panel.y.ticks, "labelExpr": panel.y.label, "gradientLength": long}
    colour = quantity("y", scale=panel.y.specification() | {"scheme": "viridis"}, legend=legend)
    tooltip = [categorical("series", title=chart.y.title), categorical("x", title=chart.x.title)]
    tooltip.append(quantity("y", title=title, format=".5~g"))
    if any(row.get("note") for row in rows):
        tooltip.append(categorical("note", title="Note"))
    full, empty = ([row for row in rows if (row["y"] is None) == gone] for gone in (False, True))
    parts = [_layer(empty, "rect", cell, color=NOTHING)] if empty else []
    parts.append(_layer(full, "rect", cell | {"color": colour, "tooltip": tooltip}, stroke=PAPER, strokeWidth=1))
    for ink in dict.fromkeys(row["ink"] for row in rows):
        text = cell | {"text": categorical("text")}
        written = [row for row in rows if row["ink"] == ink]
        parts.append(_layer(written, "text", text, fontSize=LETTERS, baseline="middle", color=ink))
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


def _references(panel: Panel) -> list[Spec]:
    """Lines across the panel, each with its words inside the frame."""
    parts = []
    for one in _reference_positions(panel):
        row = [{one.axis: one.value, "label": one.label}]
        line = {"y": panel.y_channel()} if one.axis == "y" else {"x": panel.x_channel()}
        parts.append(_layer(row, "rule", line, color=QUIET, strokeDash=[2, 2], strokeWidth=1.2))
        look: Spec = {"fontSize": LETTERS, "align": "left" if one.first else "right", "dx": 5 if one.first else -5}
        if one.axis == "x":
            look |= {"baseline": "top", "dy": 4 + 15 * one.near}
            end = {"y": {"value": 0}}
        else:
            look |= {"baseline": "top", "dy": 3} if one.near > 1 else {"baseline": "bottom", "dy": -3}
            end = {"x": {"value": 0 if one.first else panel.size[0]}}
        # Words have a rim of the paper's colour, so that they are read across lines and bars.
        rim = {"stroke": PAPER, "strokeWidth": 3, "color": PAPER}
        text = line | end | {"text": LABEL}
        parts += [_layer(row, "text", text, **look, **ink) for ink in (rim, {"color": QUIET})]
    return parts
