"""Cancellation, normalisation, growth and carries, measured."""

import pytest
from cases.vectors_measure import value


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
