"""Every alignment bin that a unit's factors reach is hit, and measured, not taken from a case's name."""

from itertools import product

import pytest
from cases.vectors_measure import suite

from hwsim.cases.bins.lostbits import fields


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
        for name, value in fields(places).items():
            for sign in (0, 1):
                if any(s == sign and sig & ((1 << places) - 1) == value for s, sig in sigs):
                    missing = [top for top in (0, 1) if (places, value, sign, top) not in hit]
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
        for name, value in fields(places).items():
            found = {sign != top for p, v, sign, top in hit if (p, v) == (places, value)}
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
