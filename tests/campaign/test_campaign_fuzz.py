"""Random units as jobs: rows by side, findings as files, and what was drawn as bins that no block counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.compute.kernels import supports
from hwsim.cosim.campaign.job import CampaignJob, fuzz_job, random_units_report
from hwsim.cosim.campaign.results import JobOutcome, RunResults
from hwsim.cosim.fuzz import run as campaign
from hwsim.cosim.fuzz import trial
from hwsim.cosim.fuzz.draw import DrawnUnit, drawn_unit
from hwsim.cosim.fuzz.findings import SimplerFinding, load_finding
from hwsim.cosim.fuzz.run import FuzzedUnit, FuzzPlan
from hwsim.cosim.fuzz.trial import SIDES, Side, SideMismatch


def block(first: int, last: int, *sides: Side) -> CampaignJob:
    every: dict[Side, int] = {side: int(side in (sides or ("kernels", "gemm"))) for side in SIDES}
    return fuzz_job(f"{first}", FuzzPlan(last - first + 1, 30, 1, every=every, first=first, kept=False))


def has_kernels(number: int) -> bool:
    return bool(supports(drawn_unit(1, number).unit))


def first_of_two() -> int:
    """A number whose unit, and the next one's, compiled code has."""
    return next(number for number in range(100) if has_kernels(number) and has_kernels(number + 1))


def outcome(job: CampaignJob) -> JobOutcome:
    (row,) = job.execute()
    return JobOutcome.model_validate(row)


def test_blocks_are_what_one_run_over_all_units_is() -> None:
    whole, *parts = (outcome(block(*ends)) for ends in ((0, 3), (0, 1), (2, 3)))
    assert whole.passed and all(part.passed for part in parts)
    assert whole.report is not None
    rows = [{row.suite: row.compared for row in one.report.rows} for one in (whole, *parts) if one.report]
    assert rows[0] == {side: rows[1][side] + rows[2][side] for side in rows[0]}
    having = sum(map(has_kernels, range(4)))
    assert rows[0]["kernels"] == having * 25 > 0
    assert sum(one.cases for one in whole.report.left_out if one.suite == "kernels") == 4 - having
    assert whole.report.command == "hwsim fuzz --first 0 --units 4 --cases 30 --seed 1 -o found"
    once, twice = RunResults(1), RunResults(1)
    once.add(whole)
    for part in parts:
        twice.add(part)
    assert once.bins and once.bins == {key: {**row, "jobs": row["hits"] > 0} for key, row in twice.bins.items()}


def test_cases_that_units_of_the_model_alone_lack_are_said() -> None:
    plan = FuzzPlan(3, 50_000, 1)
    for results, lacking in (((50_000, 1250, 50_000), 48_750), ((50_000, 1250, 10_000), 48_750 + 40_000)):
        units = [FuzzedUnit(number, {}, {}, {"RTL": count}, [], []) for number, count in enumerate(results)]
        said = [one for one in random_units_report(plan, units).left_out if one.suite == "RTL"]
        assert [one.cases for one in said] == [lacking] and "the model computes a fortieth" in said[0].reason
    units = [FuzzedUnit(0, {}, {}, {"RTL": 50_000}, [], []), FuzzedUnit(1, {}, {}, {"C": 9}, [], [])]
    assert not random_units_report(plan, units).left_out


def test_a_finding_is_a_failure_with_a_file_that_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def as_it_is(drawn: DrawnUnit, found: SideMismatch, plan: FuzzPlan) -> SimplerFinding:
        return SimplerFinding(drawn, found, 0)

    right = trial.multiply_pairs
    monkeypatch.setattr(trial, "multiply_pairs", lambda *given: right(*given) ^ 1)
    monkeypatch.setattr(campaign, "simplified", as_it_is)
    first = first_of_two()
    found = outcome(block(first, first + 1, "kernels"))
    assert [(suite, kind) for suite, _, kind, _ in found.failures] == [("kernels", "mismatch")]
    name = f"{first}-kernels.yaml"
    assert set(found.files) == {name, f"{first + 1}-kernels.yaml"}
    (tmp_path / "f.yaml").write_text(found.files[name])
    assert load_finding(tmp_path / "f.yaml").drawn.unit.name == f"fuzz-1-{first}"
    assert found.report is not None and found.report.mismatches[0].again == f"hwsim fuzz --again {name}"


def test_a_side_that_raises_compared_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        raise IndexError("slice")

    monkeypatch.setattr(trial, "multiply", raises)
    found = outcome(block(first_of_two(), first_of_two()))
    assert found.report is not None and not found.passed
    (row,) = (row for row in found.report.rows if row.suite == "gemm")
    assert (row.planned, row.compared, row.mismatches) == (1, 0, 1)
