"""Colours, dashes, shapes and letters of charts: told apart in print, and by those who do not see red beside green."""

from __future__ import annotations

from typing import Any, NamedTuple

from hwsim.study.report.contents import Chart

# Letters whose widths are Arial's, so that what was measured here fits in any browser.
SANS = "Liberation Sans, Arial, Helvetica, sans-serif"
MONO = "Liberation Mono, DejaVu Sans Mono, Menlo, Consolas, monospace"

PAPER, INK, QUIET, LINE = "#ffffff", "#1b2229", "#55606c", "#d9dee4"
NOTHING = "#b3bcc6"  # a cell without a number

# Okabe and Ito, "Color Universal Design" (2008), by contrast to white; its yellow, which has none, is darker here.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#9b8f00")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([6, 4], [2, 3], [10, 3, 2, 3], [10, 5], [4, 2, 1, 2], [1, 2])
SOLID = [1, 0]
# Lines of a second and a third round through the colours: nearly solid, unlike those of theory.
ROUNDS = (SOLID, [16, 2], [16, 2, 4, 2])

# The same chart on a dark card: colours that are replaced, each by one that is as easily told apart there.
DARK = {
    PAPER: "#1a2026",
    INK: "#e5e9ed",
    QUIET: "#a3aeb9",
    LINE: "#323b45",
    NOTHING: "#5b6672",
    "#0072b2": "#4aa3df",
    "#d55e00": "#f07f2e",
    "#009e73": "#1fc296",
    "#cc79a7": "#dc96bd",
    "#000000": "#f4f4f4",
    "#e69f00": "#f0b429",
    "#56b4e9": "#9ad6f7",
    "#9b8f00": "#d3c840",
}


class Look(NamedTuple):
    """How a series is drawn. dash: lengths of dashes and gaps. shape: of its markers, `stroke` where it has none."""

    colour: str
    dash: list[int]
    shape: str


def looks(chart: Chart) -> dict[str, Look]:
    """How each label of a chart is drawn: no two alike among 64 measured series, nor among 48 of theory.

    Colours go round; a second round has other shapes. Theory is dashed, in the colour of the series that it is like.
    """
    found: dict[str, Look] = {}
    first = {one.label: one for one in reversed(chart.series)}
    theory = [label for label in chart.labels if first[label].dashed]
    measured = [label for label in chart.labels if not first[label].dashed]
    for at, label in enumerate(measured):
        around, colour = divmod(at, len(COLOURS))
        found[label] = Look(COLOURS[colour], ROUNDS[min(around, 2)], SHAPES[(at + around) % len(SHAPES)])
    for at, label in enumerate(theory):
        around, colour = divmod(at + len(measured), len(COLOURS))
        like = found.get(first[label].like)
        # Of one colour the first theory is dashed, the next dotted, and so on.
        own = like.colour if like else COLOURS[colour]
        before = sum(found[other].colour == own for other in theory[:at])
        found[label] = Look(own, DASHES[before % len(DASHES)], "stroke")
    for one in chart.series:
        if one.front:
            found[one.label] = found[one.label]._replace(shape="stroke")
    # What was measured may share a colour too: it keeps a shape of its own.
    for one in chart.series:
        if one.like and not one.dashed:
            found[one.label] = Look(found[one.like].colour, *found[one.label][1:])
    return {label: found[label] for label in chart.labels}


def config() -> dict[str, Any]:
    """Vega-Lite's settings: quiet axes, readable letters, no label cut short."""
    axis = {
        "labelFont": SANS, "titleFont": SANS, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal",
        "labelColor": INK, "titleColor": INK, "gridColor": LINE, "domainColor": QUIET, "tickColor": QUIET,
        "labelLimit": 0, "titleLimit": 0, "titlePadding": 8, "labelOverlap": "greedy", "labelPadding": 4,
    }  # fmt: skip
    legend = {
        "labelFont": SANS, "titleFont": SANS, "labelFontSize": 12, "titleFontSize": 12, "labelColor": INK,
        "titleColor": QUIET, "titleFontWeight": "normal", "labelLimit": 0,
        "symbolOpacity": 1, "symbolSize": 130, "symbolStrokeWidth": 2,
        "rowPadding": 4, "columnPadding": 16, "labelOffset": 6,
    }  # fmt: skip
    title = {
        "font": SANS, "subtitleFont": SANS, "color": INK, "subtitleColor": QUIET, "fontSize": 17, "fontWeight": 600,
        "subtitleFontSize": 12.5, "subtitleLineHeight": 17, "subtitlePadding": 6, "lineHeight": 22, "limit": 0,
    }  # fmt: skip
    return {
        "background": PAPER,
        "font": SANS,
        "axis": axis,
        "legend": legend,
        "title": title,
        "view": {"continuousWidth": 300, "continuousHeight": 300, "stroke": LINE},
        "text": {"font": SANS},
        "concat": {"spacing": 28},
    }
