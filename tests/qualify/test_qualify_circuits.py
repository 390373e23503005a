"""Mutants are those of Yosys, and circuits with them are played as they are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from qualify.small_mutants import CASES, netlists, scaled, some

from hwsim.base.processes import scratch_folder
from hwsim.cases.case import batches
from hwsim.cases.sensitive import comparisons
from hwsim.cases.solver import CaseBuilder
from hwsim.cosim.vectors.make import made_batches
from hwsim.cosim.vectors.plan import Wanted
from hwsim.prove.circuits import read_btor
from hwsim.prove.qualify.machine import WrongCircuit, evaluate, groups, played
from hwsim.prove.qualify.mutants import MODES, SELECT, of_one_lane
from hwsim.prove.qualify.steps import MutatedSteps
from hwsim.prove.terms import ask, both, same, substituted
from hwsim.rtl.synthesis.tools import YOSYS, run_tool


def some_groups(promoted: bool = False, count: int = 400):
    unit = netlists(promoted).unit
    return list(groups(unit, made_batches(Wanted(unit, cases=count))))


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("promoted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_circuit_without_a_mutant_returns_what_the_model_does(promoted):
    machine = netlists(promoted).machine(some(40, promoted))
    cases = [group for group in some_groups(promoted) if promoted or len(group.beats) < 40]
    assert len({len(group.beats) for group in cases}) > 1
    killer = played(machine, cases, lambda count: None)
    assert 0 < (killer >= 0).sum() < machine.mutants


def test_a_result_that_is_not_the_models_is_said():
    machine, (group, *_) = netlists().machine(some(500)), some_groups(count=64)
    wrong = group.expected.copy()
    wrong[5] ^= np.uint64(1)
    with pytest.raises(WrongCircuit, match="case 5: the circuit returns 0x"):
        played(machine, [replace(group, expected=wrong)], lambda count: None)


def test_what_a_mutant_changes_is_what_a_circuit_with_it_computes():
    """All nodes once more for each mutant, whose input is set, against what was followed from node to node."""
    machine = netlists().machine(some(60))
    with ThreadPoolExecutor(1) as pool:
        for group in (group for group in some_groups(count=128) if len(group.beats) == 1):
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
    steps = MutatedSteps(netlists().unit, netlists().steps, chosen)
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
    killer = played(machine, islice(some_groups(count=CASES["smoke"]), 20), lambda count: None)
    assert unseen
    assert not unseen & set(np.flatnonzero(killer >= 0).tolist())


def test_mutants_are_numbered_behind_one_input():
    assert SELECT not in netlists().steps[0].module["ports"]


@pytest.mark.slow
def test_mutants_that_are_absorbed_change_nothing():
    nets = scaled()
    found = [mutant for mutant in nets.mutants() if nets.absorbed(mutant)]
    assert len(found) > 50
    bench = CaseBuilder(nets.unit, 1)
    comparisons(bench)
    made = groups(nets.unit, batches(nets.unit, bench.cases, 64))
    assert (played(nets.machine(found), made, lambda count: None) < 0).all()
    few = found[::24]
    steps = MutatedSteps(nets.unit, nets.steps, few)
    assert [mutant.name for mutant in few if steps.equal(mutant, 20).word != "proved"] == []
