"""JUnit XML, as CI systems read it: a test case a suite.

Of a suite that was left out it is skipped, or failed where the run does not pass without it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from hwsim.outputs import written
from hwsim.report.record import LeftOut, Row, RunReport
from hwsim.report.text import all_fault_lines, failure_lines, kinds_lines
from hwsim.words import counted


def write_junit(path: Path, report: RunReport) -> None:
    """Every suite of a run as JUnit XML, a `testsuite` for each unit and driver.

    A failure's text is the report of the first mismatch, and what would explain it; the model's explanation of it is
    the test case's output. The minimal cases are the output of the testsuite that they are of.
    """
    groups: dict[tuple[str, str], tuple[list[Row], list[LeftOut]]] = {}
    for row in report.rows:
        groups.setdefault((row.unit, row.driver), ([], []))[0].append(row)
    for one in report.left_out:
        if not one.cases:
            groups.setdefault((one.unit, one.driver), ([], []))[1].append(one)
    skipped = [one for _, left_out in groups.values() for one in left_out]
    root = Element("testsuites", {"name": report.title, **_counts(report.rows, skipped)})
    for (unit, driver), (rows, left_out) in groups.items():
        name = f"{unit}.{driver}"
        suite = SubElement(root, "testsuite", {"name": name, **_counts(rows, left_out)})
        properties = SubElement(suite, "properties")
        for key, value in _properties(report):
            SubElement(properties, "property", name=key, value=value)
        for row in rows:
            _case(suite, report, row)
        for one in left_out:
            case = SubElement(suite, "testcase", classname=name, name=one.suite, time="0.000")
            if one.required:
                SubElement(case, "failure", message=one.what, type="incomplete").text = str(one)
            else:
                SubElement(case, "skipped", message=one.what)
        if any((one.unit, one.driver) == (unit, driver) for one in report.minimal):
            SubElement(suite, "system-out").text = "\n".join(kinds_lines(report.kinds))
    ElementTree.indent(root)
    with written(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _counts(rows: Sequence[Row], left_out: Sequence[LeftOut]) -> dict[str, str]:
    return {
        "tests": str(len(rows) + len(left_out)),
        "failures": str(sum(not row.passed for row in rows) + sum(suite.required for suite in left_out)),
        "errors": "0",
        "skipped": str(sum(not suite.required for suite in left_out)),
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
    mismatches, out = report.of(row), [one.what for one in report.not_given(row)]
    out += [f"{counted(row.waived, 'result')} waived"] if row.waived else []
    if not row.passed:
        kind = "mismatch" if row.mismatches else "incomplete"
        lines = [*failure_lines(row, mismatches), *(all_fault_lines(report.kinds) if row.mismatches else [])]
        SubElement(case, "failure", message=row.verdict, type=kind).text = "\n".join(lines)
        shown = mismatches[0].explanation if mismatches else None
        out += shown.lines if shown is not None else []
    if out:
        SubElement(case, "system-out").text = "\n".join(out)
