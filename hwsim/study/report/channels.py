"""One panel of a chart, and the channels of its marks in Vega-Lite's words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hwsim.study.report.contents import Chart
from hwsim.study.report.labels import broken, width
from hwsim.study.report.palette import Look
from hwsim.study.report.scales import AxisScale, PlottedPoint

Spec = dict[str, Any]
Rows = list[dict[str, Any]]


def quantity(field: str, **more: Any) -> Spec:
    """A channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def categorical(field: str, **more: Any) -> Spec:
    """A channel of words."""
    return {"field": field, "type": "nominal", **more}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The data and the axes of one panel.

    chart, name : of which chart it is, and its title. places : its points. looks : of each label.
    x : a scale, or the words of an axis of categories. y : a scale; of a heatmap the scale of its values.
    size : of the frame, in pixels. left, under : whether the axes' titles stand here. picks : a legend that is clicked.
    groups : labels of series that are drawn on one another.
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
    legend: Spec
    groups: list[list[str]]

    @property
    def drawn(self) -> set[str]:
        """The labels that have a point here."""
        return {self.chart.series[one.series].label for one in self.places}

    def x_channel(self, field: str = "x") -> Spec:
        """The x axis, for a field of the rows where it has numbers."""
        title = self.chart.x.title if self.under else None
        if not isinstance(self.x, tuple):
            axis: Spec = {"title": title, "values": self.x.ticks, "labelExpr": self.x.label}
            return quantity(field, scale=self.x.specification(), axis=axis)
        room = self.size[0] / max(1, len(self.x))
        lines = {word: broken(word, room - 8, 12) for word in self.x}
        steep = any(width(line, 12) > room - 6 for found in lines.values() for line in found)
        # Words that do not fit side by side are broken into lines, or else turned; none is left out.
        axis = {
            "title": title,
            "labelAngle": -35 if steep else 0,
            "labelOverlap": False,
            "grid": False,
            "labelAlign": "right" if steep else "center",
            "labelExpr": "datum.label" if steep else f"{json.dumps(lines)}[datum.label]",
        }
        # Points that stand beside one another are nearer to each other than to the next word's.
        space = {"paddingInner": 0.4, "paddingOuter": 0.2} if self.side_by_side() else {}
        return categorical("x", sort=list(self.x), scale={"domain": list(self.x), **space}, axis=axis)

    def y_channel(self, field: str = "y") -> Spec:
        """The y axis, for a field of the rows."""
        title = self.chart.y.title if self.left else None
        axis = {"title": title, "values": self.y.ticks, "labelExpr": self.y.label}
        return quantity(field, scale=self.y.specification(), axis=axis)

    def rank(self, label: str) -> int:
        """How many series of this panel are drawn on this one and would hide it: it is drawn wider than they."""
        group = next((group for group in self.groups if label in group), [label])
        return len(group) - 1 - group.index(label)

    def side_by_side(self) -> Spec:
        """Of points at words: the channel that sets those of the series beside one another; else nothing."""
        slots = list(dict.fromkeys(self.slot(label) for label in self.looks if label in self.drawn))
        if self.chart.kind != "points" or not isinstance(self.x, tuple) or len(slots) < 2:
            return {}
        return {"xOffset": categorical("slot", sort=slots, scale={"domain": slots, "padding": 0.5})}

    def slot(self, label: str) -> str:
        """The series beside which a label's points stand: theory where what it is like was measured."""
        return next((one.like for one in self.chart.series if one.label == label and one.like), label)

    def tooltip(self, rows: Rows) -> list[Spec]:
        """What is said of a point under the pointer."""
        number = {"format": ".5~g"}
        x = categorical("x", title=self.chart.x.title)
        if not isinstance(self.x, tuple):
            x = quantity("x", title=self.chart.x.title, **number)
        said = [categorical("series", title="Series"), x, quantity("y", title=self.chart.y.title, **number)]
        if any(one.low != one.high for one in self.places):
            said += [quantity(field, title=field, **number) for field in ("low", "high")]
        return said + ([categorical("note", title="Note")] if any(row.get("note") for row in rows) else [])

    def colour(self) -> Spec:
        """The colour of each series."""
        return self._by_series([one.colour for one in self.looks.values()])

    def shape(self) -> Spec:
        """The markers of each series."""
        return self._by_series([one.shape for one in self.looks.values()])

    def dash(self) -> Spec:
        """The dashes of each series. Without theory they are no part of the legend, whose markers are whole."""
        if all(one.shape != "stroke" for one in self.looks.values()):
            return categorical("dash", scale=None)
        return self._by_series([one.dash for one in self.looks.values()])

    def _by_series(self, values: list[Any]) -> Spec:
        scale = {"domain": list(self.looks), "range": values}
        return categorical("series", scale=scale, legend=self.legend or None)

    def opacity(self, usual: float) -> Spec:
        """The opacity of marks: where a series is picked in the legend, the others fade."""
        if not self.picks:
            return {"value": usual}
        return {"condition": {"param": "picked", "empty": True, "value": usual}, "value": usual * 0.12}
