"""A unit's coverage plan: every bin, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from hwsim.cases.bins import (
    accumulation,
    distances,
    interface,
    lostbits,
    operands,
    ranges,
    references,
    roundings,
    specials,
    sums,
)
from hwsim.cases.bins.declare import Bin, CaseSampler, Declared, GroupSampler
from hwsim.cases.bins.facts import UnitFacts
from hwsim.spec import Unit
from hwsim.spec.implementation import pipeline

GROUPS = {
    "G1": "operands",
    "G2": "alignment distance",
    "G3": "reference exponent",
    "G4": "lost bits",
    "G5": "cancellation",
    "G6": "growth",
    "G7": "rounding",
    "G8": "near misses",
    "G9": "range",
    "G10": "specials",
    "G11": "accumulation",
    "G12": "interface",
}
DECLARE: tuple[Callable[[UnitFacts, Declared], None], ...] = (
    distances.declare,
    references.declare,
    lostbits.declare,
    sums.declare,
    roundings.declare,
    ranges.declare,
    specials.declare,
    accumulation.declare,
)


@dataclass(frozen=True)
class Plan:
    """What can happen in a unit, as bins. `hwsim.cases.bins.Counter` counts them.

    bins: in the order of their groups. group_samplers, case_samplers, parts: what a counter asks for hits, as indices
    of bins; parts are those of the bins that have several, numbered through.
    """

    unit: Unit
    bins: tuple[Bin, ...]
    group_samplers: tuple[GroupSampler, ...] = field(repr=False)
    case_samplers: tuple[CaseSampler, ...] = field(repr=False)
    parts: operands.PartSampler = field(repr=False)

    def __getitem__(self, name: str) -> Bin:
        """The bin of a name. Raises KeyError."""
        found = next((one for one in self.bins if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def names(self) -> list[str]:
        """The names of all bins."""
        return [one.name for one in self.bins]

    def of(self, group: str) -> list[Bin]:
        """The bins of one group."""
        return [one for one in self.bins if one.group == group]


@lru_cache(maxsize=16)
def plan(unit: Unit) -> Plan:
    """The coverage plan of a unit of method `aligned`.

    Raises NotImplementedYet for a unit that the cycle-level model does not have.
    """
    facts, out = UnitFacts(unit), Declared()
    parts = operands.declare(facts, out)
    for declare in DECLARE:
        declare(facts, out)
    interface.declare(unit, pipeline(unit), out)
    return Plan(unit, tuple(out.bins), tuple(out.groups), tuple(out.cases), parts)
