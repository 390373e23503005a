"""Charts by Altair: as Vega-Lite specifications, SVG and PNG, without a network or a browser."""

from __future__ import annotations

import importlib
import json
import math
import re
import resource
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hwsim.base.errors import ToolMissing
from hwsim.base.files import written
from hwsim.study.report.contents import Axis, Chart, Row, StudyReport

FOLDER = "figures"
PIXELS = 2  # of a PNG, for each unit of the SVG
MOST_BANDS = 3  # more of them would mix: intervals are thin lines then
WIDE, HIGH = 640, 360  # of one panel; of several each is smaller
# Okabe and Ito, "Color Universal Design" (2008); its yellow, which has no contrast to white, is darker here.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#666666", "#e69f00", "#56b4e9", "#9b8f00")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
SOLID, DASHES = [1, 0], ([6, 4], [2, 3], [10, 3, 2, 3])


def library(name: str) -> Any:
    """A module of the extra `study`. Raises ToolMissing, with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissing(f"{name} is missing; install it with: pip install 'hwsim[study]'") from error


def specification(chart: Chart, framed: bool = True) -> dict[str, Any]:
    """A chart as a Vega-Lite specification, which holds all its data.

    framed : with title, caption and command, as a picture needs them; without, for a page that says them itself.
    """
    panels = chart.values("panel")
    drawn = [_panel(chart, [row for row in chart.placed if row.get("panel", "") == name], name) for name in panels]
    columns = {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Automatically deduplicated selection")  # one legend picks in all panels
        whole = (
            drawn[0]
            if len(panels) == 1
            else library("altair").concat(*drawn, columns=columns).resolve_scale(y="shared")
        )
    if framed:
        under = [f"{chart.caption} {chart.missing}".strip(), chart.command]
        lines = [line for text in under for line in textwrap.wrap(text, 110 if len(panels) == 1 else 150)]
        title = {"text": textwrap.wrap(chart.title, 80), "subtitle": lines, "anchor": "start", "offset": 14}
        whole = whole.properties(title=title)
    limits = {"labelLimit": 0, "titleLimit": 0}
    whole = whole.configure_axis(**limits, titleFontWeight="normal").configure_legend(labelLimit=0, symbolOpacity=1)
    spec: dict[str, Any] = whole.configure_title(limit=0, subtitleColor="#55606c").properties(padding=10).to_dict()
    return spec


def _panel(chart: Chart, rows: Sequence[Row], name: str) -> Any:
    """One panel's layers: intervals, lines, points and words beside them, and reference lines."""
    alt = library("altair")
    labels, several = chart.values("series"), len(chart.values("panel")) > 1
    measured = [row for row in rows if row["series"] not in chart.theory and row["series"] != chart.front]
    steps, words = (
        [row for row in rows if row["series"] == chart.front],
        any(isinstance(row["x"], str) for row in chart.rows),
    )
    look = _looks(chart, labels)
    picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
    faint = alt.condition(picked, alt.value(1), alt.value(0.12))
    kind = "N" if words else "Q"
    place: dict[str, Any] = {"x": alt.X(f"x:{kind}", title=chart.x.title, **_axis(chart, chart.x, "x"))}
    place |= {"y": _y(chart, "y"), "color": look["color"]}
    if words and len(labels) > 1 and chart.kind == "points":
        place["xOffset"] = alt.XOffset("slot:N", sort=[label for label in labels if label not in chart.theory])
    tooltip = [alt.Tooltip("series:N", title="Series"), alt.Tooltip(f"x:{kind}", title=chart.x.title)]
    tooltip.append(alt.Tooltip("y:Q", title=chart.y.title, format=".5~g"))
    tooltip += [alt.Tooltip("note:N", title="Note")] if any(row.get("note") for row in chart.rows) else []

    layers = _intervals(chart, rows, place, faint)
    if chart.kind == "lines":
        drawn = alt.Chart(_data(chart, rows)).mark_line()
        layers.append(drawn.encode(**place, strokeDash=look["strokeDash"], opacity=faint))
    elif theory := [row for row in rows if row["series"] in chart.theory]:
        stroke = alt.Chart(_data(chart, theory)).mark_tick(thickness=2, orient="horizontal", size=22)
        layers.append(stroke.encode(**place, tooltip=tooltip, opacity=faint))
    if steps:
        stairs = alt.Chart(_data(chart, steps)).mark_line(interpolate="step-after", strokeWidth=1.5)
        layers.append(stairs.encode(x=place["x"], y=place["y"], color=look["color"], order="x:Q"))
    points = alt.Chart(_data(chart, measured)).mark_point(filled=True, size=60)
    layers.append(points.encode(**place, shape=look["shape"], tooltip=tooltip, opacity=faint).add_params(picked))
    if any(row.get("name") for row in rows):
        named = alt.Chart(_data(chart, measured)).mark_text(align="left", dx=7, fontSize=10)
        layers.append(named.encode(x=place["x"], y=place["y"], text="name:N"))
    for reference in chart.references:
        layers += _reference(chart, reference)
    size = {"width": WIDE, "height": HIGH} if not several else {"width": 400, "height": 280}
    return alt.layer(*layers).properties(**size, **({"title": name} if several else {}))


def _looks(chart: Chart, labels: Sequence[str]) -> dict[str, Any]:
    """Colour, shape and dashes of the series. Theory has the colour of the series that it is like."""
    alt = library("altair")
    measured = [label for label in labels if label not in chart.theory]
    colours = {label: COLOURS[index % len(COLOURS)] for index, label in enumerate(measured)}
    alike = {label: [key for key in chart.theory if chart.theory[key] == like] for label, like in chart.theory.items()}
    dashes = {label: DASHES[alike[label].index(label) % len(DASHES)] for label in chart.theory}
    colours |= {label: colours.get(like, COLOURS[0]) for label, like in chart.theory.items()}
    # A second round through the colours has other shapes.
    shapes = {label: SHAPES[(index + index // len(COLOURS)) % len(SHAPES)] for index, label in enumerate(measured)}
    ranges: dict[str, list[Any]] = {
        "color": [colours[label] for label in labels],
        "shape": [shapes.get(label, "stroke") for label in labels],
        "strokeDash": [dashes.get(label, SOLID) for label in labels],
    }
    legend = None
    if len(labels) > 1 or chart.values("panel") != [""]:
        legend = alt.Legend(title=None, orient="bottom", columns=max(1, 110 // (max(map(len, labels)) + 6)))
    channels = {"color": alt.Color, "shape": alt.Shape, "strokeDash": alt.StrokeDash}
    return {
        name: channel("series:N", scale=alt.Scale(domain=list(labels), range=ranges[name]), legend=legend)
        for name, channel in channels.items()
    }


def _axis(chart: Chart, axis: Axis, key: str) -> dict[str, Any]:
    """The scale and the ticks of an axis; `sort` of words."""
    alt = library("altair")
    values = {row[key] for row in chart.placed}
    if any(isinstance(value, str) for value in values):
        order = list(axis.categories or chart.values("x"))
        return {"sort": order, "axis": alt.Axis(labelAngle=-35 if sum(map(len, order)) > 70 else 0, grid=False)}
    scale = alt.Scale(type="log", base=axis.log) if axis.log else alt.Scale(zero=axis.zero)
    whole = all(float(value).is_integer() for value in values)
    ticks = alt.Axis(values=sorted(values)) if key == "x" and whole and len(values) <= 12 else alt.Axis(format=".4~g")
    if axis.log == 10 and any(value < 1e-3 or value >= 1e5 for value in values):
        ticks = alt.Axis(format=".1~e")
    return {"scale": scale, "axis": ticks}


def _y(chart: Chart, field: str) -> Any:
    return library("altair").Y(f"{field}:Q", title=chart.y.title, **_axis(chart, chart.y, "y"))


def _data(chart: Chart, rows: Sequence[Row]) -> Any:
    """Rows as they are drawn; `slot` is where they stand beside others."""
    placed = [{**row, "slot": chart.theory.get(row["series"], row["series"])} for row in rows]
    finite = [
        {key: value for key, value in row.items() if not (isinstance(value, float) and not math.isfinite(value))}
        for row in placed
    ]
    return library("altair").InlineData(values=finite)


def _intervals(chart: Chart, rows: Sequence[Row], place: dict[str, Any], faint: Any) -> list[Any]:
    """Confidence intervals: bands of a few lines, else thin lines. One that leaves a logarithmic axis is cut."""
    alt = library("altair")
    known = [row for row in rows if math.isfinite(row.get("low", math.nan)) and row["low"] < row["high"]]
    if not known:
        return []
    least = min(row["y"] for row in chart.placed) / 10 if chart.y.log else -math.inf
    cut = [{**row, "low": max(row["low"], least)} for row in known]
    ends = {**place, "y": _y(chart, "low"), "y2": "high:Q"}
    drawn = alt.Chart(_data(chart, cut))
    if chart.kind == "lines" and len({row["series"] for row in chart.rows if "low" in row}) <= MOST_BANDS:
        return [drawn.mark_area(opacity=0.16).encode(**ends)]
    return [drawn.mark_rule(strokeWidth=1.3).encode(**ends, opacity=faint)]


def _reference(chart: Chart, reference: Any) -> list[Any]:
    """A line across the panel with its words."""
    alt = library("altair")
    data = alt.InlineData(values=[{"value": reference.value, "label": reference.label}])
    channel = {"y": _y(chart, "value")} if reference.axis == "y" else {
        "x": alt.X("value:Q", title=chart.x.title, **_axis(chart, chart.x, "x"))
    }  # fmt: skip
    ends = {"x": alt.value(4)} if reference.axis == "y" else {"y": alt.value(4)}
    above, beside = {"align": "left", "dy": -5}, {"align": "left", "baseline": "top", "angle": 90, "dx": 3}
    side = above if reference.axis == "y" else beside
    line = alt.Chart(data).mark_rule(strokeDash=[2, 2], color="#55606c").encode(**channel)
    return [line, alt.Chart(data).mark_text(color="#55606c", **side).encode(**channel, **ends, text="label:N")]


def _drawing() -> Any:
    """The module vl_convert. Raises ToolMissing where it is not installed, or the process's limits leave it no room."""
    drawing = library("vl_convert")
    if not _has_room():
        raise ToolMissing(
            "charts need more address space than `ulimit -v` leaves; the results are kept: the same command without it "
            "draws them, and --no-report leaves them out"
        )
    return drawing


@cache
def _has_room() -> bool:
    """True if vl-convert has enough addresses.

    It runs JavaScript, which reserves gigabytes and ends the process where it gets none: under a limit, as batch
    systems set it, another process tries first.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return True
    trial = [sys.executable, "-c", "import vl_convert; vl_convert.vegalite_to_svg({'mark': 'point', 'data': {}})"]
    return not subprocess.run(trial, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def svg(spec: dict[str, Any]) -> str:
    """A specification as SVG, made without reading anything from outside: the same one gives the same text."""
    version = ".".join(library("altair").SCHEMA_VERSION.split(".")[:2])
    text = _drawing().vegalite_to_svg(json.dumps(spec), vl_version=version, allowed_base_urls=[])
    # Vega numbers what it names over all pictures of a process: here each picture is numbered for itself.
    numbers: dict[str, str] = {}
    named = re.compile(r'(?<= id=")(clip|gradient_)\d+(?=")|(?<="url\(#)(clip|gradient_)\d+(?=\)")')
    return named.sub(lambda match: numbers.setdefault(match[0], f"part{len(numbers)}"), str(text))


def png(picture: str) -> bytes:
    """An SVG as PNG, at two pixels a unit."""
    return bytes(_drawing().svg_to_png(picture, scale=PIXELS, ppi=72))


def write_charts(report: StudyReport, folder: Path) -> list[Path]:
    """Writes every chart as figures/NAME.svg and figures/NAME.png. Returns their paths, in the report's order.

    Raises ToolMissing where Altair or vl-convert is not installed, OSError where the folder cannot be written.
    """
    paths = []
    for chart in report.charts:
        picture = svg(specification(chart))
        for ending, content in (("svg", picture.encode()), ("png", png(picture))):
            paths.append(folder / FOLDER / f"{chart.name}.{ending}")
            with written(paths[-1]) as file:
                file.write(content)
    return paths
