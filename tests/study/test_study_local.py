from __future__ import annotations

import os
from typing import Any

import pytest
from study.study_cases import study

from hwsim.runners import WorkersLost, cores, environment, local
from hwsim.study.task import tasks


class Deadly:
    """A task that ends the worker that takes it."""

    code, work = "hwsim.runners", 1

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)

    def execute(self) -> None:
        raise AssertionError("no worker reads it")


def never(*_: Any) -> None:
    raise AssertionError("no such task ends")


def test_workers_that_end_again_and_again_end_the_study() -> None:
    with pytest.raises(WorkersLost, match=r"ended 3 times without a result.*--workers 1 takes fewer"):
        local(2)([Deadly(), Deadly()], never)  # type: ignore[list-item]


def test_one_worker_is_this_process() -> None:
    done = []
    local(1)(tasks(study()), lambda task, rows: done.append((os.getpid(), len(rows), task)))
    assert {pid for pid, _, _ in done} == {os.getpid()}
    assert sum(count for _, count, _ in done) == 18


def test_workers_have_one_thread_and_this_process_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    with environment({"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["NUMBA_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7" and "NUMBA_NUM_THREADS" not in os.environ
    assert cores() >= 1
