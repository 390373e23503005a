"""A report as one HTML file: charts that answer to the pointer, tables that sort; nothing is fetched.

Without JavaScript the charts are pictures, and the numbers of each stand below it.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

import hwsim
from hwsim.explain.drawing import environment, page_style, policy, read
from hwsim.outputs import written
from hwsim.study.report.charts import note, of_widths, rendered
from hwsim.study.report.contents import Chart, StudyReport, TextTable
from hwsim.study.report.libraries import library
from hwsim.study.report.palette import DARK

HERE = Path(__file__).parent
PICTURE = 720  # the width of a chart without JavaScript: one of WIDTHS


def write_page(report: StudyReport, path: Path) -> None:
    """Writes a report as one self-contained HTML page.

    Raises ToolMissing where vl-convert is not installed, OSError where the file cannot be written.
    """
    text = html(report)
    with written(path) as file:
        file.write(text.encode())


def html(report: StudyReport) -> str:
    """The page as text. Whatever names are, they are shown, and never become markup."""
    specs = {chart.name: of_widths(chart) for chart in report.charts}
    style = page_style() + (HERE / "page.css").read_text(encoding="utf-8")
    script = _bundle((HERE / "page.js").read_text(encoding="utf-8") + read("copy.js"))
    return (
        environment(HERE)
        .get_template("page.html.j2")
        .render(
            report=report,
            version=hwsim.__version__,
            pictures={
                name: _data_address(rendered(one["views"][PICTURE] | {"datasets": one["data"]}))
                for name, one in specs.items()
            },
            numbers={chart.name: numbers(chart) for chart in report.charts},
            notes={chart.name: note(chart) for chart in report.charts},
            is_chart=lambda part: isinstance(part, Chart),
            # These are ours: no escape. The page allows itself nothing but them, by their hashes.
            style=Markup(style),
            script=Markup(script),
            data=Markup(_json({"charts": specs, "dark": DARK})),
            policy=policy(style, script, "img-src data:"),
        )
    )


def numbers(chart: Chart) -> TextTable:
    """All the points of a chart as a table, those too that have no place on its axes."""
    used = {field for one in chart.series for field in ("low", "high", "names", "notes") if getattr(one, field)}
    panel = ["Panel"] if chart.panels != ("",) else []
    heat = chart.value is not None
    series = chart.y.title if heat else "Series"
    value = chart.value.title if chart.value else chart.y.title
    ends = ["Low", "High"] if "low" in used else []
    words = [title for field, title in (("names", "Name"), ("notes", "Note")) if field in used]
    rows = []
    for one in chart.series:
        for at, x in enumerate(one.x):
            told = [one.panel] if panel else []
            told += [one.label, x if isinstance(x, str) else _number(x), _number(one.y[at])]
            told += ["" if end is None else _number(end[at]) for end in (one.low, one.high)] if ends else []
            told += [(getattr(one, field) or [""] * len(one.x))[at] for field in ("names", "notes") if field in used]
            rows.append(tuple(told))
    header = (*panel, series, chart.x.title, value, *ends, *words)
    first = len(panel) + 1 + bool(chart.words_of_x)
    right = tuple(range(first, len(header) - len(words)))
    return TextTable(title=f"Numbers of: {chart.title}", header=header, rows=tuple(rows), right=right)


def _number(value: float) -> str:
    return f"{value:.6g}"


@lru_cache(maxsize=2)
def _bundle(snippet: str) -> str:
    """Vega, Vega-Lite, Vega-Embed and our script in one text."""
    text = str(library("vl_convert").javascript_bundle(snippet=snippet))
    if "</script" in text.lower() or "<!--" in text:
        raise RuntimeError("vl-convert's bundle cannot stand in a page: it holds the end of a script")
    return text


def _json(value: Any) -> str:
    """JSON that may stand between script tags."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data_address(picture: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"
