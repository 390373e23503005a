"""The entry point: runs a command, and turns errors into a line and an exit status."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import platform
import shlex
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import typer
from typer.main import get_command

import hwsim
from hwsim.base.errors import INTERRUPTED, InputError, ToolMissing
from hwsim.cli.app import FIRST, MORE, app
from hwsim.cli.output import print_error

PACKAGE = Path(hwsim.__file__).resolve().parent
SOURCES = (PACKAGE, PACKAGE.parent / "rtl", PACKAGE.parent / "tb")
BAD_INPUT, TOOL_MISSING, UNEXPECTED = 2, 3, 70
# What a full disk, a full memory or a broken device makes of any file or stream.
OF_THE_MACHINE = {
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EROFS, errno.EFBIG,
}  # fmt: skip
PASSING = {"verilator"}  # commands whose arguments another program takes as they are, those that hwsim knows too
ALONE = {"docs", "doctor", "verilator"}  # commands that run where packages that others import are broken


def run(given: Sequence[str]) -> int:
    """Run hwsim with these arguments. Returns the exit status."""
    place = next((place for place, argument in enumerate(given) if not argument.startswith("-")), len(given))
    command = given[place] if place < len(given) else ""
    options, passed = (given[: place + 1], ["--", *given[place + 1 :]]) if command in PASSING else (given, [])
    debug = "--debug" in options or os.environ.get("HWSIM_DEBUG") == "1"
    arguments = [*(argument for argument in options if argument != "--debug"), *passed]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _check_streams()
        _load(command)
        run_command = _commands(*app.registered_commands, *app.registered_groups)
        status = run_command(arguments, prog_name="hwsim", standalone_mode=False)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # typer takes it for the end of what a user types
            return _report(error.__cause__, arguments)
        print_error("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _report(error, arguments)
    if status == INTERRUPTED:  # what typer makes of KeyboardInterrupt
        print_error("interrupted")
    return status if isinstance(status, int) else 0


@cache
def _commands(*_: object) -> Callable[..., object]:
    """The application with its commands, kept: to look at their parameters takes longer than many a command."""
    return get_command(app)


def _check_streams() -> None:
    """Let a process without an output write to nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (as long as the process)


def _load(command: str) -> None:
    """Import a command, or all, and refuse what Numba would stop at in words of its own, where it is used."""
    threads = os.environ.get("NUMBA_NUM_THREADS")
    if command not in ALONE and threads is not None and not (threads.isdecimal() and int(threads) > 0):
        raise InputError(f"NUMBA_NUM_THREADS must be the number of threads, at least 1, not {threads!r}")
    with _without_collections():
        import_module(f"hwsim.cli.{(FIRST | MORE).get(command, 'commands')}")


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage: what imports make stays, and to look through it takes an eighth of their time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _report(error: Exception, arguments: Sequence[str]) -> int:
    """Print an error: one line of what the user can mend, or a report of a defect. Returns the exit status."""
    if isinstance(error, ToolMissing):
        print_error(str(error))
        return TOOL_MISSING
    # Click's exceptions; typer has its own copy of them or not, by its version.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        message = error.format_message().replace("Value error, ", "")  # pydantic's words, in newer versions of typer
        print_error(f"{message.rstrip('.')}{hint}")
        return BAD_INPUT
    if isinstance(error, OSError) and (error.filename is not None or error.errno in OF_THE_MACHINE):
        where = "" if error.filename is None else f"{error.filename or repr('')}: "
        print_error(f"{where}{error.strerror}")
        return BAD_INPUT
    if isinstance(error, InputError):
        print_error(str(error))
        return BAD_INPUT
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding() != "utf-8":
        print_error(f"{error.object}: is no name in this locale; set PYTHONUTF8=1, or a locale of UTF-8")
        return BAD_INPUT
    print_error(*defect(error, arguments))
    return UNEXPECTED


def defect(error: Exception, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The report of an error that no user made: what and where; and version, platform and command."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(map(Path(frame.filename).is_relative_to, SOURCES))] or list(frames)
    where = "".join(f" in {Path(frame.filename).name}:{frame.lineno} ({frame.name})" for frame in ours[-1:])
    message = textwrap.shorten(f"unexpected {type(error).__name__}: {error}", 300, placeholder=" ...")
    return f"{message};{where}; this is a defect of hwsim: please report it, with these lines", [
        f"command:  {shlex.join(['hwsim', *arguments])}",
        f"hwsim {hwsim.__version__}, Python {platform.python_version()}, {platform.platform()}",
        "the same command with --debug prints the traceback",
    ]
