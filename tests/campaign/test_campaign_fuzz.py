"""Random units as jobs: rows by side, findings as files, and what was drawn as bins that no block counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.campaign.job import FuzzJob
from hwsim.campaign.merged import MergedCoverage
from hwsim.campaign.outcome import JobOutcome
from hwsim.fuzz import campaign, trial
from hwsim.fuzz.draw import DrawnUnit
from hwsim.fuzz.findingfile import load_finding
from hwsim.fuzz.smaller import SimplerFinding
from hwsim.fuzz.trial import SIDES, Side, SideMismatch


def block(first: int, last: int, *sides: Side) -> FuzzJob:
    every = tuple((side, int(side in (sides or ("kernels", "gemm")))) for side in SIDES)
    return FuzzJob(name=f"{first}", seed=1, first=first, last=last, cases=30, every=every)


def outcome(job: FuzzJob) -> JobOutcome:
    (row,) = job.execute()
    return JobOutcome.model_validate(row)


def test_blocks_are_what_one_run_over_all_units_is() -> None:
    whole, *parts = (outcome(block(*ends)) for ends in ((0, 5), (0, 1), (2, 5)))
    assert whole.passed and all(part.passed for part in parts)
    assert whole.report is not None
    rows = [{row.suite: row.compared for row in one.report.rows} for one in (whole, *parts) if one.report]
    assert rows[0] == {side: rows[1][side] + rows[2][side] for side in rows[0]} and rows[0]["kernels"] == 5 * 25
    assert [one.cases for one in whole.report.left_out if one.suite == "kernels"] == [1]
    assert whole.report.command == "hwsim fuzz --first 0 --units 6 --cases 30 --seed 1 -o found"
    once, twice = MergedCoverage(), MergedCoverage()
    once.add(whole.report.coverage)
    for part in parts:
        assert part.report is not None
        twice.add(part.report.coverage)
    assert [{**row, "jobs": 0} for row in once.rows] == [{**row, "jobs": 0} for row in twice.rows]


def test_a_finding_is_a_failure_with_a_file_that_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def as_it_is(drawn: DrawnUnit, found: SideMismatch, cases: int) -> SimplerFinding:
        return SimplerFinding(drawn, found, 0)

    right = trial.multiply_pairs
    monkeypatch.setattr(trial, "multiply_pairs", lambda *given: right(*given) ^ 1)
    monkeypatch.setattr(campaign, "simplified", as_it_is)
    found = outcome(block(4, 5, "kernels"))
    assert [(one.suite, one.kind) for one in found.failures] == [("kernels", "mismatch")]
    assert sorted(found.files) == ["4-kernels.yaml", "5-kernels.yaml"]
    (tmp_path / "f.yaml").write_text(found.files["4-kernels.yaml"])
    assert load_finding(tmp_path / "f.yaml").drawn.unit.name == "fuzz-1-4"
    assert found.report is not None and found.report.mismatches[0].again == "hwsim fuzz --again 4-kernels.yaml"


def test_a_side_that_raises_compared_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        raise IndexError("slice")

    monkeypatch.setattr(trial, "multiply", raises)
    found = outcome(block(4, 4))
    assert found.report is not None and not found.passed
    (row,) = (row for row in found.report.rows if row.suite == "gemm")
    assert (row.planned, row.compared, row.mismatches) == (1, 0, 1)
