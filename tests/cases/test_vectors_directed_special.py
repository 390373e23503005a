"""Operand classes, zeros, subnormals, NaN, infinities and scales, measured."""

from itertools import pairwise, product

import pytest
from cases.vectors_measure import suite

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import term_scales
from hwsim.cases.palette import infinities, nans
from hwsim.formats import Class, FloatFormat, unpack
from hwsim.model.definition import Definition
from hwsim.spec import Unit


def lanes_of(measured, group, wanted):
    """Lanes in which a product's factors are as wanted."""
    return {
        lane
        for one in measured.of(group)
        for lane, pair in enumerate(zip(one.group.a, one.group.b, strict=True))
        if wanted(*pair)
    }


def classes(fmt):
    """The classes that a format has codes of."""
    return {unpack(fmt, code).cls for code in range(1 << fmt.bits)}


def test_every_class_times_every_class_in_every_sign(measured):
    a, b = measured.unit.operands.a, measured.unit.operands.b
    hit = set()
    for one in measured.of("class"):
        for x, y in zip(one.group.a, one.group.b, strict=True):
            hit.add((x.cls, x.sign, y.cls, y.sign))
    signs = (0, 1) if isinstance(a, FloatFormat) else (0,)
    for x, y, s, t in product(classes(a), classes(b), signs, signs):
        assert (x, s, y, t) in hit or Class.NAN in (x, y), (x, s, y, t)
    assert {(x, y) for x, _, y, _ in hit} == set(product(classes(a), classes(b)))


def test_zeros_of_every_sign_give_plus_zero(measured):
    fmt = measured.unit.operands.a
    hit = set()
    for one in measured.of("zero"):
        assert one.terms == []
        assert one.group.code == 0
        hit.add((frozenset(x.sign for x in one.group.a), frozenset(x.sign for x in one.group.b), one.case.c))
    if isinstance(fmt, FloatFormat):
        either = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
        c = {0, measured.unit.operands.addend.sign_bit}
        assert hit == set(product(either, either, c))


def test_a_zero_product_with_a_large_factor_does_not_set_max_exp(measured):
    """Beside a term so small that the zero's reference exponent would be above it."""
    found = 0
    for one in measured.of("zero-times"):
        assert one.group.max_exp == max(term.exp for term in one.terms)
        zeros = [term for term in one.group.products if term.cls is Class.ZERO]
        found += any(term.exp > one.group.max_exp for term in zeros)
    assert found >= 10


@pytest.mark.parametrize(
    ("name", "leads"),
    [("hopper-wgmma-e4m3-f32", {1, 2, 3}), ("hopper-wgmma-e5m2-f32", {1, 2}), ("mxfp8-e4m3-f32", {1, 2, 3}),
     ("mxfp4-e2m1-f32", {1}), ("odd-e4m3-f16", {1, 2, 3})],
)  # fmt: skip
def test_subnormals_with_every_number_of_leading_zeros_set_max_exp(name, leads):
    """A subnormal of either factor, whose product is the maximum, while another term's value is larger."""
    hit = {0: set(), 1: set()}
    for one in suite(name).of("subnormal"):
        for term, x, y in zip(one.group.products, one.group.a, one.group.b, strict=True):
            if term in one.products and term.exp == one.group.max_exp:
                for side, (factor, fmt) in enumerate(((x, one.unit.operands.a), (y, one.unit.operands.b))):
                    larger = any(abs(other) > abs(mine) for other, mine in _beside(one, term))
                    if factor.cls is Class.SUBNORMAL and larger:
                        hit[side].add(fmt.fraction_bits + 1 - factor.sig.bit_length())
    assert hit == {0: leads, 1: leads}


def _beside(one, term):
    index = one.group.products.index(term)
    mine = one.group.aligned[index]
    return [(other, mine) for place, other in enumerate(one.group.aligned) if place != index]


def test_nan_in_each_lane_of_each_factor_and_in_the_addend(measured):
    if not measured.unit.operands.a.has_nan:
        assert not [one for one in measured.of("nan") if not one.case.id.startswith("nan/addend")]
    else:
        for side in (0, 1):
            assert lanes_of(measured, "nan", lambda *pair, side=side: pair[side].cls is Class.NAN) == set(
                range(measured.lanes)
            )
            used = {
                (one.case.a, one.case.b)[side][lane] for one in measured.of("nan") for lane in range(measured.lanes)
            }
            assert used >= set(nans((measured.unit.operands.a, measured.unit.operands.b)[side]))
    addends = {one.case.c for one in measured.of("nan", "promotion")}
    assert addends >= set(nans(measured.unit.operands.addend)[:1])
    assert all(one.explanation.code == measured.unit.nan for one in measured.of("nan"))


def is_infinity(factor, sign):
    return factor.cls is Class.INFINITY and factor.sign == sign


def test_infinity_in_each_lane_and_against_the_next():
    measured = suite("hopper-wgmma-e5m2-f32")
    every = set(range(measured.lanes))
    for side, sign in product((0, 1), (0, 1)):
        wanted = lanes_of(measured, "inf", lambda *pair, side=side, sign=sign: is_infinity(pair[side], sign))
        assert wanted == every
    opposed = set()
    for one in measured.of("inf"):
        infinite = [lane for lane, term in enumerate(one.group.products) if term.cls is Class.INFINITY]
        if len(infinite) == 2 and one.explanation.code == measured.unit.nan:
            opposed.add(tuple(infinite))
    assert opposed >= {tuple(sorted((lane, (lane + 1) % 32))) for lane in range(32)}


@pytest.mark.parametrize("name", ["hopper-wgmma-e5m2-f32"])
def test_infinities_meet_zeros_nans_and_addends(name):
    kinds = set()
    for one in suite(name).of("inf"):
        special = {term.cls for term in one.group.products} - {Class.ZERO, Class.NORMAL}
        addend = one.group.addend
        against = {term.sign for term in one.group.products if term.cls is Class.INFINITY} - {addend.sign}
        kinds.add((frozenset(special), addend.cls is Class.INFINITY, bool(against)))
        kinds |= {"inf x 0" for x, y in zip(one.group.a, one.group.b, strict=True)
                  if {x.cls, y.cls} == {Class.INFINITY, Class.ZERO}}  # fmt: skip
    inf, nan = Class.INFINITY, Class.NAN
    assert "inf x 0" in kinds
    assert kinds >= {
        (frozenset({inf}), True, True),
        (frozenset({inf}), True, False),
        (frozenset({inf, nan}), False, True),
    }


def test_addends_at_infinity_in_both_signs(measured):
    assert {one.case.c for one in measured.of("inf", "promotion")} >= set(infinities(measured.unit.operands.addend))


@pytest.mark.parametrize("name", ["mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "mxint8-f32"])
def test_scales_at_their_ends_crossed_and_nan(name):
    cases = [one.case for one in suite(name).of("scale") if len(one.case.scale_a) == 1]
    hit = {(case.scale_a[0], case.scale_b[0]) for case in cases}
    assert hit >= set(product((0, 1, 126, 127, 128, 253, 254), repeat=2))
    assert hit & {(255, b) for b in range(255)}
    assert hit & {(a, 255) for a in range(255)}
    assert (255, 255) in hit
    zeros = [
        one for one in suite(name).of("scale") if 255 in one.case.scale_a + one.case.scale_b and not any(one.case.a)
    ]
    assert {one.explanation.code for one in zeros} == {suite(name).unit.nan}


@pytest.mark.parametrize("name", ["mxfp8-e4m3-f32", "mxfp4-e2m1-f32"])
def test_scales_far_beyond_the_range_with_the_sum_inside(name):
    inside = [
        sum(scales) - 254
        for one in suite(name).of("scale/far")
        if len(scales := one.case.scale_a + one.case.scale_b) == 2
        and 255 not in scales
        and unpack(one.unit.result.format, one.explanation.code).cls is Class.NORMAL
        and not one.addend
    ]
    assert min(inside) < -126
    # A product of e4m3 can be 2^-18, one of e2m1 2^-2; sums that cancel leave less.
    assert max(inside) > 127


def test_scales_put_terms_beyond_the_range_that_cancel():
    """Two e4m3 products above binary32's largest, and a third below it that remains, at every distance."""
    measured = suite("mxfp8-e4m3-f32")
    hit = {
        max(one.distance(term) for term in one.products)
        for one in measured.of("scale/far-cancelled")
        if one.group.max_exp > 120 and unpack(one.unit.result.format, one.group.code).cls is not Class.INFINITY
    }
    assert hit >= set(range(7, 26))


def test_blocks_of_one_beat_have_scales_of_their_own():
    """32 lanes with a scale for every 8 of a: distances that the factors alone do not make, from each block."""
    unit = suite("mxfp8-e4m3-f32").unit
    side = {"format": "e8m0", "block": (1, 8)}
    data = unit.model_dump(mode="json") | {"scale": {"a": side, "b": {"format": "e8m0", "block": (32, 1)}}}
    narrow = Unit.model_validate(data)
    definition, hit = Definition(narrow), set()
    for case in directed(narrow, 0):
        if case.id.startswith("scale/block"):
            group = definition.dot(case.a, case.b, case.c, *term_scales(narrow, case)).groups[-1]
            lanes = [lane for lane, term in enumerate(group.products) if term.sig]
            exps = [group.products[lane].exp for lane in lanes]
            signs = {group.products[lane].sign for lane in lanes}
            hit.add((lanes[exps.index(max(exps))] // 8, max(exps) - min(exps), len(signs)))
    assert hit >= {(block, d, signs) for block in range(4) for d in range(1, 32) for signs in (1, 2)}


def test_beats_have_scales_of_their_own(measured):
    """Rising and falling from one beat to the next, and to infinity, from which nothing comes back."""
    if measured.unit.scale is not None:
        chains = measured.of("scale/beats")
        steps = {
            b - a for one in chains for a, b in pairwise(map(sum, zip(one.case.scale_a, one.case.scale_b, strict=True)))
        }
        assert steps & set(range(1, 30))
        assert steps & set(range(-30, 0))
        assert any(one.explanation.groups[1].overflow for one in chains)


def test_addends_at_the_ends_of_their_format(measured):
    """Subnormal, smallest normal, largest, in both signs: alone, and beside the smallest and the largest product."""
    fmt, hit = measured.unit.operands.addend, set()
    for one in measured.of("extreme"):
        low = one.case.c & (fmt.sign_bit - 1)
        beside = {term.exp for term in one.products}
        hit.add((low, one.case.c >= fmt.sign_bit, min(beside, default=None)))
    if measured.unit.promotion is None:
        ends = [1, (1 << fmt.fraction_bits) - 1, 1 << fmt.fraction_bits, fmt.max_magnitude]
        products = [None, min(measured.reference), max(measured.reference)]
        assert hit >= set(product(ends, (False, True), products))
