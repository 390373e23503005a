"""Child processes, which end with the run, and what must not outlive this process, even where it is killed.

A small shell, in a session of its own, is told of each process group and file. When this process ends, whatever ends
it, the shell's standard input ends too, and it kills and removes what is left.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import math
import os
import pickle
import resource
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO, TypeVar

# Lines are `+ THING` and `- THING`; a thing is a process group or an absolute path.
WATCH = r"""
trap '' INT TERM HUP
left='
'
while IFS= read -r line; do
  thing=${line#??}
  case $line in
    +*) left="$left$thing
" ;;
    -*) case $left in
      *"
$thing
"*) left="${left%%"
$thing
"*}
${left#*"
$thing
"}" ;;
    esac ;;
  esac
done
printf '%s' "$left" | while IFS= read -r thing; do
  case $thing in
    /*) rm -rf -- "$thing" ;;
    ?*) kill -9 "-$thing" ;;
  esac
done 2>/dev/null
"""

_lock = threading.RLock()  # a signal handler may come while this thread tells the shell
_shell: subprocess.Popen[bytes] | None = None


@contextlib.contextmanager
def kill_on_exit(group: int) -> Iterator[None]:
    """Within the block, a process group is killed if this process is."""
    with _told(str(group)):
        yield


@contextlib.contextmanager
def remove_on_exit(path: Path) -> Iterator[None]:
    """Within the block, a file or folder is removed if this process is killed."""
    with _told(os.path.abspath(path)):
        yield


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder, in the system's own, that is removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="hwsim-") as folder, remove_on_exit(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def _told(thing: str) -> Iterator[None]:
    # A line cannot hold a name of two lines: such a file is left behind.
    watched = "\n" not in thing
    if watched:
        _tell(f"+ {thing}")
    try:
        yield
    finally:
        if watched:
            _tell(f"- {thing}")


def _tell(line: str) -> None:
    global _shell
    with _lock, contextlib.suppress(OSError):
        if _shell is None:
            _shell = subprocess.Popen(
                ["/bin/sh", "-c", WATCH],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert _shell.stdin is not None
        _shell.stdin.write(os.fsencode(f"{line}\n"))
        _shell.stdin.flush()


def _close() -> None:
    global _shell
    with _lock, contextlib.suppress(OSError):
        shell, _shell = _shell, None
        if shell is not None and shell.stdin is not None:
            shell.stdin.close()
            shell.wait()


def _forget() -> None:
    """After a fork, the shell is the parent's: this process has another when it needs one."""
    global _shell, _lock
    _lock = threading.RLock()
    if _shell is not None and _shell.stdin is not None:
        with contextlib.suppress(OSError):
            os.close(_shell.stdin.fileno())
        _shell.returncode = 0  # not this process's child: nothing to wait for
        _shell.stdin = None
    _shell = None


atexit.register(_close)
os.register_at_fork(after_in_child=_forget)


T = TypeVar("T")


class Stopped(Exception):
    """Raised where the run was stopped while a child process worked."""


class Silent(Exception):
    """Raised where a child process was ended because it made no progress for so long."""


# A child becomes its command only once somebody watches over it: where this process is killed before, it never does.
WHEN_TOLD = 'read -r go && exec "$@" </dev/null'
POLL = 0.25  # seconds between two looks at a child that must make progress


_running: set[subprocess.Popen[bytes]] = set()
_starting = threading.RLock()  # a signal handler may stop while this thread starts a child
_stopped = threading.Event()


def run(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    seconds: float | None = None,
    progress: Path | None = None,
    silence: float = math.inf,
) -> int:
    """Run a command and append its output to `log`. Returns its exit status.

    progress: a file that the command writes to while it makes progress, as it may write to its log.

    Raises Stopped after `stop`, subprocess.TimeoutExpired when it takes longer than `seconds`, and Silent when it wrote
    to neither for `silence` seconds; it is ended then.
    """
    with log.open("ab") as output:
        with _starting:
            if _stopped.is_set():
                raise Stopped
            child = subprocess.Popen(
                ["/bin/sh", "-c", WHEN_TOLD, "sh", *command],
                cwd=cwd,
                env=dict(environment),
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.PIPE,
                start_new_session=True,
            )
            _running.add(child)
        try:
            with kill_on_exit(child.pid):
                _begin(child)
                status = _waited(child, seconds, (log, *([progress] if progress else [])), silence)
        finally:
            with _starting:
                _running.discard(child)
    if _stopped.is_set():
        raise Stopped
    return status


def _begin(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError), child.stdin as stdin:
        stdin.write(b"go\n")


def _waited(child: subprocess.Popen[bytes], seconds: float | None, watched: Sequence[Path], silence: float) -> int:
    """The exit status of a child, which is ended where the wait for it ends in an exception."""
    try:
        return child.wait(seconds) if math.isinf(silence) else _while_it_speaks(child, watched, silence)
    except BaseException:
        _end(child)
        child.wait()
        raise


def _while_it_speaks(child: subprocess.Popen[bytes], watched: Sequence[Path], silence: float) -> int:
    """The exit status of a child that goes on writing to a file. Raises Silent where it stops writing."""
    last_written, silent, before = _written(watched), 0.0, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(POLL)
        now = time.monotonic()
        # A machine that does not let this process look does not let the child work either: that time does not count.
        silent, before = silent + min(now - before, 4 * POLL), now
        if (written := _written(watched)) != last_written:
            last_written, silent = written, 0.0
        elif silent > silence:
            raise Silent


def _written(watched: Sequence[Path]) -> list[tuple[int, int]]:
    """The times at which the files were last written, and their sizes."""
    states = [path.stat() if path.exists() else None for path in watched]
    return [(state.st_mtime_ns, state.st_size) if state else (0, 0) for state in states]


class Spent(Exception):
    """Raised where work in a process of its own took more than it has. The message says what of."""


def bounded(work: Callable[[], T], seconds: int, memory: int, idle: float = 20.0) -> T:
    """Run a function in a fork of this process; return its result or raise its exception.

    seconds: of processor time that it has. memory: bytes that it may take. idle: seconds that it may wait.
    For libraries that no signal interrupts; the result must be what pickle takes. Raises Spent.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_end(work, theirs, seconds, memory)
    os.close(theirs)
    try:
        with kill_on_exit(child), os.fdopen(ours, "rb") as answers:
            answer = _answer(answers, child, idle)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if not answer:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            raise Spent(f"more than {seconds} s of processor time")
        raise Spent(f"more than {memory >> 20:,} MiB of memory")
    returned, outcome = pickle.loads(answer)
    if not returned:
        raise outcome
    result: T = outcome
    return result


def _work_and_end(work: Callable[[], Any], answers: int, seconds: int, memory: int) -> NoReturn:
    """Run in the fork: do the work, send its result, and end without this process's handlers at exit."""
    try:
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a library says of memory that is not there
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (_data() + memory, resource.RLIM_INFINITY))
        try:
            answer = (True, work())
        except MemoryError:
            os._exit(1)
        except Exception as error:
            answer = (False, error)
        with os.fdopen(answers, "wb") as file:
            file.write(pickle.dumps(answer))
    finally:
        os._exit(0)


def _data() -> int:
    """Bytes of this process's data, as the system bounds them."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def _answer(answers: IO[bytes], child: int, idle: float) -> bytes:
    """All that a fork sends; nothing where it ends before. Raises Spent where it waits for something in vain."""
    before, waited = "", 0.0
    while not select.select([answers], [], [], POLL)[0]:
        with contextlib.suppress(OSError):
            now = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            state, used = now[0], " ".join(now[11:13])
            waited = waited + POLL if used == before and state != "R" else 0.0
            before = used
        if waited > idle:
            raise Spent(f"more than {idle:.0f} s, waiting for something")
    return answers.read()


def pause(seconds: float) -> None:
    """Wait for some seconds. Raises Stopped after `stop`, at once."""
    if _stopped.wait(seconds):
        raise Stopped


@contextlib.contextmanager
def alone(work: str) -> Iterator[None]:
    """Hold a piece of work for one thread of one process at a time. Raises Stopped where the run is stopped."""
    path = _lock_file(work)
    while True:
        with path.open("a") as lock:
            if _is_held(lock, path):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        pause(0.05)


def _lock_file(work: str) -> Path:
    digest = hashlib.sha256(work.encode()).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"hwsim-{os.getuid()}-{digest}.lock"


def _is_held(lock: TextIO, path: Path) -> bool:
    """True if a lock is this thread's now, and its file still the one that others look for."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def stop() -> None:
    """End every child process, and the processes that it started."""
    _stopped.set()
    with _starting:
        for child in _running:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def start() -> None:
    """Forget an earlier `stop`."""
    _stopped.clear()


@contextlib.contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose child processes end where the block ends in an exception; later ones may start all the same, unless
    the whole run was stopped."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    except BaseException:
        only_these = not _stopped.is_set()
        stop()
        pool.shutdown(cancel_futures=True)
        if only_these:
            start()
        raise
    pool.shutdown()
