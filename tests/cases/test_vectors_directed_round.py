"""Guard and sticky bits, ties, and the ends of the result's range, measured."""

import pytest
from cases.vectors_measure import suite

from hwsim.formats import Class, unpack

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
