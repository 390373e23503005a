"""A report as one HTML page, which asks nothing of a network and reads as well without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, Template
from markupsafe import Markup

from hwsim.cases.bins.meanings import case_meaning
from hwsim.outputs import written
from hwsim.report.bins import STATES, CountedBin, CoverageGroup
from hwsim.report.drawing import coverage_bar, pair_table, window_drawing
from hwsim.report.html import TEMPLATES, environment, page_style, policy, read
from hwsim.report.record import RunReport
from hwsim.report.text import failure_lines, fault_head
from hwsim.words import counted

FEW = 60  # names that are listed without being folded


def write_html(path: Path, report: RunReport) -> None:
    """A report as one HTML page."""
    with written(path) as file:
        file.write(html(report).encode())


def html(report: RunReport) -> str:
    """The page as text. Whatever names are, they are shown, and never become markup."""
    style, script = page_style(), read("copy.js") + read("report.js")
    return _page().render(
        report=report,
        figures=report.figures,
        # These two are ours: no escape. The page allows itself nothing but them, by their hashes.
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


@cache
def _page() -> Template:
    return page_environment().get_template("report.html.j2")


def page_environment() -> Environment:
    """The templates of pages that show mismatches."""
    page = environment(TEMPLATES)
    page.filters |= {
        "commas": lambda number: f"{number:,}",
        "yaml": _yaml,
        "percent": _percent,
        "counted": counted,
        "capital": _capital,
    }
    page.globals |= {
        "bar": coverage_bar,
        "pairs": pair_table,
        "window": window_drawing,
        "failure": failure_lines,
        "fault_head": fault_head,
        "case_meaning": case_meaning,
        "by_reason": _by_reason,
        "has_details": _has_details,
        "STATES": STATES,
        "FEW": FEW,
    }
    return page


def _yaml(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True))


def _capital(sentence: str) -> str:
    """A sentence with its first letter in upper case, and the others as they are."""
    return sentence[:1].upper() + sentence[1:]


def _percent(part: int, whole: int) -> str:
    """A part in per cent: never 100 % where something is missing, nor 0 % where something is there."""
    if part in (0, whole) or not whole:
        return f"{100 if whole and part == whole else 0} %"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"


def _has_details(group: CoverageGroup) -> bool:
    """Whether there is more to say of a group than the table does: bins that were not hit, or pairs."""
    return any(bin.state != "hit" or bin.place for bin in group.bins)


def _by_reason(bins: Iterable[CountedBin]) -> list[tuple[str, list[CountedBin]]]:
    """Bins of one reason together, in the order in which reasons come."""
    ordered: dict[str, list[CountedBin]] = {}
    for reason, members in groupby(bins, lambda bin: bin.reason):
        ordered.setdefault(reason, []).extend(members)
    return list(ordered.items())
