"""A run as JUnit XML, as CI systems read it: a testsuite a job, a test case a suite; known failures are skipped."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from hwsim.campaign.tables import RunTables
from hwsim.outputs import written

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class CampaignJunit:
    """The document of a run. name: of the campaign."""

    name: str
    tables: RunTables

    def write(self, path: Path) -> None:
        """Write it."""
        root = Element("testsuites", {"name": self.name, **_counts(self.tables.suites)})
        told, by_job = self._told(), self._by_job()
        for job in sorted(self.tables.jobs, key=lambda row: str(row["job"])):
            rows = by_job.get(job["job"], [])
            suite = SubElement(root, "testsuite", {"name": job["job"], **_counts(rows)})
            for row in sorted(rows, key=lambda row: (row["unit"], row["driver"], row["suite"])):
                _case(suite, row, told)
        ElementTree.indent(root)
        with written(path) as file:
            ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)

    def _by_job(self) -> dict[str, Rows]:
        found: dict[str, Rows] = {}
        for row in self.tables.suites:
            found.setdefault(row["job"], []).append(row)
        return found

    def _told(self) -> dict[tuple[str, str, str], list[str]]:
        """Lines of the mismatches of each suite."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for one in self.tables.mismatches:
            ulp = f", {one['ulp']} ulp" if one["ulp"] else ""
            where = f" {one['place']}" if one["place"] else ""
            lines = found.setdefault((one["job"], one["driver"], one["suite"]), [])
            lines.append(f"case {one['case']}: {one['what']}: expected {one['expected']}, got {one['got']}{ulp}{where}")
            lines += [f"again: {one['again']}"] if one["again"] else []
        return found


def _case(suite: Element, row: Mapping[str, Any], told: Mapping[tuple[str, str, str], list[str]]) -> None:
    name = f"{row['job']}.{row['driver']}".rstrip(".")
    case = SubElement(suite, "testcase", classname=name, name=row["suite"], time=f"{row['seconds']:.3f}")
    if row["passed"]:
        return
    lines = [row["said"], *told.get((row["job"], row["driver"], row["suite"]), [])]
    if row["known"]:
        SubElement(case, "skipped", message=f"known {row['failure']}: {row['known']}").text = "\n".join(lines)
        return
    compared = row["failure"] in ("mismatch", "incomplete", "stuck")
    SubElement(case, "failure" if compared else "error", message=row["said"], type=row["failure"]).text = "\n".join(
        lines
    )


def _counts(rows: Rows) -> dict[str, str]:
    new = [row for row in rows if not row["passed"] and not row["known"]]
    errors = sum(row["failure"] in ("build", "error", "lost") for row in new)
    return {
        "tests": str(len(rows)),
        "failures": str(len(new) - errors),
        "errors": str(errors),
        "skipped": str(sum(bool(row["known"]) for row in rows)),
        "time": f"{sum(row['seconds'] for row in rows):.3f}",
    }
