"""Says what long work is at, on the standard error, wherever nothing else was said for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hwsim.cli.output import note

if TYPE_CHECKING:
    from types import TracebackType

SOON, LATER = 10.0, 60.0  # seconds of silence before the first line about one piece of work, and between the next ones


class StillAt:
    """A context manager, inside of which `at` names what is done next, and `now` how far it is.

    soon, later: seconds before the first line about it, and between further ones.
    """

    def __init__(self, soon: float = SOON, later: float = LATER):
        self.soon, self.later = soon, later
        self.what, self.since = "", time.monotonic()
        self.changed, self.ended = threading.Event(), False
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> StillAt:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True
        self.changed.set()
        self.thread.join()

    def at(self, what: str) -> None:
        """Name what is done from now on."""
        self.what, self.since = what, time.monotonic()
        self.changed.set()

    def now(self, what: str) -> None:
        """Name how far the same piece of work is: neither its time nor the silence begins anew."""
        self.what = what

    def _beat(self) -> None:
        wait = self.soon
        while not self.ended:
            if self.changed.wait(wait):
                self.changed.clear()
                wait = self.soon
            elif self.what:
                note(f"{self.what}: {time.monotonic() - self.since:.0f} s so far")
                wait = self.later
