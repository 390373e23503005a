"""How long a run goes on, by what its jobs took before, and how fast they are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class TimeLeft:
    """Seconds that are left, after each job.

    costs: of each job that is to run, by name, in seconds of an earlier run or as a guess. done: what those cost that
    have ended.
    """

    costs: Mapping[str, float]
    done: float = 0.0
    ended: set[str] = field(default_factory=set)

    def end(self, name: str) -> None:
        """Take note of a job that ended, once."""
        if name not in self.ended:
            self.ended.add(name)
            self.done += self.costs[name]

    def left(self, elapsed: float) -> float:
        """Seconds until all have ended, as many at a time as until now. elapsed: since the first began."""
        rest = sum(cost for name, cost in self.costs.items() if name not in self.ended)
        return elapsed * rest / self.done if self.done else rest


def expected_costs(guessed: Iterable[tuple[str, float]], measured: Mapping[str, float]) -> dict[str, float]:
    """What each job costs: as measured, or its guess, by as much as guesses of the others were too large or small."""
    guesses = dict(guessed)
    both = [name for name in guesses if name in measured]
    over = sum(guesses[name] for name in both)
    scale = sum(measured[name] for name in both) / over if over else 1.0
    return {name: max(measured.get(name, guess * scale), 1e-3) for name, guess in guesses.items()}


def worded_seconds(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours:,} h {rest} min" if rest else f"{hours:,} h"
