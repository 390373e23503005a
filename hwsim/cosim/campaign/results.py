"""What came of a run: outcomes of jobs, failures that are new or known, tables in Parquet, and the run in figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from hwsim.base.arrays import arrow, read_table, write_table
from hwsim.base.errors import InputError
from hwsim.base.files import contents, written
from hwsim.cosim.campaign.file import FailureKind, KnownFailure, known_reason
from hwsim.cosim.report import ENDED
from hwsim.explain import RunReport
from hwsim.explain.frozen import Count, Record, Text
from hwsim.explain.record import STATES, BinCounts
from hwsim.formats.yamlfile import broken_rule

WHOLE = "whole job"  # what the suite of a failure is called where no suite ran
EXTRA = "campaign"  # which brings pyarrow
SUMMARY = "summary.json"
JOBS = "jobs.parquet"  # written last: a run that has it has ended
SUITES, MISMATCHES, BINS = "suites.parquet", "mismatches.parquet", "bins.parquet"
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
FIGURES = ("planned", "compared", "mismatches", "cycles", "seconds")
Rows = list[dict[str, Any]]


class Breakage(Record):
    kind: FailureKind
    said: Text


class JobOutcome(Record):
    """The outcome of a job.

    key: the job's digest. name: the job's. seconds: that it took. report: what was compared; None where it broke.
    files: texts that are of use where something failed, by name: findings of random units, minimal cases. taken_from:
    the run that ran it, where an earlier one did.
    """

    key: Text
    name: Text
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    report: RunReport | None = None
    breakage: Breakage | None = None
    files: dict[str, Text] = Field(default_factory=dict)
    taken_from: int | None = None

    @property
    def passed(self) -> bool:
        """True if all planned results were compared, and were equal."""
        return self.report is not None and self.report.passed

    @property
    def failures(self) -> Iterator[tuple[str, str, FailureKind, str]]:
        """Yield suite, driver, kind and words of each failure; nothing for a job that passed."""
        if self.breakage is not None:
            yield WHOLE, "", self.breakage.kind, self.breakage.said
        elif self.report is not None and not self.report.rows:
            yield WHOLE, "", "incomplete", self.report.verdict
        elif self.report is not None:
            for row in self.report.failed:
                kind: FailureKind = "mismatch" if row.mismatches else "stuck" if ENDED in row.notes else "incomplete"
                yield row.suite, row.driver, kind, row.verdict
            for suite in self.report.lacking:
                yield suite.suite, suite.driver, "incomplete", suite.what


class FailurePlace(NamedTuple):
    """The key by which failures of two runs count as the same."""

    job: str
    suite: str
    driver: str
    kind: str


class Failure(NamedTuple):
    """A suite of a job that failed, or the whole job.

    said: in words. reason: why it is known, or empty. since: the first run that had it, with all up to now.
    """

    job: str
    suite: str
    driver: str
    kind: FailureKind
    said: str
    reason: str
    since: int

    @property
    def place(self) -> FailurePlace:
        return FailurePlace(*self[:4])

    @property
    def line(self) -> str:
        """The first line of the words, shortened; for a failed build with the line below it, which says more."""
        lines = [line.strip() for line in self.said.strip().splitlines() if line.strip()][:2]
        return " ".join(lines)[:240] if lines and lines[0].endswith("failed:") else "".join(lines[:1])[:240]

    def __str__(self) -> str:
        where = "" if self.suite == WHOLE else f" · {self.driver} · {self.suite}"
        return f"{self.job}{where}: {self.kind}: {self.line}"


@dataclass(frozen=True)
class RunVerdict:
    """The failures of a run. number: of the run.

    failures: in the order of jobs' names. mended: failures of the run before that this one has not, though their jobs
    ran. unused: entries of the known failures that cover a job that ran, and nothing that failed.
    """

    number: int
    failures: tuple[Failure, ...] = ()
    mended: tuple[FailurePlace, ...] = ()
    unused: tuple[KnownFailure, ...] = ()

    @property
    def unknown(self) -> list[Failure]:
        """Failures without a known reason: new ones, and those that the run before had too."""
        return [failure for failure in self.failures if not failure.reason]

    @property
    def new(self) -> list[Failure]:
        """Unknown failures that the run before did not have."""
        return [failure for failure in self.unknown if failure.since == self.number]

    @property
    def known(self) -> list[Failure]:
        return [failure for failure in self.failures if failure.reason]


class RunSummary(Record):
    """The figures of a run, kept in its folder for the pages of later runs.

    number, began: which run, and when. jobs: how many. failed: jobs with a failure that is not known; known: jobs whose
    failures are all known. new, again, known_failures, mended: failures; `again` are not known, and the run before had
    them too. taken: jobs that an earlier run had done. cases: results compared. seconds: of all jobs together.
    """

    number: Annotated[int, Field(ge=1)]
    began: Text
    jobs: Count
    failed: Count
    known: Count
    new: Count
    again: Count
    known_failures: Count
    mended: Count
    taken: Count
    cases: Count
    mismatches: Count
    bins_hit: Count
    bins_reachable: Count
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @property
    def passed(self) -> int:
        """Jobs without any failure."""
        return self.jobs - self.failed - self.known

    def write(self, folder: Path) -> None:
        """Write the figures into the folder of the run."""
        with written(folder / SUMMARY) as file:
            file.write(self.model_dump_json(indent=1).encode() + b"\n")


@dataclass
class RunResults:
    """Collects the outcomes of a run's jobs, one job at a time.

    number, began: of the run. known: failures that are known. before: of the last run that ended, from each failure to
    the run that had it first. bins: each bin of a unit once, however many jobs met it, by unit, group and name.
    """

    number: int
    began: str = ""
    known: Sequence[KnownFailure] = ()
    before: Mapping[FailurePlace, int] = field(default_factory=dict)
    jobs: Rows = field(default_factory=list)
    suites: Rows = field(default_factory=list)
    mismatches: Rows = field(default_factory=list)
    bins: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def judged(self, outcome: JobOutcome) -> list[Failure]:
        """The failures of a job."""
        return [
            Failure(
                outcome.name, suite, driver, kind, words, known_reason(self.known, outcome.name, suite, kind),
                self.before.get(FailurePlace(outcome.name, suite, driver, kind), self.number),
            )
            for suite, driver, kind, words in outcome.failures
        ]  # fmt: skip

    def add(self, outcome: JobOutcome) -> None:
        """Add the outcome of a job, once for each job."""
        report = outcome.report
        figures = None if report is None else report.figures
        word = "passed" if outcome.passed else "failed" if outcome.breakage is None else outcome.breakage.kind
        self.jobs.append(
            {"run": self.number, "began": self.began, "job": outcome.name, "key": outcome.key, "outcome": word}
            | {name: 0 if figures is None else getattr(figures, name) for name in FIGURES[:3]}
            | {"seconds": outcome.seconds, "taken_from": outcome.taken_from}
        )
        judged = self.judged(outcome)
        self.failures += judged
        failures = {(failure.suite, failure.driver): failure for failure in judged}

        def add_suite(unit: str, suite: str, driver: str, row: object = None) -> None:
            failure = failures.get((suite, driver))
            self.suites.append(
                {"run": self.number, "job": outcome.name, "unit": unit, "suite": suite, "driver": driver}
                | {name: getattr(row, name, 0) for name in FIGURES}
                | {"passed": failure is None, "failure": "", "said": "", "known": "", "since": None}
            )
            if failure is not None:
                self.suites[-1] |= {"failure": failure.kind, "said": failure.line, "known": failure.reason,
                                    "since": failure.since}  # fmt: skip

        if report is not None:
            for row in report.rows:
                add_suite(row.unit, row.suite, row.driver, row)
            for suite in report.lacking:
                add_suite(suite.unit, suite.suite, suite.driver)
            self._add_mismatches(outcome.name, report)
            self._add_bins(report)
        if (WHOLE, "") in failures:
            add_suite("", WHOLE, "")

    def _add_mismatches(self, job: str, report: RunReport) -> None:
        for mismatch in report.mismatches:
            same = ("unit", "suite", "driver", "case", "what", "format", "stage", "again")
            self.mismatches.append(
                {"run": self.number, "job": job, **{column: getattr(mismatch, column) for column in same}}
                | {"expected": str(mismatch.expected), "got": str(mismatch.got), "place": mismatch.where}
                | {"ulp": "" if mismatch.ulp is None else str(mismatch.ulp)}
            )

    def _add_bins(self, report: RunReport) -> None:
        """Merge the states of a bin from several jobs: hit in one is hit, and reachable in one is reachable."""
        for group in report.coverage:
            for counted in group.bins:
                key = (group.unit, group.name, counted.name)
                row = self.bins.setdefault(
                    key, {"state": counted.state, "hits": 0, "jobs": 0, "reason": counted.reason}
                )
                if STATES.index(counted.state) < STATES.index(row["state"]):
                    row |= {"state": counted.state, "reason": counted.reason}
                row["hits"] += counted.hits
                row["jobs"] += counted.hits > 0

    @property
    def units(self) -> dict[str, BinCounts]:
        """The bins of each unit, counted by their states."""
        counts: dict[str, dict[str, int]] = {}
        for (unit, _, _), row in sorted(self.bins.items()):
            counts.setdefault(unit, dict.fromkeys(STATES, 0))[row["state"]] += 1
        return {unit: BinCounts(**states) for unit, states in counts.items()}

    @property
    def verdict(self) -> RunVerdict:
        """The verdict on the jobs that were added."""
        ran, places = {row["job"] for row in self.jobs}, {failure.place for failure in self.failures}
        mended = sorted(place for place in self.before if place.job in ran and place not in places)
        unused = tuple(
            entry
            for entry in self.known
            if any(map(entry.is_of, ran))
            and not any(entry.covers(failure.job, failure.suite, failure.kind) for failure in self.failures)
        )
        return RunVerdict(
            self.number, tuple(sorted(self.failures, key=lambda failure: failure.place)), tuple(mended), unused
        )  # fmt: skip

    @property
    def summary(self) -> RunSummary:
        """The run in figures."""
        verdict, bins = self.verdict, self.units.values()
        failed, known = {failure.job for failure in verdict.unknown}, {failure.job for failure in verdict.known}
        return RunSummary(
            number=self.number,
            began=self.began,
            jobs=len(self.jobs),
            failed=len(failed),
            known=len(known - failed),
            new=len(verdict.new),
            again=len(verdict.unknown) - len(verdict.new),
            known_failures=len(verdict.known),
            mended=len(verdict.mended),
            taken=sum(row["taken_from"] is not None for row in self.jobs),
            cases=sum(row["compared"] for row in self.jobs),
            mismatches=sum(row["mismatches"] for row in self.jobs),
            bins_hit=sum(counts.hit for counts in bins),
            bins_reachable=sum(counts.reachable for counts in bins),
            seconds=round(sum(row["seconds"] for row in self.jobs), 1),
        )

    def write(self, folder: Path) -> None:
        """Write all tables, each sorted, the jobs last."""
        pa = arrow(EXTRA)
        bins = [
            {"run": self.number, "unit": unit, "group": group, "name": name, **row}
            for (unit, group, name), row in sorted(self.bins.items())
        ]
        by_unit = itemgetter("job", "unit", "driver", "suite")
        tables = {
            SUITES: sorted(self.suites, key=by_unit), MISMATCHES: sorted(self.mismatches, key=by_unit), BINS: bins,
            JOBS: sorted(self.jobs, key=itemgetter("job")),
        }  # fmt: skip
        for name, rows in tables.items():  # those of one suite stay in their order
            schema = pa.schema([(column, getattr(pa, kind)()) for column, kind in COLUMNS[name].items()])
            write_table(pa.Table.from_pylist(rows, schema), folder / name)


def failures_of(folder: Path) -> list[tuple[FailurePlace, int, str]]:
    """The failures of a run that ended, each with the first run that had it, and why it is known.

    Raises InputError for a damaged table.
    """
    return [
        (FailurePlace(row["job"], row["suite"], row["driver"], row["failure"]), row["since"], row["known"])
        for row in _read(folder / SUITES)
        if not row["passed"]
    ]


def seconds_of(folder: Path) -> dict[str, float]:
    """The seconds that each job of a run that ended took, by name. Raises InputError for a damaged table."""
    return {row["job"]: row["seconds"] for row in _read(folder / JOBS)}


def _read(path: Path) -> Rows:
    arrow(EXTRA)
    table = read_table(path)
    if missing := [name for name in COLUMNS[path.name] if name not in table.column_names]:
        raise InputError(f"{path}: must have the column {missing[0]}; it is no table of a campaign's run")
    rows: Rows = table.to_pylist()
    return rows


def read_summary(folder: Path) -> RunSummary:
    """The figures of a run that ended. Raises InputError where they are damaged, naming the file and the key."""
    path = folder / SUMMARY
    try:
        return RunSummary.model_validate_json(contents(path))
    except ValidationError as error:
        first = error.errors()[0]
        inside, rule = broken_rule(first)
        raise InputError(f"{path}: {'.'.join(map(str, (*first['loc'], *inside))) or 'the file'} {rule}") from None
