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
from hwsim.base.files import written
from hwsim.explain.drawing import environment, page_style, policy, read
from hwsim.study.report.charts import library, specification, svg
from hwsim.study.report.contents import Chart, StudyReport

HERE = Path(__file__).parent


def write_page(report: StudyReport, path: Path) -> None:
    """Writes a report as one self-contained HTML page.

    Raises ToolMissing where vl-convert is not installed, OSError where the file cannot be written.
    """
    text = html(report)
    with written(path) as file:
        file.write(text.encode())


def html(report: StudyReport) -> str:
    """The page as text. Whatever names are, they are shown, and never become markup."""
    specs = {chart.name: specification(chart, framed=False) for chart in report.charts}
    style = page_style() + (HERE / "page.css").read_text(encoding="utf-8")
    script = _bundle((HERE / "page.js").read_text(encoding="utf-8") + read("copy.js"))
    return (
        environment(HERE)
        .get_template("page.html.j2")
        .render(
            report=report,
            version=hwsim.__version__,
            pictures={name: _data_address(svg(spec)) for name, spec in specs.items()},
            is_chart=lambda part: isinstance(part, Chart),
            # These are ours: no escape. The page allows itself nothing but them, by their hashes.
            style=Markup(style),
            script=Markup(script),
            data=Markup(_json(specs)),
            policy=policy(style, script, "img-src data:"),
        )
    )


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
