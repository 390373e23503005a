"""The cost of work, checked before it begins: memory that is not there is refused, and long work is announced."""

from __future__ import annotations

import resource
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hwsim.base.errors import InputError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LONG = 30.0  # seconds, from which on work is announced
# Where a container's limit and what it uses are: of cgroup version 2, and of version 1.
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True)
class Cost:
    """The rough cost of a piece of work. memory: bytes. seconds: of one core. instead: what would take less."""

    what: str
    memory: float
    seconds: float = 0.0
    instead: str = ""

    def demand(self) -> str | None:
        """A sentence about work that takes long; None of other work. Raises InputError where memory is short."""
        if self.memory > (free := free_memory()):
            instead = f"; {self.instead}" if self.instead else ""
            raise InputError(
                f"{self.what} takes about {size(self.memory)} of memory, and {size(free)} are free{instead}"
            )
        if self.seconds < LONG:
            return None
        return f"{self.what} takes about {duration(self.seconds)}"


def demand_disk(path: Path, count: int) -> None:
    """Raise InputError, naming the file, where there is no room for so many bytes in its folder."""
    folder = next(folder for folder in path.absolute().parents if folder.is_dir())
    if count > (free := shutil.disk_usage(folder).free):
        raise InputError(f"{path}: takes {size(count)}, and {size(free)} are free in {folder}")


def free_memory() -> int:
    """The bytes that this process may still take: of the machine, its container and its own limit."""
    free = [bytes_free for bytes_free in (_of_machine(), *_of_containers(), _of_process()) if bytes_free is not None]
    return max(min(free, default=1 << 62), 0)


def size(count: float) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}" if count < 100 * unit else f"{count / unit:,.0f} {name}"
    return f"{count / KIB:,.0f} KiB"


def duration(seconds: float) -> str:
    for length, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {name}"
    return f"{seconds:,.0f} seconds"


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * KIB if "MemAvailable" in lines else None
    return None


def _of_containers() -> list[int]:
    free = []
    for limit, used in CGROUPS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            free.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
    return free


def _of_process() -> int | None:
    """The free part of the address space that `ulimit -v` and batch systems allow; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError, IndexError):
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return limit
