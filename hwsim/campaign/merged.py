"""Coverage of a whole run: each bin of a unit once, however many jobs met it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hwsim.explain.record import STATES, BinCounts, CoverageGroup

# Of several states of one bin: it was hit where a job hit it; and where one knows that it can be, it can.
ORDER = {state: place for place, state in enumerate(STATES)}


class BinPlace(NamedTuple):
    """A bin: of which unit, in which group, and its name."""

    unit: str
    group: str
    name: str


@dataclass
class MergedBin:
    """A bin over all jobs. hits: of all together. jobs: how many jobs hit it."""

    state: str
    reason: str
    hits: int = 0
    jobs: int = 0


@dataclass
class MergedCoverage:
    """The bins of all units."""

    bins: dict[BinPlace, MergedBin] = field(default_factory=dict)

    def add(self, groups: Iterable[CoverageGroup]) -> None:
        """Take the bins of a job, which must be added once."""
        for group in groups:
            for one in group.bins:
                place = BinPlace(group.unit, group.name, one.name)
                found = self.bins.setdefault(place, MergedBin(one.state, one.reason))
                if ORDER[one.state] < ORDER[found.state]:
                    found.state, found.reason = one.state, one.reason
                found.hits += one.hits
                found.jobs += one.hits > 0

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each bin, by unit, group and name."""
        return [
            {**place._asdict(), "state": one.state, "hits": one.hits, "jobs": one.jobs, "reason": one.reason}
            for place, one in sorted(self.bins.items())
        ]

    @property
    def units(self) -> dict[str, BinCounts]:
        """The bins of each unit, counted by their states."""
        counts: dict[str, dict[str, int]] = {}
        for place, one in sorted(self.bins.items()):
            of_unit = counts.setdefault(place.unit, dict.fromkeys(STATES, 0))
            of_unit[one.state] += 1
        return {unit: BinCounts(**of_unit) for unit, of_unit in counts.items()}
