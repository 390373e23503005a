"""How this package compiles: Numba, without Python's lock, kept on disk by the content of what was compiled."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

from hwsim.files import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

ROOT = Path(__file__).parent
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(hwsim[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(hwsim[^\n]*))", re.MULTILINE
)


def compiled(function: Function) -> Function:
    """Compiled when it is first called, by one process while others wait, and kept on disk."""
    with _kept_in(code_folder(function.__module__)):
        dispatcher: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    dispatcher.compile = _one_at_a_time(dispatcher)
    result: Function = dispatcher
    return result


def inlined(function: Function) -> Function:
    """Compiled as a part of whatever calls it."""
    dispatcher: Function = numba.njit(forceinline=True, nogil=True, error_model="numpy")(function)
    return dispatcher


def _one_at_a_time(dispatcher: Any) -> Callable[[Any], Any]:
    """A dispatcher's `compile`, which looks on disk first: where several processes ask at once, one compiles.

    Numba's own lock is taken first, as it is when a function that is being compiled asks for another: threads of a
    process then never wait for each other in turn. Functions do not call one another in circles; nor do processes.
    """
    compile_or_load, folder = dispatcher.compile, Path(dispatcher.stats.cache_path)
    name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}.lock"

    def compile_alone(signature: Any) -> Any:
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError):  # where there is nowhere to lock, each compiles
                folder.mkdir(parents=True, exist_ok=True)
                fcntl.flock(held.enter_context((folder / name).open("a")), fcntl.LOCK_EX)
            return compile_or_load(signature)

    return compile_alone


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """Numba's own folder where its configuration names one."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = before or str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def code_folder(module: str, root: Path = ROOT) -> Path:
    """Where a module's compiled code is kept: named by its content, and by that of all modules that it may call.

    Numba asks whether a function's own file has changed, but not the files of what it calls.
    module: under `hwsim`, which is the folder `root`.
    """
    content = hashlib.sha256()
    for name in sorted(reachable_modules(module, root)):
        content.update(f"{name}\0".encode() + hashlib.sha256(_file(name, root).read_bytes()).digest())
    return cache_folder() / "kernels" / f"{module}-{content.hexdigest()[:16]}"


def reachable_modules(module: str, root: Path = ROOT) -> set[str]:
    """A module, all that it imports, and so on; of this package, and by the statements in their files.

    Every compiled module imports this one, which says how to compile.
    """
    reached, left = set[str](), [module]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += imported_modules(name, root)
    return reached


@cache
def imported_modules(module: str, root: Path = ROOT) -> frozenset[str]:
    """The modules of this package that a module's statements import, those within functions and for types too."""
    names: set[str] = set()
    for package, members, modules in IMPORT.findall(_file(module, root).read_text(encoding="utf-8")):
        names |= {package, *(f"{package}.{member}" for member in re.findall(r"\w+", members))} if package else set()
        names |= set(re.findall(r"hwsim[\w.]*", modules))
    return frozenset(name for name in names if _file(name, root).is_file())


def _file(module: str, root: Path) -> Path:
    path = root.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
