"""Cases that cover a unit: the directed ones, and one for each bin that they miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from hwsim.cases.bench import Bench
from hwsim.cases.bins import stimuli, stimuli_results, stimuli_terms, stimuli_wide
from hwsim.cases.bins.counter import Counter
from hwsim.cases.bins.declare import Bin
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.plan import plan
from hwsim.cases.bins.sampled import sampled_case
from hwsim.cases.case import Case
from hwsim.cases.directed import directed
from hwsim.spec import Unit

# What makes stimuli, and the groups of bins that it is asked for.
GENERATORS: tuple[tuple[Callable[[Bench, UnitFacts], None], tuple[str, ...]], ...] = (
    (stimuli.class_rows, ("G1",)),
    (stimuli.class_specials, ("G1", "G10")),
    (stimuli_terms.distances, ("G2",)),
    (stimuli_terms.subnormals, ("G3",)),
    (stimuli.lane_pairs, ("G3",)),
    (stimuli.lane_alone, ("G3",)),
    (stimuli.ties, ("G3",)),
    (stimuli.lost_together, ("G4",)),
    (stimuli.single_bits, ("G4",)),
    (stimuli.addend_fields, ("G4",)),
    (stimuli_terms.under_addend, ("G4",)),
    (stimuli_wide.last_bits, ("G4",)),
    (stimuli_wide.deepest, ("G4",)),
    (stimuli_results.shifts, ("G5", "G6")),
    (stimuli_results.largest, ("G6",)),
    (stimuli_terms.shifts_lost, ("G5",)),
    (stimuli_terms.shifts_cancelled, ("G5",)),
    (stimuli_terms.hidden, ("G5",)),
    (stimuli_results.remaining, ("G5",)),
    (stimuli_results.cut, ("G7",)),
    (stimuli_results.sticky, ("G7",)),
    (stimuli_wide.highest, ("G6", "G7")),
    (stimuli_wide.bits_apart, ("G7",)),
    (stimuli_results.near, ("G8",)),
    (stimuli_results.pushed, ("G9",)),
    (stimuli_terms.specials, ("G10",)),
    (stimuli.chains, ("G11",)),
)


@dataclass(frozen=True)
class Covered:
    """Covering cases, and what they hit.

    open: bins that they miss and that nothing proves unreachable. Nobody knows of these whether they can be hit.
    """

    cases: tuple[Case, ...]
    counter: Counter

    @property
    def open(self) -> list[Bin]:
        """The bins that are neither hit nor proven unreachable."""
        return self.counter.missed()


def covering(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit and, for bins that they miss, cases solved for: the same for the same seed.

    The id of a case that is added begins with the group of the bins that it is for.
    Raises NotImplementedYet for a unit that the cycle-level model does not have.
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
    for generate, groups in GENERATORS:
        if any(one.group in groups for one in counter.missed()):
            bench.cases.clear()
            bench.start(f"{generate.__module__}.{generate.__name__}")
            generate(bench, facts)
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
