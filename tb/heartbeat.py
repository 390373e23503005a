"""Telling whoever waits that a simulation goes on: a small file, written again while cycles end."""

from __future__ import annotations

import time
from pathlib import Path

from hwsim.tb.job import PROGRESS

OFTEN = 0.5  # seconds between two writes, at least


class Heartbeat:
    """Writes a suite's progress to the job's folder. Nothing is written while a cycle never ends."""

    def __init__(self, folder: Path, name: str):
        self.path, self.name, self.next = folder / PROGRESS, name, 0.0
        self(0)

    def __call__(self, cycle: int) -> None:
        """So many cycles have ended."""
        now = time.monotonic()
        if now >= self.next:
            self.path.write_text(f"{cycle} {self.name}\n", encoding="utf-8")
            self.next = now + OFTEN
