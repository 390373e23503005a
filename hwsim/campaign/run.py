"""Runs a campaign, or resumes it: jobs by any runner, their outcomes kept as they come, and tables at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hwsim.campaign.file import Campaign
from hwsim.campaign.job import CampaignJob
from hwsim.campaign.outcome import Breakage, JobOutcome
from hwsim.campaign.plan import JobPlan
from hwsim.campaign.reports import write_campaign_reports, write_failed
from hwsim.campaign.store import FAILED, CampaignFolder, CampaignRun
from hwsim.campaign.summary import RunSummary, write_summary
from hwsim.campaign.tables import EXTRA, RunTables, failures_of, seconds_of
from hwsim.campaign.timeleft import TimeLeft, expected_costs
from hwsim.campaign.verdict import JudgedFailure, RunVerdict, VerdictMaker
from hwsim.outputs import remove_written
from hwsim.parquet import arrow
from hwsim.runners import Lost, Rows, Runner, WorkPart


class RunProgress(NamedTuple):
    """How far a run is: jobs, and seconds that are left."""

    done: int
    jobs: int
    left: float


class CampaignWatcher(Protocol):
    """Shows how far a run is."""

    def begun(self, run: int, progress: RunProgress, taken: int) -> None:
        """Run number `run` begins, or goes on. taken: jobs that an earlier run had passed."""

    def ended(self, outcome: JobOutcome, failures: Sequence[JudgedFailure], progress: RunProgress) -> None:
        """A job ended."""


@dataclass(frozen=True)
class CampaignResult:
    """A run that ended. stale: outcomes that were left by jobs which the campaign has no more."""

    run: CampaignRun
    summary: RunSummary
    verdict: RunVerdict
    coverage: dict[str, str]
    stale: int


@dataclass
class CampaignRunner:
    """Runs one campaign in a folder.

    make: a runner, of what it is to call for jobs that cannot be done. changed: whether jobs are taken from the last
    run where they passed, and are the same.
    """

    campaign: Campaign
    plan: JobPlan
    folder: CampaignFolder
    make: Callable[[Lost], Runner]
    watcher: CampaignWatcher
    changed: bool = False
    lost: dict[str, JobOutcome] = field(default_factory=dict)

    def run(self) -> CampaignResult:
        """All jobs that are left, and what came of all.

        Raises InputError for a folder that holds something else or that another process writes to; ToolMissing; what a
        runner raises. What was done by then is kept.
        """
        arrow(EXTRA)
        with self.folder.claimed():
            last, run = self.folder.last, self.folder.current()
            taken = self._taken(last, run) if self.changed and last is not None else 0
            before = {} if last is None else failures_of(last.folder)
            maker = VerdictMaker(run.number, self.campaign.known, before)
            self._run(run, {} if last is None else seconds_of(last.folder), maker, taken)
            result = self._finished(run, VerdictMaker(run.number, self.campaign.known, before))
            self.folder.forget()
        return result

    def _taken(self, last: CampaignRun, run: CampaignRun) -> int:
        """Take jobs that passed in the last run into this one. Returns how many."""
        there = run.kept
        found = [last.outcome(key) for key in self.plan.jobs if key not in there]
        passed = [one for one in found if one is not None and one.passed]
        for one in passed:
            run.keep(one.changed(taken_from=last.number if one.taken_from is None else one.taken_from))
        return len(passed)

    def _run(self, run: CampaignRun, measured: dict[str, float], maker: VerdictMaker, taken: int) -> None:
        """Run the jobs that have no outcome yet."""
        left = [job for key, job in self.plan.jobs.items() if run.outcome(key) is None]
        done, jobs = len(self.plan.jobs) - len(left), len(self.plan.jobs)
        time_left = TimeLeft(expected_costs(((job.name, job.cost) for job in left), measured))
        self.watcher.begun(run.number, RunProgress(done, jobs, time_left.left(0)), taken)
        started = time.monotonic()

        def tell(outcome: JobOutcome) -> None:
            nonlocal done
            done += 1
            time_left.end(outcome.name)
            progress = RunProgress(done, jobs, time_left.left(time.monotonic() - started))
            self.watcher.ended(outcome, maker.add(outcome), progress)

        def keep(job: CampaignJob, rows: Rows) -> None:
            (row,) = rows
            outcome = JobOutcome.model_validate(row)
            run.keep(outcome)
            tell(outcome)

        def lose(part: WorkPart, why: str) -> None:
            job = self.plan.jobs[part.key]
            # Not kept: a run that is taken up before its end tries once more.
            self.lost[part.key] = _broken(part.key, job.name, why)
            tell(self.lost[part.key])

        if left:
            self.make(lose)(left, keep)

    def _finished(self, run: CampaignRun, maker: VerdictMaker) -> CampaignResult:
        """What a run ends with: tables, pages, figures. Jobs are taken by name, whatever order they ended in."""
        tables = RunTables(run.number, run.began)
        remove_written(run.folder / FAILED)
        for key, job in sorted(self.plan.jobs.items(), key=lambda item: item[1].name):
            outcome = self.lost.get(key) or run.outcome(key) or _broken(key, job.name, "its outcome cannot be read")
            tables.add(outcome, maker.add(outcome))
            if not outcome.passed:
                write_failed(run.folder, outcome)
        verdict = maker.verdict
        summary = _summary(run, tables, verdict)
        write_summary(run.folder, summary)
        write_campaign_reports(self.campaign, self.folder.folder, run, summary, verdict, tables)
        tables.write(run.folder)
        units = {unit: str(counts) for unit, counts in tables.coverage.units.items()}
        return CampaignResult(run, summary, verdict, units, len(run.kept - set(self.plan.jobs)))


def _broken(key: str, name: str, why: str) -> JobOutcome:
    return JobOutcome(key=key, name=name, seconds=0.0, breakage=Breakage(kind="lost", said=why))


def _summary(run: CampaignRun, tables: RunTables, verdict: RunVerdict) -> RunSummary:
    failed, known = {one.job for one in verdict.unknown}, {one.job for one in verdict.known}
    bins = list(tables.coverage.units.values())
    return RunSummary(
        number=run.number,
        began=run.began,
        jobs=len(tables.jobs),
        failed=len(failed),
        known=len(known - failed),
        new=len(verdict.new),
        again=len(verdict.unknown) - len(verdict.new),
        known_failures=len(verdict.known),
        mended=len(verdict.mended),
        taken=sum(row["taken_from"] is not None for row in tables.jobs),
        cases=sum(row["compared"] for row in tables.jobs),
        mismatches=sum(row["mismatches"] for row in tables.jobs),
        bins_hit=sum(one.hit for one in bins),
        bins_reachable=sum(one.reachable for one in bins),
        seconds=round(sum(row["seconds"] for row in tables.jobs), 1),
    )
