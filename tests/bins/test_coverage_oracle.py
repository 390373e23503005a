"""Samplers, and with them every count, against an oracle that works with fractions."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from bins.coverage_oracle import ELSEWHERE, GROUPS, expected
from bins.covering_kept import covering_once
from built_presets import others_slow
from odd_units import unit as unit_of

from hwsim.cases.bins.plan import Counter, CoveragePlan, plan
from hwsim.cases.case import Case
from hwsim.cases.palette import is_finite
from hwsim.cases.random_cases import random_cases
from hwsim.spec import Unit

HOPPER = "hopper-wgmma-e4m3-f32"

UNITS = (HOPPER, "ada-mma-e5m2-f16", "tiny-pair", "tiny-addend")


def compared(found: CoveragePlan, names: set[str]) -> set[str]:
    """The names that the oracle speaks of."""
    of = {one.name for one in found.bins if one.group in GROUPS and not one.name.startswith(ELSEWHERE)}
    # The most that can be lost is a number that the plan works out, and the least highest sum a place.
    return {name for name in names & of if " the most beside" not in name and "with the highest bit" not in name}


def cases_of(unit: Unit) -> Iterator[Case]:
    """Covering cases of one beat and, besides, any numbers in all lanes."""
    lanes = unit.instruction.lanes
    whole = [case for case in covering_once(unit).cases if len(case.a) == lanes]
    yield from whole[:: max(1, len(whole) // 400)]
    yield from (case for case in random_cases(unit, 80, 3) if len(case.a) == lanes)
    rng = random.Random(5)
    finite = [
        [code for code in range(1 << fmt.bits) if is_finite(fmt, code)] for fmt in (unit.operands.a, unit.operands.b)
    ]
    for number in range(80):
        yield Case(str(number), *(tuple(rng.choice(codes) for _ in range(lanes)) for codes in finite))


def wrong(found: CoveragePlan, cases: list[Case]) -> list[tuple[str, set[str]]]:
    """Cases on which a plan's samplers and the oracle differ, and the names."""
    counter = Counter(found)
    differences = []
    for case in cases:
        names = expected(found.unit, case)
        if names is not None:
            got = compared(found, {found.bins[index].name for index in counter.hit(case).bins})
            if got != compared(found, names):
                differences.append((case.id, got ^ compared(found, names)))
    return differences


@pytest.mark.parametrize("name", others_slow(UNITS, list(UNITS)[::2]))
def test_every_hit_is_one_by_fractions_and_every_one_by_fractions_is_a_hit(name):
    unit = unit_of(name)
    cases = list(cases_of(unit))
    assert len(cases) > 200
    assert wrong(plan(unit), cases) == []


def test_the_oracle_speaks_of_most_bins():
    """Of the names that it returns, the plan has all; and they are most of the plan's."""
    unit = unit_of(HOPPER)
    spoken = set()
    for case in covering_once(unit).cases:
        if len(case.a) == unit.instruction.lanes and case.id.startswith(("G3/max", "lost", "distance", "normalize")):
            spoken |= expected(unit, case) or set()
    assert spoken <= {one.name for one in plan(unit).bins}
    assert len(compared(plan(unit), spoken)) > 1100
