"""Tasks on many machines: the runner on Dask distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hwsim.errors import InputError, ToolMissing
from hwsim.runners.local import ONE_THREAD, Lost, Runner, W, WorkersLost, cores
from hwsim.runners.part import OtherCode, Rows, WorkPart
from hwsim.sources import identity

# Clusters of a batch system, and their classes in dask_jobqueue.
QUEUES = {"slurm": "SLURMCluster", "lsf": "LSFCluster"}
# A task is given up when so many workers have been lost with it.
DEATHS = 3
# So many tasks for each thread are handed over at a time: a scheduler need not hold all of a large study.
AHEAD = 8
JOIN_SECONDS = 60


def on_dask(scheduler: str, workers: int | None = None, lost: Lost | None = None) -> Runner:
    """The runner on Dask.

    scheduler: `local`, a cluster of processes on this machine; the address of a running one, as tcp://HOST:8786; or
    `slurm` or `lsf`, jobs as Dask's own configuration describes them (jobqueue.slurm, jobqueue.lsf).
    workers: how many processes or jobs are asked for; None is one for each core, or one job. Not for an address.
    A worker that is lost costs what it was doing, which others do again. Rows are those of any other runner.
    lost: called for a part with which workers were lost while it was the only one; the others go on. Without it
    WorkersLost is raised.
    Raises ToolMissing; ValueError for a scheduler that is neither, and for one that cannot be reached.
    """
    _check(scheduler, workers)

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        with _client(scheduler, workers) as client:
            _run(client, list(tasks), done, lost)

    return run


def _check(scheduler: str, workers: int | None) -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ToolMissing(
            f"--scheduler needs Dask, and {error.name} is missing; install it with: pip install 'hwsim[distributed]'"
        ) from None
    if scheduler not in {"local", *QUEUES} and ":" not in scheduler:
        raise InputError(f"scheduler must be local, slurm, lsf or an address as tcp://HOST:8786, not {scheduler!r}")
    if workers is not None and ":" in scheduler:
        raise InputError(f"workers must not be given for a running cluster; {scheduler} has its own")


@contextmanager
def _client(scheduler: str, workers: int | None) -> Iterator[Any]:
    """A client of that cluster; a cluster of our own ends with it."""
    import dask
    from distributed import Client

    # Whatever becomes of one task must not take down a study: see DEATHS. No web server is asked for.
    settings = {
        "distributed.scheduler.allowed-failures": DEATHS,
        "distributed.nanny.pre-spawn-environ": ONE_THREAD,
        "distributed.admin.large-graph-warning-threshold": "1GiB",
    }
    with ExitStack() as held:
        held.enter_context(dask.config.set(settings))
        address = scheduler if ":" in scheduler else held.enter_context(_cluster(scheduler, workers))
        try:
            client = held.enter_context(Client(address, timeout=JOIN_SECONDS, set_as_default=False))
        except OSError as error:
            raise InputError(f"{scheduler}: no Dask scheduler answers there: {error}") from None
        yield client


def _cluster(scheduler: str, workers: int | None) -> Any:
    if scheduler == "local":
        from distributed import LocalCluster

        return LocalCluster(
            n_workers=workers or cores(), threads_per_worker=1, processes=True, dashboard_address=":0",
            silence_logs="CRITICAL",
        )  # fmt: skip
    try:
        import dask_jobqueue
    except ImportError as error:
        raise ToolMissing(
            f"--scheduler {scheduler} needs {error.name}; install it with: pip install 'hwsim[distributed]'"
        ) from None
    try:
        cluster = getattr(dask_jobqueue, QUEUES[scheduler])()
    except (TypeError, ValueError) as error:
        raise InputError(f"{scheduler}: Dask's configuration, jobqueue.{scheduler}, is not complete: {error}") from None
    cluster.scale(jobs=workers or 1)
    return cluster


def _run(client: Any, tasks: list[W], done: Callable[[W, Rows], None], lost: Lost | None) -> None:
    """Hand over tasks, some at a time, and take rows as they come.

    Dask counts a worker that is lost against all that it was given, which another task may have ended. So what it
    gives up is done again at the end, alone.
    """
    from distributed import KilledWorker, as_completed

    client.wait_for_workers(1, timeout=None)
    waiting, left = {}, iter(tasks)
    suspects: list[W] = []
    ended = as_completed(loop=client.loop)

    def hand_over(count: int) -> None:
        for _, task in zip(range(count), left, strict=False):
            future = _submitted(client, task)
            waiting[future.key] = task
            ended.add(future)

    hand_over(AHEAD * max(1, sum(client.nthreads().values())))
    try:
        for future in ended:
            task = waiting.pop(future.key)
            try:
                done(task, future.result())
            except KilledWorker:
                suspects.append(task)
            future.release()
            hand_over(1)
        for task in suspects:
            try:
                done(task, _submitted(client, task).result())
            except KilledWorker as error:
                said = f"{DEATHS} Dask workers were lost with one task alone: {error}"
                if lost is None:
                    raise WorkersLost(said) from None
                lost(task, said)
    except BaseException:
        client.cancel(list(ended.futures))
        raise


def _submitted(client: Any, task: WorkPart) -> Any:
    """A task's future. Keys are our own: two tasks are never one, and no worker's memory answers for another run."""
    return client.submit(_execute, task, identity(task.code), pure=False)


def _execute(task: WorkPart, wanted: str) -> Rows:
    """On a worker: the rows of a task, if it is sure to make the same of them."""
    if identity(task.code) != wanted:
        raise OtherCode("a Dask worker has another hwsim than this one; install the same on all machines")
    task.check()
    return task.execute()
