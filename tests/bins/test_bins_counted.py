"""Every count against an oracle that works with fractions, and what cannot be hit against every case that there is."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from bins.coverage_oracle import ELSEWHERE, GROUPS, expected
from bins.covering_kept import covering_once
from built_presets import others_slow
from odd_units import unit as unit_of

from hwsim.cases.bins import exponents as distances
from hwsim.cases.bins import lostbits, sums
from hwsim.cases.bins.declare import SampledGroup
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.plan import Counter, CoveragePlan, plan
from hwsim.cases.case import Case
from hwsim.cases.palette import is_finite
from hwsim.cases.random_cases import random_cases
from hwsim.model.definition import Definition
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


def wrong(found: CoveragePlan, cases: list[Case]) -> tuple[str, set[str]] | None:
    """The first case on which a plan's samplers and the oracle differ, and the names."""
    counter = Counter(found)
    for case in cases:
        names = expected(found.unit, case)
        if names is not None:
            got = compared(found, {found.bins[index].name for index in counter.hit(case).bins})
            if got != compared(found, names):
                return case.id, got ^ compared(found, names)
    return None


@pytest.mark.parametrize("name", others_slow(UNITS, [HOPPER, "tiny-addend"]))
def test_every_hit_is_one_by_fractions_and_every_one_by_fractions_is_a_hit(name):
    unit = unit_of(name)
    cases = list(cases_of(unit))
    assert len(cases) > 200
    assert wrong(plan(unit), cases) is None


def test_the_oracle_speaks_of_most_bins():
    """Of the names that it returns, the plan has all; and they are most of the plan's."""
    unit = unit_of(HOPPER)
    spoken = set()
    for case in covering_once(unit).cases:
        if len(case.a) == unit.instruction.lanes and case.id.startswith(("G3/max", "lost", "distance", "normalize")):
            spoken |= expected(unit, case) or set()
    # Of a bit below all bins of its own it names any depth, of which a plan has one.
    assert {name for name in spoken if "bit more than" not in name} <= {one.name for one in plan(unit).bins}
    assert len(compared(plan(unit), spoken)) > 1100


@pytest.fixture(scope="module")
def cases():
    return list(cases_of(unit_of(HOPPER)))


def test_a_sampler_that_counts_everything_is_found(cases):
    right = plan(unit_of(HOPPER))
    greedy = replace(right, group_samplers=(lambda seen, hits: hits.update(range(len(right.bins))),))
    counter = Counter(greedy)
    counter.sample(cases[0])
    assert counter.contradicted()
    assert wrong(greedy, cases[:1])


@pytest.mark.slow
@pytest.mark.parametrize("index", range(3, 9))
def test_a_sampler_that_counts_nothing_is_found(cases, index):
    """Samplers of distances, lanes and lost bits, each left out."""
    right = plan(unit_of(HOPPER))
    lazy = replace(right, group_samplers=right.group_samplers[:index] + right.group_samplers[index + 1 :])
    counter = Counter(lazy)
    for case in covering_once(lazy.unit).cases:
        if case.id.startswith(("G3", "lost", "distance", "zero", "subnormal", "addend", "growth", "G4")):
            counter.sample(case)
    every = Counter(right)
    for case in covering_once(lazy.unit).cases:
        if case.id.startswith(("G3", "lost", "distance", "zero", "subnormal", "addend", "growth", "G4")):
            every.sample(case)
    assert len(counter.missed()) > len(every.missed())


def test_a_plan_that_lacks_a_zone_is_found(cases, monkeypatch):
    """Distances that end before the farthest products: their sampler has no bin to count."""
    monkeypatch.setattr(UnitFacts, "distances", list(range(15)))
    short = plan.__wrapped__(unit_of(HOPPER))
    assert wrong(short, cases)


@pytest.mark.parametrize(
    ("module", "name", "change"),
    [
        (lostbits, "kind", lambda right: lambda field, places: right(field, places - 1) if places > 1 else "zero"),
        (sums, "_loses", lambda right: lambda seen: not right(seen)),
        (sums, "_lost_sum", lambda right: lambda terms: -right(terms)),
        (distances, "WORDS", lambda right: right[::-1]),
    ],
    ids=["kind", "loses", "sign", "words"],
)
def test_a_wrong_rule_is_found(cases, monkeypatch, module, name, change):
    monkeypatch.setattr(module, name, change(getattr(module, name)))
    found = plan.__wrapped__(unit_of(HOPPER))
    with contextlib.suppress(KeyError):
        assert wrong(found, cases)


def test_a_place_too_far_is_found(cases, monkeypatch):
    """Terms that are seen one place lower in the window than they are."""
    from hwsim.cases.bins import declare as sampled

    right = sampled._group

    def lower(*args: object) -> SampledGroup:
        one = right(*args)
        terms = [(i, t, below + 1, t.sig & ((1 << below + 1) - 1) if below >= 0 else 0) for i, t, below, _ in one.terms]
        return one._replace(terms=terms)

    monkeypatch.setattr(sampled, "_group", lower)
    assert wrong(plan(unit_of(HOPPER)), cases)


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


@pytest.mark.parametrize("name", others_slow(["tiny-pair", "tiny-addend"], ["tiny-addend"]))
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
