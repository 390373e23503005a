"""What the plan says is unreachable, against every case that there is of units that are small enough."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from bins.covering_kept import covering_once
from odd_units import unit as unit_of

from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.plan import Counter, CoveragePlan, plan
from hwsim.cases.case import Case
from hwsim.model.definition import Definition
from hwsim.spec import Unit

HOPPER = "hopper-wgmma-e4m3-f32"

# What enumeration hits and covering cases miss: reported as open, never as unreachable.
LEFT_OPEN = {
    "tiny-pair": {"result +the largest", "result -the largest"},
    "tiny-wide": {"leading one 4 below max_exp, +, exact", "leading one 4 below max_exp, -, exact"},
    "tiny-addend": set(),
    "tiny-both": set(),
}
# Bins that no case hits, as enumeration shows, and that nothing else proves unreachable: at most so many.
UNPROVEN = {"tiny-pair": 10, "tiny-wide": 27, "tiny-addend": 12, "tiny-both": 30}


def every_case(unit: Unit, representatives: bool = False) -> Iterator[Case]:
    """Every case of one beat that a bin can tell from others: any factors in each lane, beside any products.

    Beside them one pair of factors stands for all that make a product. representatives: so it does in every lane.
    """
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend
    definition, lanes = Definition(unit), range(unit.instruction.lanes)
    pairs = list(product(range(1 << a.bits), range(1 << b.bits)))
    some = list({definition.product(*pair): pair for pair in pairs}.values())
    whole = [[some if representatives or at != lane else pairs for at in lanes] for lane in lanes]
    for row in dict.fromkeys(row for each in whole for row in product(*each)):
        x, y = zip(*row, strict=True)
        for code in range(1 << c.bits) if c else (0,):
            yield Case("", x, y, code)


def enumerated(found: CoveragePlan, representatives: bool = False) -> Counter:
    counter = Counter(found)
    for case in every_case(found.unit, representatives):
        counter.sample(case)
    return counter


def check(name: str, representatives: bool = False) -> None:
    """Enumerate a unit: nothing is hit that is said to be unreachable, and covering cases hit what can be hit."""
    unit = unit_of(name)
    counter = enumerated(plan(unit), representatives)
    assert counter.contradicted() == []
    assert sum(not one.reachable for one in counter.plan.bins) > 20
    # Of a unit that representatives stand for, classes of factors and the lanes that hold them are not enumerated.
    missed = {one.name for one in counter.missed() if not representatives or one.group not in ("G1", "G3", "G10")}
    assert len(missed) <= UNPROVEN[name]
    open_ones = {one.name for one in covering_once(unit).open}
    assert open_ones >= missed
    assert open_ones - missed == LEFT_OPEN[name]


@pytest.mark.parametrize("name", ["tiny-pair", "tiny-addend"])
def test_no_case_at_all_hits_an_unreachable_bin_and_covering_cases_hit_the_others(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny-wide", "tiny-both"])
def test_the_same_of_larger_ones(name):
    check(name, representatives=name == "tiny-both")


def contradicted(found: CoveragePlan) -> set[str]:
    """The unreachable bins of Hopper's plan that the directed distances hit."""
    counter = Counter(found)
    for case in covering_once(found.unit).cases:
        if case.id.startswith("distance"):
            counter.sample(case)
    return {one.name for one in counter.contradicted()}


def test_a_proof_that_is_wrong_is_caught(monkeypatch):
    """By cases that are solved for, on a unit that cannot be enumerated."""
    unit, right = unit_of(HOPPER), UnitFacts.none_lost
    assert contradicted(plan(unit)) == set()
    monkeypatch.setattr(UnitFacts, "none_lost", lambda self, d: right(self, d - 1))
    assert contradicted(plan.__wrapped__(unit)) == {"d=8, add, bits lost", "d=8, subtract, bits lost"}


def test_a_wrong_range_is_caught(monkeypatch):
    monkeypatch.setattr(UnitFacts, "farthest", 27)
    assert contradicted(plan.__wrapped__(unit_of(HOPPER))) == {"d above 27, add", "d above 27, subtract"}


def test_a_wrong_bound_is_caught_by_enumeration(monkeypatch):
    monkeypatch.setattr(UnitFacts, "most_together", (0, True))
    assert enumerated(plan.__wrapped__(unit_of("tiny-addend")), representatives=True).contradicted()
