"""Explanations and drawings in notebooks."""

from __future__ import annotations

from functools import cache

from jinja2 import Template
from markupsafe import Markup

from hwsim.report.drawing import Drawing, window_drawing
from hwsim.report.explanation_json import ExplanationJson
from hwsim.report.html import TEMPLATES, environment, read
from hwsim.words import counted


def notebook_html(shown: ExplanationJson) -> str:
    """An explanation as a part of a page that is not ours."""
    return _template("explained.html.j2").render(shown=shown, style=_style())


def drawing_html(drawing: Drawing) -> str:
    """A drawing, in the same way."""
    return _template("drawn.html.j2").render(drawing=drawing, style=_style())


def _style() -> Markup:
    """A style that is for ours alone."""
    return Markup(
        read("colours.css").replace(":root", ".hwsim")
        + read("picture.css").replace("svg", ".hwsim svg")
        + read("notebook.css")
    )


@cache
def _template(name: str) -> Template:
    page = environment(TEMPLATES)
    page.globals["window"] = window_drawing
    page.filters["counted"] = counted
    return page.get_template(name)
