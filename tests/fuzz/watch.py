"""What an input must leave alone: files outside its folder, the network, and other programs' shells.

Python reports what it opens, makes and removes to an audit hook, before it happens. A hook stays for the life of its
process, and so only workers have one.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events, and which of their arguments are paths, each with the place of the folder's descriptor that it starts from.
CHANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "os.mkdir": ((0, 2),), "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),), "os.symlink": ((1, 2),), "os.truncate": ((0, -1),), "os.chmod": ((0, 2),),
    "os.utime": ((0, 3),),
    "os.chown": ((0, 3),), "shutil.rmtree": ((0, 1),),
}  # fmt: skip
NEVER = ("os.system", "os.exec", "os.posix_spawn", "socket.connect", "urllib.Request", "pty.spawn")
DEVICES = ("/dev/null", "/dev/full", "/dev/shm")


class Watch:
    """Writes outside some folders, while `around` runs."""

    def __init__(self, allowed: tuple[Path, ...]):
        self.allowed = tuple(str(path.resolve()) for path in allowed)
        self.inside, self.active = "", False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    @contextmanager
    def around(self, folder: Path) -> Iterator[list[str]]:
        """Meanwhile only this folder may be written. Gives what else was."""
        self.inside, self.seen, self.active = str(folder.resolve()), [], True
        try:
            yield self.seen
        finally:
            self.active = False

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "open":
            path, _, flags = given
            if isinstance(flags, int) and flags & WRITES:
                self._check("opened to write", path, None)
        elif event in CHANGES:
            for at, descriptor in CHANGES[event]:
                self._check(event, given[at], given[descriptor] if 0 <= descriptor < len(given) else None)
        elif event in NEVER:
            self.seen.append(f"{event}: {given!r}"[:200])

    def _check(self, what: str, path: Any, descriptor: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)
        start = f"/proc/self/fd/{descriptor}" if isinstance(descriptor, int) and descriptor >= 0 else "."
        try:
            full = os.path.realpath(name if os.path.isabs(name) else os.path.join(os.path.realpath(start), name))
        except ValueError:  # a NUL, which the system refuses
            return
        roots = (self.inside, *self.allowed, *DEVICES)
        if not any(full == root or full.startswith(f"{root}/") for root in roots):
            self.seen.append(f"{what}: {full}")


def contents(folder: Path) -> dict[str, str]:
    """Every file and folder below a folder, with a digest of what a file holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        held = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest() if held else "folder"
    return found
