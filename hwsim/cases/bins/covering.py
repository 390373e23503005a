"""Cases that are solved for: directed ones, and one for each bin that they miss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hwsim.cases.bench import Bench
from hwsim.cases.bins.arranged import arranged
from hwsim.cases.bins.counter import Counter, Hit
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.plan import FAMILIES, plan
from hwsim.cases.bins.smallerrows import smaller_rows
from hwsim.cases.case import Case
from hwsim.cases.drawing import key_of
from hwsim.cases.random_cases import draw, run_beats, runs
from hwsim.cases.rows import Rows
from hwsim.cases.support import one_window, supports
from hwsim.spec import Unit


def directed(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit: for its every boundary, operands that are solved for or laid out.

    The same for the same unit and seed. A case's id is its kind and a name in it. seed: of choices between operands
    that serve as well: lanes, signs that cancel out, what idle lanes hold. A boundary that no operands of the unit
    reach has no case.
    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    supports(unit).demand()
    return list(_directed(unit, seed))


@lru_cache(maxsize=8)
def _directed(unit: Unit, seed: int) -> tuple[Case, ...]:
    rows = Rows(unit)
    if not one_window(unit):
        arranged(rows)
        smaller_rows(rows)
        return tuple(rows.cases.values())
    bench = Bench(unit, seed)
    for family in FAMILIES:
        for solve in family.directed:
            bench.start(family.name, solve.__name__)
            solve(bench)
    smaller_rows(rows)
    return (*bench.cases, *rows.cases.values())


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
    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    return list(covered(unit, seed).cases)


@lru_cache(maxsize=8)
def covered(unit: Unit, seed: int) -> Covered:
    """`covering`, with the counts of what the cases hit."""
    counter = Counter(plan(unit))
    held = [(case, counter.sample(case)) for case in directed(unit, seed)]
    if one_window(unit):
        _solve(unit, seed, counter, held)
    else:
        _search(unit, seed, counter, held)
    return Covered(tuple(case for case, _ in held), tuple(hit for _, hit in held), counter)


SEARCHED = 4096  # random cases that are looked through for bins that no directed case hits


def _search(unit: Unit, seed: int, counter: Counter, held: list[tuple[Case, Hit]]) -> None:
    """Add random cases that hit something new."""
    for first, size in runs(SEARCHED):
        if not counter.missed():
            return
        terms = run_beats(unit, first) * unit.instruction.lanes
        batch = draw(unit, key_of(seed, unit.name, "covering"), first, size, terms, label="covering")
        for case in batch.cases():
            hit = counter.hit(case)
            if counter.is_new(hit):
                counter.count(hit)
                held.append((case, hit))


def _solve(unit: Unit, seed: int, counter: Counter, held: list[tuple[Case, Hit]]) -> None:
    """Add cases that are solved for bins which no directed case hits."""
    bench, facts = Bench(unit, seed), UnitFacts(unit)
    for family in FAMILIES:
        for solve in family.rest:
            if any(bin_.group in family.groups for bin_ in counter.missed()):
                bench.cases.clear()
                bench.start(family.name, solve.__name__)
                solve(bench, facts)
                for case in bench.cases:
                    hit = counter.hit(case)
                    if counter.is_new(hit):
                        counter.count(hit)
                        held.append((case, hit))
