"""Runs a campaign, or resumes it: jobs by any runner, their outcomes kept in a folder as they come, and reports.

- `campaign`: what the folder is, and of which campaign; `lock`: held by the process that writes here.
- `runs/0001/outcomes`: what came of each job, a file by its key, until a later run has ended.
- `runs/0001/*.parquet`: what came of all, written at the run's end, `jobs.parquet` last.
Files are written whole or not at all.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Protocol

from hwsim.base.arrays import arrow
from hwsim.base.errors import InputError
from hwsim.base.files import LIST, contents, held_alone, remove_written, written
from hwsim.cosim.campaign.file import Campaign
from hwsim.cosim.campaign.job import CampaignJob
from hwsim.cosim.campaign.page import FAILED, campaign_command, write_campaign_reports, write_failed
from hwsim.cosim.campaign.plan import JobPlan
from hwsim.cosim.campaign.results import (  # fmt: skip
    EXTRA,
    JOBS,
    Breakage,
    Failure,
    FailurePlace,
    JobOutcome,
    RunResults,
    RunSummary,
    failures_of,
    read_summary,
    seconds_of,
)
from hwsim.runners import Lost, Rows, Runner, WorkPart

MARK, LOCK, RUNS = "campaign", "lock", "runs"
OUTCOMES, BEGAN, SUFFIX = "outcomes", "began", ".json.gz"
LEVEL = 3  # of compression: bins are a thousand lines that are much the same
MOST_OUTCOME = 1 << 28  # bytes of an outcome, before it was compressed
WORDS = "The runs of a campaign of hwsim, which are kept here: "


class CampaignRun:
    """One run of a campaign. folder: the run's."""

    def __init__(self, folder: Path):
        self.folder, self.number = folder, int(folder.name)

    @property
    def ended(self) -> bool:
        """True if the last file of the run is there."""
        return (self.folder / JOBS).exists()

    @property
    def began(self) -> str:
        """The time at which the run began, in UTC; empty where it was not written down."""
        try:
            return contents(self.folder / BEGAN).decode("utf-8", "replace").strip()[:40]
        except OSError:
            return ""

    def begin(self) -> None:
        """Make the run's folder."""
        (self.folder / OUTCOMES).mkdir(parents=True, exist_ok=True)
        with written(self.folder / BEGAN) as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}\n".encode())

    def keep(self, outcome: JobOutcome) -> None:
        """Write the outcome of a job. A file cut short is detected by its checksum."""
        with written(self._path(outcome.key), aside=True) as file:
            file.write(gzip.compress(outcome.model_dump_json().encode(), LEVEL, mtime=0))

    def outcome(self, key: str) -> JobOutcome | None:
        """The outcome of a job; None where there is none that can be read."""
        try:
            with gzip.open(BytesIO(contents(self._path(key)))) as file:
                outcome = JobOutcome.model_validate_json(file.read(MOST_OUTCOME))
        except (OSError, EOFError, ValueError, zlib.error):  # ValueError: ValidationError too
            return None
        return outcome if outcome.key == key else None

    def _path(self, key: str) -> Path:
        return self.folder / OUTCOMES / f"{key}{SUFFIX}"

    @property
    def kept(self) -> set[str]:
        """The keys of all outcomes that were written, readable or not."""
        return {path.name.removesuffix(SUFFIX) for path in (self.folder / OUTCOMES).glob(f"*{SUFFIX}")}


def runs_in(folder: Path) -> list[CampaignRun]:
    """The runs of a campaign's folder, the first one first."""
    paths = (folder / RUNS).glob("*") if (folder / RUNS).is_dir() else ()
    return sorted(
        (CampaignRun(path) for path in paths if path.is_dir() and path.name.isdecimal()), key=lambda run: run.number
    )


def held_campaign(folder: Path) -> str | None:
    """The name of the campaign whose runs a folder holds; None where it holds none."""
    try:
        text = contents(folder / MARK).decode("utf-8", "replace")
    except (OSError, InputError):
        return None
    return text.removeprefix(WORDS).strip() if text.startswith(WORDS) else None


@contextmanager
def claimed(folder: Path, name: str) -> Iterator[None]:
    """Hold a campaign's folder for this process alone; the lock goes when the process ends or is killed.

    Raises InputError for a folder that holds something else, or that another process writes to.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: must be a folder, which results are written to; it is a file")
    strangers = {path.name for path in folder.iterdir()} - {LOCK, LIST} if folder.exists() else set()
    held = held_campaign(folder)
    if strangers and held is None:
        raise InputError(f"{folder}: holds {min(strangers)}, which is of no campaign; name a new folder")
    if held not in (None, name):
        raise InputError(f"{folder}: holds runs of campaign {held}, not of {name}; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with held_alone(folder / LOCK, f"{folder}: another campaign runs in this folder; wait for its end"):
        with written(folder / MARK) as file:
            file.write(f"{WORDS}{name}\n".encode())
        yield


def expected_costs(guessed: Iterable[tuple[str, float]], measured: Mapping[str, float]) -> dict[str, float]:
    """The cost of each job: as measured, else its guess, scaled by how far guesses of measured jobs were off."""
    guesses = dict(guessed)
    both = [name for name in guesses if name in measured]
    over = sum(guesses[name] for name in both)
    scale = sum(measured[name] for name in both) / over if over else 1.0
    return {name: max(measured.get(name, guess * scale), 1e-3) for name, guess in guesses.items()}


def seconds_left(costs: Mapping[str, float], ended: set[str], elapsed: float) -> float:
    """The seconds until all jobs have ended, at the rate so far. elapsed: since the first began."""
    rest, done = (sum(cost for name, cost in costs.items() if (name in ended) is over) for over in (False, True))
    return elapsed * rest / done if done else rest


class CampaignWatcher(Protocol):
    """Shows the progress of a run. done, jobs: how many jobs."""

    def begun(self, run: int, done: int, jobs: int, taken: int) -> None:
        """Note that run number `run` begins, or goes on. taken: jobs that an earlier run had passed."""

    def ended(self, outcome: JobOutcome, failures: Sequence[Failure], done: int, left: float) -> None:
        """Note that a job ended. left: seconds until all have."""


@dataclass(frozen=True)
class CampaignResult:
    """The result of a run that ended. stale: outcomes left by jobs that the campaign no longer has."""

    folder: Path
    results: RunResults
    stale: int


def run_campaign(
    campaign: Campaign, plan: JobPlan, folder: Path, make: Callable[[Lost], Runner], watcher: CampaignWatcher,
    changed: bool = False,
) -> CampaignResult:  # fmt: skip
    """Run all jobs that are left, and report the outcomes of all.

    make: a runner, of what it is to call for jobs that cannot be done. changed: whether jobs are taken from the last
    run where they passed, and are the same.
    Raises InputError for a folder that holds something else or that another process writes to; ToolMissing; what a
    runner raises. What was done by then is kept.
    """
    arrow(EXTRA)
    with claimed(folder, campaign.name):
        ended = [run for run in runs_in(folder) if run.ended]
        last, run = ended[-1] if ended else None, _current(folder)
        taken = _take_passed(plan, last, run) if changed and last is not None else 0
        before: dict[FailurePlace, int] = {}
        measured: dict[str, float] = {}
        if last is not None:
            before = {place: since for place, since, _ in failures_of(last.folder)}
            measured = seconds_of(last.folder)
        results = RunResults(run.number, run.began, campaign.known, before)
        lost = _run_jobs(plan, run, measured, results, make, watcher, taken)
        _report(campaign, plan, folder, run, results, lost)
        for old in ended:
            remove_written(old.folder / OUTCOMES)
    return CampaignResult(run.folder, results, len(run.kept - set(plan.jobs)))


def _current(folder: Path) -> CampaignRun:
    """The last run if it has not ended, else a new one."""
    runs = runs_in(folder)
    if runs and not runs[-1].ended:
        return runs[-1]
    run = CampaignRun(folder / RUNS / f"{runs[-1].number + 1 if runs else 1:04}")
    run.begin()
    return run


def _take_passed(plan: JobPlan, last: CampaignRun, run: CampaignRun) -> int:
    """Take jobs that passed in the last run into this one. Returns how many."""
    there = run.kept
    outcomes = [last.outcome(key) for key in plan.jobs if key not in there]
    passed = [outcome for outcome in outcomes if outcome is not None and outcome.passed]
    for outcome in passed:
        run.keep(outcome.changed(taken_from=last.number if outcome.taken_from is None else outcome.taken_from))
    return len(passed)


def _run_jobs(
    plan: JobPlan, run: CampaignRun, measured: dict[str, float], results: RunResults, make: Callable[[Lost], Runner],
    watcher: CampaignWatcher, taken: int,
) -> dict[str, JobOutcome]:  # fmt: skip
    """Run the jobs that have no outcome yet. Return the outcomes of those whose process ended again and again.

    These are not kept: a run that is taken up before its end tries them once more.
    """
    left = [job for key, job in plan.jobs.items() if run.outcome(key) is None]
    costs = expected_costs(((job.name, job.cost) for job in left), measured)
    ended, lost, started = set[str](), dict[str, JobOutcome](), time.monotonic()
    before = len(plan.jobs) - len(left)
    watcher.begun(run.number, before, len(plan.jobs), taken)

    def tell(outcome: JobOutcome) -> None:
        ended.add(outcome.name)
        seconds = seconds_left(costs, ended, time.monotonic() - started)
        watcher.ended(outcome, results.judged(outcome), before + len(ended), seconds)

    def keep(job: CampaignJob, rows: Rows) -> None:
        (row,) = rows
        outcome = JobOutcome.model_validate(row)
        run.keep(outcome)
        tell(outcome)

    def lose(part: WorkPart, why: str) -> None:
        lost[part.key] = _broken(part.key, plan.jobs[part.key].name, why)
        tell(lost[part.key])

    if left:
        make(lose)(left, keep)
    return lost


def _report(
    campaign: Campaign, plan: JobPlan, folder: Path, run: CampaignRun, results: RunResults,
    lost: Mapping[str, JobOutcome],
) -> None:  # fmt: skip
    """Write the reports of a run. Jobs are sorted by name, whatever order they ended in."""
    remove_written(run.folder / FAILED)
    for key, job in sorted(plan.jobs.items(), key=lambda item: item[1].name):
        outcome = lost.get(key) or run.outcome(key) or _broken(key, job.name, "its outcome cannot be read")
        results.add(outcome)
        if not outcome.passed:
            write_failed(run.folder, outcome)
    results.summary.write(run.folder)
    earlier = [summary for summary in summaries(folder) if summary.number < run.number]
    write_campaign_reports(campaign, run.folder, earlier, results, campaign_command(campaign, folder))
    results.write(run.folder)


def _broken(key: str, name: str, why: str) -> JobOutcome:
    return JobOutcome(key=key, name=name, seconds=0.0, breakage=Breakage(kind="lost", said=why))


def summaries(folder: Path) -> list[RunSummary]:
    """The figures of all runs of a folder that ended, the first one first."""
    return [read_summary(run.folder) for run in runs_in(folder) if run.ended]


@dataclass(frozen=True)
class ShownRuns:
    """The runs of a folder.

    name: the campaign. runs: those that ended, in figures, the first one first. failures: of the last, with the run
    that had each first, and why it is known. unfinished, done: the run that has not ended, or None, and its jobs.
    """

    name: str
    runs: tuple[RunSummary, ...]
    failures: tuple[tuple[FailurePlace, int, str], ...]
    unfinished: int | None
    done: int


def shown_runs(folder: Path) -> ShownRuns:
    """The runs of a folder. Raises InputError for one without a campaign, and for damaged files; ToolMissing."""
    name = held_campaign(folder)
    if name is None:
        raise InputError(f"{folder}: must be the folder of a campaign's runs; it holds none")
    runs = runs_in(folder)
    ended = [run for run in runs if run.ended]
    unfinished = runs[-1] if runs and not runs[-1].ended else None
    return ShownRuns(
        name,
        tuple(read_summary(run.folder) for run in ended),
        tuple(failures_of(ended[-1].folder)) if ended else (),
        None if unfinished is None else unfinished.number,
        0 if unfinished is None else len(unfinished.kept),
    )
