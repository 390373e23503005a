"""The coverage's own mutants: samplers and plans that are wrong are found by the oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bins.covering_kept import covering_once
from bins.test_coverage_oracle import cases_of, wrong
from odd_units import unit as unit_of

from hwsim.cases.bins import exponents as distances
from hwsim.cases.bins import exponents as references
from hwsim.cases.bins import lostbits, sums
from hwsim.cases.bins.declare import SampledGroup
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.bins.plan import Counter, plan

HOPPER = "hopper-wgmma-e4m3-f32"


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
        (references, "_never_straddles", lambda right: lambda shape: None),
    ],
    ids=["kind", "loses", "sign", "words", "nothing"],
)
def test_a_wrong_rule_is_found(cases, monkeypatch, module, name, change):
    monkeypatch.setattr(module, name, change(getattr(module, name)))
    found = plan.__wrapped__(unit_of(HOPPER))
    try:
        different = bool(wrong(found, cases))
    except KeyError:
        different = True
    # The last one changes nothing of this unit: it straddles.
    assert different == (name != "_never_straddles")


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
