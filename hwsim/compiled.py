"""Compiles functions with Numba, without Python's lock, and keeps the code on disk by the content of its source."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

from hwsim.files import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

ROOT = Path(__file__).parent
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(hwsim[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(hwsim[^\n]*))", re.MULTILINE
)


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, in one process while others wait, and keep the code on disk."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    keep(dispatcher, code_folder(function.__module__))
    if dispatcher.stats.cache_path:
        dispatcher.compile = _one_at_a_time(dispatcher)
    result: Function = dispatcher
    return result


def keep(dispatcher: Any, folder: Path) -> None:
    """Keep a function's code in a folder, whose name says all that it depends on, or where Numba was told to.

    Where nothing can be written, every process compiles.
    """
    dispatcher.py_func.kept_in = str(folder)
    with suppress(RuntimeError):
        dispatcher._cache = (FunctionCache if numba.config.CACHE_DIR else _ContentCache)(dispatcher.py_func)


class _ContentLocator(_CacheLocator):  # type: ignore[misc]
    """Where a function's code is kept: in the folder that `keep` was given.

    Numba's own locators name the folder of the source too: another installation of the same code would compile again.
    """

    def __init__(self, function: Callable[..., Any]):
        self.path: str = function.kept_in  # type: ignore[attr-defined]
        self.line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """The folder."""
        return self.path

    def get_source_stamp(self) -> str:
        """What the source is known by, beside the folder: nothing."""
        return ""

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self.line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], _file: str) -> _ContentLocator | None:
        """The locator, where its folder can be written to."""
        locator = cls(py_func)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


class _ContentCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_ContentLocator,)


class _ContentCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _ContentCacheImpl


def inlined(function: Function) -> Function:
    """Compile a function as a part of its callers."""
    dispatcher: Function = numba.njit(forceinline=True, nogil=True, error_model="numpy")(function)
    return dispatcher


def _one_at_a_time(dispatcher: Any) -> Callable[[Any], Any]:
    """A dispatcher's `compile` under a lock: of several processes, one compiles, and the others load its code.

    Numba's own lock is taken first, as it is when compiling a function requires another: so threads cannot deadlock.
    Nor can processes, because functions do not call one another in circles.
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


@cache
def code_folder(module: str, root: Path = ROOT) -> Path:
    """The folder of a module's compiled code, named by the content of the module and of all modules that it may call.

    Numba itself checks only whether a function's own file has changed, not the files of functions that it calls.
    module: under `hwsim`, whose folder is `root`.
    """
    content = hashlib.sha256()
    for name in sorted(reachable_modules(module, root)):
        content.update(f"{name}\0".encode() + hashlib.sha256(_file(name, root).read_bytes()).digest())
    return cache_folder() / "kernels" / f"{module}-{content.hexdigest()[:16]}"


def reachable_modules(module: str, root: Path = ROOT) -> set[str]:
    """A module and all modules of this package that it imports, directly or not, by their import statements.

    Every compiled module imports this one, so that a change here compiles all of them again.
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
    """The modules of this package that a module imports, within functions and for types too."""
    names: set[str] = set()
    for package, members, modules in IMPORT.findall(_file(module, root).read_text(encoding="utf-8")):
        names |= {package, *(f"{package}.{member}" for member in re.findall(r"\w+", members))} if package else set()
        names |= set(re.findall(r"hwsim[\w.]*", modules))
    return frozenset(name for name in names if _file(name, root).is_file())


def _file(module: str, root: Path) -> Path:
    path = root.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
