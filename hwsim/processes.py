"""Child processes that end with the run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


class Stopped(Exception):
    """Raised where the run was stopped while a child process worked."""


_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.RLock()  # a signal handler may stop while this thread starts a child
_stopped = threading.Event()


def run(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    seconds: float | None = None,
) -> int:
    """Run a command and append its output to `log`. Returns its exit status.

    Raises Stopped after `stop`, and subprocess.TimeoutExpired when it takes longer than `seconds`.
    """
    with log.open("ab") as output:
        with _lock:
            if _stopped.is_set():
                raise Stopped
            child = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=dict(environment),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            _running.add(child)
        try:
            status = child.wait(seconds)
        except BaseException:
            _end(child)
            child.wait()
            raise
        finally:
            with _lock:
                _running.discard(child)
    if _stopped.is_set():
        raise Stopped
    return status


def pause(seconds: float) -> None:
    """Wait so long. Raises Stopped after `stop`, at once."""
    if _stopped.wait(seconds):
        raise Stopped


def stop() -> None:
    """End every child process, and the processes that it started."""
    _stopped.set()
    with _lock:
        for child in _running:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def start() -> None:
    """Forget an earlier `stop`."""
    _stopped.clear()
