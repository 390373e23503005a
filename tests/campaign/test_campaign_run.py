"""Runs of campaigns: nothing lost, nothing counted twice, whatever order jobs end in, and new failures told apart."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import html5lib
import pytest
from campaign.fake_jobs import Told, begun, campaign, fake_job, fake_report, fakes, run
from junitparser import Error, Failure, JUnitXml, Skipped

from hwsim.base.arrays import read_table
from hwsim.base.errors import InputError, ToolMissing
from hwsim.cosim.campaign.file import KnownFailure
from hwsim.cosim.campaign.job import CampaignJob
from hwsim.cosim.campaign.page import trend_bars, worded_seconds
from hwsim.cosim.campaign.plan import JobPlan
from hwsim.cosim.campaign.results import JobOutcome
from hwsim.cosim.campaign.run import claimed, expected_costs, run_campaign, seconds_left, shown_runs, summaries
from hwsim.runners import Rows, Runner

ALL = ("passes", "fails", "is short", "breaks", "raises", "passes")
KINDS = {"job1": "mismatch", "job2": "incomplete", "job3": "build", "job4": "error"}


def rows(folder: Path, number: int, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(folder / "runs" / "runs" / f"{number:04}" / f"{name}.parquet").to_pylist()
    return found


def without_times(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in ("began", "seconds")} for row in table]


def known(job: str, kind: Any, suite: str = "*") -> KnownFailure:
    return KnownFailure(job=job, kind=kind, suite=suite, reason="a ticket", date=date(2026, 11, 26))


def test_each_failure_is_told_by_its_kind_and_tables_have_every_job_once(tmp_path: Path) -> None:
    told = Told()
    result = run(tmp_path, fakes(tmp_path, *ALL), told=told)
    assert sorted(told.names) == [f"job{at}" for at in range(6)]
    assert {one.job: one.kind for one in result.results.verdict.failures} == KINDS
    assert len(result.results.verdict.new) == 4 and not result.results.verdict.known
    summary = result.results.summary
    assert (summary.jobs, summary.failed, summary.passed, summary.cases) == (6, 4, 2, 35)
    assert [row["outcome"] for row in rows(tmp_path, 1, "jobs")] == [
        "passed", "failed", "failed", "build", "error", "passed",
    ]  # fmt: skip
    assert [row["failure"] for row in rows(tmp_path, 1, "suites")] == [
        "",
        "mismatch",
        "incomplete",
        "build",
        "error",
        "",
    ]
    (mismatch,) = rows(tmp_path, 1, "mismatches")
    assert (mismatch["job"], mismatch["expected"], mismatch["ulp"]) == ("job1", "0x0001 (1)", "1")
    failed = tmp_path / "runs" / "runs" / "0001" / "failed"
    assert sorted(path.name for path in failed.iterdir()) == sorted(KINDS)
    assert (failed / "job1" / "case.yaml").read_text() == "a: 1\n"
    assert "syntax error" in (failed / "job3" / "why.txt").read_text()
    assert "IndexError: as it is" in (failed / "job4" / "why.txt").read_text()


@pytest.mark.quick
def test_a_bin_counts_once_however_many_jobs_meet_it(tmp_path: Path) -> None:
    run(tmp_path, fakes(tmp_path, "passes", "passes", "breaks"))
    bins = {row["name"]: (row["state"], row["hits"], row["jobs"]) for row in rows(tmp_path, 1, "bins")}
    assert bins == {"one": ("hit", 4, 2), "job0": ("hit", 1, 1), "job1": ("hit", 1, 1), "never": ("missed", 0, 0)}


def test_tables_are_the_same_in_any_order_and_after_any_interruption(tmp_path: Path) -> None:
    (through := tmp_path / "through").mkdir()
    (broken := tmp_path / "broken").mkdir()
    run(through, fakes(through, *ALL))
    for stop in (1, 1, 2):
        with pytest.raises(KeyboardInterrupt):
            run(broken, fakes(broken, *ALL)[::-1], told=Told(stop_after=stop), workers=1)
    told = Told()
    run(broken, fakes(broken, *ALL)[::-1], told=told)
    assert len(told.names) == 2 and set(begun(broken).values()) == {1}
    for name in ("jobs", "suites", "mismatches", "bins"):
        assert without_times(rows(broken, 1, name)) == without_times(rows(through, 1, name))


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b\x08", b"no gzip"])
def test_an_outcome_that_was_damaged_is_made_again(damage: bytes, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, fakes(tmp_path, "passes", "passes"), told=Told(stop_after=1), workers=1)
    (kept,) = (tmp_path / "runs" / "runs" / "0001" / "outcomes").glob("*.json.gz")
    kept.write_bytes(damage)
    assert run(tmp_path, fakes(tmp_path, "passes", "passes")).results.summary.passed == 2
    assert begun(tmp_path) == {"job0": 2, "job1": 1}


def test_jobs_that_say_something_else_are_run_and_those_of_before_count_no_more(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, fakes(tmp_path, "passes", "fails"), told=Told(stop_after=2), workers=1)
    result = run(tmp_path, fakes(tmp_path, "passes", "passes"))
    assert (result.results.summary.jobs, result.results.summary.passed, result.stale) == (2, 2, 1)
    assert begun(tmp_path) == {"job0": 1, "job1": 2}


def test_known_failures_are_told_from_new_ones_and_runs_are_compared(tmp_path: Path) -> None:
    jobs = fakes(tmp_path, "passes", "fails", "breaks")
    entries = [known("job1", "mismatch"), known("job0", "mismatch"), known("elsewhere", "build")]
    first = run(tmp_path, jobs, known=entries)
    assert [(one.job, one.reason, one.since) for one in first.results.verdict.failures] == [
        ("job1", "a ticket (2026-11-26)", 1),
        ("job2", "", 1),
    ]
    assert first.results.verdict.unused == (entries[1],)
    assert (first.results.summary.failed, first.results.summary.known, first.results.summary.new) == (1, 1, 1)
    # Another kind of failure, or of another suite, is not what is known.
    second = run(tmp_path, jobs, known=[known("job1", "stuck")])
    assert second.results.verdict.known == second.results.verdict.new == [] and len(second.results.verdict.unknown) == 2
    assert (second.results.summary.new, second.results.summary.again, second.results.summary.failed) == (0, 2, 2)
    assert run(tmp_path, jobs, known=[known("job1", "mismatch", "GEMM*")]).results.verdict.known == []
    fourth = run(tmp_path, fakes(tmp_path, "fails", "fails", "passes"), known=[known("job?", "mismatch")])
    assert [(one.job, one.since) for one in fourth.results.verdict.known] == [
        ("job0", 4),
        ("job1", 1),
    ] and not fourth.results.verdict.new
    assert [(one.job, one.kind) for one in fourth.results.verdict.mended] == [("job2", "build")]
    assert [one.number for one in summaries(tmp_path / "runs")] == [1, 2, 3, 4]
    shown = shown_runs(tmp_path / "runs")
    assert [(place.job, since) for place, since, _ in shown.failures] == [("job0", 4), ("job1", 1)]
    assert (shown.name, shown.unfinished, len(shown.runs)) == ("fake", None, 4)
    # A job that did not run is not mended.
    assert run(tmp_path, fakes(tmp_path, "passes")).results.verdict.mended[0].job == "job0"


def test_what_passed_is_taken_from_the_last_run_where_that_is_asked_for(tmp_path: Path) -> None:
    jobs = fakes(tmp_path, "passes", "fails", "passes")
    run(tmp_path, jobs)
    told = Told()
    changed = [jobs[0], jobs[1], fake_job("job2", "passes", tmp_path / "begun", content="other")]
    second = run(tmp_path, changed, told=told, changed=True)
    assert told.taken == second.results.summary.taken == 1
    assert begun(tmp_path) == {"job0": 1, "job1": 2, "job2": 2}
    run(tmp_path, changed, changed=True)
    assert [row["taken_from"] for row in rows(tmp_path, 3, "jobs")] == [1, None, 2]
    assert (second.results.summary.cases, second.results.summary.jobs) == (30, 3)
    run(tmp_path, changed)
    assert begun(tmp_path) == {"job0": 2, "job1": 4, "job2": 3}
    kept = [path.name for path in (tmp_path / "runs" / "runs").iterdir() if (path / "outcomes").exists()]
    assert kept == ["0004"]


def test_reports_say_what_came_of_it(tmp_path: Path) -> None:
    run(tmp_path, fakes(tmp_path, *ALL), known=[known("job1", "mismatch")])
    folder = tmp_path / "runs" / "runs" / "0001"
    document = JUnitXml.fromfile(str(folder / "results.xml"))
    assert (document.tests, document.failures, document.errors, document.skipped) == (6, 1, 2, 1)
    kinds = {suite.name: [type(one) for case in suite for one in case.result] for suite in document}
    assert kinds == {
        "job0": [], "job1": [Skipped], "job2": [Failure], "job3": [Error], "job4": [Error], "job5": [],
    }  # fmt: skip
    page = (folder / "report.html").read_text()
    html5lib.HTMLParser(strict=True).parse(page)
    assert "3 new failures" in page and 'href="failed/job3/why.txt"' in page and "a ticket (2026-11-26)" in page
    assert page.count("<rect") == len(trend_bars(summaries(tmp_path / "runs"))) == 3
    for link in ("failed/job2/report.html", "failed/job3/why.txt"):
        assert (folder / link).exists() and link in page


def test_names_never_become_markup(tmp_path: Path) -> None:
    job = fake_job("<b>/~", "fails", tmp_path / "begun")
    run(tmp_path, [job], known=[known("<b>*", "mismatch", "<i>")])
    folder = tmp_path / "runs" / "runs" / "0001"
    assert "<b>" not in (folder / "report.html").read_text()
    assert [path.name for path in (folder / "failed").iterdir()] == ["<b>~~~"]


def test_a_missing_tool_ends_the_run_and_is_no_failure_of_a_job(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="get it"):
        run(tmp_path, fakes(tmp_path, "passes", "misses a tool"), workers=1)
    assert run(tmp_path, fakes(tmp_path, "passes")).results.summary.passed == 1
    assert begun(tmp_path)["job0"] == 1


def test_an_outcome_that_nobody_can_read_is_a_failure(tmp_path: Path) -> None:
    # A runner that loses what it was given must not make a run that passed.
    def forgets(jobs: Any, done: Any) -> None:
        for job in jobs[1:]:
            done(job, _rows(job))

    def make(_: Any) -> Runner:
        return forgets

    jobs = fakes(tmp_path, "passes", "passes")
    plan = JobPlan({job.key: job for job in jobs})
    result = run_campaign(campaign(tmp_path), plan, tmp_path / "runs", make, Told())
    assert [(one.job, one.kind) for one in result.results.verdict.new] == [("job0", "lost")]


def _rows(job: CampaignJob) -> Rows:
    return [JobOutcome(key=job.key, name=job.name, seconds=0, report=fake_report(job.name)).model_dump(mode="json")]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine.txt").touch()
    with pytest.raises(InputError, match=r"holds mine\.txt, which is of no campaign"):
        run(tmp_path, fakes(tmp_path, "passes"))
    with pytest.raises(InputError, match="must be the folder of a campaign's runs"):
        shown_runs(tmp_path)
    (tmp_path / "runs" / "mine.txt").unlink()
    with (
        pytest.raises(InputError, match="holds runs of campaign other, not of fake"),
        claimed(tmp_path / "runs", "other"),
    ):
        run(tmp_path, fakes(tmp_path, "passes"))


def test_time_that_is_left_follows_what_jobs_took() -> None:
    costs = expected_costs([("a", 10.0), ("b", 10.0), ("c", 30.0)], {"a": 1.0, "b": 3.0})
    assert costs == {"a": 1.0, "b": 3.0, "c": 6.0}
    for ended, elapsed, left in (("", 5.0, 10.0), ("b", 6.0, 14.0), ("abc", 20.0, 0.0)):
        assert seconds_left(costs, set(ended), elapsed) == left
    assert [worded_seconds(one) for one in (5, 89, 720, 3600, 12000)] == ["5 s", "89 s", "12 min", "1 h", "3 h 20 min"]
