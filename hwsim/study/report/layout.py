"""How a chart is laid out: how many panels stand side by side, how large their frames are, and where the legend is."""

from __future__ import annotations

from typing import Any, NamedTuple

from hwsim.study.report.contents import Chart
from hwsim.study.report.labels import LETTERS, width
from hwsim.study.report.scales import short

# Widths that a page's charts are laid out for, in pixels: it takes one that is near its own, and scales it to fit.
WIDTHS = (320, 480, 720, 1120)
# Of a picture: width and height of a panel, by how many stand side by side.
SIZES = {1: (640, 380), 2: (400, 300), 3: (300, 250), 4: (240, 210)}
NARROWEST = 215  # a panel that would be narrower stands below the others
LEFT, BETWEEN, RIGHT = 72, 78, 30  # pixels for the first panel's axis, for the gap and axis of the others, and the end
ROW = 28  # height of a heatmap's row


class ChartLayout(NamedTuple):
    """columns: panels side by side. size: of a panel's frame, in pixels. legend: in Vega-Lite's words; empty for none.

    total: the width of all panels.
    """

    columns: int
    size: tuple[int, int]
    legend: dict[str, Any]
    total: int


def layout(chart: Chart, wide: int | None = None) -> ChartLayout:
    """The layout of a chart that is so many pixels wide; that of a picture, which chooses its width, unless given."""
    columns = min(chart.columns or _columns(len(chart.panels)), len(chart.panels))
    if wide is None:
        size = _picture(chart, columns)
        total = columns * size[0]
        return ChartLayout(columns, size, _legend(chart, total, total), total)
    legend = _legend(chart, wide, wide - LEFT)
    room = wide - RIGHT - _beside(chart, legend)
    first = LEFT if chart.kind != "heatmap" else 40 + round(max(width(label, 12) for label in chart.labels))
    while columns > 1 and _panel(room, first, columns) < NARROWEST:
        columns -= 1
    panel = max(140, _panel(room, first, columns))
    return ChartLayout(columns, (panel, _height(chart, panel)), legend, columns * panel)


def _columns(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3 if panels <= 9 else 4


def _panel(room: int, first: int, columns: int) -> int:
    return (room - first - BETWEEN * (columns - 1)) // columns


def _height(chart: Chart, panel: int) -> int:
    if chart.kind == "heatmap":
        return _rows(chart)
    return max(220, min(400, round(panel * 0.62)))


def _rows(chart: Chart) -> int:
    """The height of a heatmap."""
    return max(80, ROW * max(sum(one.panel == name for one in chart.series) for name in chart.panels))


def _picture(chart: Chart, columns: int) -> tuple[int, int]:
    wide, high = SIZES[min(columns, 4)]
    if chart.kind == "heatmap":
        return max(160, round(_cell(chart) * len(chart.words_of_x))), _rows(chart)
    return max(wide, 24 * len(chart.words_of_x)), high


def _cell(chart: Chart) -> float:
    """How wide a heatmap's cell is at least, for the words in it."""
    return max(40, max(width(short(value), LETTERS) for one in chart.series for value in one.y) + 12)


def _beside(chart: Chart, legend: dict[str, Any]) -> int:
    """The room that stands right of the panels: the legend, or a heatmap's colours."""
    if chart.kind == "heatmap":
        return 80
    if legend.get("orient") != "right":
        return 0
    return round(max(width(label, 12) for label in chart.labels)) + 50


def _legend(chart: Chart, wide: int, below: int) -> dict[str, Any]:
    """Where the legend stands: right, or below where its words are long; none for a single series.

    wide: of the chart, of which a legend at its right takes no more than a third. below: the room of one below it.
    """
    if chart.kind == "heatmap" or (len(chart.labels) == 1 and chart.panels == ("",)):
        return {}
    longest = max(width(label, 12) for label in chart.labels)
    most = min(210 if len(chart.panels) == 1 else 150, wide / 3 - 50) if wide >= NARROWEST * 2 else 0
    entries = {1: 18, 2: 12}.get(len(chart.panels), 0)
    if longest <= most and len(chart.labels) <= entries:
        return {"title": None, "orient": "right", "offset": 14}
    columns = max(1, min(len(chart.labels), int(below / (longest + 48))))
    return {"title": None, "orient": "bottom", "columns": columns, "offset": 14}
