"""Parts of a larger whole, each done by a worker alone: by processes of this machine, or on Dask."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.package import identity

Rows = list[dict[str, Any]]


class OtherCode(RuntimeError):
    """A worker has another version of hwsim, or other files, than the process that gives out the parts."""


class WorkersLost(RuntimeError):
    """Worker processes ended again and again."""


class WorkPart(ABC):
    """A part: picklable, and all that its rows depend on besides the code of hwsim."""

    @property
    @abstractmethod
    def code(self) -> str:
        """The module that makes the rows, by whose content results are known."""

    @property
    @abstractmethod
    def work(self) -> int:
        """The cost, in units that the parts of one whole share."""

    @property
    @abstractmethod
    def key(self) -> str:
        """A digest of all that the rows depend on, the code of hwsim included."""

    @abstractmethod
    def execute(self) -> Rows:
        """The rows, plain data. The same wherever and whenever it runs."""

    @abstractmethod
    def check(self) -> None:
        """Raise OtherCode on a machine that has other files."""


W = TypeVar("W", bound=WorkPart)
# Called for a part that cannot be done: the part, and why in words.
Lost = Callable[[WorkPart, str], None]


class Runner(Protocol):
    """Runs parts, in any order, and hands over the rows of each where `done` is."""

    def __call__(self, tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        """Return when all are done."""


# A part is given up when so many workers have ended with it.
DEATHS = 3
FEW = 1 << 31  # of what a study costs, in products
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)  # fmt: skip


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


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


def local(workers: int | None = None) -> Runner:
    """The runner of this machine: processes with one thread each. workers: as many as there are cores unless given.

    Unless they are asked for, a study of a few seconds is run where it is: processes take as long to begin.
    A program that calls this at its top level needs `if __name__ == "__main__":`, as for any pool of processes.
    Raises WorkersLost for a part whose process ended three times before it answered.
    """
    most, least = workers or cores(), 0 if workers else FEW

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        if most == 1 or len(tasks) < 2 or sum(task.work for task in tasks) < least:
            for task in tasks:
                done(task, task.execute())
            return
        count = min(most, len(tasks))

        def give_up(_: WorkPart, __: str) -> None:
            raise WorkersLost(
                f"worker processes ended {DEATHS} times without a result: is there memory for {count} of them? "
                f"--workers {max(1, count // 2)} takes fewer"
            )

        _run(tasks, count, done, give_up, fresh=False)

    return run


def apart(workers: int | None, lost: Lost) -> Runner:
    """Like `local`, with a new process for each part.

    lost: called for a part whose process ended three times before it answered; the others go on.
    What a part raises ends the run, and all processes.
    """

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        _run(tasks, workers or cores(), done, lost, fresh=True)

    return run


def _run(tasks: Sequence[W], most: int, done: Callable[[W, Rows], None], lost: Lost, *, fresh: bool) -> None:
    pending = deque((task, 1) for task in tasks)
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, W, int]] = {}
    with environment(ONE_THREAD):
        try:
            while pending or busy:
                while pending and len(busy) < most:
                    task, attempt = pending.popleft()
                    worker = idle.pop() if idle else _Worker(task.code)
                    busy[worker.connection] = worker, task, attempt
                    worker.send(task)
                for connection in wait(list(busy)):
                    assert isinstance(connection, Connection)
                    worker, task, attempt = busy.pop(connection)
                    answer = worker.answer()
                    if answer is None:
                        how = worker.join()
                        if attempt < DEATHS:
                            pending.appendleft((task, attempt + 1))
                        else:
                            lost(task, f"its process ended {DEATHS} times before it was done, the last time {how}")
                        continue
                    if fresh:
                        worker.join()
                    else:
                        idle.append(worker)
                    if isinstance(answer, Exception):
                        raise answer
                    done(task, answer)
        finally:
            for worker, _, _ in busy.values():
                worker.process.terminate()
            for worker in [*idle, *(worker for worker, _, _ in busy.values())]:
                worker.join()


class _Worker:
    """A process that does parts, one after the other, until its connection is closed.

    It is forked from one that has imported what computes: it begins in milliseconds, without threads.
    """

    def __init__(self, code: str):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([code])
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, dict(os.environ)), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, part: WorkPart) -> None:
        with suppress(OSError):  # one that has ended gives no answer either
            self.connection.send(part)

    def answer(self) -> Rows | Exception | None:
        """Rows, or what a part raised; None where the process ended before, or while it answered."""
        try:
            answer: Rows | Exception = self.connection.recv()
        except (EOFError, OSError):
            return None
        return answer

    def join(self) -> str:
        """Wait for the end. Returns how it was, in words."""
        self.connection.close()
        self.process.join()
        status = self.process.exitcode or 0
        if status >= 0:
            return f"with exit status {status}"
        try:
            return f"by {signal.Signals(-status).name}"
        except ValueError:
            return f"by signal {-status}"


def _serve(parts: Connection, variables: dict[str, str]) -> None:
    """Run tasks in a worker, which ignores Ctrl-C, meant for its parent, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    # The process that this one was forked from has the environment of an earlier time.
    os.environ.clear()
    os.environ.update(variables)
    with suppress(EOFError):
        while True:
            part = parts.recv()
            try:
                answer = part.execute()
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = _sendable(error)
            parts.send(answer)


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _sendable(error: Exception) -> Exception:
    """The exception itself, or where it cannot be sent, one with its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


# Clusters of a batch system, and their classes in dask_jobqueue.
QUEUES = {"slurm": "SLURMCluster", "lsf": "LSFCluster"}
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

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        with _client(scheduler, workers) as client:
            _run_on_dask(client, tasks, done, lost)

    return run


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


def _run_on_dask(client: Any, tasks: Sequence[W], done: Callable[[W, Rows], None], lost: Lost | None) -> None:
    """Hand over tasks, some at a time, and take rows as they come.

    Dask counts a worker that is lost against all that it was given, which another task may have ended. So what it
    gives up is done again at the end, alone.
    """
    from distributed import KilledWorker, as_completed

    client.wait_for_workers(1, timeout=None)
    waiting, remaining = {}, iter(tasks)
    suspects: list[W] = []
    ended = as_completed(loop=client.loop)

    def hand_over(count: int) -> None:
        for _, task in zip(range(count), remaining, strict=False):
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
                why = f"{DEATHS} Dask workers were lost with one task alone: {error}"
                if lost is None:
                    raise WorkersLost(why) from None
                lost(task, why)
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
