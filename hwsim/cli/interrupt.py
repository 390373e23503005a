"""Signals that end a command as Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the run as Ctrl-C does, so that the run leaves only what can be resumed."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:
                before[ending] = signal.signal(ending, signal.default_int_handler)
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
