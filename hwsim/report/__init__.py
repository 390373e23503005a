"""Reports of what was compared: JUnit XML, JSON and one HTML page."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.report.bins import BinCounts, CountedBin, CoverageGroup, coverage_groups
    from hwsim.report.differences import CodeReading, FaultKind, File, KnownCause, Mismatch, Operand, WaivedDifference
    from hwsim.report.explanation_json import ExplanationJson, explanation
    from hwsim.report.junit import write_junit
    from hwsim.report.page import write_html
    from hwsim.report.record import LeftOut, Row, RunReport
    from hwsim.report.results import json_schema, read_json, write_json
    from hwsim.report.text import all_fault_lines, failure_lines, mismatch_lines
    from hwsim.report.writing import NAMES, refuse_reports, write_reports

# Where the names are that this package has. They are imported when they are asked for: `import hwsim`, which has
# `explain` from a module here, does not wait for what writes reports.
_MODULES = {
    "bins": ("BinCounts", "CountedBin", "CoverageGroup", "coverage_groups"),
    "explanation_json": ("ExplanationJson", "explanation"),
    "junit": ("write_junit",),
    "page": ("write_html",),
    "differences": ("CodeReading", "FaultKind", "File", "KnownCause", "Mismatch", "Operand", "WaivedDifference"),
    "record": ("LeftOut", "Row", "RunReport"),
    "results": ("json_schema", "read_json", "write_json"),
    "text": ("all_fault_lines", "failure_lines", "mismatch_lines"),
    "writing": ("NAMES", "refuse_reports", "write_reports"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"hwsim.report.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "NAMES",
    "BinCounts",
    "CodeReading",
    "CountedBin",
    "CoverageGroup",
    "ExplanationJson",
    "FaultKind",
    "File",
    "KnownCause",
    "LeftOut",
    "Mismatch",
    "Operand",
    "Row",
    "RunReport",
    "WaivedDifference",
    "all_fault_lines",
    "coverage_groups",
    "explanation",
    "failure_lines",
    "json_schema",
    "mismatch_lines",
    "read_json",
    "refuse_reports",
    "write_html",
    "write_json",
    "write_junit",
    "write_reports",
]
