"""Relations between the steps of a unit hold of every group; how far max_exp may be raised without a change."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache

import pytest
from built_presets import others_slow
from qualify.small_mutants import SCALED, netlists, promoted, scaled, small

from hwsim.cases.case import beats
from hwsim.cases.sensitive import SOLVERS
from hwsim.cases.solver import CaseBuilder
from hwsim.prove.circuits import circuits, connected
from hwsim.prove.qualify.relations import PARTS, AdderRelations, Blocks
from hwsim.prove.qualify.steps import Leaks, MutatedSteps, nan_handed_on
from hwsim.prove.terms import (
    Kind,
    Term,
    all_substituted,
    ask,
    both,
    implies,
    is_one,
    negated,
    op,
    possible,
    same,
    value,
    width,
)
from hwsim.rtl.methods import datapath, promotion
from hwsim.spec import Unit

F32 = {"format": "f32", "rounding": "rz"}
KINDS = ("single bits", "below", "far addends", "zeros beside", "comparisons", "sparse totals", "small totals")


def leaks_of(unit: Unit) -> Leaks:
    return Leaks(unit, circuits({step.name: step for step in datapath(unit, ()).steps}))


def operands(unit: Unit, every: int) -> list[dict[str, int]]:
    """The first beats of some directed cases, by ports."""
    bench = CaseBuilder(unit, 1)
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


@pytest.mark.parametrize("kind", others_slow(["plain", "promoted", "scaled"], ["plain"]))
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


@cache
def scaled_leaks() -> Leaks:
    return leaks_of(small(**SCALED))


@cache
def promoted_leaks() -> Leaks:
    return leaks_of(promoted(13))


def test_lanes_that_share_scales_are_a_block():
    blocks = scaled_leaks().blocks
    assert ([block.lanes for block in blocks.blocks], blocks.fields) == ([(0, 1, 2, 3)], (2, 30))
    assert promoted_leaks().blocks.blocks == ()


def test_a_product_that_is_not_near_to_its_scales_makes_no_block():
    leaks = leaks_of(small(**SCALED | HALVES))
    assert [block.lanes for block in leaks.blocks.blocks] == [(0, 1), (2, 3)]
    decode = leaks.parts.decode
    others = {"o__scale_exp__0": decode.outputs["o__scale_exp__2"]}
    parts = replace(leaks.parts, decode=replace(decode, outputs=decode.outputs | others))
    assert Blocks.of(leaks.n, parts, leaks._operands()).blocks == ()


def test_an_addend_that_is_alone_has_a_leading_one():
    unit = small(operands={"a": "e2m1", "b": "e2m1", "addend": "f32"}, result=F32)
    leaks = leaks_of(unit)
    any_bits = copy(leaks)
    any_bits.__dict__["_addend_facts"] = []
    assert leaks._least_alone == 1 << leaks.n.fraction_bits
    assert any_bits._least_alone == 0


def test_max_exp_below_all_exponents_is_that_of_nothing():
    assert scaled_leaks()._nothing_is_nothing


def test_a_partial_sum_of_nan_is_handed_on_where_its_code_comes_out():
    leaks = promoted_leaks()
    assert nan_handed_on(leaks) is not None
    last = leaks.parts.round
    code = last.outputs["o__code"]
    other = replace(last, outputs=last.outputs | {"o__code": op(Kind.BV_NOT, code)})
    changed = copy(leaks)
    changed.parts = replace(leaks.parts, round=other)
    assert nan_handed_on(changed) is None


def test_an_addend_of_zero_may_have_any_sign_and_no_other_may():
    leaks = promoted_leaks()
    outputs = leaks.parts.products.outputs
    turned = outputs | {"o__addend__sign": op(Kind.BV_NOT, outputs["o__addend__sign"])}
    alike = leaks._signs_of_zero(
        {port: (term, turned[port]) for port, term in outputs.items() if "special" not in port}
    )
    zero = same(outputs["o__addend__sig"], value(0, width(outputs["o__addend__sig"])))
    assert leaks._zeros_vanish
    assert ask(alike, [zero]).word == "proved"
    assert ask(alike, [negated(zero)]).word == "refuted"


def test_a_partial_sum_of_zero_may_have_an_exponent_below_all_others_and_no_other_may():
    unit = promoted(13)
    assert unit.promotion is not None
    steps = circuits({step.name: step for step in promotion(unit, ()).steps})
    relations = AdderRelations(unit, unit.promotion, (), steps)
    outputs = relations.decode.outputs
    lower = outputs | {"o__partial__bexp": value(0, width(outputs["o__partial__bexp"]))}
    alike = relations.zero_below({port: (term, lower[port]) for port, term in outputs.items()})
    zero = same(outputs["o__partial__sig"], value(0, width(outputs["o__partial__sig"])))
    assert ask(alike, [zero]).word == "proved"
    assert ask(alike, [negated(zero)]).word == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("bits", [13, 19])
def test_max_exp_may_be_raised_until_the_least_products_last_bit_falls_out(bits):
    leaks = leaks_of(promoted(bits))
    n = leaks.n
    # The last bit of the window at max_exp, no higher than the least product's last bit.
    most = n.product_least - n.product_fraction_bits + n.fraction_bits
    assert leaks.raised_to == leaks.products_below == 1 << most.bit_length() - 1 < n.product_most
    assert not leaks._exact(2 * leaks.raised_to)
    assert not leaks._all_vanish(2 * leaks.raised_to)


def test_a_hidden_bit_of_zero_is_nothing_where_no_partial_sum_is_as_small():
    assert leaks_of(promoted(13)).addend
    # Products of e5m2 are below binary16's subnormals: where zero counts there, they lose what is below its window.
    assert not leaks_of(small(operands={"a": "e5m2", "b": "e5m2", "addend": "f16"})).addend
