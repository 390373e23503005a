"""What becomes of mutants of a unit: each is killed, or shown to change nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from qualify.small_mutants import CASES, PROMOTED, netlists, scaled, small, some

from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import Wanted
from hwsim.prove.qualify.machine import groups, played
from hwsim.prove.qualify.run import FATES, MutatedClaims, Qualifier
from hwsim.prove.qualify.steps import MutatedSteps, part_of
from hwsim.prove.terms import possible
from hwsim.spec import NotImplementedYet, load_unit

DRAWN = 120  # mutants of a small unit; all of those that are shipped are in the soak
SHIPPED = ("hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32")


@pytest.mark.parametrize(
    "changes", [pytest.param({}, id="plain"), pytest.param(PROMOTED, id="promoted", marks=pytest.mark.slow)]
)
def test_each_of_some_mutants_is_decided(changes):
    found = Qualifier(small(**changes), (), 1, 20, cases=CASES).qualify(DRAWN)
    counts = Counter(row.fate for row in found.rows)
    assert len(found.rows) == DRAWN
    assert found.decided, [row.mutant.name for row in found.rows if row.fate == "open"]
    assert counts["smoke"] > 0.6 * DRAWN
    assert counts["equivalent"] > 5
    assert sum(found.count(fate, step) for fate in FATES for step in found.steps) == DRAWN
    assert all(row.case for row in found.rows if row.fate in ("smoke", "standard"))


@pytest.mark.slow
def test_the_same_seed_draws_the_same_mutants():
    rows = [Qualifier(small(), (), seed, 20, cases=CASES).qualify(20).rows for seed in (3, 3, 4)]
    assert [row.mutant for row in rows[0]] == [row.mutant for row in rows[1]]
    assert [row.mutant for row in rows[0]] != [row.mutant for row in rows[2]]


@pytest.mark.parametrize("every", [96, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["plain", "promoted", pytest.param("scaled", marks=pytest.mark.slow)])
def test_a_mutant_that_a_case_kills_is_never_taken_for_equal(kind, every):
    """The solver and the cases share nothing but the netlist: what they say must agree."""
    nets = scaled() if kind == "scaled" else netlists(kind == "promoted")
    chosen, unit = list(nets.mutants())[::every], nets.unit
    machine = nets.machine(chosen)
    killer = played(machine, groups(unit, made_batches(Wanted(unit, cases=1000))), lambda count: None)
    killed = [mutant for mutant, case in zip(chosen, killer.tolist(), strict=True) if case >= 0]
    steps = MutatedSteps(unit, nets.steps, killed)
    assert len(killed) > 25
    assert {part_of(mutant.step) for mutant in killed} >= {"products", "sum", "round"}
    assert [mutant.name for mutant in killed if steps.equal(mutant, 20).word != "refuted"] == []
    of_adder = [mutant for mutant in killed if mutant.step.startswith("promote")][:: 12 if every > 3 else 1]
    assert bool(of_adder) is (kind == "promoted")
    assert [mutant.name for mutant in of_adder if steps.equal_adder(mutant, 20).word == "proved"] == []


def test_relations_can_hold():
    """One that could not would make every mutant equal."""
    for promoted in (False, True):
        steps = MutatedSteps(netlists(promoted).unit, netlists(promoted).steps, some(400, promoted))
        for relation in steps.relations.values():
            assert possible((relation.always, relation.plain))


def test_claims_are_refuted_by_what_cases_kill():
    chosen = [mutant for mutant in some(50) if part_of(mutant.step) in ("products", "round")]
    machine, unit = netlists().machine(chosen), netlists().unit
    killer = played(machine, groups(unit, made_batches(Wanted(unit, cases=1000))), lambda count: None)
    claims = MutatedClaims(MutatedSteps(unit, netlists().steps, chosen))
    words = {mutant.name: claims.decide(mutant, 20)[0] for mutant in chosen}
    killed = [mutant.name for mutant, case in zip(chosen, killer.tolist(), strict=True) if case >= 0]
    assert len(killed) > 5
    assert {words[name] for name in killed} == {"refuted"}


def test_a_unit_without_proofs_is_refused():
    with pytest.raises(NotImplementedYet, match=r"sum\.method: sequential"):
        Qualifier(load_unit("hfp8-forward-e4m3-dlfloat16"), (), 1, 20)


def test_a_promotion_with_registers_inside_of_its_adder_is_refused():
    unit = load_unit("deepseek-v3-e4m3-f32")
    with pytest.raises(NotImplementedYet, match=r"not promote\.distance, promote\.sum\.1$"):
        Qualifier(unit, ("align", "promote.distance", "promote.sum.1", "round"), 1, 20)


def survivors_of(unit, step, of):
    """Mutants of some cells that smoke vectors leave alive and that are not equal."""
    qualifier = Qualifier(unit, (), 1, 20)
    chosen = [mutant for mutant in qualifier.all if mutant.step == step and of(mutant)]
    machine = qualifier.netlists.machine(chosen)
    made = sorted(groups(unit, made_batches(Wanted(unit))), key=lambda group: len(group.beats))
    killer = played(machine, made, lambda count: None)
    alive = [mutant for mutant, case in zip(chosen, killer.tolist(), strict=True) if case < 0]
    steps = MutatedSteps(unit, qualifier.netlists.steps, alive)
    return len(chosen), [mutant.name for mutant in alive if steps.equal(mutant, 20).word != "proved"]


@pytest.mark.slow
def test_smoke_kills_what_it_once_let_live():
    """Zero detection and exponent masking of a lane, and carries into the high part of the sum."""
    unit = load_unit("hopper-wgmma-e4m3-f32")
    count, alive = survivors_of(unit, "multiply", lambda mutant: "lane0" in mutant.cell)
    assert count > 500
    assert len(alive) <= count // 50, alive
    count, alive = survivors_of(unit, "sum", lambda mutant: True)
    assert count > 8_000
    assert len(alive) <= count // 500, alive


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_mutant_of_a_shipped_unit_is_decided(name):
    found = Qualifier(load_unit(name), (), 1, 60).qualify()
    real = len(found.rows) - found.count("equivalent")
    assert found.decided
    assert len(found.rows) > 20_000
    assert found.count("smoke") >= 0.995 * real
