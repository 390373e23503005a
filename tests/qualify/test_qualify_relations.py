"""What is taken for granted before each part of a datapath holds of every group that is tried; and is no less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from qualify.small_mutants import SCALED, netlists, scaled, small

from hwsim.cases.bench import Bench
from hwsim.cases.case import beats
from hwsim.cases.sensitive import SOLVERS
from hwsim.prove.circuits import circuits, connected
from hwsim.prove.logic import Term, all_substituted, both, implies, is_one, negated, possible, value, width
from hwsim.qualify.blocks import Blocks
from hwsim.qualify.leaks import Leaks
from hwsim.qualify.relations import PARTS
from hwsim.qualify.steps import MutatedSteps
from hwsim.rtl.datapath import datapath
from hwsim.spec import Unit

F32 = {"format": "f32", "rounding": "rz"}
KINDS = ("single bits", "below", "far addends", "zeros beside", "comparisons", "sparse totals", "small totals")


def leaks_of(unit: Unit) -> Leaks:
    return Leaks(unit, circuits({step.name: step for step in datapath(unit, ()).steps}))


def operands(unit: Unit, every: int) -> list[dict[str, int]]:
    """The first beats of some directed cases, by ports."""
    bench = Bench(unit, 1)
    for kind in KINDS:
        bench.start("sensitive", kind)
        SOLVERS[kind](bench)
    found = []
    for case in bench.cases[::every]:
        beat = next(iter(beats(unit, case)))
        codes = {"a": beat.a, "b": beat.b, "scale_a": beat.scale_a, "scale_b": beat.scale_b}
        inputs = {f"i__{name}__{at}": code for name, some in codes.items() for at, code in enumerate(some)}
        c = {} if unit.promotion is not None else {"i__c": case.c}
        found.append({**inputs, **c, "i__chain": 0, "i__carried__code": 0})
    return found


@pytest.mark.parametrize("kind", ["plain", "promoted", "scaled"])
def test_relations_hold_of_every_group(kind):
    nets = scaled() if kind == "scaled" else netlists(kind == "promoted")
    steps = MutatedSteps(nets.unit, nets.steps, [])
    whole, wanted = None, dict[str, Term]()
    first = steps.plain_parts["products"]
    for part in PARTS:
        circuit = steps.plain_parts[part]
        if whole is not None:
            by = {term: whole.outputs[f"o{name[1:]}"] for name, term in circuit.inputs.items()}
            flags = [whole.outputs[f"o__special__{flag}"] for flag in ("nan", "positive", "negative")]
            relation = steps.relations[part]
            none_set = both(*(negated(is_one(flag)) for flag in flags))
            (wanted[part],) = all_substituted([both(relation.always, implies(none_set, relation.plain))], by)
        whole = circuit if whole is None else connected([whole, circuit])
    tried = operands(nets.unit, 9)
    assert len(tried) > 12
    for inputs in tried:
        by = {term: value(inputs[name], width(term)) for name, term in first.inputs.items()}
        found = dict(zip(wanted, all_substituted(wanted.values(), by), strict=True))
        # What scales add may be anything that makes the relation hold.
        assert [part for part, term in found.items() if not possible([term])] == []


HALVES = {
    "scale": {"a": {"format": "e8m0", "block": [1, 2]}, "b": {"format": "e8m0", "block": [2, 1]}, "at": "product"}
}


def test_lanes_that_share_scales_are_a_block():
    blocks = leaks_of(small(**SCALED)).blocks
    assert ([block.lanes for block in blocks.blocks], blocks.fields) == ([(0, 1, 2, 3)], (2, 30))
    assert leaks_of(small()).blocks.blocks == ()


def test_a_product_that_is_not_near_to_its_scales_makes_no_block():
    leaks = leaks_of(small(**SCALED | HALVES))
    assert [block.lanes for block in leaks.blocks.blocks] == [(0, 1), (2, 3)]
    decode = leaks.parts.decode
    others = {"o__scale_exp__0": decode.outputs["o__scale_exp__2"]}
    parts = replace(leaks.parts, decode=replace(decode, outputs=decode.outputs | others))
    assert Blocks.of(leaks.n, parts, leaks._operands()).blocks == ()


def test_an_addend_that_is_alone_has_a_leading_one():
    unit = small(operands={"a": "e2m1", "b": "e2m1", "addend": "f32"}, result=F32)
    alone = leaks_of(unit)
    assert alone._least_alone == 1 << alone.n.fraction_bits
    any_bits = leaks_of(unit)
    any_bits.__dict__["_addend_facts"] = []
    assert any_bits._least_alone == 0


def test_max_exp_below_all_exponents_is_that_of_nothing():
    assert leaks_of(small(**SCALED))._nothing_is_nothing
