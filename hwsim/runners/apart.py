"""Parts on this machine, each in a process of its own: what ends one ends no other."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Generic

from hwsim.runners.local import DEATHS, ONE_THREAD, Lost, Runner, W, begin, cores, environment
from hwsim.runners.part import Rows, WorkPart


@dataclass(frozen=True)
class _Answer:
    """What a process sends: rows, or what was raised."""

    rows: Rows = field(default_factory=list)
    raised: Exception | None = None


@dataclass(frozen=True)
class _Running(Generic[W]):
    """A part at work. before: how often a process ended with it."""

    part: W
    process: ForkServerProcess
    before: int


def apart(workers: int | None, lost: Lost) -> Runner:
    """The runner that gives each part a process of its own, so many at a time; as many as there are cores unless given.

    lost: called for a part whose process ended three times before it answered; the others go on.
    What a part raises ends the run, and all processes. A program that calls this at its top level needs
    `if __name__ == "__main__":`, as for any pool of processes.
    """

    def run(tasks: Sequence[W], done: Callable[[W, Rows], None]) -> None:
        with environment(ONE_THREAD):
            _run(deque((task, 0) for task in tasks), workers or cores(), done, lost)

    return run


def _run(left: deque[tuple[W, int]], most: int, done: Callable[[W, Rows], None], lost: Lost) -> None:
    running: dict[Connection, _Running[W]] = {}
    try:
        while left or running:
            while left and len(running) < most:
                connection, begun = _started(*left.popleft())
                running[connection] = begun
            for ended in wait(list(running)):
                assert isinstance(ended, Connection)
                one, answer = running.pop(ended), _answer(ended)
                one.process.join()
                if answer is None:
                    _ended(one, left, lost)
                elif answer.raised is not None:
                    raise answer.raised
                else:
                    done(one.part, answer.rows)
    finally:
        for one in running.values():
            one.process.terminate()
        for connection, one in running.items():
            one.process.join()
            connection.close()


def _started(part: W, before: int) -> tuple[Connection, _Running[W]]:
    # Processes are forked from one that has imported what computes: they begin in milliseconds, without threads.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([part.code])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(part, theirs, dict(os.environ)), daemon=True)
    process.start()
    theirs.close()
    return ours, _Running(part, process, before)


def _work(part: WorkPart, answers: Connection, variables: dict[str, str]) -> None:
    begin()
    # The process that this one was forked from has the environment of an earlier time.
    os.environ.clear()
    os.environ.update(variables)
    try:
        answer = _Answer(part.execute())
    except Exception as error:
        answer = _Answer(raised=_sendable(error))
    answers.send(answer)


def _sendable(error: Exception) -> Exception:
    """The same, or where it cannot be sent one of its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _answer(connection: Connection) -> _Answer | None:
    """What a process sent; None where it ended before, or while it did."""
    with connection:
        try:
            found = connection.recv()
        except (EOFError, OSError):
            return None
    assert isinstance(found, _Answer)
    return found


def _ended(one: _Running[W], left: deque[tuple[W, int]], lost: Lost) -> None:
    if one.before + 1 < DEATHS:
        left.appendleft((one.part, one.before + 1))
    else:
        lost(one.part, f"its process ended {DEATHS} times before it was done, the last time {_how(one.process)}")


def _how(process: ForkServerProcess) -> str:
    status = process.exitcode or 0
    if status >= 0:
        return f"with exit status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"
