"""What must not outlive this process, even where it is killed: child processes and half-written files.

A small shell, in a session of its own, is told of each. When this process ends, whatever ends it, the shell's standard
input ends too, and it kills and removes what is left.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

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
def ended_with_us(group: int) -> Iterator[None]:
    """Meanwhile, a process group is killed where this process is."""
    with _told(str(group)):
        yield


@contextlib.contextmanager
def removed_with_us(path: Path) -> Iterator[None]:
    """Meanwhile, a file or folder is removed where this process is killed."""
    with _told(os.path.abspath(path)):
        yield


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a while, in the system's own."""
    with tempfile.TemporaryDirectory(prefix="hwsim-") as folder, removed_with_us(Path(folder)):
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
