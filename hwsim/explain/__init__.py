"""What a design computed, and why: explanations, reports, and readings of a specification that explain results.

`hwsim.explain` is this package and, called, its function `explain`: one dot product with every stage's integers.

`semantics` lists what a device may compute, as specified and otherwise; `discrimination` makes cases on which the
40 readings of a window's sum differ, pair by pair, and proves which pairs are equal (coverage, G13); `consistent`
names the semantics that explain results. `silicon` asks GPUs. A run is a `RunReport`, which `write_reports` writes as
JUnit XML, JSON and one HTML page.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.explain.discriminate import Discrimination, ToldPair, discrimination
    from hwsim.explain.evidence import Consistent, consistent
    from hwsim.explain.explained import explain
    from hwsim.explain.known import Semantic, semantics
    from hwsim.explain.readings import READINGS, Reading, own_reading
    from hwsim.explain.record import (
        BinCounts,
        CodeReading,
        CountedBin,
        CoverageGroup,
        FaultKind,
        File,
        Kills,
        KnownCause,
        LeftOut,
        Mismatch,
        Operand,
        Row,
        RunReport,
        WaivedDifference,
        coverage_groups,
    )
    from hwsim.explain.reports import (
        NAMES,
        all_fault_lines,
        failure_lines,
        json_schema,
        mismatch_lines,
        read_json,
        refuse_reports,
        write_html,
        write_json,
        write_junit,
        write_reports,
    )
    from hwsim.explain.stages import ExplanationJson, explanation

# The modules that have this package's names, which are imported when they are asked for: `import hwsim`, which has
# `explain` from a module here, does not wait for what writes reports.
_MODULES = ("explained", "stages", "record", "reports", "readings", "known", "evidence", "discriminate")


class ExplainPackage(ModuleType):
    """This package, which can be called as its function `explain`: both have the name `hwsim.explain`."""

    def __call__(self, unit: Any, a: Any, b: Any, *rest: Any, **named: Any) -> Any:
        from hwsim.explain.explained import explain

        return explain(unit, a, b, *rest, **named)


sys.modules[__name__].__class__ = ExplainPackage


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        if hasattr(imported := import_module(f"hwsim.explain.{module}"), name):
            return getattr(imported, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "NAMES",
    "READINGS",
    "BinCounts",
    "CodeReading",
    "Consistent",
    "CountedBin",
    "CoverageGroup",
    "Discrimination",
    "ExplanationJson",
    "FaultKind",
    "File",
    "Kills",
    "KnownCause",
    "LeftOut",
    "Mismatch",
    "Operand",
    "Reading",
    "Row",
    "RunReport",
    "Semantic",
    "ToldPair",
    "WaivedDifference",
    "all_fault_lines",
    "consistent",
    "coverage_groups",
    "discrimination",
    "explain",
    "explanation",
    "failure_lines",
    "json_schema",
    "mismatch_lines",
    "own_reading",
    "read_json",
    "refuse_reports",
    "semantics",
    "write_html",
    "write_json",
    "write_junit",
    "write_reports",
]
