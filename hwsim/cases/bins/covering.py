"""Covering cases: the directed cases of all families of a unit, and those that are made for bins that they miss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hwsim.cases.bins.declare import CoverageBin, Subject
from hwsim.cases.bins.families import families_of
from hwsim.cases.bins.plan import Counter, Hit, plan
from hwsim.cases.case import Case, supports
from hwsim.spec import Unit


def directed(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit: for its every boundary, operands that are solved for or laid out.

    The same for the same unit and seed. A case's id is its kind and a name in it. seed: of choices between operands
    that serve as well: lanes, signs that cancel out, what idle lanes hold. A boundary that no operands of the unit
    reach has no case.
    Raises NotImplementedYet for a unit without bins (`hwsim.cases.case`).
    """
    supports(unit).demand()
    return list(_directed(unit, seed))


@lru_cache(maxsize=8)
def _directed(unit: Unit, seed: int) -> tuple[Case, ...]:
    subject = Subject(unit, seed)
    return tuple(case for family in families_of(unit) for make in family.directed for case in make(subject))


@dataclass(frozen=True)
class Covered:
    """Covering cases, and what they hit: each of them, and together."""

    cases: tuple[Case, ...]
    hits: tuple[Hit, ...]
    counter: Counter

    @property
    def open(self) -> list[CoverageBin]:
        """Bins that are neither hit nor proven unreachable. Nobody knows of these whether they can be hit."""
        return self.counter.missed()


def covering(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit and, for bins that they miss, cases solved for: the same for the same seed.

    The id of a case that is added begins with the group of the bins that it is for.
    Raises NotImplementedYet for a unit without bins (`hwsim.cases.case`).
    """
    return list(covered(unit, seed).cases)


@lru_cache(maxsize=8)
def covered(unit: Unit, seed: int) -> Covered:
    """`covering`, with the counts of what the cases hit."""
    counter, subject = Counter(plan(unit)), Subject(unit, seed)
    held = [(case, counter.sample(case)) for case in directed(unit, seed)]
    for family in families_of(unit):
        for make in family.rest:
            if any(bin_.group in family.groups for bin_ in counter.missed()):
                for case in make(subject):
                    hit = counter.hit(case)
                    if counter.is_new(hit):
                        counter.count(hit)
                        held.append((case, hit))
    return Covered(tuple(case for case, _ in held), tuple(hit for _, hit in held), counter)
