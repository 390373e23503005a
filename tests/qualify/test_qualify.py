"""Mutants of a unit: those of Yosys, played as they are; each is killed, or shown to change nothing."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from built_presets import others_slow
from qualify.small_mutants import CASES, PROMOTED, netlists, scaled, small, some

from hwsim.base.processes import scratch_folder
from hwsim.cases.aimed import aimed
from hwsim.cases.case import Case, batches
from hwsim.cases.sensitive import AIMED, SOLVERS, comparisons
from hwsim.cases.solver import CaseBuilder
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import Wanted
from hwsim.formats import FloatFormat, get_format
from hwsim.prove.circuits import read_btor
from hwsim.prove.qualify.machine import (
    Held,
    Joined,
    MutantMachine,
    WrongCircuit,
    evaluate,
    plain_zero,
    played,
    words_of,
)
from hwsim.prove.qualify.mutants import MODES, SELECT, of_one_lane
from hwsim.prove.qualify.reachable import Handed
from hwsim.prove.qualify.run import FATES, Qualifier
from hwsim.prove.qualify.steps import UnitNetlists, groups
from hwsim.prove.qualify.survivors import MutatedSteps, Survivors, same_outputs
from hwsim.prove.terms import ask, both, choose, evaluated, same, substituted, value
from hwsim.rtl.synthesis.flows import YOSYS, run_tool
from hwsim.spec import load_specified, load_unit, pipeline


def some_groups(machine, promoted: bool = False, count: int = 128):
    unit = netlists(promoted).unit
    return list(groups(unit, made_batches(Wanted(unit, cases=count)), machine))


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("promoted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_circuit_without_a_mutant_returns_what_the_model_does(promoted):
    machine = netlists(promoted).machine(some(40, promoted))
    cases = [group for group in some_groups(machine, promoted) if promoted or len(group.beats) < 40]
    assert len({len(group.beats) for group in cases}) > 1
    killer = played(machine, cases, lambda count: None)
    assert 0 < (killer >= 0).sum() < machine.mutants


def test_a_result_that_is_not_the_models_is_said():
    machine = netlists().machine(some(500))
    group, *_ = some_groups(machine, count=64)
    wrong = group.expected.copy()
    wrong[5] ^= np.uint64(1)
    with pytest.raises(WrongCircuit, match="case 5: the circuit returns 0x"):
        played(machine, [replace(group, expected=wrong)], lambda count: None)


def test_what_a_mutant_changes_is_what_a_circuit_with_it_computes():
    """All nodes once more for each mutant, whose input is set, against what was followed from node to node."""
    machine = netlists().machine(some(60))
    with ThreadPoolExecutor(1) as pool:
        for group in (group for group in some_groups(machine, count=128) if len(group.beats) == 1):
            (beat,) = group.beats
            _, killed = machine.play(group, np.arange(machine.mutants), pool)
            valid = np.uint64((1 << len(group.numbers)) - 1)
            for mutant in range(machine.mutants):
                plain, changed = (_results(machine, beat, which) for which in (None, mutant))
                assert np.bitwise_or.reduce(plain ^ changed) & valid == killed[mutant]


def _results(machine, beat, mutant):
    values = np.zeros(machine.joined.first + len(machine.left), np.uint64)
    for name, words in beat.inputs.items():
        values[np.array(machine.joined.inputs[name]) >> 1] = words
    if mutant is not None:
        values[machine.selects[mutant]] = np.uint64(0xFFFFFFFFFFFFFFFF)
    evaluate(machine.left, machine.right, machine.joined.first, values)
    literals = np.array(machine.results)
    return np.where(literals & 1, ~values[literals >> 1], values[literals >> 1])


def test_a_mutant_is_what_yosys_makes_of_it():
    """`mutate` itself, step by step, against the circuit in which all of them are behind an input."""
    chosen = some(97)
    assert {mutant.mode for mutant in chosen} == set(MODES)
    assert {mutant.port for mutant in chosen} >= {"A", "B", "Y"}
    steps = MutatedSteps(netlists(), chosen)
    with scratch_folder() as folder:
        script = []
        for number, mutant in enumerate(chosen):
            (netlist,) = (one for one in netlists().steps if one.name == mutant.step)
            _write(folder / f"{mutant.step}.json", netlist)
            script.append(f"design -reset\nread_json {mutant.step}.json\n{mutant.command}\nwrite_btor m{number}.btor\n")
        (folder / "script").write_text("".join(script))
        run_tool(YOSYS, ["-q", "-s", "script"], folder, 600)
        for number, mutant in enumerate(chosen):
            theirs, ours = read_btor((folder / f"m{number}.btor").read_text()), steps.with_mutant(mutant)
            by = {term: ours.inputs[port] for port, term in theirs.inputs.items()}
            equal = [same(substituted(term, by), ours.outputs[port]) for port, term in theirs.outputs.items()]
            assert ask(both(*equal)).word == "proved", mutant.name


def _write(path, netlist):
    import json

    path.write_text(json.dumps({"creator": "test", "modules": {"top": dict(netlist.module)}}))


def test_of_lanes_the_first_alone_is_mutated():
    found = {netlist.name: of_one_lane(netlist, 4) for netlist in netlists().steps}
    names = {mutant.cell for mutants in found.values() for mutant in mutants}
    assert any("lane0." in name for name in names)
    assert not [name for name in names if "lane1." in name or "lane3." in name or "a2." in name]
    assert 0.2 < len(found["multiply"]) / len(next(n.mutants for n in netlists().steps if n.name == "multiply")) < 0.4


def test_what_no_result_depends_on_is_never_killed():
    machine = netlists().machine(some(7))
    unseen = set(machine.unseen().tolist())
    killer = played(machine, islice(some_groups(machine, count=CASES["smoke"]), 20), lambda count: None)
    assert unseen
    assert not unseen & set(np.flatnonzero(killer >= 0).tolist())


def test_what_is_carried_from_beat_to_beat_is_seen_where_a_result_shows_it():
    joined = Joined({"x": 1, "shown": 1, "hidden": 1, SELECT: 2})
    x, shown, hidden = (joined.inputs[name][0] for name in ("x", "shown", "hidden"))
    first, second = joined.inputs[SELECT]
    kept = joined.both(x, first ^ 1), joined.both(hidden ^ 1, second ^ 1)
    states = Held("shown", kept[:1]), Held("hidden", kept[1:])
    assert MutantMachine(joined, states, (joined.both(x, shown),)).unseen().tolist() == [1]
    assert MutantMachine(joined, states, (joined.both(hidden, shown),)).unseen().tolist() == []


def test_mutants_are_numbered_behind_one_input():
    assert SELECT not in netlists().steps[0].module["ports"]


def test_a_step_with_an_absorbed_mutant_is_the_step_without():
    few = [mutant for mutant in netlists().mutants() if netlists().absorbed(mutant)][::40]
    steps = MutatedSteps(netlists(), few)
    assert len(few) > 3
    for mutant in few:
        claim = same_outputs(steps.plain[mutant.step], steps.with_mutant(mutant))
        assert ask(claim).word == "proved", mutant.name


@pytest.mark.slow
def test_mutants_that_are_absorbed_change_nothing():
    nets = scaled()
    found = [mutant for mutant in nets.mutants() if nets.absorbed(mutant)]
    assert len(found) > 50
    bench = CaseBuilder(nets.unit, 1)
    comparisons(bench)
    machine = nets.machine(found)
    made = groups(nets.unit, batches(nets.unit, bench.cases, 64), machine)
    assert (played(machine, made, lambda count: None) < 0).all()
    few = found[::24]
    survivors = Survivors(nets, (), few, 20)
    assert [mutant.name for mutant in few if survivors.decide(mutant)[0] != "proved"] == []


DRAWN = 60  # mutants of a small unit
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
    assert counts["equivalent"] > 2
    assert sum(found.count(fate, step) for fate in FATES for step in found.steps) == DRAWN
    assert all(row.case for row in found.rows if row.fate in ("smoke", "standard"))


@pytest.mark.slow
def test_the_same_seed_draws_the_same_mutants():
    rows = [Qualifier(small(), (), seed, 20, cases=CASES).qualify(20).rows for seed in (3, 3, 4)]
    assert [row.mutant for row in rows[0]] == [row.mutant for row in rows[1]]
    assert [row.mutant for row in rows[0]] != [row.mutant for row in rows[2]]


@pytest.mark.parametrize("kind", others_slow(["plain", "promoted", "scaled"], []))
def test_a_mutant_that_a_case_kills_is_never_taken_for_equal(kind):
    """The solver and the cases share nothing but the netlist: what they say must agree."""
    nets = scaled() if kind == "scaled" else netlists(kind == "promoted")
    chosen, unit = list(nets.mutants())[::300], nets.unit
    machine = nets.machine(chosen)
    killer = played(machine, groups(unit, made_batches(Wanted(unit, cases=1000)), machine), lambda count: None)
    killed = [mutant for mutant, case in zip(chosen, killer.tolist(), strict=True) if case >= 0]
    assert len(killed) > 10
    survivors = Survivors(nets, (), killed, 20)
    assert [mutant.name for mutant in killed if survivors.decide(mutant)[0] == "proved"] == []


@pytest.mark.slow
def test_what_a_dot_product_shows_is_a_case_that_kills():
    """Of a mutant that every sum of products shows, the solver finds codes, and playing them agrees."""
    nets = netlists()
    mutant = next(one for one in nets.mutants() if one.step == "round" and one.mode == "inv" and one.port.endswith("Y"))
    word, shown = Survivors(nets, (), [mutant], 20).decide(mutant)
    assert word == "refuted" and shown is not None and shown.claim == "result"
    assert {"a__0", "b__3", "c"} <= set(shown.model)


def test_every_code_that_is_handed_on_is_in_the_set_that_is_shown():
    """What dot products return is what longer ones go on from; the set is shown by induction alone."""
    survivors = Survivors(netlists(), (), [], 20)
    codes, machine = survivors.handed_on, netlists().machine([])
    assert codes is not None and codes.nan is not None
    seen = {code for group in some_groups(machine, count=640) for code in group.expected.tolist()}
    assert len(seen) > 100
    fmt = survivors.unit.result.format
    inside = {code: choose(codes.has(value(code, fmt.bits)), value(1, 1), value(0, 1)) for code in seen}
    assert [hex(code) for code, term in inside.items() if not evaluated(term, {}) and not fmt.is_nan(code)] == []
    group = Handed(survivors._group, fmt)
    assert group._keeps(codes)
    assert not group._keeps(replace(codes, most=codes.most >> 4))


METHODS = (
    "sequential-e4m3-f16", "hfp8-forward-e4m3-dlfloat16", "cdna2-mfma-f16-f32", "cdna3-mfma-e4m3fnuz-f32", "int8-i32",
    "exact-e4m3-f32", "volta-mma-f16-f16", "blackwell-mxf4nvf4-e2m1-f32", "deepseek-v3-e4m3-f32-scaled",
    "cdna3-mfma-f16-f32", "fp8-any",
)  # fmt: skip


@pytest.mark.parametrize("name", others_slow(METHODS, []))
def test_mutants_of_every_method_are_asked(name):
    """Cases of every method through its steps: a circuit without a mutant that is not the model is an error."""
    unit = load_specified(name)
    found = Qualifier(unit, pipeline(unit).cuts, 1, 10, cases={"smoke": 300, "standard": 300}).qualify(12)
    assert len(found.rows) == 12
    assert found.count("smoke") > 4
    assert not found.count("open"), [row.mutant.name for row in found.rows if row.fate == "open"]


@pytest.mark.slow
def test_registers_inside_of_an_addition_divide_its_steps():
    unit = load_unit("deepseek-v3-e4m3-f32")
    cuts = ("align", "promote.distance", "promote.sum.1", "round")
    found = Qualifier(unit, cuts, 1, 5, cases={"smoke": 100, "standard": 100}).qualify(3)
    assert {"promote.distance", "promote.sum.1"} <= {step.name for step in UnitNetlists(unit, cuts, 1).adder}
    assert len(found.rows) == 3


def survivors_of(unit, step, of):
    """Mutants of some cells that smoke vectors leave alive and that are not equal."""
    qualifier = Qualifier(unit, (), 1, 20)
    chosen = [mutant for mutant in qualifier.all if mutant.step == step and of(mutant)]
    machine = qualifier.netlists.machine(chosen)
    made = sorted(groups(unit, made_batches(Wanted(unit)), machine), key=lambda group: len(group.beats))
    killer = played(machine, made, lambda count: None)
    alive = [mutant for mutant, case in zip(chosen, killer.tolist(), strict=True) if case < 0]
    survivors = Survivors(qualifier.netlists, (), alive, 20)
    return len(chosen), [mutant.name for mutant in alive if survivors.decide(mutant)[0] != "proved"]


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


@pytest.mark.parametrize("name", others_slow(SHIPPED, [], SHIPPED[:1]))
def test_mutants_of_a_shipped_unit_are_decided(name):
    found = Qualifier(load_unit(name), pipeline(load_unit(name)).cuts, 1, 60).qualify(1000)
    real = len(found.rows) - found.count("equivalent")
    assert found.decided
    assert found.of > 20_000
    assert found.count("smoke") >= 0.98 * real


@pytest.mark.parametrize("name", ["e2m1", "e3m2", "e4m3"])
def test_minus_zero_is_plus_zero_and_every_other_code_is_itself(name: str) -> None:
    fmt = get_format(name)
    assert isinstance(fmt, FloatFormat)
    joined = Joined({"code": fmt.bits})
    result = plain_zero(joined, fmt, joined.inputs["code"])
    for first in range(0, 1 << fmt.bits, 64):
        codes = np.arange(first, min(first + 64, 1 << fmt.bits), dtype=np.uint64)
        values = np.zeros(joined.first + len(joined.left), np.uint64)
        values[np.array(joined.inputs["code"]) >> 1] = words_of(codes, fmt.bits)
        evaluate(joined.left, joined.right, joined.first, values)
        words = [values[literal >> 1] ^ np.uint64((1 << 64) - 1 if literal & 1 else 0) for literal in result]
        got = [sum((int(word) >> at & 1) << place for place, word in enumerate(words)) for at in range(len(codes))]
        assert got == [0 if code == fmt.sign_bit else code for code in codes.tolist()]


EVERY = 3  # of so many mutants one


@cache
def cases() -> dict[str, list[Case]]:
    """By kind."""
    bench, found = CaseBuilder(scaled().unit, 1), {"aimed": list(islice(aimed(scaled().unit, 1), AIMED))}
    for kind, solve in SOLVERS.items():
        before = len(bench.cases)
        bench.start("sensitive", kind)
        solve(bench)
        found[kind] = bench.cases[before:]
    return found


@cache
def machine(step: str) -> MutantMachine:
    """Some mutants of a step."""
    circuits = scaled()
    return circuits.machine([mutant for mutant in circuits.mutants() if mutant.step == step][::EVERY])


def killed(step: str, without: str = "") -> int:
    """How many mutants of a step cases kill, of all kinds but one."""
    unit, own = scaled().unit, machine(step)
    chosen = [case for kind, some in cases().items() if kind != without for case in some]
    made = groups(unit, batches(unit, chosen, 64), own)
    return int((played(own, made, lambda count: None) >= 0).sum())


KILLS = [("maximum", "comparisons"), ("decode", "single bits"), ("normalize", "small totals"), ("round", "aimed")]


@pytest.mark.slow
@pytest.mark.parametrize(("step", "kind"), others_slow(KILLS, KILLS[2:3]))
def test_each_kind_kills_what_no_other_does(step, kind):
    assert killed(step) > killed(step, kind)
