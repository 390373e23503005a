"""A unit's coverage plan: every bin, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from hwsim.cases.bins import interface
from hwsim.cases.bins.declare import CaseSampler, CoverageBin, Declared, GroupSampler, PartSampler
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.families import FAMILIES
from hwsim.spec import Unit
from hwsim.spec.implementation import pipeline

GROUPS = {group: title for family in FAMILIES for group, title in family.groups.items()} | {"G12": "interface"}


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

    @property
    def names(self) -> list[str]:
        """The names of all bins."""
        return [one.name for one in self.bins]

    def of(self, group: str) -> list[CoverageBin]:
        """The bins of one group."""
        return [one for one in self.bins if one.group == group]


@lru_cache(maxsize=16)
def plan(unit: Unit) -> CoveragePlan:
    """The coverage plan of a unit of method `aligned`.

    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    facts, out = UnitFacts(unit), Declared()
    for family in FAMILIES:
        family.declare(facts, out)
    interface.declare(unit, pipeline(unit), out)
    return CoveragePlan(unit, tuple(out.bins), tuple(out.groups), tuple(out.cases), out.parts)
