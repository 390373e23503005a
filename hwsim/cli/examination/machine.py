"""Memory, cores, the cache, and results of GPUs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from hwsim.cases.captured import FILE, VARIABLE, silicon
from hwsim.cli.examination.finding import Broken, Found, Probe, Use
from hwsim.errors import ToolMissing
from hwsim.files import cache_folder, takes_files
from hwsim.resources import free_memory, size

LONGEST_COUNT = 1.0  # seconds of counting what a cache holds
UNKNOWN = 1 << 60  # more bytes than any machine has


def probes() -> Iterator[Probe]:
    """Of all that is no program and no package."""
    yield Probe("cores", Use.SPEED, "", _cores)
    yield Probe("memory", Use.SPEED, "", _memory)
    yield Probe("cache", Use.SPEED, "export HWSIM_CACHE=FOLDER", _cache)
    yield Probe("results of GPUs", Use.CAPTURED, f"export {VARIABLE}=FOLDER", _captured)


def _cores() -> Found:
    usable, there = len(os.sched_getaffinity(0)), os.cpu_count()
    return Found(f"{usable}" if usable == there else f"{usable} of {there}")


def _memory() -> Found:
    free = free_memory()
    return Found("unknown" if free > UNKNOWN else f"{size(free)} free")


def _cache() -> Found:
    """Builds, compiled kernels and figures of synthesis."""
    folder = cache_folder()
    if not takes_files(folder):
        raise Broken("takes no files: what takes long to compute is computed in every run", str(folder))
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return Found(f"{_held(folder)} kept, {size(shutil.disk_usage(there).free)} free", str(folder))


def _held(folder: Path) -> str:
    """The size of what a folder holds, in words."""
    end, total = time.monotonic() + LONGEST_COUNT, 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:  # removed meanwhile
                continue
        if time.monotonic() > end:
            return f"at least {size(total)}"
    return size(total)


def _captured() -> Found:
    named = os.environ.get(VARIABLE)
    if not named:
        raise ToolMissing(f"{VARIABLE} is not set")
    path = silicon()
    if path is None:
        raise Broken(f"there is no {FILE}", named)
    return Found(size(path.stat().st_size), str(path))
