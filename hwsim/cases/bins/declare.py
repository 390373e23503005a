"""Bins, and the list that groups declare them in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from hwsim.cases.bench import Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.sampled import SampledCase, SampledGroup
from hwsim.errors import InputError

MARKS = ("+", "-")  # of a sign of 0 and of 1
How = Literal["model", "trace"]
Hits = set[int]
GroupSampler = Callable[[SampledGroup, Hits], None]
CaseSampler = Callable[[SampledCase, Hits], None]
PartSampler = Callable[[SampledGroup], list[int]]


@dataclass(frozen=True, slots=True)
class CoverageBin:
    """One thing that a test of a unit can do.

    group: G1 to G12. name: unique in the plan, and the same in every version that has the bin.
    unreachable: the proof that nothing does it, a sentence; None where there is none.
    how: what it is sampled from: what the model computes, or the cycles of a trace.
    parts: more than 1 for a bin that is hit when all of so many parts are.
    """

    group: str
    name: str
    unreachable: str | None = None
    how: How = "model"
    parts: int = 1

    @property
    def reachable(self) -> bool:
        """Whether nothing proves that it cannot be hit."""
        return self.unreachable is None


class Declared:
    """A plan in the making: bins in order, and what samples them."""

    def __init__(self) -> None:
        self.bins: list[CoverageBin] = []
        self.groups: list[GroupSampler] = []
        self.cases: list[CaseSampler] = []
        self.parts: PartSampler = lambda group: []
        self._names: set[str] = set()

    def bin(self, group: str, name: str, unreachable: str | None = None, how: How = "model", parts: int = 1) -> int:
        """Declare one; its index.

        Raises ValueError for a name that there is already.
        """
        if name in self._names:
            raise InputError(f"two bins are named {name!r}")
        self._names.add(name)
        self.bins.append(CoverageBin(group, name, unreachable, how, parts))
        return len(self.bins) - 1


@dataclass(frozen=True)
class Family:
    """Bins of one or two groups, and what solves for cases that hit them.

    name: with that of a solver it keys the solver's random choices, so that neither may change. groups: their titles,
    by name. declare: declares the bins, and what counts them. directed: solvers of directed cases, all of which are
    kept. rest: solvers for bins that no directed case hits; their cases are kept where they hit something new.
    """

    name: str
    groups: Mapping[str, str]
    declare: Callable[[UnitFacts, Declared], None]
    directed: tuple[Callable[[Bench], None], ...]
    rest: tuple[Callable[[Bench, UnitFacts], None], ...] = ()
