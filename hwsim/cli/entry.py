"""The entry point: runs a command, and turns errors into a line and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import typer
from pydantic import ValidationError

from hwsim.cli.app import app
from hwsim.cli.output import print_error
from hwsim.errors import ToolMissing

BAD_INPUT, TOOL_MISSING, UNEXPECTED, INTERRUPTED = 2, 3, 70, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run hwsim with these arguments (the process's own, unless given). Returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments or os.environ.get("HWSIM_DEBUG") == "1"
    arguments = [argument for argument in arguments if argument != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(arguments, prog_name="hwsim", standalone_mode=False)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except (KeyboardInterrupt, typer.Abort):
        print_error("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _report(error)
    return status if isinstance(status, int) else 0


def _report(error: Exception) -> int:
    """Print an error as one line. Returns the exit status."""
    if isinstance(error, ToolMissing):
        print_error(str(error))
        return TOOL_MISSING
    # Click's exceptions; typer has its own copy of them or not, by its version.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        print_error(f"{error.format_message().rstrip('.')}{hint}")
        return BAD_INPUT
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        print_error(f"{'.'.join(map(str, first['loc']))}: {first['msg']}, not {first['input']!r}")
        return BAD_INPUT
    if isinstance(error, OSError):
        print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return BAD_INPUT
    if isinstance(error, (ValueError, TypeError)):
        print_error(str(error))
        return BAD_INPUT
    print_error(
        f"unexpected {type(error).__name__}: {error}; this is a defect of hwsim: please report it, "
        "with what the same command prints with --debug"
    )
    return UNEXPECTED
