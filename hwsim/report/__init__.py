"""Reports of what was compared: JUnit XML, JSON and one HTML page."""

from pathlib import Path

from hwsim.report.explanation import ExplanationJson, explanation
from hwsim.report.junit import write_junit
from hwsim.report.page import write_html
from hwsim.report.record import (
    Bin,
    CoverageGroup,
    File,
    Mismatch,
    Operand,
    Reading,
    Row,
    RunReport,
    coverage_groups,
)
from hwsim.report.results import json_schema, read_json, write_json
from hwsim.report.text import failure_lines, mismatch_lines

NAMES = ("results.xml", "results.json", "report.html")


def write_reports(folder: Path, report: RunReport) -> None:
    """A report in all its forms, under their usual names: results.xml, results.json, report.html."""
    for name, write in zip(NAMES, (write_junit, write_json, write_html), strict=True):
        write(folder / name, report)


__all__ = [
    "NAMES",
    "Bin",
    "CoverageGroup",
    "ExplanationJson",
    "File",
    "Mismatch",
    "Operand",
    "Reading",
    "Row",
    "RunReport",
    "coverage_groups",
    "explanation",
    "failure_lines",
    "json_schema",
    "mismatch_lines",
    "read_json",
    "write_html",
    "write_json",
    "write_junit",
    "write_reports",
]
