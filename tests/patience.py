"""How long a test waits for what must happen: until it does, or so long that even a busy machine would have done it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Seconds. What takes seconds on a quiet machine takes minutes beside other load; only what hangs takes longer.
LIMIT = 600.0


def wait_until(happened: Callable[[], Any]) -> None:
    """Wait for an event. AssertionError where it does not come."""
    end = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
