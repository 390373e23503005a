"""What programs say, which may hang, crash, or print without an end."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from hwsim.cli.examination.finding import Broken
from hwsim.leftovers import ended_with_us

LIMIT = 15.0  # seconds; a busy machine, or one that reads packages from a network, is done sooner
MOST_BYTES = 1 << 16
VERSION = r"(\d+(?:\.\d+)+)"
_running: set[int] = set()
_stopped = threading.Event()


def said(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a program prints. Raises Broken where it cannot be run, fails, prints too much, or is not done in time."""
    place = command[0]
    try:
        child = subprocess.Popen(
            list(command),
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Broken(f"cannot be run: {getattr(error, 'strerror', None) or error}", place) from None
    with ended_with_us(child.pid):
        heard, status = _heard(child)
    text = heard.decode(errors="replace")
    if len(heard) > MOST_BYTES:
        raise Broken(f"prints more than {MOST_BYTES:,} bytes", place)
    if status is None:
        raise Broken(f"was not done within {LIMIT:g} seconds", place)
    if status:
        raise Broken(f"failed with status {status}: {_last(text) or 'it said nothing'}", place)
    return text


def version_said(command: Sequence[str], pattern: str = VERSION, environment: Mapping[str, str] | None = None) -> str:
    """The version that a program prints. Raises Broken as `said`, and where it prints none."""
    text = said(command, environment)
    found = re.search(pattern, text)
    if found is None:
        raise Broken(f"says no version: {text.strip()[:80]!r}", command[0])
    return found[1]


def _heard(child: subprocess.Popen[bytes]) -> tuple[bytes, int | None]:
    """What a child prints, its beginning if it is much, and its exit status; None of one that is not done in time.

    It and all that it started have ended then.
    """
    end = time.monotonic() + LIMIT
    output, heard, status = child.stdout, b"", None
    assert output is not None
    _running.add(child.pid)
    if _stopped.is_set():  # between its start and now
        _end(child.pid)
    try:
        while len(heard) <= MOST_BYTES and select.select([output], [], [], max(0.0, end - time.monotonic()))[0]:
            part = os.read(output.fileno(), MOST_BYTES)
            heard += part
            if not part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = child.wait(max(0.0, end - time.monotonic()))
                break
    finally:
        _running.discard(child.pid)
        _end(child.pid)
        output.close()
        child.wait()
    return heard, status


def stop() -> None:
    """End every program that is being heard, or would be, for who does not wait any longer."""
    _stopped.set()
    for group in tuple(_running):
        _end(group)


def start() -> None:
    """Forget an earlier `stop`."""
    _stopped.clear()


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _last(text: str) -> str:
    """The last line that says anything: of a traceback, the error."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
