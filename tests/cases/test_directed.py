"""Directed suites of every method and rule, measured with the definition: what each group holds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import pytest
from built_presets import others_slow
from cases.vectors_measure import NAMES, SEED, suite, unit_of, value
from odd_units import unit as odd

from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.lostbits import fields
from hwsim.cases.case import addend_mask, beats, block_lengths, term_scales
from hwsim.cases.palette import infinities, nans
from hwsim.formats import Class, FloatFormat, parse, unpack
from hwsim.model.clock import PipelinedUnit
from hwsim.model.definition import Definition
from hwsim.model.terms import addend_term
from hwsim.spec import Unit, pipeline

GROUPS = {"lane", "addend", "normalize", "growth", "carry", "cancel", "class", "zero", "chain", "lost", "edge"}


@pytest.mark.slow
def test_ids_are_unique(measured):
    ids = [case.id for case in measured.cases]
    assert len(set(ids)) == len(ids)


def test_every_group_is_there(measured):
    assert {case.id.split("/")[0] for case in measured.cases} >= GROUPS


def test_cases_are_whole_beats_of_codes(measured):
    unit = measured.unit
    for case in measured.cases:
        assert len(case.a) == len(case.b) > 0
        assert len(case.a) % unit.instruction.lanes == 0
        assert 0 <= case.c <= addend_mask(unit)
    for fmt, used in ((unit.operands.a, {c for case in measured.cases for c in case.a}),
                      (unit.operands.b, {c for case in measured.cases for c in case.b})):  # fmt: skip
        for code in used:
            unpack(fmt, code)


def test_scales_are_one_a_block(measured):
    unit = measured.unit
    for case in measured.cases:
        if unit.scale is None:
            assert (case.scale_a, case.scale_b) == ((), ())
        else:
            blocks = [-(-len(case.a) // length) for length in block_lengths(unit)]
            assert [len(case.scale_a), len(case.scale_b)] == blocks


@pytest.mark.parametrize("name", NAMES[::3])
def test_the_same_seed_gives_the_same_cases(name):
    unit = unit_of(name)
    assert directed(unit, SEED) == suite(name).cases


def test_another_seed_gives_the_same_bins_with_other_codes(hopper):
    other = directed(hopper.unit, SEED + 1)
    assert [case.id for case in other] == [case.id for case in hopper.cases]
    assert other != hopper.cases


def test_a_suite_of_32_lanes_is_of_a_size_to_simulate(hopper):
    assert 1500 <= len(hopper.cases) <= 4000


def test_beats_bring_a_case_into_the_cycle_level_model(measured):
    unit = PipelinedUnit(measured.unit, pipeline(measured.unit, (), 1))
    for one in measured.measured[::7]:
        unit.reset()
        for beat in beats(measured.unit, one.case):
            assert unit.tick(beat, True)
        assert unit.result.code == one.explanation.code, one.case.id


def odd_unit(**changed):
    """A unit far from the presets, with these parts changed."""
    data = {
        "unit": "odd",
        "operands": {"a": "e4m3", "b": "e4m3", "addend": "f32"},
        "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "aligned", "fraction_bits": 13},
        "result": {"format": "f32", "rounding": "rz"},
    }
    return Unit.model_validate(data | changed)


def scale(a, b, fmt="e8m0"):
    return {"scale": {"a": {"format": fmt, "block": [1, a]}, "b": {"format": fmt, "block": [b, 1]}}}


FNUZ = {"kind": "float", "name": "fnuz", "exponent_bits": 4, "fraction_bits": 3, "bias": 8, "nan": (0x80,),
        "signed_zero": False}  # fmt: skip
FLAT = {"kind": "float", "name": "flat", "exponent_bits": 6, "fraction_bits": 9, "bias": 31, "subnormals": False}
INT4 = {"kind": "fixed", "name": "int4", "integer_bits": 3, "fraction_bits": 0}
NARROW = {"kind": "exponent", "name": "e4m0", "exponent_bits": 4, "bias": 7}
BELOW_ONE = {"kind": "exponent", "name": "below", "exponent_bits": 4, "bias": 40}  # the last is 2^-25
UP_TO_ONE = {"kind": "exponent", "name": "up-to-one", "exponent_bits": 4, "bias": 15}
FROM_ONE = {"kind": "exponent", "name": "from-one", "exponent_bits": 4, "bias": 0}


def formats(a, b=None, addend="f32"):
    made = [parse(fmt) if isinstance(fmt, dict) else fmt for fmt in (a, b or a, addend)]
    return {"operands": dict(zip(("a", "b", "addend"), made, strict=True))}


UNITS = [
    odd_unit(instruction={"k": 1, "lanes": 1}),
    odd_unit(instruction={"k": 1, "lanes": 1, "chain": None}, **formats("e4m3", addend=None)),
    odd_unit(instruction={"k": 8, "lanes": 4, "chain": None}, **formats("e4m3", addend=None)),
    odd_unit(instruction={"k": 64, "lanes": 64}, **formats("e5m2")),
    odd_unit(sum={"method": "aligned", "fraction_bits": 24}, **formats("f16")),
    odd_unit(sum={"method": "aligned", "fraction_bits": 0}),
    odd_unit(sum={"method": "aligned", "fraction_bits": 20, "lost": "floor"}, **formats("e4m3", addend="tf32")),
    odd_unit(**formats("bf16", addend="bf16")),
    odd_unit(**formats(FNUZ, addend=FLAT)),
    odd_unit(**formats(FLAT)),
    odd_unit(**formats(INT4, "e4m3")),
    odd_unit(result={"format": "e4m3", "rounding": "ru", "overflow": "saturate"}),
    odd_unit(result={"format": "e4m3", "rounding": "rd", "overflow": "nan"}),
    odd_unit(instruction={"k": 32, "lanes": 32}, **scale(8, 16)),
    odd_unit(instruction={"k": 8, "lanes": 8}, **scale(32, 64)),
    odd_unit(**scale(4, 4, parse(NARROW))),
    odd_unit(**scale(4, 4, parse(BELOW_ONE))),
    odd_unit(**scale(4, 4, parse(UP_TO_ONE))),
    odd_unit(**scale(4, 4, parse(FROM_ONE))),
    odd_unit(promotion={"interval": 4, "format": "f32"}),
    odd_unit(promotion={"interval": 8, "format": "f32"}, **scale(8, 8)),
    odd_unit(promotion={"interval": 16, "format": "f32"}, **formats("e5m2", addend="f16")),
    odd_unit(promotion={"interval": 16, "format": "f32"}, **formats("e5m2", addend=None)),
]


def _scales(unit, case):
    return [] if unit.scale is None else [(unit.scale.a, case.scale_a), (unit.scale.b, case.scale_b)]


@pytest.mark.parametrize(
    "unit",
    others_slow(UNITS, [*UNITS[:18:4], UNITS[19]]),
    ids=lambda unit: "-".join(
        (unit.operands.a.name, unit.operands.b.name, str(unit.instruction.lanes), unit.result.rounding)
    ),
)
def test_any_unit_that_the_model_has_gets_a_suite(unit):
    cases = directed(unit, 0)
    device = PipelinedUnit(unit, pipeline(unit, (), 1))
    assert len(cases) > 300
    assert len({case.id for case in cases}) == len(cases)
    most = unit.instruction.k // unit.instruction.lanes if unit.instruction.chain is None else 10**9
    assert all(len(case.a) // unit.instruction.lanes <= most for case in cases)
    for fmt, codes in ((side.format, codes) for case in cases for side, codes in _scales(unit, case)):
        assert all(0 <= code <= max((fmt.max_code, *fmt.nan)) for code in codes)
    for case in cases[::27]:
        device.reset()
        assert all(device.tick(beat, True) for beat in beats(unit, case))


def two_products(suite):
    """Cases of two products other than zero, in one beat: the higher and the lower one."""
    for one in suite.of("distance"):
        if len(one.products) == 2 and one.addend is None:
            high, low = sorted(one.products, key=lambda term: -term.exp)
            yield one, high, low


@pytest.mark.quick(cases=1)
def test_every_distance_between_products_added_and_subtracted(measured):
    wanted = set()
    for d in range(max(measured.reference) - min(measured.reference) + 1):
        mask = (1 << measured.places(d)) - 1
        for low in measured.apart(d):
            lows = {(sign, bool(sig & mask)) for sign, sig in measured.reference[low]}
            highs = {sign for sign, _ in measured.reference[low + d]}
            wanted |= {(d, high, sign, lost) for high, (sign, lost) in product(highs, lows)}
    hit = {(one.distance(low), high.sign, low.sign, bool(one.lost(low))) for one, high, low in two_products(measured)}
    # Two products of one exponent may stand in either order.
    assert hit | {(0, s, h, lost) for d, h, s, lost in hit if d == 0} == wanted


@pytest.mark.parametrize(("name", "count"), [("hopper-wgmma-e4m3-f32", 29), ("hopper-wgmma-e5m2-f32", 59)])
def test_the_distances_are_as_many_as_coverage_says(name, count):
    assert len({one.distance(low) for one, _, low in two_products(suite(name))}) == count


def test_each_lane_is_once_the_maximum_and_once_shifted(measured):
    most, shifted = set(), set()
    for one in measured.of("lane"):
        for lane, term in enumerate(one.group.products):
            if term in one.products:
                (most if one.distance(term) == 0 else shifted).add((lane, term.sign))
    every = {(lane, sign) for lane in range(measured.lanes) for sign in (0, 1)}
    assert (most, shifted) == (every, every)


def test_the_addend_at_every_distance_on_each_side(measured):
    """Full fractions, both signs of both; 0 counts on the side above."""
    hit = set()
    for one in measured.of("addend"):
        [product], addend = one.products, one.addend
        ones = bin(addend.sig).count("1") > 1 and addend.sig & (addend.sig + 1) == 0
        hit.add((addend.exp - product.exp, product.sign, addend.sign, ones))
    most = measured.window + 4
    assert hit >= {(d, p, c, True) for d in range(-most, most + 1) for p in (0, 1) for c in (0, 1)}
    assert {d for d, _, _, ones in hit if not ones} == set(range(-most, most + 1))


def lost_fields(suite, terms_of):
    """(places, pattern, sign, sign of the maximum) of every straddling term."""
    found = set()
    for one in suite.of("lost"):
        tops = {term.sign for term in one.terms if one.distance(term) == 0}
        for term in terms_of(one):
            places = one.lost_places(term)
            if places and one.distance(term):
                found |= {(places, one.lost(term), term.sign, top) for top in tops}
    return found


def test_every_field_of_lost_bits_of_a_product(measured):
    """Under a product where the factors allow it, else under the addend, which can be as far above as asked."""
    hit = lost_fields(measured, lambda one: one.products)
    sigs = {(sign, sig) for found in measured.reference.values() for sign, sig in found}
    bits = measured.unit.operands.a.fraction_bits + measured.unit.operands.b.fraction_bits
    for places in range(1, bits + 3):
        if measured.window - bits + places < 1:
            continue
        for name, lost in fields(places).items():
            for sign in (0, 1):
                if any(s == sign and sig & ((1 << places) - 1) == lost for s, sig in sigs):
                    missing = [top for top in (0, 1) if (places, lost, sign, top) not in hit]
                    assert not missing, (places, name, sign, missing)


def test_every_field_of_lost_bits_of_the_addend(measured):
    """Wherever the addend has a normal number with those bits; each sign once, below each sign once."""
    hit = lost_fields(measured, lambda one: [one.addend] if one.addend else [])
    fraction = measured.definition.partial(0).fraction_bits
    if measured.unit.promotion is None:
        fraction = measured.unit.operands.addend.fraction_bits
    for places in range(1, fraction + 1):
        if measured.window - fraction + places < 1:
            continue
        for name, lost in fields(places).items():
            found = {sign != top for p, v, sign, top in hit if (p, v) == (places, lost)}
            assert found == {True, False}, (places, name)


def test_a_bit_at_the_last_place_kept_and_at_the_first_lost(measured):
    """Of a product and of the addend, in each sign, as the only bit that a shifted term has."""
    hit = set()
    for one in measured.of("edge"):
        low = min(one.terms, key=lambda term: term.exp - term.fraction_bits + term.sig.bit_length())
        if low.sig & (low.sig - 1) == 0:
            place = low.sig.bit_length() - 1 - low.fraction_bits - one.distance(low) + measured.window
            hit.add((place, low.sign, "addend" if low is one.addend else "product"))
    assert hit >= {(place, s, kind) for place in (-1, 0, 1) for s in (0, 1) for kind in ("addend", "product")}


def test_lost_parts_of_all_lanes_but_one_sum_to_more_than_a_place(hopper):
    """31 lanes that each lose nearly a whole place of the window."""
    most = max(sum(one.lost(term) / 2 ** one.lost_places(term) for term in one.products) for one in hopper.of("lost"))
    assert most > 24
    assert {sum(bool(one.lost(term)) for term in one.products) for one in hopper.of("lost")} >= {0, 1, 2, 31}


def test_every_left_shift_in_both_signs(measured):
    """Large terms cancel and leave the leading one at each place of the window."""
    hit = {(one.growth, one.group.total < 0) for one in measured.of("normalize") if one.growth is not None}
    assert hit >= {(-place, sign) for place in range(measured.window + 1) for sign in (False, True)}


def test_left_shifts_with_bits_lost_beside_them(hopper):
    """With F = 13 a product of 8 bits loses some where its leading one is 1 to 13 places down, 6 to 13 for sure."""
    hit = {one.growth for one in hopper.of("normalize") if any(one.lost(term) for term in one.terms)}
    assert hit >= set(range(-13, -5))


@pytest.mark.parametrize("sign", [0, 1])
def test_every_number_of_equal_large_products(measured, sign):
    counts = {
        len(one.products)
        for one in measured.of("growth")
        if one.addend is None and len(set(one.products)) == 1 and one.products[0].sign == sign
    }
    assert counts == set(range(1, measured.lanes + 1))


@pytest.mark.parametrize("sign", [False, True])
def test_growth_reaches_every_place_up_to_the_largest(measured, sign):
    """Up to all lanes at the largest product of the top exponent used, and an addend of ones beside them."""
    hit = {one.growth for one in measured.of("growth") if (one.group.total < 0) == sign}
    top = max(abs(value(term)) * measured.lanes / 2**term.exp for one in measured.of("growth") for term in one.products)
    assert hit >= set(range(1, int(top).bit_length()))


def test_growth_of_e4m3_is_six_places(hopper):
    # 32 terms of 448 * 448: the leading one is floor(log2(32 * 1.75**2)) = 6 places above max_exp.
    assert max(one.growth for one in hopper.of("growth") if one.addend is None) == 6


def test_carries_from_every_place_to_the_top(measured):
    """Ones from a place up to the window's top, and one more there: the sum is one bit, above the window."""
    top = 1 << measured.window + 1
    hit = set()
    for one in measured.of("carry"):
        if abs(one.group.total) == top:
            units = {abs(x) for x in one.group.aligned if x and abs(x) & (abs(x) - 1) == 0}
            hit |= {(unit.bit_length() - 1, one.group.total < 0) for unit in units}
    reachable = {(place, sign) for place in range(measured.window + 1) for sign in (False, True)}
    # A partial sum of 14 bits or a binary16 addend of 11 has no ones below its own last place.
    bits = measured.unit.operands.addend.fraction_bits if measured.unit.promotion is None else 13
    assert hit >= {(place, sign) for place, sign in reachable if place >= measured.window - bits}


def test_borrows_from_the_top_to_every_place(measured):
    top = 1 << measured.window
    hit = {(top - abs(one.group.total), one.group.total < 0) for one in measured.of("carry") if one.group.total}
    assert {(1 << place, sign) for place in range(measured.window) for sign in (False, True)} <= hit


def test_each_lane_cancels_with_the_next_and_with_the_addend(measured):
    beside, against = set(), set()
    for one in measured.of("cancel"):
        assert one.group.total == 0
        assert one.exact == 0
        lanes = [lane for lane, term in enumerate(one.group.products) if term in one.products]
        if len(lanes) == 2 and one.addend is None:
            beside.add(tuple(lanes))
        if len(lanes) == 1 and one.addend is not None:
            against.add((lanes[0], one.addend.sign))
    every = range(measured.lanes)
    assert beside >= {tuple(sorted((lane, (lane + 1) % measured.lanes))) for lane in every}
    assert against == {(lane, sign) for lane in every for sign in (0, 1)}


def test_kept_bits_cancel_and_lost_bits_remain(measured):
    """A window sum of zero whose exact sum has either sign; jammed bits are not lost, so that they leave one place."""
    least = 1 if measured.unit.sum.lost == "jam" else 0
    signs = {one.exact > 0 for one in measured.of("residue") if abs(one.group.total) <= least and one.exact}
    bits = measured.unit.operands.a.fraction_bits + measured.unit.operands.b.fraction_bits
    addend = measured.definition.partial(0) if measured.unit.promotion else measured.definition.addend(0)
    lasting = max(measured.reference) - min(measured.reference) > measured.window - bits
    if lasting or addend.fraction_bits > measured.window:
        assert signs == {True, False}
    else:
        assert not measured.of("residue")


SCALED = ("mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "mxint8-f32")


def cut(one):
    """How many bits of a normal sum rounding cuts off, those bits, and what it keeps."""
    fmt, total = one.explanation.unit.result.format, abs(one.group.total)
    places = total.bit_length() - 1 - fmt.fraction_bits
    if places < 1 or one.group.rounded.tiny or one.group.overflow:
        return None
    return places, total & ((1 << places) - 1), total >> places


def side(low, places):
    """Bits that are cut off, against half a last place."""
    half = 1 << places - 1
    return "exact" if low == 0 else "tie" if low == half else "below" if low < half else "above"


@pytest.mark.parametrize(
    ("name", "most"),
    # window - fraction + the growth of all lanes at nearly the largest significand
    [("hopper-wgmma-e4m3-f32", 6), ("hopper-wgmma-e5m2-f32", 6), ("mxfp8-e4m3-f32", 8), ("mxfp4-e2m1-f32", 8),
     ("mxint8-f32", 8), ("deepseek-v3-e4m3-f32", 6), ("odd-e4m3-f16", 6)],
)  # fmt: skip
def test_each_side_of_half_at_even_and_odd_in_both_signs(name, most):
    """For every number of bits that a sum of so many lanes can have cut off."""
    hit = set()
    for one in suite(name).of("tie"):
        found = cut(one)
        if found:
            places, low, kept = found
            hit.add((places, side(low, places), kept & 1, one.group.total < 0))
    for places in range(1, most + 1):
        sides = ("exact", "tie") if places == 1 else ("exact", "below", "tie", "above")
        missing = {(places, s, odd, sign) for s in sides for odd in (0, 1) for sign in (False, True)} - hit
        assert not missing, missing


@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "odd-e4m3-f16"])
def test_sticky_from_each_bit_alone(name):
    """With the guard bit set and clear."""
    hit = {found[:2] for one in suite(name).of("tie") if (found := cut(one))}
    for places in range(2, max(places for places, _ in hit) + 1):
        half = 1 << places - 1
        assert hit >= {(places, guard | 1 << k) for guard in (0, half) for k in range(places - 1)}


def test_ones_round_into_the_next_binade(measured):
    """All kept bits one, and half or more cut off, in both signs."""
    fraction = measured.unit.result.format.fraction_bits
    hit = set()
    for one in measured.of("tie"):
        found = cut(one)
        if found and found[2] == (2 << fraction) - 1:
            hit.add((side(found[1], found[0]), one.group.total < 0))
    assert hit >= {(s, sign) for s in ("exact", "tie", "above") for sign in (False, True)}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("negative", [False, True])
def test_every_subnormal_place_down_to_zero(name, negative):
    measured = suite(name)
    fmt = measured.definition.result
    exps = {one.group.rounded.exp for one in measured.of("range") if (one.group.total < 0) == negative}
    assert exps >= set(range(fmt.emin - fmt.fraction_bits - 2, fmt.emin + 2))
    results = [one for one in measured.of("range") if one.group.rounded.tiny and (one.group.total < 0) == negative]
    assert {unpack(fmt, one.group.code).cls for one in results} >= {Class.ZERO, Class.SUBNORMAL}
    assert any(one.group.rounded.inexact for one in results)


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("negative", [False, True])
def test_overflow_and_just_not(name, negative):
    """The largest number itself, all that is between it and one place more, and one place more."""
    measured = suite(name)
    fmt = measured.definition.result
    largest = (2 << fmt.fraction_bits) - 1
    hit = {}
    for one in measured.of("range"):
        shift = one.group.max_exp - measured.window - (fmt.emax - fmt.fraction_bits)
        quarters = abs(one.group.total) * 4 * 2.0**shift
        if (one.group.total < 0) == negative and quarters >= 4 * (largest - 1):
            hit[quarters - 4 * largest] = one.group.overflow
    wanted = {-4: False, 0: False, 1: False, 2: False, 3: False, 4: True}
    # Halves and quarters of the last place are below the window where max_exp is the largest number's exponent.
    assert {step: over for step, over in hit.items() if step in wanted} == wanted


def test_the_odd_unit_overflows_and_underflows_without_scales():
    groups = [one.group for one in suite("odd-e4m3-f16").of("range")]
    assert {group.total < 0 for group in groups if group.overflow} == {True, False}
    assert {group.rounded.exp for group in groups if group.rounded.tiny} >= {-15, -16, -17, -18}


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


CANONICAL = 0x7FFFFFFF


@pytest.fixture
def deepseek():
    return suite("deepseek-v3-e4m3-f32")


def beats_of(one):
    return len(one.case.a) // one.unit.instruction.lanes


def test_chains_of_each_length(measured):
    assert {beats_of(one) for one in measured.of("chain")} == {1, 2, 3, 9}


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
            hit.add((special[0], beats_of(one)))
    assert hit >= {(0, 3), (1, 3), (2, 3)}


def test_beats_around_the_promotion_interval(deepseek):
    # 128 products are 4 beats of 32.
    assert {beats_of(one) for one in deepseek.of("promotion")} >= {1, 3, 4, 5, 7, 8, 9}
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
            hit.add((register.sign, beats_of(one) > 1))
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


@pytest.mark.parametrize("chains", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_one_chain_and_chains_of_one_product_get_a_suite(chains):
    """One chain has no other sum to meet, and one product no sum before it."""
    tree = odd("tree-chains").replace({"instruction.lanes": 4, "instruction.k": 4, "sum.chains": chains})
    assert len(directed(tree, 0)) > 300
