"""JUnit XML, as CI systems read it: a test case a suite."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from hwsim.files import replaced
from hwsim.report.record import Row, RunReport
from hwsim.report.text import failure_lines


def write_junit(path: Path, report: RunReport) -> None:
    """Every suite of a run as JUnit XML, a `testsuite` for each unit and driver.

    A failure's text is the report of the first mismatch; the model's explanation of it is the test case's output.
    """
    root = Element("testsuites", {"name": report.title, **_counts(report.rows)})
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in report.rows:
        groups.setdefault((row.unit, row.driver), []).append(row)
    for (unit, driver), members in groups.items():
        suite = SubElement(root, "testsuite", {"name": f"{unit}.{driver}", **_counts(members)})
        properties = SubElement(suite, "properties")
        for name, value in _properties(report):
            SubElement(properties, "property", name=name, value=value)
        for row in members:
            _case(suite, report, row)
    ElementTree.indent(root)
    with replaced(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _counts(rows: Sequence[Row]) -> dict[str, str]:
    return {
        "tests": str(len(rows)),
        "failures": str(sum(not row.passed for row in rows)),
        "errors": "0",
        "skipped": "0",
        "time": f"{sum(row.seconds for row in rows):.3f}",
    }


def _properties(report: RunReport) -> Iterable[tuple[str, str]]:
    yield "hwsim", report.version
    yield "again", report.command
    if report.seed is not None:
        yield "seed", str(report.seed)


def _case(suite: Element, report: RunReport, row: Row) -> None:
    name = f"{row.unit}.{row.driver}"
    case = SubElement(suite, "testcase", classname=name, name=row.suite, time=f"{row.seconds:.3f}")
    if row.passed:
        return
    mismatches = report.of(row)
    kind = "mismatch" if row.mismatches else "incomplete"
    SubElement(case, "failure", message=row.verdict, type=kind).text = "\n".join(failure_lines(row, mismatches))
    shown = mismatches[0].explanation if mismatches else None
    if shown is not None:
        SubElement(case, "system-out").text = "\n".join(shown.lines)
