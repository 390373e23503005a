"""Counting: which bins cases hit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hwsim.cases.bins.declare import CoverageBin, How
from hwsim.cases.bins.plan import GROUPS, CoveragePlan
from hwsim.cases.bins.sampled import sampled_case
from hwsim.cases.case import Case, dot
from hwsim.errors import InputError
from hwsim.model.definition import Definition
from hwsim.model.record import Explanation


class Hit(NamedTuple):
    """What one case hits: the indices of bins, and the parts of those that have several."""

    bins: frozenset[int]
    parts: tuple[int, ...]


class Summary(NamedTuple):
    """Numbers of bins of one group: all, those that nothing proves unreachable, and those that were hit."""

    bins: int
    reachable: int
    hit: int


class Counter:
    """How many cases hit each bin of a plan.

    counts: by the bin's name, every bin in the plan's order. A bin of several parts counts how often each of them was
    hit at least. cases: how many were sampled.
    """

    def __init__(self, plan: CoveragePlan):
        self.plan = plan
        self.cases = 0
        self._counts = np.zeros(len(plan.bins), np.int64)
        self._composed = [index for index, one in enumerate(plan.bins) if one.parts > 1]
        self._parts = np.zeros(sum(plan.bins[index].parts for index in self._composed), np.int64)
        self._index = {one.name: index for index, one in enumerate(plan.bins)}
        self._definition = Definition(plan.unit)

    def sample(self, case: Case, explanation: Explanation | None = None) -> Hit:
        """Count every bin that a case hits, once. explanation: what the definition makes of it, if it is at hand."""
        hit = self.hit(case, explanation)
        self.count(hit)
        return hit

    def hit(self, case: Case, explanation: Explanation | None = None) -> Hit:
        """What a case hits, without counting it."""
        sampled = sampled_case(case, explanation or dot(self._definition, case))
        found, parts = set[int](), list[int]()
        for group in sampled.groups:
            for sampler in self.plan.group_samplers:
                sampler(group, found)
            parts += self.plan.parts(group)
        for whole in self.plan.case_samplers:
            whole(sampled, found)
        return Hit(frozenset(found), tuple(parts))

    def count(self, hit: Hit) -> None:
        """Count a case by what it hits."""
        self.cases += 1
        self._counts[list(hit.bins)] += 1
        self._parts[list(hit.parts)] += 1

    def is_new(self, hit: Hit) -> bool:
        """Whether any of it has not been hit yet."""
        return not (self._counts[list(hit.bins)].all() and self._parts[list(hit.parts)].all())

    def add(self, name: str, count: int = 1) -> None:
        """Count a bin that is sampled elsewhere, from a trace.

        Raises ValueError for a name that is no such bin's.
        """
        index = self._index.get(name)
        if index is None or self.plan.bins[index].how == "model":
            raise InputError(f"{self.plan.unit.name} has no bin {name!r} that traces are counted in")
        self._counts[index] += count

    @property
    def counts(self) -> dict[str, int]:
        """How often each bin was hit."""
        counts, start = self._counts.copy(), 0
        for index in self._composed:
            parts = self.plan.bins[index].parts
            counts[index] = self._parts[start : start + parts].min(initial=1 << 62)
            start += parts
        return dict(zip(self._index, counts.tolist(), strict=True))

    def missed(self, how: How = "model") -> list[CoverageBin]:
        """The bins that were not hit, and that nothing proves unreachable. how: those sampled in that way."""
        counts = self.counts
        return [one for one in self.plan.bins if one.how == how and one.reachable and not counts[one.name]]

    def contradicted(self) -> list[CoverageBin]:
        """The bins that were hit although they are said to be unreachable: a proof is wrong."""
        counts = self.counts
        return [one for one in self.plan.bins if not one.reachable and counts[one.name]]

    def summary(self) -> dict[str, Summary]:
        """Bins, those not proven unreachable, and those hit, by group."""
        counts = self.counts
        found = {}
        for group in GROUPS:
            bins = self.plan.of(group)
            hit = sum(counts[one.name] > 0 for one in bins)
            found[group] = Summary(len(bins), sum(one.reachable for one in bins), hit)
        return found

    def merge(self, other: Counter) -> None:
        """Count what another counter of the same plan has counted too.

        Raises ValueError for another plan's.
        """
        if self.plan.bins != other.plan.bins:
            raise InputError(f"counts of {other.plan.unit.name} do not fit the bins of {self.plan.unit.name}")
        self.cases += other.cases
        self._counts += other._counts
        self._parts += other._parts

    def state(self) -> dict[str, Any]:
        """All of it as JSON's types, for `restore`: cases, counts by name, and the counts of parts."""
        return {"cases": self.cases, "counts": self.counts, "parts": self._parts.tolist()}

    @classmethod
    def restore(cls, plan: CoveragePlan, state: Mapping[str, Any]) -> Counter:
        """The counter that `state` was made of.

        Raises ValueError for another plan's.
        """
        counter = cls(plan)
        counts, parts = state["counts"], state["parts"]
        if list(counts) != list(counter._index) or len(parts) != len(counter._parts):
            raise InputError(f"counts: must be those of the {len(plan.bins)} bins of {plan.unit.name}")
        counter.cases = int(state["cases"])
        counter._counts[:] = list(counts.values())
        counter._counts[counter._composed] = 0
        counter._parts[:] = parts
        return counter
