"""A unit's coverage plan: every bin, once; and coverage as a report shows it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypedDict

from hwsim.cases.bins.accumulation import ACCUMULATION
from hwsim.cases.bins.declare import CaseSampler, CoverageBin, Declared, GroupSampler, PartSampler
from hwsim.cases.bins.distances import DISTANCES
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.floors import FLOORS
from hwsim.cases.bins.interface import declare_interface
from hwsim.cases.bins.lostbits import LOST_BITS
from hwsim.cases.bins.meanings import group_meaning
from hwsim.cases.bins.operands import OPERANDS
from hwsim.cases.bins.outcomes import declare_outcomes
from hwsim.cases.bins.promotions import PROMOTIONS
from hwsim.cases.bins.ranges import RANGES
from hwsim.cases.bins.references import REFERENCES
from hwsim.cases.bins.roundings import ROUNDINGS
from hwsim.cases.bins.scales import SCALES
from hwsim.cases.bins.smaller import declare_smaller
from hwsim.cases.bins.specials import SPECIALS
from hwsim.cases.bins.sticky import STICKY
from hwsim.cases.bins.sums import SUMS
from hwsim.cases.support import one_window, supports
from hwsim.spec import Unit
from hwsim.spec.implementation import pipeline

FAMILIES = (
    OPERANDS,
    DISTANCES,
    REFERENCES,
    FLOORS,
    LOST_BITS,
    SUMS,
    ROUNDINGS,
    STICKY,
    RANGES,
    SCALES,
    SPECIALS,
    ACCUMULATION,
    PROMOTIONS,
)
GROUPS = {group: title for family in FAMILIES for group, title in family.groups.items()} | {"G12": "interface"}
LANES = re.compile(r"lane (\d+) sets max_exp, lane (\d+) straddles the window")
AXES = {"G3": ("lane of max_exp", "lane that straddles")}


@dataclass(frozen=True)
class CoveragePlan:
    """What can happen in a unit, as bins. `hwsim.cases.bins.Counter` counts them.

    bins: in the order of their groups. group_samplers, case_samplers, parts: what a counter asks for hits, as indices
    of bins; parts are those of the bins that have several, numbered through.
    """

    unit: Unit
    bins: tuple[CoverageBin, ...]
    group_samplers: tuple[GroupSampler, ...] = field(repr=False)
    case_samplers: tuple[CaseSampler, ...] = field(repr=False)
    parts: PartSampler = field(repr=False)

    def __getitem__(self, name: str) -> CoverageBin:
        """The bin of a name. Raises KeyError."""
        found = next((one for one in self.bins if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def of(self, group: str) -> list[CoverageBin]:
        """The bins of one group."""
        return [one for one in self.bins if one.group == group]


@lru_cache(maxsize=16)
def plan(unit: Unit) -> CoveragePlan:
    """The coverage plan of a unit: of one plain window by families of its own, of any other by outcomes.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    supports(unit).demand()
    out = Declared()
    if one_window(unit):
        facts = UnitFacts(unit)
        for family in FAMILIES:
            family.declare(facts, out)
    else:
        declare_outcomes(unit, out)
    declare_smaller(unit, out)
    declare_interface(unit, pipeline(unit), out)
    return CoveragePlan(unit, tuple(out.bins), tuple(out.groups), tuple(out.cases), out.parts)


# What a report says of bins: their states, and which are cells of a table of pairs.


class Labels(TypedDict):
    """What a report says of groups and bins beside their names.

    titles, meanings, axes: by group; axes are what the rows and columns of places are. places: by the bin's name.
    """

    titles: Mapping[str, str]
    meanings: Mapping[str, str]
    places: Mapping[str, tuple[str, str]]
    axes: Mapping[str, tuple[str, str]]


def labels(unit: Unit, names: Iterable[str]) -> Labels:
    """The labels of the bins of these names, and of all groups."""
    pairs = {name: LANES.fullmatch(name) for name in names}
    return Labels(
        titles=GROUPS,
        meanings={group: group_meaning(unit, group) for group in GROUPS},
        places={name: (one[1], one[2]) for name, one in pairs.items() if one},
        axes=AXES,
    )


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
