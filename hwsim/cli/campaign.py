"""`hwsim campaign`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.cli.app import app
from hwsim.cli.fuzz import handed
from hwsim.cli.output import TellAsJson, note, print_error, print_table, say
from hwsim.cli.progress import Progress, end_whole

if TYPE_CHECKING:
    from hwsim.cosim.campaign.file import Campaign
    from hwsim.cosim.campaign.plan import JobPlan
    from hwsim.cosim.campaign.results import Failure, JobOutcome
    from hwsim.cosim.campaign.run import CampaignResult
    from hwsim.runners import Lost, Runner

FAILED = 1
MOST_LINES = 200  # of a table
FOLDER = Path("build/campaigns")  # where runs go unless said, in a folder of the campaign's name


@app.command()
def campaign(
    file: Annotated[
        Path | None, typer.Argument(metavar="[CAMPAIGN.yaml]", help="What to run (hwsim docs campaign).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where runs are kept; build/campaigns/NAME unless given."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the jobs, and run nothing.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Take jobs that passed in the last run, and are the same, from there.")
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Jobs at a time; one a core unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="WHERE", help="Dask: local, the address of a cluster, slurm or lsf.")
    ] = None,
    show: Annotated[
        Path | None, typer.Option("--show", metavar="DIR", help="Print the runs that a folder keeps, and run nothing.")
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Run many co-simulations and random units from one file, again and again, and tell what is new.

    \b
    hwsim campaign nightly.yaml --plan                 how many jobs there are, and what they are
    hwsim campaign nightly.yaml -o runs/               on all cores; the same command goes on after an interruption
    hwsim campaign nightly.yaml -o runs/ --changed     only what the last run has not passed as it is now
    hwsim campaign nightly.yaml -o runs/ --scheduler slurm
    hwsim campaign --show runs/                        the runs until now, and what fails

    \b
    The file has a matrix of units, modes, pipelines, designs, seeds and simulators, and ranges of random units.
    A job is known by all that it says, its sources and the code of hwsim: what is done is not done again in a run.
    DIR/runs/N has report.html, results.xml (JUnit), and jobs, suites, mismatches and bins as Parquet tables.
    Exit status: 0 all passed, or failed in known ways; 1 other failures; 2 bad input; 3 a tool or an extra is missing.
    """
    if (file is None) == (show is None):
        raise InputError("give one of CAMPAIGN.yaml and --show DIR")
    if show is not None:
        if output is not None or plan or changed or scheduler is not None or workers is not None:
            raise InputError("--show goes alone: it runs nothing")
        _show(show)
        return
    from hwsim.cosim.campaign.file import load_campaign
    from hwsim.cosim.campaign.job import HandedSides
    from hwsim.cosim.campaign.plan import planned

    assert file is not None
    loaded = load_campaign(file)
    jobs = planned(loaded, HandedSides(handed(), __name__))
    if plan:
        _tell_plan(loaded, jobs)
        return
    folder = output or FOLDER / loaded.name
    _finish(loaded, folder, _carried_out(loaded, jobs, folder, changed, workers, scheduler))


def _make(workers: int | None, scheduler: str | None, lost: Lost) -> Runner:
    if scheduler is None:
        from hwsim.runners import apart

        return apart(workers, lost)
    from hwsim.runners import on_dask

    return on_dask(scheduler, workers, lost)


class _Watcher:
    """Shows jobs as they end, and the time that is left."""

    def __init__(self, bar: Progress):
        self.bar, self.done, self.jobs = bar, 0, 0

    def begun(self, run: int, done: int, jobs: int, taken: int) -> None:
        self.done, self.jobs = done, jobs
        self.bar.plan(jobs, f"run {run}")
        self.bar.advance(done)
        self.bar.steps = done
        if taken:
            note(f"run {run}: {counted(taken, 'job')} did not change since a run that passed: outcomes taken")
        if done > taken:
            note(f"run {run}: goes on after {done:,} of {counted(jobs, 'job')}")

    def ended(self, outcome: JobOutcome, failures: Sequence[Failure], done: int, left: float) -> None:
        from hwsim.cosim.campaign.page import worded_seconds

        self.done = done
        for failure in failures:
            say(f"{'known' if failure.reason else 'FAILED'}: {failure}", "" if failure.reason else "red")
        verdict = "passed" if outcome.passed else "failed"
        self.bar.step(f"{outcome.name}: {verdict} in {outcome.seconds:.1f} s; {worded_seconds(left)} left")


def _carried_out(
    loaded: Campaign, jobs: JobPlan, folder: Path, changed: bool, workers: int | None, scheduler: str | None
) -> CampaignResult:
    """Run a campaign, with a bar. After Ctrl-C, prints the command that goes on."""
    from hwsim.cosim.campaign.page import campaign_command
    from hwsim.cosim.campaign.run import run_campaign
    from hwsim.runners import OtherCode

    end_whole()
    with Progress(loaded.name, lines=True) as bar:
        watcher = _Watcher(bar)
        try:
            return run_campaign(
                loaded, jobs, folder, lambda lost: _make(workers, scheduler, lost), watcher, changed
            )  # fmt: skip
        except OtherCode as error:
            print_error(str(error))
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            done = f"{watcher.done:,} of {counted(watcher.jobs, 'job')} are done and kept in {folder}"
            note(f"{done}; to go on: {campaign_command(loaded, folder)}{' --changed' if changed else ''}")
            raise


def _tell_plan(loaded: Campaign, plan: JobPlan) -> None:
    """Print the jobs of a campaign."""
    from hwsim.cosim.campaign.page import worded_seconds

    jobs = list(plan.jobs.values())
    cells = [[job.name, job.words, worded_seconds(job.cost)] for job in jobs[:MOST_LINES]]
    print_table(["job", "what", "about"], cells, right=[2])
    if len(jobs) > MOST_LINES:
        say(f"... and {len(jobs) - MOST_LINES:,} more")
    for name, count in Counter(job.name.partition("/")[0] for job in jobs).items():
        say(f"{name}: {counted(count, 'job')}")
    if plan.repeated:
        say(f"{counted(len(plan.repeated), 'job')} more that others are too, which run once: {plan.repeated[0]}, ...")
    seconds = worded_seconds(sum(job.cost for job in jobs))
    say(f"{loaded.name}: {counted(len(jobs), 'job')}, about {seconds} of one core, by guess")


def _finish(loaded: Campaign, folder: Path, result: CampaignResult) -> None:
    """Print what came of a run."""
    from hwsim.cosim.campaign.page import campaign_command, worded_seconds

    run, verdict = result.results.summary, result.results.verdict
    if verdict.failures:
        heads = ["verdict", "job", "suite", "driver", "kind", "since"]
        print_table(
            heads,
            [
                ["known" if row.reason else "new", row.job, row.suite, row.driver, row.kind, f"{row.since}"]
                for row in [*verdict.unknown, *verdict.known][:MOST_LINES]
            ],
            right=[5],
        )
    for place in verdict.mended:
        say(f"mended since the run before: {place.job} {place.driver} {place.suite}: {place.kind}")
    for entry in verdict.unused:
        say(f"known, and did not happen: {entry.kind} of {entry.job}, {entry.reason} ({entry.date}); its entry can go")
    for unit, bins in result.results.units.items():
        say(f"{unit}: {bins}")
    if result.stale:
        say(f"{counted(result.stale, 'outcome')} of jobs that the campaign has no more are left out")
    taken = f", {run.taken:,} of them taken from earlier runs" if run.taken else ""
    failed = f"{counted(run.failed, 'job')} failed" if run.failed else "none failed"
    known = f", {run.known:,} in known ways alone" if run.known else ""
    figures = f"{counted(run.cases, 'result')} compared in {worded_seconds(run.seconds)} of jobs"
    say(f"{loaded.name}, run {run.number}: {counted(run.jobs, 'job')}{taken}: {failed}{known}; {figures}")
    say(f"report: {result.folder / 'report.html'}; JUnit XML and Parquet tables beside it")
    say(f"again: {campaign_command(loaded, folder)}")
    if verdict.unknown:
        raise typer.Exit(FAILED)


def _show(folder: Path) -> None:
    """Print the runs of a folder, and what fails in the last that ended."""
    from hwsim.cosim.campaign.page import worded_seconds
    from hwsim.cosim.campaign.run import shown_runs

    kept = shown_runs(folder)
    heads = ["run", "began (UTC)", "jobs", "failed", "new", "again", "known", "mended", "compared", "bins hit", "took"]
    cells = [
        [f"{run.number}", run.began, *(f"{count:,}" for count in (
            run.jobs, run.failed, run.new, run.again, run.known_failures, run.mended, run.cases, run.bins_hit)),
         worded_seconds(run.seconds)]
        for run in kept.runs[-MOST_LINES:]
    ]  # fmt: skip
    print_table(heads, cells, right=[0, *range(2, len(heads))])
    for place, since, reason in kept.failures:
        where = " ".join(part for part in (place.job, place.driver, place.suite) if part)
        why = f" ({reason})" if reason else ""
        say(f"{'known' if reason else 'fails'} since run {since}: {where}: {place.kind}{why}")
    if kept.unfinished is not None:
        say(f"run {kept.unfinished} has not ended: {counted(kept.done, 'job')} done")
    say(f"{folder}: {counted(len(kept.runs), 'run')} of campaign {kept.name}")
