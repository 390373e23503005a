"""How the tests of the command line run it, and what an error must look like."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Done(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Done]


def process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """hwsim with these arguments, in a process of its own."""
    command = [sys.executable, "-m", "hwsim", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def fails(done: Done, message: str, status: int = 2) -> None:
    """The run must end with one line of error, no traceback, and this status."""
    assert done.status == status, done
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("error: ")
    assert re.search(message, done.err), done.err
    assert "Traceback" not in done.out + done.err
