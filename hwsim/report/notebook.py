"""Explanations in notebooks."""

from __future__ import annotations

from functools import cache

from jinja2 import Template
from markupsafe import Markup

from hwsim.report.drawing import window_drawing
from hwsim.report.explanation_json import ExplanationJson
from hwsim.report.html import TEMPLATES, environment, read


def notebook_html(shown: ExplanationJson) -> str:
    """An explanation as a part of a page that is not ours: its style is for itself alone."""
    style = read("colours.css").replace(":root", ".hwsim") + read("picture.css").replace("svg", ".hwsim svg")
    return _template().render(shown=shown, style=Markup(style))


@cache
def _template() -> Template:
    page = environment(TEMPLATES)
    page.globals["window"] = window_drawing
    return page.get_template("explained.html.j2")
