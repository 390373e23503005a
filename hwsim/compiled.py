"""How this package compiles: Numba, without Python's lock, kept on disk by the content of what was compiled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


# Packages whose compiled code calls that of others.
CALLS = dict.fromkeys(("hwsim.quantize", "hwsim.cases", "hwsim.readings"), ("hwsim.formats",))


def compiled(function: Function) -> Function:
    """Compiled when it is first called, and kept on disk."""
    with _kept_by_content(function.__module__.rpartition(".")[0]):
        made: Function = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return made


def inlined(function: Function) -> Function:
    """Compiled as a part of whatever calls it."""
    made: Function = numba.njit(forceinline=True, nogil=True, error_model="numpy")(function)
    return made


@contextmanager
def _kept_by_content(package: str) -> Iterator[None]:
    """Numba asks whether a function's own file has changed, but not the files of what it calls: the content of all
    files of the package names the folder.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = before or str(_folder(package))
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@lru_cache(maxsize=8)
def _folder(package: str) -> Path:
    """`kernels`, the package and a hash, in HWSIM_CACHE or ~/.cache/hwsim."""
    root = Path(__file__).parent
    content = hashlib.sha256(Path(__file__).read_bytes())
    for name in (package, *CALLS.get(package, ())):
        for path in sorted((root / Path(*name.split(".")[1:])).rglob("*.py")):
            content.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    cache = os.environ.get("HWSIM_CACHE") or Path.home() / ".cache" / "hwsim"
    return Path(cache) / "kernels" / f"{package}-{content.hexdigest()[:16]}"
