"""Inputs of all targets in turn, in worker processes that are ended and replaced where an input takes too long."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz import inputs
from fuzz.inputs import Key
from fuzz.targets import Target
from fuzz.worker import READY

TESTS = Path(__file__).parents[1]
TICK = os.sysconf("SC_CLK_TCK")
DEAR = 6
LOCK = threading.Lock()  # of the keys, which several threads take
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass
class Campaign:
    """What to run, and what came of it.

    seconds: by the clock, and count: of each target's inputs, a sixth of it of dear ones, whichever ends first.
    limit: seconds of processor time of one input; patience: times that by the clock, on a busy machine. plant: a
    function that breaks hwsim in the workers, as tests do. kept: where failing inputs go.
    """

    targets: list[Target]
    seed: int
    kept: Path
    seconds: float = float("inf")
    count: int = sys.maxsize
    workers: int = 1
    limit: float = 20.0
    patience: float = 10.0
    plant: str = ""
    taken: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)

    def run(self, tell: Callable[[str], None] = lambda line: None) -> None:
        """Run inputs until the time is over. tell: is given a line for every input that fails, and now and then."""
        with scratch() as folder:
            prepared = folder / "valid"
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                inputs.prepare(prepared, self.targets)
            ends = time.monotonic() + self.seconds
            keys = self._keys(ends)
            with ThreadPoolExecutor(self.workers) as pool:
                jobs = [pool.submit(self._work, keys, folder, number, tell) for number in range(self.workers)]
                for job in jobs:
                    job.result()

    def replay(self, key: Key) -> dict[str, Any]:
        """One input in a fresh worker; its folder is kept."""
        with scratch() as folder:
            prepared = folder / "valid"
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                inputs.prepare(prepared, self.targets)
            with self._process(prepared, folder / "replay") as process:
                found = process.ask(key)
            self._keep(key, prepared, found)
        return found

    def _process(self, prepared: Path, scratch: Path) -> Process:
        return Process(prepared, scratch, self.limit, self.patience * self.limit, self.plant)

    def _keys(self, ends: float) -> Iterator[Key]:
        """Targets in turn, by their weights, until the time is over or each had its count."""
        counts: Counter[str] = Counter()
        most = {target.name: -(-self.count // DEAR) if target.dear else self.count for target in self.targets}
        while time.monotonic() < ends and any(counts[name] < count for name, count in most.items()):
            for target in self.targets:
                for _ in range(min(target.weight, most[target.name] - counts[target.name])):
                    if time.monotonic() >= ends:
                        return
                    yield Key(target.name, self.seed, counts[target.name])
                    counts[target.name] += 1

    def _work(self, keys: Iterator[Key], folder: Path, number: int, tell: Callable[[str], None]) -> None:
        with self._process(folder / "valid", folder / f"worker-{number}") as process:
            while (key := _next(keys)) is not None:
                found = process.ask(key)
                self._note(key, found)
                if found["faults"]:
                    self._keep(key, folder / "valid", found)
                    self.failed[str(key)] = found
                    tell(f"{key}: {'; '.join(found['faults'])}")
                if sum(self.taken.values()) % 500 == 0:
                    tell(f"{sum(self.taken.values()):,} inputs, {len(self.failed)} failed")

    def _note(self, key: Key, found: dict[str, Any]) -> None:
        name = key.target
        self.taken[name] += 1
        self.accepted[name] += found["status"] in (0, 1, 3)
        self.refused[name] += found["status"] == 2
        self.slowest[name] = max(self.slowest.get(name, 0.0), found["seconds"])

    def _keep(self, key: Key, prepared: Path, found: dict[str, Any]) -> None:
        """Write a failing input, and what was said of it."""
        folder = self.kept / str(key).replace(":", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        inputs.make(key, prepared, folder, inputs.pool_of(prepared))
        (folder / "FOUND.json").write_text(json.dumps({"key": str(key), **found}, indent=1))

    def table(self) -> Iterator[str]:
        """A line for each target."""
        yield f"{'target':14}{'inputs':>9}{'accepted':>10}{'refused':>9}{'failed':>8}{'slowest':>9}"
        failed = Counter(name.partition(":")[0] for name in self.failed)
        for target in self.targets:
            name = target.name
            row = (self.taken[name], self.accepted[name], self.refused[name], failed[name])
            yield f"{name:14}{row[0]:>9,}{row[1]:>10,}{row[2]:>9,}{row[3]:>8,}{self.slowest.get(name, 0):>7.1f} s"


class Process:
    """A worker process, started when it is needed."""

    def __init__(self, prepared: Path, scratch: Path, limit: float, longest: float, plant: str):
        self.prepared, self.scratch, self.plant = prepared, scratch, plant
        self.limit, self.longest = limit, longest
        self.child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, key: Key) -> dict[str, Any]:
        """What a worker finds of an input; one that takes too long, or ends the worker, is a fault."""
        child = self._started()
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(f"{key}\n")
        child.stdin.flush()
        used, asked = _processor_seconds(child.pid), time.monotonic()
        while True:
            if select.select([child.stdout], [], [], 0.25)[0]:
                break
            passed = time.monotonic() - asked
            if _processor_seconds(child.pid) - used > self.limit or passed > self.longest:
                self._end()
                return _lost(f"still at work after {self.limit:g} seconds", self.limit)
        line = child.stdout.readline()
        if not line:
            status = child.wait()
            self._end()
            return _lost(f"ended the process, with status {status}", time.monotonic() - asked)
        found: dict[str, Any] = json.loads(line)
        return found

    def _started(self) -> subprocess.Popen[str]:
        if self.child is None:
            shutil.rmtree(self.scratch, ignore_errors=True)
            environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(TESTS)}
            words = [sys.executable, "-m", "fuzz.worker", str(self.prepared), str(self.scratch), self.plant]
            self.child = subprocess.Popen(
                words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            assert self.child.stdout is not None
            if self.child.stdout.readline().strip() != READY:
                raise RuntimeError(f"a worker cannot start: {' '.join(words)}")
        return self.child

    def _end(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, 9)
            child.communicate()


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for a while."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _next(keys: Iterator[Key]) -> Key | None:
    with LOCK:
        return next(keys, None)


def _lost(fault: str, seconds: float) -> dict[str, Any]:
    return {"status": None, "faults": [fault], "seconds": round(seconds, 1), "said": ""}


def _processor_seconds(pid: int) -> float:
    """What a process and its children that have ended used of the processor."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICK
