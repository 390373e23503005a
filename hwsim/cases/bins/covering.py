"""Cases that cover a unit: the directed ones, and one for each bin that they miss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hwsim.cases.bench import Bench
from hwsim.cases.bins.counter import Counter
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.families import FAMILIES
from hwsim.cases.bins.plan import plan
from hwsim.cases.bins.sampled import sampled_case
from hwsim.cases.case import Case
from hwsim.cases.directed import directed
from hwsim.spec import Unit


@dataclass(frozen=True)
class Covered:
    """Covering cases, and what they hit.

    open: bins that they miss and that nothing proves unreachable. Nobody knows of these whether they can be hit.
    """

    cases: tuple[Case, ...]
    counter: Counter

    @property
    def open(self) -> list[CoverageBin]:
        """The bins that are neither hit nor proven unreachable."""
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
    cases = directed(unit, seed)
    for case in cases:
        counter.sample(case)
    bench, facts = Bench(unit, seed), UnitFacts(unit)
    for family in FAMILIES:
        for solve in family.rest:
            if any(bin_.group in family.groups for bin_ in counter.missed()):
                bench.cases.clear()
                bench.start(solve)
                solve(bench, facts)
                cases += [case for case in bench.cases if _adds(counter, case)]
    return Covered(tuple(cases), counter)


def _adds(counter: Counter, case: Case) -> bool:
    """Whether a case hits what none has hit yet; then it is counted."""
    explanation = counter.explain(case)
    hits, parts = counter.hits(sampled_case(case, explanation))
    if not counter.news(hits, parts):
        return False
    counter.sample(case, explanation)
    return True
