"""Compiles functions with Numba, without Python's lock, and keeps the code on disk by the content of its source."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from hwsim.base.files import cache_folder
from hwsim.base.package import PACKAGE, digest_of

Function = TypeVar("Function", bound=Callable[..., Any])

DIGEST_BYTES = hashlib.sha256().digest_size
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Seconds of compiling after which a process says, once, why nothing else happens.
NOTICE_AFTER = 3.0
LOG = logging.getLogger(__name__)


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, in one process while others wait, and keep the code on disk."""
    dispatcher: Any = numba.njit(no_cfunc_wrapper=True, **OPTIONS)(function)
    keep(dispatcher, function, code_folder(function.__module__))
    result: Function = dispatcher
    return result


def keep(compiler: Any, function: Callable[..., Any], folder: Path) -> None:
    """Keep a function's code in a folder, whose name says all that it depends on, or where Numba was told to.

    compiler: Numba's object that compiles the function. Where nothing can be written, every process compiles.
    """
    function.kept_in = str(folder)  # type: ignore[attr-defined]
    place = None
    with suppress(RuntimeError):
        compiler._cache = (FunctionCache if numba.config.CACHE_DIR else _ContentCache)(function)
        place = Path(compiler._cache.cache_path)
    compiler.compile = _one_at_a_time(compiler.compile, function, place)


def inlined(function: Function) -> Function:
    """Compile a function as a part of its callers, which are compiled: Python itself calls its `py_func`."""
    apart = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _Part}
    dispatcher: Any = numba.njit(forceinline=True, **apart, **OPTIONS)(function)
    dispatcher.add_overload = partial(_add_part, dispatcher)
    dispatcher._compile_for_args = _refuse_python
    part: Function = dispatcher
    return part


class _Part(Compiler):  # type: ignore[misc]
    """Compiles code to link into callers. To make it machine code of its own, too, would take half of the time."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.state.flags.no_compile = True
        self.state.library = library = self.state.targetctx.codegen().create_library("part")
        library._finalize_final_module = lambda: setattr(library, "_finalized", True)


def _add_part(dispatcher: Any, made: Any) -> None:
    """Let compiled functions call a part, by a key in the place of an address."""
    made = made._replace(entry_point=object())
    made.target_context.insert_user_function(made.entry_point, made.fndesc, [made.library])
    dispatcher.overloads[tuple(made.signature.args)] = made


def _refuse_python(*_arguments: Any, **_more: Any) -> None:
    raise TypeError("an inlined function is a part of compiled ones; Python calls its py_func")


class Callback:
    """Compiled code that other compiled functions `call`: they are compiled once for any such code.

    Code that a compiled function calls by name becomes a part of that function instead.
    function: of so many int64, numbers and addresses (`row_at`), returning nothing.
    """

    def __init__(self, function: Callable[..., None], arguments: int):
        self._code: Any = CFunc(function, ((types.int64,) * arguments, types.none), {}, {**OPTIONS, "nopython": True})
        keep(self._code, function, code_folder(function.__module__))
        self._code.compile()

    @property
    def address(self) -> int:
        """The address of the code, as long as this object lives."""
        address: int = self._code.address
        return address

    def assembly(self) -> str:
        """The code, for the processor that it was compiled for."""
        text: str = self._code._library.get_asm_str()
        return text


@intrinsic  # type: ignore[untyped-decorator]
def call(_typing: Any, address: Any, arguments: Any) -> Any:
    """Call a callback at its address, with a tuple of its arguments."""

    def codegen(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        typed = zip(cgutils.unpack_tuple(builder, values[1]), arguments.types, strict=True)
        words = [context.cast(builder, value, kind, types.int64) for value, kind in typed]
        function = ir.FunctionType(context.get_value_type(types.none), [word.type for word in words])
        builder.call(builder.inttoptr(values[0], function.as_pointer()), words)
        return context.get_dummy_value()

    return types.none(address, arguments), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(_typing: Any, address: Any, kind: Any) -> Any:
    """An address as a pointer to numbers of a kind."""
    pointer = types.CPointer(kind.dtype)  # type: ignore[attr-defined]

    def codegen(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(pointer))

    return pointer(types.int64, kind), codegen


@inlined
def row_at(address: int, length: int, kind: Any) -> Any:
    """The array of so many numbers of a kind at an address."""
    return numba.carray(_pointer(address, kind), (length,))


class _ContentLocator(_CacheLocator):  # type: ignore[misc]
    """Locates a function's compiled code: in the folder that `keep` was given.

    Numba's own locators name the folder of the source too: another installation of the same code would compile again.
    """

    def __init__(self, function: Callable[..., Any]):
        self.path: str = function.kept_in  # type: ignore[attr-defined]
        self.line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return self.path

    def get_source_stamp(self) -> str:
        """The source's identity beside the folder: none."""
        return ""

    def get_disambiguator(self) -> str:
        """The line, which distinguishes functions of one name."""
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


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """An index and files of code, each after a digest of what it holds and is for: a damaged one is as good as none.

    So is one of another function or version of Numba. Where nothing can be written, code is used and not kept.
    """

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError):
            super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        # Once an index is lost, files that it named hold the code for other arguments.
        return entry[1] if entry is not None and entry[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        content = self._intact(self._index_path)
        return {} if content is None else pickle.loads(content)

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, self._dump(overloads))

    def _load_data(self, name: str) -> Any:
        content = self._intact(self._data_path(name))
        return None if content is None else pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(self._digest(content) + content)

    def _intact(self, path: str) -> bytes | None:
        """A file's content; None if it is damaged or missing."""
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        digest = self._digest(content[DIGEST_BYTES:])
        return content[DIGEST_BYTES:] if content.startswith(digest) else None

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(f"{self._version}\0{self._index_name}\0".encode() + content).digest()


class _ContentCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _ContentCacheImpl

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, "")


def _one_at_a_time(
    compile_or_load: Callable[..., Any], function: Callable[..., Any], folder: Path | None
) -> Callable[..., Any]:
    """Wrap a function's compiler in a lock: of several processes, one compiles, and the others load its code.

    Numba's own lock is taken first, as it is when compiling a function requires another: so threads cannot deadlock.
    Nor can processes, because functions do not call one another in circles.
    """
    name = f"{function.__module__}.{function.__qualname__}.lock"

    def compile_alone(*signature: Any) -> Any:
        with global_compiler_lock, _noticed(folder is not None), ExitStack() as held:
            with suppress(OSError):  # where there is nowhere to lock, each compiles
                if folder is not None:
                    folder.mkdir(parents=True, exist_ok=True)
                    fcntl.flock(held.enter_context((folder / name).open("a")), fcntl.LOCK_EX)
            return compile_or_load(*signature)

    return compile_alone


_waiting = threading.Event()


@contextmanager
def _noticed(cached: bool) -> Iterator[None]:
    """Say that code is compiled, if that takes long. Under Numba's lock: what is compiled within is part of it."""
    if _waiting.is_set():
        yield
        return
    timer = threading.Timer(NOTICE_AFTER, _notice, (cached,))
    timer.daemon = True
    _waiting.set()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _waiting.clear()


@cache
def _notice(cached: bool) -> None:
    then = "it is kept in %s, and loaded from now on"
    if not cached:
        then = "%s cannot be written to, so that every process compiles it: HWSIM_CACHE names another folder"
    LOG.warning(f"compiling code for units of this kind; {then}", cache_folder())


@cache
def code_folder(module: str, root: Path = PACKAGE) -> Path:
    """The folder of a module's compiled code, named by the content of the module and of all modules that it may call.

    Numba itself checks only whether a function's own file has changed, not the files of functions that it calls.
    module: under `hwsim`, whose folder is `root`.
    """
    return cache_folder() / "kernels" / f"{module}-{digest_of(module, root)[:16]}"
