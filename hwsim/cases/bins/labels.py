"""Coverage as a report shows it: the states of bins, and which bins are cells of a table of pairs."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import TypedDict

from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.plan import GROUPS

LANES = re.compile(r"lane (\d+) sets max_exp, lane (\d+) straddles the window")
AXES = {"G3": ("lane of max_exp", "lane that straddles")}


class Labels(TypedDict):
    """What a report says of groups and bins beside their names.

    titles, axes: by group; axes are what the rows and columns of places are. places: by the bin's name.
    """

    titles: Mapping[str, str]
    places: Mapping[str, tuple[str, str]]
    axes: Mapping[str, tuple[str, str]]


def labels(names: Iterable[str]) -> Labels:
    """The labels of the bins of these names, and of all groups."""
    pairs = {name: LANES.fullmatch(name) for name in names}
    return Labels(titles=GROUPS, places={name: (one[1], one[2]) for name, one in pairs.items() if one}, axes=AXES)


def planned(bins: Iterable[CoverageBin], reached: Container[str]) -> list[tuple[str, str, bool | None, str]]:
    """Group, name, whether it can be reached (None: not known) and the proof that it cannot, of each bin.

    reached: the names of bins that something has hit. A proof that this contradicts does not count.
    """
    return [
        (one.group, one.name, True, "")
        if one.name in reached
        else (one.group, one.name, None if one.unreachable is None else False, one.unreachable or "")
        for one in bins
    ]
