"""A report in all its forms."""

from __future__ import annotations

from pathlib import Path

from hwsim.outputs import refuse_strangers
from hwsim.report.junit import write_junit
from hwsim.report.page import write_html
from hwsim.report.record import RunReport
from hwsim.report.results import write_json

NAMES = ("results.xml", "results.json", "report.html")


def refuse_reports(folder: Path) -> None:
    """Raise InputError, before the work, where `write_reports` would find something else in the way."""
    for name in NAMES:
        refuse_strangers(folder / name)


def write_reports(folder: Path, report: RunReport) -> None:
    """A report in all its forms, under their usual names: results.xml, results.json, report.html."""
    for name, write in zip(NAMES, (write_junit, write_json, write_html), strict=True):
        write(folder / name, report)
