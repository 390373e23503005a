"""Covering cases hit every bin that can be hit, and the plan is what the specification says."""

from __future__ import annotations

import re
from collections import Counter as Tally
from pathlib import Path

import pytest
from bins.covering_kept import covering_once
from built_presets import DISTINCT
from odd_units import unit as unit_of

from hwsim.cases.bins.covering import covered, covering, directed
from hwsim.cases.bins.plan import GROUPS, Counter, plan
from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.spec import load_unit

DEEPSEEK = "deepseek-v3-e4m3-f32"
HOPPER = "hopper-wgmma-e4m3-f32"
MX = "mxfp8-e4m3-f32"

SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK])
def test_every_bin_is_hit_or_proven_unreachable(name):
    found = covering_once(unit_of(name))
    assert [one.name for one in found.open] == []
    assert [one.name for one in found.counter.contradicted()] == []
    assert len(found.cases) < 10_000
    assert max(Tally(case.id for case in found.cases).values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 77])
@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK])
def test_so_it_is_with_other_seeds(name, seed):
    found = covering_once(unit_of(name), seed)
    assert (found.open, found.counter.contradicted()) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTINCT)
def test_every_buildable_preset_is_covered(name):
    found = covering_once(load_unit(name))
    assert found.counter.contradicted() == []
    assert [one.name for one in found.open] == []
    assert len(found.cases) < 10_000


def test_the_counts_are_those_of_the_cases():
    """Counted again, from nothing, by a counter of its own."""
    found = covering_once(unit_of(HOPPER))
    counter = Counter(plan(unit_of(HOPPER)))
    for case in found.cases:
        counter.sample(case)
    assert counter.counts == found.counter.counts
    assert counter.cases == len(found.cases)


def test_the_same_seed_gives_the_same_cases():
    unit = unit_of("tiny-addend")
    first = covering(unit, 4)
    covered.cache_clear()
    assert covering(unit, 4) == first
    assert covering(unit, 5) != first


def test_covering_holds_what_is_directed_first():
    unit = unit_of(HOPPER)
    cases, own = covering_once(unit).cases, directed(unit, SEED)
    assert list(cases[: len(own)]) == own
    assert {case.id.split("/")[0] for case in cases[len(own) :]} <= set(GROUPS)


@pytest.mark.parametrize(
    ("name", "farthest", "straddling"),
    [(HOPPER, 28, range(8, 15)), ("hopper-wgmma-e5m2-f32", 58, range(10, 15)),
     ("hopper-wgmma-e4m3xe5m2-f32", 43, range(9, 15))],
)  # fmt: skip
def test_the_zones_are_those_of_the_formats(name, farthest, straddling):
    """w = p_a + p_b = 8, 6, 7 product bits; 13 fraction bits: exact to 13 - w + 2, all lost from 15.

    At 14 only a product of 2^(w - 1) would lose nothing, and none is.
    """
    assert straddling[-1] == 14
    names = {one.name: one for one in plan(unit_of(name)).bins}
    distances = {int(match[1]) for one in names if (match := re.match(r"d=(\d+), (add|subtract)", one))}
    assert distances == set(range(farthest + 1))
    reach = {d: {word for word in ("exact", "bits lost") if names[f"d={d}, add, {word}"].reachable} for d in distances}
    assert {d for d in distances if reach[d] == {"exact", "bits lost"}} == set(straddling[:-1])
    assert {d for d in distances if reach[d] == {"exact"}} == set(range(straddling[0]))
    assert {d for d in distances if reach[d] == {"bits lost"}} == set(range(14, farthest + 1))


def test_hopper_has_about_two_thousand_bins():
    bins = plan(unit_of(HOPPER)).bins
    assert 2000 < len(bins) < 2200
    assert sum(bool(re.fullmatch(r"lane \d+ sets max_exp, lane \d+ straddles the window", b.name)) for b in bins) == 992
    assert sum(" x " in one.name and one.group == "G1" for one in bins) == 18**2
    assert {one.group for one in bins} == set(GROUPS)
    assert {one.how for one in bins if one.group == "G12"} == {"trace"}
    assert all(len(one.unreachable.split()) >= 4 for one in bins if one.unreachable is not None)


def test_growth_is_that_of_the_lanes():
    """3, 4, 5, 6 places for 4, 8, 16, 32 lanes of e4m3 times e4m3 (largest product 3.515625 at its exponent)."""
    for lanes, most in ((4, 3), (8, 4), (16, 5), (32, 6)):
        unit = unit_of(HOPPER)
        instruction = unit.instruction.model_copy(update={"lanes": lanes, "k": lanes})
        names = {one.name for one in plan.__wrapped__(unit.model_copy(update={"instruction": instruction})).bins}
        growths = {int(match[1]) for one in names if (match := re.match(r"leading one (\d+) above.*without", one))}
        assert growths == set(range(most + 1))


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK, "ada-mma-bf16-f32", "rvbna-e4m3xe5m2-f32-n4"])
def test_any_case_has_its_bins(name):
    """Random cases hit bins, and only such as are not proven unreachable."""
    unit = unit_of(name)
    counter = Counter(plan(unit))
    for case in random_cases(unit, 200, 9):
        counter.sample(case)
    assert counter.contradicted() == []
    assert sum(row.hit for row in counter.summary().values()) > 200


def test_counters_merge_and_are_restored():
    unit = unit_of(HOPPER)
    cases = covering_once(unit).cases[::40]
    whole, halves = Counter(plan(unit)), [Counter(plan(unit)), Counter(plan(unit))]
    for index, case in enumerate(cases):
        whole.sample(case)
        halves[index % 2].sample(case)
    halves[0].merge(halves[1])
    assert halves[0].state() == whole.state()
    restored = Counter.restore(plan(unit), whole.state())
    assert (restored.counts, restored.cases) == (whole.counts, whole.cases)
    restored.sample(cases[0])
    assert restored.counts != whole.counts
    with pytest.raises(ValueError, match="do not fit"):
        whole.merge(Counter(plan(unit_of(MX))))
    with pytest.raises(ValueError, match="bins of mxfp8"):
        Counter.restore(plan(unit_of(MX)), whole.state())


def test_a_bin_of_parts_is_hit_when_all_its_parts_are():
    unit = unit_of("tiny-addend")
    counter = Counter(plan(unit))
    name = "every pair of classes through lane 0"
    codes = [(a, b) for a in range(16) for b in range(16)]
    for a, b in codes[:-1]:
        counter.sample(Case("", (a,), (b,), 0))
    # The largest negative times itself is the only pair of its classes.
    assert counter.counts[name] == 0
    counter.sample(Case("", (15,), (15,), 0))
    assert counter.counts[name] == 1
    (lane,) = (one for one in counter.plan.bins if one.name == name)
    assert lane.parts == len(set(counter.plan.of("G1"))) - 5


def test_bins_of_traces_are_counted_by_name_alone():
    counter = Counter(plan(unit_of(HOPPER)))
    counter.add("misuse", 3)
    assert counter.counts["misuse"] == 3
    assert len(counter.missed("trace")) == len(counter.plan.of("G12")) - 1
    for name in ("d=1, add, exact", "no such"):
        with pytest.raises(ValueError, match="has no bin"):
            counter.add(name)


@pytest.mark.parametrize("name", [HOPPER, MX, DEEPSEEK])
def test_the_page_s_table_is_true(name):
    """docs/coverage.md: bins, those that are proven unreachable, open ones; cases to the hundred."""
    text = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
    row = re.search(rf"\| {name} \| ([\d,]+) \| ([\d,]+) \| (\d+) \| about ([\d,]+) \|", text)
    assert row is not None
    bins, unreachable, left, cases = (int(number.replace(",", "")) for number in row.groups())
    found = covering_once(unit_of(name))
    assert bins == len(found.counter.plan.bins)
    assert unreachable == sum(not one.reachable for one in found.counter.plan.bins)
    assert left == len(found.open)
    assert abs(cases - len(found.cases)) < 200
