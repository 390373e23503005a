"""What a run leaves for people and for CI: a page, JUnit XML, and of each job that failed its own page and files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from markupsafe import Markup

import hwsim
from hwsim.base.files import written, written_texts
from hwsim.base.text import counted
from hwsim.cosim.campaign.file import Campaign
from hwsim.cosim.campaign.results import JobOutcome, Rows, RunResults, RunSummary
from hwsim.explain.drawing import environment, page_style, policy, read
from hwsim.explain.reports import JUnitCase, JUnitSuite, junit_xml, write_html

HERE = Path(__file__).parent
PAGE, JUNIT, COPY, FAILED = "report.html", "results.xml", "campaign.yaml", "failed"
MOST_RUNS = 60  # that are drawn
BAR, STEP, HIGH = 8, 11, 90  # pixels


def worded_seconds(seconds: float) -> str:
    """A duration in words: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def failed_folder(job: str) -> str:
    """The path, in a run's folder, of a failed job's report: a different one for each job."""
    return f"{FAILED}/{job.replace('~', '~~').replace('/', '~')}"


def campaign_command(campaign: Campaign, folder: Path) -> str:
    """The command that runs the campaign again, or goes on."""
    return shlex.join(["hwsim", "campaign", str(campaign.path), "-o", str(folder)])


def write_failed(run: Path, outcome: JobOutcome) -> None:
    """Write the page of a job that failed, its files, and the error that broke it. run: the run's folder."""
    folder = run / failed_folder(outcome.name)
    texts = {Path(name).name: text for name, text in outcome.files.items()}
    if outcome.breakage is not None:
        texts["why.txt"] = f"{outcome.name}: {outcome.breakage.kind}\n{outcome.breakage.said}\n"
    written_texts(folder, texts)
    if outcome.report is not None:
        write_html(folder / PAGE, outcome.report)


def write_campaign_reports(
    campaign: Campaign, run: Path, earlier: Sequence[RunSummary], results: RunResults, command: str
) -> None:
    """Write the page and JUnit XML of a run, and the file that it was run from.

    run: the run's folder. earlier: runs before this one, the first one first. command: what runs it again.
    """
    page, junit = campaign_html(campaign, earlier, results, command).encode(), campaign_junit(campaign.name, results)
    for name, data in ((PAGE, page), (JUNIT, junit), (COPY, campaign.path.read_bytes())):
        with written(run / name) as file:
            file.write(data)


def campaign_html(campaign: Campaign, earlier: Sequence[RunSummary], results: RunResults, command: str) -> str:
    """The page, a single file that loads nothing from a network. Names are escaped, and never become markup."""
    style, script = page_style() + (HERE / "page.css").read_text("utf-8"), read("copy.js") + read("report.js")
    templates = environment(HERE)
    templates.filters |= {"commas": lambda number: f"{number:,}", "counted": counted, "span": worded_seconds}
    runs = [*earlier, results.summary]
    return templates.get_template("page.html.j2").render(
        name=campaign.name,
        title=campaign.file.title,
        runs=runs,
        run=runs[-1],
        verdict=results.verdict,
        units=results.units,
        jobs=sorted(results.jobs, key=lambda row: (row["outcome"] == "passed", row["job"])),
        bars=trend_bars(runs),
        width=STEP * min(len(runs), MOST_RUNS),
        high=HIGH,
        bar=BAR,
        folder=failed_folder,
        command=command,
        version=hwsim.__version__,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


def trend_bars(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """The bars of the last runs, as high as their numbers of jobs: passed below, then known failures, then new ones."""
    most = max((run.jobs for run in runs[-MOST_RUNS:]), default=0) or 1
    bars = []
    for place, run in enumerate(runs[-MOST_RUNS:]):
        top = float(HIGH)
        for kind, count in (("passed", run.passed), ("known", run.known), ("failed", run.failed)):
            height = HIGH * count / most
            top -= height
            if count:
                title = f"run {run.number}, {run.began}: {counted(count, 'job')} {kind}"
                bar = {"x": place * STEP, "y": round(top, 2), "height": round(height, 2), "kind": kind, "title": title}
                bars.append(bar)
    return bars


def campaign_junit(name: str, results: RunResults) -> bytes:
    """JUnit XML, as CI systems read it: a testsuite a job, a test case a suite; known failures are skipped."""
    lines, suites = _mismatch_lines(results.mismatches), dict[str, list[JUnitCase]]()
    for row in sorted(results.suites, key=itemgetter("unit", "driver", "suite")):
        case = JUnitCase(f"{row['job']}.{row['driver']}".rstrip("."), row["suite"], row["seconds"])
        if not row["passed"]:
            told = "\n".join([row["said"], *lines.get((row["job"], row["driver"], row["suite"]), [])])
            kind = "error" if row["failure"] in ("build", "error", "lost") else "failure"
            case = case._replace(verdict=kind, message=row["said"], kind=row["failure"], text=told)
            if row["known"]:
                case = case._replace(verdict="skipped", message=f"known {row['failure']}: {row['known']}")
        suites.setdefault(row["job"], []).append(case)
    jobs = sorted(row["job"] for row in results.jobs)
    return junit_xml(name, [JUnitSuite(job, suites.get(job, [])) for job in jobs])


def _mismatch_lines(mismatches: Rows) -> dict[tuple[str, str, str], list[str]]:
    """Lines of the mismatches of each suite, by job, driver and suite."""
    by_suite: dict[tuple[str, str, str], list[str]] = {}
    for row in mismatches:
        ulp = f", {row['ulp']} ulp" if row["ulp"] else ""
        where = f" {row['place']}" if row["place"] else ""
        lines = by_suite.setdefault((row["job"], row["driver"], row["suite"]), [])
        lines.append(f"case {row['case']}: {row['what']}: expected {row['expected']}, got {row['got']}{ulp}{where}")
        lines += [f"again: {row['again']}"] if row["again"] else []
    return by_suite
