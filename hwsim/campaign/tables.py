"""A run as tables in Parquet: a row for each job, each suite, each mismatch that is told, and each bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hwsim.campaign.merged import MergedCoverage
from hwsim.campaign.outcome import WHOLE, JobOutcome
from hwsim.campaign.store import JOBS
from hwsim.campaign.verdict import FailurePlace, JudgedFailure, first_line
from hwsim.errors import InputError
from hwsim.parquet import arrow, read_table, write_table

SUITES, MISMATCHES, BINS = "suites.parquet", "mismatches.parquet", "bins.parquet"
EXTRA = "campaign"  # which brings pyarrow
# Columns and their types, by pyarrow's names of them.
COLUMNS: dict[str, dict[str, str]] = {
    JOBS: {
        "run": "int32", "began": "string", "job": "string", "key": "string", "outcome": "string", "planned": "int64",
        "compared": "int64", "mismatches": "int64", "seconds": "float64", "taken_from": "int32",
    },
    SUITES: {
        "run": "int32", "job": "string", "unit": "string", "suite": "string", "driver": "string", "passed": "bool_",
        "planned": "int64", "compared": "int64", "mismatches": "int64", "cycles": "int64", "seconds": "float64",
        "failure": "string", "said": "string", "known": "string", "since": "int32",
    },
    MISMATCHES: {
        "run": "int32", "job": "string", "unit": "string", "suite": "string", "driver": "string", "case": "string",
        "what": "string", "format": "string", "expected": "string", "got": "string", "ulp": "string",
        "stage": "string", "place": "string", "again": "string",
    },
    BINS: {
        "run": "int32", "unit": "string", "group": "string", "name": "string", "state": "string", "hits": "int64",
        "jobs": "int32", "reason": "string",
    },
}  # fmt: skip


@dataclass
class RunTables:
    """The rows of a run, collected a job at a time. run: its number; began: when."""

    run: int
    began: str
    jobs: list[dict[str, Any]] = field(default_factory=list)
    suites: list[dict[str, Any]] = field(default_factory=list)
    mismatches: list[dict[str, Any]] = field(default_factory=list)
    coverage: MergedCoverage = field(default_factory=MergedCoverage)

    def add(self, outcome: JobOutcome, judged: Sequence[JudgedFailure]) -> None:
        """Take what came of a job, which must be added once."""
        report = outcome.report
        figures = None if report is None else report.figures
        said = "passed" if outcome.passed else "failed" if outcome.breakage is None else outcome.breakage.kind
        self.jobs.append(
            {
                "run": self.run, "began": self.began, "job": outcome.name, "key": outcome.key, "outcome": said,
                "planned": 0 if figures is None else figures.planned,
                "compared": 0 if figures is None else figures.compared,
                "mismatches": 0 if figures is None else figures.mismatches,
                "seconds": outcome.seconds, "taken_from": outcome.taken_from,
            }
        )  # fmt: skip
        failures = {(one.failure.suite, one.failure.driver): one for one in judged}
        if report is not None:
            self._add_report(outcome, failures)
            self.coverage.add(report.coverage)
        if (whole := failures.get((WHOLE, ""))) is not None:
            row = dict.fromkeys(("planned", "compared", "mismatches", "cycles"), 0) | {"seconds": 0.0}
            self.suites.append({**self._place(outcome, "", WHOLE, ""), **row, **_failed(whole)})

    def _place(self, outcome: JobOutcome, unit: str, suite: str, driver: str) -> dict[str, Any]:
        return {"run": self.run, "job": outcome.name, "unit": unit, "suite": suite, "driver": driver}

    def _add_report(self, outcome: JobOutcome, failures: Mapping[tuple[str, str], JudgedFailure]) -> None:
        report = outcome.report
        assert report is not None
        for row in report.rows:
            figures = {name: getattr(row, name) for name in ("planned", "compared", "mismatches", "cycles", "seconds")}
            place = self._place(outcome, row.unit, row.suite, row.driver)
            self.suites.append({**place, **figures, **_failed(failures.get((row.suite, row.driver)))})
        for suite in report.lacking:
            nothing = dict.fromkeys(("planned", "compared", "mismatches", "cycles"), 0) | {"seconds": 0.0}
            place = self._place(outcome, suite.unit, suite.suite, suite.driver)
            self.suites.append({**place, **nothing, **_failed(failures.get((suite.suite, suite.driver)))})
        for one in report.mismatches:
            self.mismatches.append(
                {
                    **self._place(outcome, one.unit, one.suite, one.driver), "case": one.case, "what": one.what,
                    "format": one.format, "expected": str(one.expected), "got": str(one.got),
                    "ulp": "" if one.ulp is None else str(one.ulp), "stage": one.stage, "place": one.where,
                    "again": one.again,
                }
            )  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write all tables, each sorted, the jobs last."""
        bins = [{"run": self.run, **row} for row in self.coverage.rows]
        by_suite = ("job", "unit", "driver", "suite")
        _write(folder / SUITES, _sorted(self.suites, by_suite))
        _write(folder / MISMATCHES, _sorted(self.mismatches, by_suite))
        _write(folder / BINS, bins)
        _write(folder / JOBS, _sorted(self.jobs, ("job",)))


def _failed(one: JudgedFailure | None) -> dict[str, Any]:
    """The columns that say how a suite failed."""
    if one is None:
        return {"passed": True, "failure": "", "said": "", "known": "", "since": None}
    said = first_line(one.failure.said)
    return {"passed": False, "failure": one.failure.kind, "said": said, "known": one.reason, "since": one.since}


def _sorted(rows: Iterable[dict[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: tuple(row[name] for name in by))  # those of one suite stay in their order


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    pa = arrow(EXTRA)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in COLUMNS[path.name].items()])
    write_table(pa.Table.from_pylist(list(rows), schema), path)


def reasons_of(folder: Path) -> list[tuple[FailurePlace, int, str]]:
    """The failures of a run that ended, each with the first run that had it, and why it is known.

    Raises InputError for a damaged table.
    """
    return [
        (FailurePlace(row["job"], row["suite"], row["driver"], row["failure"]), row["since"], row["known"])
        for row in _read(folder / SUITES)
        if not row["passed"]
    ]


def failures_of(folder: Path) -> dict[FailurePlace, int]:
    """The failures of a run that ended, each with the first run that had it. Raises InputError for a damaged table."""
    return {place: since for place, since, _ in reasons_of(folder)}


def _read(path: Path) -> list[dict[str, Any]]:
    arrow(EXTRA)
    table = read_table(path)
    if missing := [name for name in COLUMNS[path.name] if name not in table.column_names]:
        raise InputError(f"{path}: must have the column {missing[0]}; it is no table of a campaign's run")
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def seconds_of(folder: Path) -> dict[str, float]:
    """How long each job of a run that ended took, by name. Raises InputError for a damaged table."""
    return {row["job"]: row["seconds"] for row in _read(folder / JOBS)}
