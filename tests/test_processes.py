"""Child processes: what they say, and that none outlives a stop."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.cli.progress import terminated

DEADLINE = 60  # seconds; what takes milliseconds, on a machine where much else runs


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Callable[..., int]]:
    def run(*command: str, seconds: float | None = None) -> int:
        return processes.run(command, tmp_path / "log", os.environ, tmp_path, seconds)

    yield run
    processes.start()


def test_a_process_says_its_status_and_its_words(scratch: Callable[..., int], tmp_path: Path) -> None:
    assert scratch("sh", "-c", "echo one; echo two >&2; exit 5") == 5
    assert scratch("sh", "-c", "echo three") == 0
    assert (tmp_path / "log").read_text() == "one\ntwo\nthree\n"


def family(tmp_path: Path) -> tuple[str, Path]:
    """A script whose shell starts a process and waits for it, and the file of their numbers once both run."""
    pids = tmp_path / "pids"
    return f"sleep 600 & echo $! $$ > {pids}.part; mv {pids}.part {pids}; wait", pids


def test_stop_ends_a_process_and_those_that_it_started(scratch: Callable[..., int], tmp_path: Path) -> None:
    script, pids = family(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(scratch, "sh", "-c", script)
        assert within_deadline(pids.exists) and not running.done()
        processes.stop()
        with pytest.raises(processes.Stopped):
            running.result(DEADLINE)
    for pid in pids.read_text().split():
        assert within_deadline(lambda pid=pid: not alive(int(pid)))


def test_a_process_that_takes_too_long_is_ended_with_those_that_it_started(
    scratch: Callable[..., int], tmp_path: Path
) -> None:
    script, pids = family(tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        scratch("sh", "-c", script, seconds=3)
    for pid in pids.read_text().split() if pids.exists() else []:
        assert within_deadline(lambda pid=pid: not alive(int(pid)))


def test_nothing_starts_after_a_stop(scratch: Callable[..., int], tmp_path: Path) -> None:
    processes.stop()
    with pytest.raises(processes.Stopped):
        scratch("touch", str(tmp_path / "touched"))
    assert not (tmp_path / "touched").exists()


def test_an_exception_ends_the_processes_of_its_threads_and_no_later_ones(
    scratch: Callable[..., int], tmp_path: Path
) -> None:
    script, pids = family(tmp_path)
    begun = list[Future[int]]()

    def fails() -> None:
        with processes.threads(1) as pool:
            begun.extend([pool.submit(scratch, "sh", "-c", script), pool.submit(scratch, "true")])
            assert within_deadline(pids.exists)
            raise InputError("wrong")

    with pytest.raises(InputError):
        fails()
    running, waiting = begun
    assert isinstance(running.exception(), processes.Stopped)
    assert waiting.cancelled() or isinstance(waiting.exception(), processes.Stopped)
    assert scratch("true") == 0


def test_a_run_that_was_stopped_stays_so(scratch: Callable[..., int]) -> None:
    def told_to_end() -> None:
        with processes.threads(1):
            terminated()

    with pytest.raises(KeyboardInterrupt):
        told_to_end()
    with pytest.raises(processes.Stopped):
        scratch("true")


def within_deadline(happened: Callable[[], bool]) -> bool:
    """Whether it happens in time. A killed process goes when the kernel gets to it, which a busy machine delays."""
    end = time.monotonic() + DEADLINE
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_who_waits_for_work_of_another_can_be_stopped() -> None:
    try:
        with processes.alone("work"), ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(processes.alone("work").__enter__)
            processes.stop()
            with pytest.raises(processes.Stopped):
                waiting.result()
    finally:
        processes.start()
    with processes.alone("work"):
        pass


def test_who_waited_for_a_lock_that_is_gone_does_not_hold_it() -> None:
    # Its file is removed when it is let go: another that comes now makes a new one.
    with processes.alone("some work"):
        path = processes._lock_file("some work")
        waited = path.open("a")
    with waited:
        assert not processes._is_held(waited, path)
        with processes.alone("some work"):
            assert not processes._is_held(waited, path)
    assert not path.exists()


def test_a_process_that_writes_nothing_for_so_long_is_ended_with_those_that_it_started(tmp_path: Path) -> None:
    script, pids = family(tmp_path)
    with pytest.raises(processes.Silent):
        processes.run(("sh", "-c", script), tmp_path / "log", os.environ, tmp_path, silence=3)
    for pid in pids.read_text().split() if pids.exists() else []:
        assert within_deadline(lambda pid=pid: not alive(int(pid)))


@pytest.mark.parametrize("writes", [0, 5])
def test_only_time_in_which_nothing_is_written_counts(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock that jumps by hours at every look: a machine that stood still counts as four looks' time, a second.
    looks = iter(range(10**6))
    monkeypatch.setattr(processes.time, "monotonic", lambda: next(looks) * 3600.0)
    monkeypatch.setattr(processes, "POLL", 0.25)
    asked = []
    monkeypatch.setattr(processes, "_written", lambda watched: asked.append(1) or [(min(len(asked), writes + 1), 0)])
    with pytest.raises(processes.Silent):
        processes.run(("sleep", "600"), tmp_path / "log", os.environ, tmp_path, silence=2.5)
    # Before the start; once for each writing; and three seconds in which nothing comes.
    assert len(asked) == 1 + writes + 3


def test_a_process_that_ends_says_its_status_though_it_is_watched(tmp_path: Path) -> None:
    assert processes.run(("sh", "-c", "exit 5"), tmp_path / "log", os.environ, tmp_path, silence=600) == 5
