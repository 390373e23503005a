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
from hwsim.files import replaced
from hwsim.study.report.channels import Panel, Spec
from hwsim.study.report.contents import Chart, StudyReport
from hwsim.study.report.labels import LETTERS, width, wrapped
from hwsim.study.report.libraries import library
from hwsim.study.report.marks import layers
from hwsim.study.report.palette import MONO, QUIET, config, looks
from hwsim.study.report.scales import AxisScale, missing, places, scale, short

VERSION = "v6.4"  # of Vega-Lite
SCHEMA = f"https://vega.github.io/schema/vega-lite/{VERSION}.1.json"
PIXELS = 2  # of a PNG, for each unit of the SVG
FOLDER = "figures"
# Width and height of a panel, by how many stand side by side.
SIZES = {1: (640, 380), 2: (400, 300), 3: (300, 250), 4: (240, 210)}


def specification(chart: Chart, framed: bool = True) -> Spec:
    """A chart as a Vega-Lite specification, which holds all its data.

    framed : with title, caption and command, as a picture needs them; without, for a page that says them itself, with
    a legend whose entries are clicked to pick series.
    """
    drawn, _ = places(chart)
    columns = min(chart.columns or _columns(len(chart.panels)), len(chart.panels))
    size = _size(chart, columns)
    x, y = _scales(chart, drawn)
    legend, found = _legend(chart, columns * size[0]), looks(chart)
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
                size=size,
                left=at % columns == 0,
                under=at + columns >= len(chart.panels),
                picks=not framed and bool(legend),
                legend=legend,
            ),
            f"panel_{at}" if several else "panel",
        )
        for at, name in enumerate(chart.panels)
    ]
    whole: Spec = {"concat": views, "columns": columns} if several else {"hconcat": views}
    shared = {"color": "shared", "shape": "shared", "strokeDash": "shared", "xOffset": "independent"}
    whole["resolve"] = {"scale": shared}
    if framed:
        whole = _framed(whole, chart, columns * size[0] + (columns - 1) * 40)
    elif legend:
        picked = {"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}
        whole["params"] = [picked | {"views": [view["layer"][0]["name"] for view in views]}]
    return {"$schema": SCHEMA, "config": config(), "padding": 10, "datasets": _datasets(views), **whole}


def _datasets(views: list[Spec]) -> dict[str, Any]:
    """The data of all layers, each once; the layers have their names instead."""
    names: dict[str, str] = {}
    data = {}
    for layer in (layer for view in views for layer in view["layer"]):
        values = layer["data"]["values"]
        name = names.setdefault(json.dumps(values), f"data-{len(names)}")
        data[name], layer["data"] = values, {"name": name}
    return data


def _columns(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3 if panels <= 9 else 4


def _size(chart: Chart, columns: int) -> tuple[int, int]:
    wide, high = SIZES[min(columns, 4)]
    if chart.kind == "heatmap":
        rows = max(sum(one.panel == name for one in chart.series) for name in chart.panels)
        cell = max(width(short(value), LETTERS) for one in chart.series for value in one.y) + 12
        return max(160, round(max(40, cell)) * len(chart.words_of_x)), max(80, 28 * rows)
    if chart.kind == "bars":
        # A bar is from 7 to about 70 pixels wide.
        bars = len(chart.labels) * max(1, len(chart.words_of_x))
        return max(min(wide, 90 * bars), 240, round(9.5 * bars)), high
    return max(wide, 24 * len(chart.words_of_x)), high


def _scales(chart: Chart, drawn: list[Any]) -> tuple[AxisScale | tuple[str, ...], AxisScale]:
    """The axes that all panels share."""
    along = {axis: [one.value for one in chart.references if one.axis == axis] for axis in ("x", "y")}
    values = [value for one in drawn for value in (one.y, one.low, one.high)] + along["y"]
    if chart.kind == "heatmap" and chart.value:
        return chart.words_of_x, scale(chart.value, values, margin=0.0)
    if chart.kind == "bars" and not chart.y.log:
        values.append(0.0)
    y = scale(chart.y, values, margin=0.05, floor=chart.kind == "bars")
    if chart.words_of_x:
        return chart.words_of_x, y
    places_x = [float(one.x) for one in drawn]
    # Labels stand beside points: there is room for them at both sides.
    return scale(chart.x, places_x + along["x"], margin=0.08 if chart.kind == "points" else 0.03, few=places_x), y


def _legend(chart: Chart, total: int) -> dict[str, Any]:
    """Where the legend stands: right, or below where its words are long; none for a single series."""
    if chart.kind == "heatmap" or (len(chart.labels) == 1 and chart.panels == ("",)):
        return {}
    longest = max(width(label, 12) for label in chart.labels)
    if longest <= 210 and len(chart.labels) <= 18 and len(chart.panels) == 1:
        return {"title": None, "orient": "right", "offset": 14}
    if longest <= 150 and len(chart.labels) <= 12 and len(chart.panels) <= 2:
        return {"title": None, "orient": "right", "offset": 14}
    columns = max(1, min(len(chart.labels), int(total / (longest + 48))))
    return {"title": None, "orient": "bottom", "columns": columns, "offset": 14}


def note(chart: Chart) -> str:
    """How many points a chart cannot draw, and why, in words; empty where it draws all."""
    return missing(places(chart)[1], "Without colour" if chart.kind == "heatmap" else "Not drawn")


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
    written = []
    for chart in report.charts:
        picture = svg(chart)
        for ending, content in (("svg", picture.encode()), ("png", png(picture))):
            written.append(folder / FOLDER / f"{chart.name}.{ending}")
            with replaced(written[-1]) as file:
                file.write(content)
    return written
