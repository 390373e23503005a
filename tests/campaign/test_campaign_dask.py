"""Campaigns on Dask: the same tables as here, and a job that ends its worker is lost alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from campaign.fake_jobs import Deed, Told, begun, campaign, fakes, run

from hwsim import runners as on_many
from hwsim.base.arrays import read_table
from hwsim.cosim.campaign.plan import JobPlan
from hwsim.cosim.campaign.run import run_campaign
from hwsim.runners import Lost, Runner, on_dask

DEEDS: tuple[Deed, ...] = ("passes", "dies", "fails", "passes", "breaks")


def tables(folder: Path) -> list[list[dict[str, Any]]]:
    """What does not hang on when and where jobs ran; a worker's end has other words there."""
    found = []
    for name in ("jobs", "suites", "mismatches", "bins"):
        rows = read_table(folder / "runs" / "runs" / "0001" / f"{name}.parquet").to_pylist()
        found.append(
            [{key: one for key, one in row.items() if key not in ("began", "seconds", "said")} for row in rows]
        )
    return found


def on_workers(folder: Path, workers: int, *deeds: Deed) -> list[str]:
    """A campaign of jobs that do this, on a cluster of so many workers. Returns the jobs that it told of."""
    with on_many._cluster("local", workers) as cluster:

        def make(lost: Lost) -> Runner:
            return on_dask(cluster.scheduler_address, None, lost)

        plan = JobPlan({job.key: job for job in fakes(folder, *deeds)})
        run_campaign(campaign(folder), plan, folder / "runs", make, told := Told())
    return told.names


@pytest.mark.slow
def test_tables_are_those_of_this_machine_and_a_lost_worker_costs_its_job_alone(tmp_path: Path) -> None:
    (here := tmp_path / "here").mkdir()
    (there := tmp_path / "there").mkdir()
    run(here, fakes(here, *DEEDS))
    assert sorted(on_workers(there, 2, *DEEDS)) == [f"job{at}" for at in range(len(DEEDS))]
    assert tables(there) == tables(here)
    assert begun(there)["job1"] >= 3
