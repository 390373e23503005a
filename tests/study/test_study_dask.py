"""The runner on Dask: the same rows whatever the workers, and nothing lost with one of them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hwsim import runners as on_many
from hwsim.base.package import identity
from hwsim.runners import OtherCode, WorkersLost, local, on_dask
from hwsim.study.plan import load_study
from hwsim.study.results import run
from hwsim.study.task import Task, tasks

STUDY = {
    "study": "small", "units": ["hopper-wgmma-e4m3-f32", "mxfp4-e2m1-f32"], "data": ["normal", "outliers"],
    "lengths": [64], "trials": 6, "rows": 4, "columns": 4, "seed": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with on_many._cluster("local", 2) as made:
        yield made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """A study in many tasks."""
    monkeypatch.setattr("hwsim.study.task.WORK", 1)
    return tasks(load_study(STUDY))


def rows_of(runner: Callable[..., None], given: list[Task], each: Callable[[], None] = lambda: None) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def done(task: Task, rows: list[dict[str, Any]]) -> None:
        assert task.key not in found
        found[task.key] = repr(rows)
        each()

    runner(given, done)
    return found


def pids(address: str) -> list[int]:
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


def test_rows_are_those_of_one_process_and_a_lost_worker_loses_none(cluster: Any, small: list[Task]) -> None:
    address = cluster.scheduler_address
    assert len(small) >= 12
    killed: list[int] = []

    def kill_one() -> None:
        if not killed:
            killed.append(pids(address)[0])
            os.kill(killed[0], signal.SIGKILL)

    found = rows_of(on_dask(address), small, kill_one)
    assert killed and killed[0] not in pids(address)
    assert found == rows_of(local(1), small)


@pytest.mark.slow
def test_a_study_is_the_same_bytes(cluster: Any, small: list[Task], tmp_path: Path) -> None:
    made = load_study(STUDY)
    for name, runner in (("dask", on_dask(cluster.scheduler_address)), ("here", local(1))):
        run(made, tmp_path / name, runner)
    for name in ("results.parquet", "summary.parquet", "study.yaml"):
        assert (tmp_path / "dask" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_a_worker_with_other_code_or_other_numbers_is_refused(small: list[Task]) -> None:
    assert on_many._execute(small[0], identity(Task.code))
    with pytest.raises(OtherCode, match="another hwsim"):
        on_many._execute(small[0], "0")
    with pytest.raises(OtherCode, match=r"data normal: .* other numbers"):
        on_many._execute(replace(small[0], content="0"), identity(Task.code))


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_given_up(cluster: Any, small: list[Task], monkeypatch: Any) -> None:
    monkeypatch.setattr(on_many, "_execute", _die)
    with pytest.raises(WorkersLost, match="worker"):
        rows_of(on_dask(cluster.scheduler_address), small[:1])


def _die(task: Task, wanted: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("times", [1, 2])
def test_what_dask_gives_up_is_done_again_alone(
    times: int, cluster: Any, small: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Workers that were lost are counted against all that waited there: only a task alone is sure to have ended them.
    submitted, given, kept, gone = on_many._submitted, Counter[str](), list[Task](), list[Task]()

    def counted(client: Any, task: Task) -> Any:
        given[task.key] += 1
        at_fault = task is small[1] and given[task.key] <= times
        assert given[task.key] == 1 or len(kept) == len(small) - 1
        return client.submit(_give_up, pure=False) if at_fault else submitted(client, task)

    monkeypatch.setattr(on_many, "_submitted", counted)
    runner = on_dask(cluster.scheduler_address, None, lambda task, _: gone.append(task))
    runner(small, lambda task, _: kept.append(task))
    assert gone == small[1:2] * (times == 2) and len(kept) == len(small) - len(gone)
    assert given == Counter({task.key: 1 + (task is small[1]) for task in small})


def _give_up() -> None:
    from distributed import KilledWorker

    raise KilledWorker("task", SimpleNamespace(address="worker"), 3)  # type: ignore[arg-type]


def test_an_error_of_a_task_is_raised_here(cluster: Any, small: list[Task], monkeypatch: Any) -> None:
    monkeypatch.setattr(on_many, "_execute", _fail)
    with pytest.raises(ValueError, match="as it is"):
        rows_of(on_dask(cluster.scheduler_address), small)


def _fail(task: Task, wanted: str) -> None:
    raise ValueError("as it is")


@pytest.mark.parametrize(
    ("scheduler", "workers", "said"),
    [
        ("nowhere", None, "scheduler must be local, slurm, lsf or an address"),
        ("tcp://127.0.0.1:1", None, "tcp://127.0.0.1:1: no Dask scheduler answers there"),
        ("tcp://127.0.0.1:1", 3, "has its own"),
        pytest.param("slurm", None, "slurm: Dask's configuration", marks=pytest.mark.slow),
        pytest.param("lsf", None, "lsf: ", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_cluster_is_refused(
    scheduler: str, workers: int | None, said: str, small: list[Task], monkeypatch: Any
) -> None:
    monkeypatch.setattr(on_many, "JOIN_SECONDS", 1)
    with pytest.raises((ValueError, RuntimeError), match=said):
        rows_of(on_dask(scheduler, workers), small)


@pytest.mark.slow
def test_a_cluster_of_this_machine(small: list[Task]) -> None:
    assert rows_of(on_dask("local", 1), small[:2]) == rows_of(local(1), small[:2])


SUBMIT = {
    # What takes a job's script, and says so in the words that are read for its number; and what ends a job.
    "slurm": ("sbatch", 'cp "$1" job.sh\nsetsid sh job.sh > job.log 2>&1 &\necho "Submitted batch job $!"', "scancel"),
    "lsf": (
        "bsub",
        'cat > job.sh\nsetsid sh job.sh > job.log 2>&1 &\necho "Job <$!> is submitted to queue <q>."',
        "bkill",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("queue", SUBMIT)
def test_jobs_of_a_queue_do_the_work(queue: str, small: list[Task], tmp_path: Path, monkeypatch: Any) -> None:
    # The queue is played by a script that starts the job here.
    submit, script, end = SUBMIT[queue]
    for name, text in ((submit, script), (end, "kill -- -$1 2>/dev/null || true")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    import dask

    pytest.importorskip("dask_jobqueue")  # which sets defaults of its own when it is imported
    with dask.config.set({f"jobqueue.{queue}.cores": 1, f"jobqueue.{queue}.memory": "1GiB"}):
        assert rows_of(on_dask(queue, 1), small[:3]) == rows_of(local(1), small[:3])
    assert (tmp_path / "job.log").exists()
