"""Coverage as a report has it: bins in groups, their states, and how many there are of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from hwsim.errors import InputError
from hwsim.report.fit import Text
from hwsim.report.frozen import Count, Record, named_once

STATES = ("hit", "missed", "open", "unreachable")


class CountedBin(Record):
    """Something that a run should have met.

    state: `hit`; `missed`, though it can be met; `unreachable`, and reason says why; `open`, not met, and nobody has
    shown whether it can be. place: the labels of a row and a column, where bins are the cells of a table (pairs of
    lanes).
    """

    name: Text
    hits: Count = 0
    state: Literal["hit", "missed", "unreachable", "open"]
    reason: Text = ""
    place: tuple[Text, Text] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.hits > 0) != (self.state == "hit"):
            raise InputError(f"bin {self.name} was hit {self.hits} times, so that it must not be {self.state}")
        if self.state == "unreachable" and not self.reason:
            raise InputError(f"bin {self.name} is unreachable: reason must say why")
        return self


class CoverageGroup(Record):
    """Bins of one kind.

    meaning: what its bins are, and the words of their names. unit: whose, where a report is of several. axes: what the
    places' rows and columns are.
    """

    name: Text
    title: Text = ""
    meaning: Text = ""
    unit: Text = ""
    axes: tuple[Text, Text] = ("row", "column")
    bins: tuple[CountedBin, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        named_once((bin.name for bin in self.bins), f"bins of {self.name}")
        return self

    @property
    def counts(self) -> BinCounts:
        """Its bins by their states."""
        return bin_counts([self])

    def of(self, state: str) -> tuple[CountedBin, ...]:
        """The bins in a state, in order."""
        return tuple(bin for bin in self.bins if bin.state == state)


class BinCounts(NamedTuple):
    """How many bins are in each state. A bin can be reached where it was hit, or where it is known that it can be."""

    hit: int = 0
    missed: int = 0
    open: int = 0
    unreachable: int = 0

    @property
    def reachable(self) -> int:
        """Bins that are known to be reachable."""
        return self.hit + self.missed

    def __str__(self) -> str:
        still = f", {self.open:,} open" if self.open else ""
        never = f", {self.unreachable:,} unreachable" if self.unreachable else ""
        return f"{self.hit:,} of {self.reachable:,} reachable bins hit{still}{never}"


def bin_counts(groups: Iterable[CoverageGroup]) -> BinCounts:
    """The bins of some groups, counted by their states."""
    states = Counter[str](bin.state for group in groups for bin in group.bins)
    return BinCounts(*(states[state] for state in STATES))


Planned = tuple[str, str, bool | None, str]


def coverage_groups(
    planned: Iterable[Planned],
    hits: Mapping[str, int],
    *,
    unit: str = "",
    titles: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    places: Mapping[str, tuple[str, str]] | None = None,
    axes: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[CoverageGroup, ...]:
    """A plan and what was counted, as groups in the plan's order.

    planned: group, name, reachable (None: not shown either way) and reason. hits: by name; a name without hits was not
    met. titles, meanings, axes: by group. places: by name.

    Raises ValueError for hits of a bin that was not planned, or that was said to be unreachable.
    """
    groups: dict[str, list[CountedBin]] = {}
    states = {True: "missed", False: "unreachable", None: "open"}
    left = dict(hits)
    for group, name, reachable, reason in planned:
        met = left.pop(name, 0)
        state = "hit" if met and reachable is not False else states[reachable]
        values = {"name": name, "hits": met, "state": state, "reason": reason, "place": (places or {}).get(name)}
        groups.setdefault(group, []).append(CountedBin.model_validate(values))
    if left:
        raise InputError(f"hits must be of bins that were planned, not of {sorted(left)[0]}")
    return tuple(
        CoverageGroup(
            name=name,
            title=(titles or {}).get(name, ""),
            meaning=(meanings or {}).get(name, ""),
            unit=unit,
            axes=(axes or {}).get(name, ("row", "column")),
            bins=tuple(bins),
        )
        for name, bins in groups.items()
    )
