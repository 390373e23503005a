"""Charts as Vega-Lite specifications, SVG and PNG: by vl-convert, without a network or a browser."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from hwsim.errors import ToolMissing
from hwsim.outputs import written
from hwsim.study.report.channels import Panel, Spec
from hwsim.study.report.coinciding import coinciding, told
from hwsim.study.report.contents import Chart, StudyReport
from hwsim.study.report.labels import wrapped
from hwsim.study.report.layout import WIDTHS, layout
from hwsim.study.report.libraries import library
from hwsim.study.report.marks import layers
from hwsim.study.report.palette import MONO, QUIET, config, looks
from hwsim.study.report.scales import AxisScale, PlottedPoint, missing, places, scale

VERSION = "v6.4"  # of Vega-Lite
SCHEMA = f"https://vega.github.io/schema/vega-lite/{VERSION}.1.json"
PIXELS = 2  # of a PNG, for each unit of the SVG
FOLDER = "figures"


def specification(chart: Chart, framed: bool = True, wide: int | None = None) -> Spec:
    """A chart as a Vega-Lite specification, which holds all its data.

    framed : with title, caption and command, as a picture needs them; without, for a page that says them itself, with
    a legend whose entries are clicked to pick series. wide : in pixels, about; as a picture is unless given.
    """
    drawn, _ = places(chart)
    laid = layout(chart, wide)
    x, y = _scales(chart, drawn)
    found, groups = looks(chart), coinciding(chart, drawn, y)
    several = len(chart.panels) > 1
    views = [
        layers(
            Panel(
                chart=chart,
                name=name,
                places=[one for one in drawn if chart.series[one.series].panel == name],
                looks=found,
                x=x,
                y=y,
                size=laid.size,
                left=at % laid.columns == 0,
                under=at + laid.columns >= len(chart.panels),
                picks=not framed and bool(laid.legend),
                legend=laid.legend,
                groups=groups.get(name, []),
            ),
            f"panel_{at}" if several else "panel",
        )
        for at, name in enumerate(chart.panels)
    ]
    whole: Spec = {"concat": views, "columns": laid.columns} if several else {"hconcat": views}
    shared = {"color": "shared", "shape": "shared", "strokeDash": "shared", "xOffset": "independent"}
    whole["resolve"] = {"scale": shared}
    if framed:
        whole = _framed(whole, chart, laid.total + (laid.columns - 1) * 40)
    elif laid.legend:
        picked = {"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}
        whole["params"] = [picked | {"views": [view["layer"][0]["name"] for view in views]}]
    return {"$schema": SCHEMA, "config": config(), "padding": 10, "datasets": _datasets(views), **whole}


def of_widths(chart: Chart) -> dict[str, Any]:
    """A chart for a page: its specification, without a frame, for each of WIDTHS, and the data of all of them."""
    data: dict[str, Any] = {}
    names: dict[str, str] = {}
    views: dict[int, Spec] = {}
    for wide in WIDTHS:
        spec = specification(chart, framed=False, wide=wide)
        own = {old: names.setdefault(json.dumps(rows), f"rows-{len(names)}") for old, rows in spec["datasets"].items()}
        data |= {own[old]: rows for old, rows in spec.pop("datasets").items()}
        for view in spec.get("concat") or spec["hconcat"]:
            for layer in view["layer"]:
                layer["data"] = {"name": own[layer["data"]["name"]]}
        views[wide] = spec
    return {"data": data, "views": views}


def _datasets(views: list[Spec]) -> dict[str, Any]:
    """The data of all layers, each once; the layers have their names instead."""
    names: dict[str, str] = {}
    data = {}
    for layer in (layer for view in views for layer in view["layer"]):
        values = layer["data"]["values"]
        name = names.setdefault(json.dumps(values), f"data-{len(names)}")
        data[name], layer["data"] = values, {"name": name}
    return data


def _scales(chart: Chart, drawn: list[PlottedPoint]) -> tuple[AxisScale | tuple[str, ...], AxisScale]:
    """The axes that all panels share."""
    along = {axis: [one.value for one in chart.references if one.axis == axis] for axis in ("x", "y")}
    values = [value for one in drawn for value in (one.y, *_ends(chart, drawn, one))] + along["y"]
    if chart.kind == "heatmap" and chart.value:
        return chart.words_of_x, scale(chart.value, values, margin=0.0)
    y = scale(chart.y, values, margin=0.05)
    if chart.words_of_x:
        return chart.words_of_x, y
    places_x = [float(one.x) for one in drawn]
    # Labels stand beside points: there is room for them at both sides.
    return scale(chart.x, places_x + along["x"], margin=0.08 if chart.kind == "points" else 0.03, few=places_x), y


def _ends(chart: Chart, drawn: list[PlottedPoint], one: PlottedPoint) -> tuple[float, float]:
    """What an axis shows of an interval: on a logarithmic one no more than a decade beyond all values.

    An interval that reaches zero has no lower end there, and would take the whole chart.
    """
    if not chart.y.log:
        return one.low, one.high
    least, most = min(other.y for other in drawn), max(other.y for other in drawn)
    return max(one.low, least / 10), min(one.high, most * 10)


def note(chart: Chart) -> str:
    """What a chart cannot show, in words: points without a place, ends of intervals, series on one another."""
    drawn, gone = places(chart)
    _, y = _scales(chart, drawn)
    cut = any(one.low < y.low or one.high > y.high for one in drawn)
    said = [
        missing(gone, "Without colour" if chart.kind == "heatmap" else "Not drawn"),
        "Intervals that leave the axis are cut." if cut else "",
        told(coinciding(chart, drawn, y)),
    ]
    return " ".join(filter(None, said))


def _framed(whole: Spec, chart: Chart, wide: int) -> Spec:
    wide = max(wide, 420)
    title: Spec = {"text": wrapped(chart.title, wide, 18), "anchor": "start", "offset": 16}
    if caption := wrapped(f"{chart.caption} {note(chart)}".strip(), wide, 12.5):
        title["subtitle"] = caption
    if not chart.command:
        return whole | {"title": title}
    command = {
        "text": wrapped(chart.command, wide, 10, mono=True),
        "orient": "bottom",
        "anchor": "start",
        "font": MONO,
        "fontSize": 10,
        "fontWeight": "normal",
        "color": QUIET,
        "offset": 16,
        "lineHeight": 13,
    }
    apart = {"color": "independent", "shape": "independent", "strokeDash": "independent"}
    return {"vconcat": [whole | {"title": command}], "resolve": {"scale": apart}, "title": title}


def svg(chart: Chart) -> str:
    """A chart as SVG: the same chart gives the same text. Raises ToolMissing where vl-convert is not installed."""
    return rendered(specification(chart))


def _drawing() -> Any:
    """vl-convert. Raises ToolMissing where it is not installed, or the process's limits leave it no room."""
    drawing = library("vl_convert")
    if not _has_room():
        raise ToolMissing(
            "charts need more address space than `ulimit -v` leaves; the results are kept: the same command without it "
            "draws them, and --no-report leaves them out"
        )
    return drawing


@cache
def _has_room() -> bool:
    """Whether vl-convert has enough addresses.

    It runs JavaScript, which reserves gigabytes and ends the process where it gets none: under a limit, as batch
    systems set it, another process tries first.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return True
    trial = [sys.executable, "-c", "import vl_convert; vl_convert.vegalite_to_svg({'mark': 'point', 'data': {}})"]
    return not subprocess.run(trial, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def rendered(spec: Spec) -> str:
    """A Vega-Lite specification as SVG, made without reading anything from outside."""
    text = _drawing().vegalite_to_svg(json.dumps(spec), vl_version=VERSION, allowed_base_urls=[])
    # Vega numbers what it names over all pictures of a process: here each picture is numbered for itself.
    numbers: dict[str, str] = {}
    named = re.compile(r'(?<= id=")(clip|gradient_)\d+(?=")|(?<="url\(#)(clip|gradient_)\d+(?=\)")')
    return named.sub(lambda found: numbers.setdefault(found[0], f"part{len(numbers)}"), str(text))


def png(picture: str) -> bytes:
    """An SVG as PNG, at two pixels a unit."""
    return bytes(_drawing().svg_to_png(picture, scale=PIXELS, ppi=72))


def write_charts(report: StudyReport, folder: Path) -> list[Path]:
    """Writes every chart as figures/NAME.svg and figures/NAME.png. Returns their paths, in the report's order.

    Raises ToolMissing where vl-convert is not installed, OSError where the folder cannot be written.
    """
    paths = []
    for chart in report.charts:
        picture = svg(chart)
        for ending, content in (("svg", picture.encode()), ("png", png(picture))):
            paths.append(folder / FOLDER / f"{chart.name}.{ending}")
            with written(paths[-1]) as file:
                file.write(content)
    return paths
