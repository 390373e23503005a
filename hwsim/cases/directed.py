"""Directed cases: for a unit's every boundary, operands that are solved for, not hoped for."""

from __future__ import annotations

from hwsim.cases.bench import Bench
from hwsim.cases.bins.families import FAMILIES
from hwsim.cases.case import Case
from hwsim.spec import Unit


def directed(unit: Unit, seed: int) -> list[Case]:
    """The directed cases of a unit of method `aligned`; the same for the same unit and seed.

    A case's id is its kind and a name in it. seed: of choices between operands that serve as well: lanes, signs that
    cancel out, what idle lanes hold. A boundary that no operands of the unit reach has no case.
    Raises NotImplementedYet for a unit without bins (`hwsim.cases.support`).
    """
    bench = Bench(unit, seed)
    for family in FAMILIES:
        for solve in family.directed:
            bench.start(solve)
            solve(bench)
    return bench.cases
