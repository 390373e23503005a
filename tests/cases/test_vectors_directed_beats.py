"""Chains and promotion, measured."""

from fractions import Fraction
from itertools import pairwise

import pytest
from cases.vectors_measure import suite, value

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import term_scales
from hwsim.formats import Class, unpack
from hwsim.model.definition import Definition
from hwsim.model.terms import addend_term
from hwsim.spec import Unit

CANONICAL = 0x7FFFFFFF


@pytest.fixture
def deepseek():
    return suite("deepseek-v3-e4m3-f32")


def beats(one):
    return len(one.case.a) // one.unit.instruction.lanes


def test_chains_of_each_length(measured):
    assert {beats(one) for one in measured.of("chain")} == {1, 2, 3, 9}


def test_the_partial_sum_changes_sign_through_zero(measured):
    """From one beat to the next, both ways."""
    fmt, turns = measured.definition.result, set()
    for one in measured.of("chain"):
        codes = [unpack(fmt, group.code) for group in one.explanation.groups]
        turns |= {(x.sign, y.sign) for x, y in pairwise(codes) if x.cls is y.cls is Class.NORMAL}
    assert turns == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_chain_cancels_to_zero_and_goes_on(measured):
    found = [one for one in measured.of("chain") for group in one.explanation.groups[:-1] if _emptied(group)]
    assert found


def _emptied(group):
    return group.total == 0 and any(term.cls is Class.NORMAL for term in group.products)


def test_a_chain_swallows_products(measured):
    """Beats whose products are all lost below the partial sum."""
    lost = 0
    for one in measured.of("chain"):
        for group in one.explanation.groups[1:]:
            products = [term for term in group.products if term.cls is Class.NORMAL]
            kept = [x for x, term in zip(group.aligned, group.products, strict=False) if x and term.cls is Class.NORMAL]
            lost += bool(products) and not kept
    # 25 bits of mxint8's and mxfp4's windows, and jammed bits, lose nothing that follows so few products.
    wide = measured.window == 25 or measured.unit.sum.lost == "jam"
    assert lost or wide


@pytest.mark.parametrize("name", ["hopper-wgmma-e5m2-f32", "deepseek-v3-e4m3-f32"])
def test_specials_in_each_beat_are_not_undone(name):
    measured = suite(name)
    hit = set()
    for one in measured.of("chain"):
        special = [index for index, group in enumerate(one.explanation.groups) if group.special is not None]
        if special:
            assert unpack(measured.unit.output, one.explanation.code).cls in (Class.NAN, Class.INFINITY)
            hit.add((special[0], beats(one)))
    assert hit >= {(0, 3), (1, 3), (2, 3)}


def test_beats_around_the_promotion_interval(deepseek):
    # 128 products are 4 beats of 32.
    assert {beats(one) for one in deepseek.of("promotion")} >= {1, 3, 4, 5, 7, 8, 9}
    assert {len(one.explanation.promotions) for one in deepseek.of("promotion")} == {1, 2, 3}


def promotions(deepseek):
    """The two operands of every promotion as terms, and the case."""
    for one in deepseek.of("promotion"):
        for step in one.explanation.promotions.values():
            register = addend_term(one.unit.promotion.format, step.register)
            yield one, register, deepseek.definition.partial(step.partial), step.code


def test_registers_of_every_class(deepseek):
    hit = {(register.cls, register.sign) for _, register, _, _ in promotions(deepseek)}
    assert hit >= {(cls, sign) for cls in (Class.ZERO, Class.NORMAL, Class.INFINITY) for sign in (0, 1)}
    assert Class.NAN in {cls for cls, _ in hit}
    codes = {one.case.c & 0x7FFFFFFF for one in deepseek.of("promotion")}
    assert codes >= {0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000}


def test_registers_that_the_partial_sum_cancels(deepseek):
    """In the first interval and in a later one; to +0."""
    hit = set()
    for one, register, partial, code in promotions(deepseek):
        if Class.NORMAL is register.cls is partial.cls and value(register) + value(partial) == 0:
            assert code == 0
            hit.add((register.sign, beats(one) > 1))
    assert hit == {(sign, later) for sign in (0, 1) for later in (False, True)}


def test_ties_of_register_and_partial_to_even_and_from_odd(deepseek):
    """Exactly half a last place of the rounded sum, and a little to each side, added and subtracted."""
    hit = set()
    for _, register, partial, _ in promotions(deepseek):
        if Class.NORMAL is register.cls is partial.cls:
            total = abs(value(register) + value(partial))
            if total:
                exp = (total.numerator.bit_length() - total.denominator.bit_length()) - 1
                while Fraction(2) ** (exp + 1) <= total:
                    exp += 1
                kept, rest = divmod(total / Fraction(2) ** (exp - 23), 1)
                side = (
                    "tie"
                    if rest == Fraction(1, 2)
                    else "below"
                    if 0 < rest < Fraction(1, 2)
                    else "above"
                    if rest
                    else ""
                )
                hit.add((side, kept & 1, register.sign == partial.sign, register.sign))
    for side in ("tie", "below", "above"):
        assert hit >= {(side, odd, same, sign) for odd in (0, 1) for same in (True, False) for sign in (0, 1)}


def test_partials_far_from_the_register_on_both_sides(deepseek):
    apart = {
        register.exp - partial.exp for _, register, partial, _ in promotions(deepseek) if partial.sig and register.sig
    }
    assert apart >= {-60, -24, -12, -2, -1, 1, 2, 12, 24, 60}


def test_nan_comes_out_canonical(deepseek):
    codes = {
        one.explanation.code
        for one in deepseek.measured
        if unpack(deepseek.unit.output, one.explanation.code).cls is Class.NAN
    }
    assert codes == {CANONICAL}


@pytest.mark.slow
def test_a_scaled_partial_sum_overflows_the_register_and_just_not():
    """The largest register, and partial sums of an eighth of its last place to twice that: a half rounds up."""
    data = suite("mxfp8-e4m3-f32").unit.model_dump(mode="json")
    unit = Unit.model_validate(data | {"promotion": {"interval": 64, "format": "f32"}})
    definition, hit = Definition(unit), {}
    for case in directed(unit, 0):
        if case.id.startswith("promotion/overflow"):
            codes = definition.dot(case.a, case.b, case.c, *term_scales(unit, case))
            [step] = codes.promotions.values()
            partial = value(definition.partial(step.partial)) / 2 ** (127 - 23)
            hit[partial] = unpack(unit.output, codes.code).cls
    assert {cls for part, cls in hit.items() if part < Fraction(1, 2)} == {Class.NORMAL}
    assert {cls for part, cls in hit.items() if part >= Fraction(1, 2)} == {Class.INFINITY}
