"""Tasks on this machine's cores: a pool of processes, each with one thread."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from typing import Protocol, TypeVar

from hwsim.runners.part import Rows, WorkPart

W = TypeVar("W", bound=WorkPart)


class Runner(Protocol):
    """Runs parts, in any order, and hands over the rows of each where `done` is."""

    def __call__(self, tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        """Return when all are done."""


# What becomes of a part that cannot be done: the part, and why in words.
Lost = Callable[[WorkPart, str], None]

# A worker that ends takes down what others have begun. So often in a row, without a task done, the study gives up.
DEATHS = 3
FEW = 1 << 31  # of what a study costs, in products
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)  # fmt: skip


class WorkersLost(RuntimeError):
    """Worker processes ended again and again."""


def local(workers: int | None = None) -> Runner:
    """The runner of this machine. workers: processes; as many as there are cores unless given.

    Unless they are asked for, a study of a few seconds is run where it is: processes take as long to begin.
    A program that calls this at its top level needs `if __name__ == "__main__":`, as for any pool of processes.
    """
    count, least = workers or cores(), 0 if workers else FEW

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        if count == 1 or len(tasks) < 2 or sum(task.work for task in tasks) < least:
            for task in tasks:
                done(task, task.execute())
        else:
            _run(list(tasks), min(count, len(tasks)), done)

    return run


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _run(tasks: list[W], workers: int, done: Callable[[W, Rows], None]) -> None:
    deaths = 0
    while tasks:
        left = len(tasks)
        try:
            _pooled(tasks, workers, done)
        except BrokenProcessPool:
            deaths = 0 if len(tasks) < left else deaths + 1
            if deaths == DEATHS:
                raise WorkersLost(
                    f"worker processes ended {DEATHS} times without a result: is there memory for {workers} of them? "
                    f"--workers {max(1, workers // 2)} takes fewer"
                ) from None


def _pooled(tasks: list[W], workers: int, done: Callable[[W, Rows], None]) -> None:
    """Run tasks, and remove those that are done from the list."""
    before = set(multiprocessing.active_children())
    with environment(ONE_THREAD):
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), begin)
        try:
            waiting: dict[Future[Rows], W] = {pool.submit(task.execute): task for task in tasks}
            while waiting:
                for ended in wait(waiting, return_when=FIRST_COMPLETED).done:
                    rows = ended.result()
                    task = waiting.pop(ended)
                    done(task, rows)
                    tasks.remove(task)
            pool.shutdown()
        except BaseException:
            answers = pool._result_queue
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            # One that is ended while it answers leaves half a message, the rest of which the pool's thread, and so the
            # end of this process, would wait for: with this end closed too, it sees that there is no more.
            if answers is not None:
                answers._writer.close()  # type: ignore[attr-defined]
            raise


def begin() -> None:
    """Prepare a worker: it ignores Ctrl-C, which is for its parent, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


@contextmanager
def environment(changes: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes that begin meanwhile."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
