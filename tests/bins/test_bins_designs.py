"""Covering cases find designs that are wrong in one place only: each mutant differs on at least one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from bins.covering_kept import covering_once
from odd_units import unit as unit_of

from hwsim.cases.bins.declare import SampledGroup, sampled_case
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.case import dot
from hwsim.model.definition import Definition
from hwsim.model.terms import Term, align
from hwsim.spec import Unit

HOPPER = "hopper-wgmma-e4m3-f32"

WINDOW = 13
GROWTH = 6  # of 32 products of at most 3.515625 at their exponent, and an addend below 2


@cache
def jamming() -> Unit:
    """Hopper's arithmetic with lost bits jammed, and rounded to nearest: sticky bits matter."""
    unit = unit_of(HOPPER)
    summed = unit.sum.model_copy(update={"lost": "jam"})
    result = unit.result.model_copy(update={"rounding": "rne"})
    return unit.model_copy(update={"unit": "jamming", "sum": summed, "result": result})


@cache
def last_groups(jam: bool) -> tuple[Definition, list[SampledGroup]]:
    """The last sum of every covering case that has numbers in it."""
    unit = jamming() if jam else unit_of(HOPPER)
    definition = Definition(unit)
    seen = [sampled_case(case, dot(definition, case)).groups[-1] for case in covering_once(unit).cases]
    return definition, [one for one in seen if one.top is not None]


def terms(seen: SampledGroup) -> list[tuple[int, Term]]:
    return [(lane, term) for lane, term, _, _ in (*seen.terms, *([seen.addend] if seen.addend else []))]


Design = Callable[[Definition, SampledGroup], tuple[int, int | None]]


def caught(design: Design, jam: bool = False) -> int:
    """On how many cases a design's result differs. design: the window's sum and its max_exp."""
    definition, groups = last_groups(jam)
    return sum(definition.round(*design(definition, seen), sticky=False).code != seen.group.code for seen in groups)


def summed(
    definition: Definition,
    seen: SampledGroup,
    shift: Callable[[int, Term, int], Term] = lambda lane, term, d: term,
    lost: str | None = None,
    window: int = WINDOW,
) -> tuple[int, int]:
    """The sum with every term changed by `shift`, in units of 2^(top - WINDOW)."""
    assert seen.top is not None
    rule = lost or definition.unit.sum.lost
    total = sum(align(shift(lane, term, seen.top - term.exp), seen.top, window, rule) for lane, term in terms(seen))
    return total << WINDOW - window, seen.top


def test_the_right_design_differs_nowhere():
    assert caught(summed) == 0


@pytest.mark.slow
def test_the_right_design_differs_nowhere_where_lost_bits_are_jammed():
    assert caught(summed, jam=True) == 0


@pytest.mark.quick
@pytest.mark.parametrize("lane", range(-1, 32))
def test_a_dropped_lane(lane):
    """-1 is the addend."""

    def design(definition, seen):
        kept = [term for at, term in terms(seen) if at != lane]
        top = max((term.exp for term in kept), default=None)
        return sum(align(term, top, WINDOW, "truncate") for term in kept), top

    assert caught(design) >= 2


def test_floor_for_truncate():
    assert caught(lambda definition, seen: summed(definition, seen, lost="floor")) >= 16


def test_one_bit_less_of_window():
    assert caught(lambda definition, seen: summed(definition, seen, window=WINDOW - 1)) >= 16


def test_leading_one_for_reference_exponent():
    def normalised(term):
        places = term.sig.bit_length() - 1
        return term._replace(exp=term.exp + places - term.fraction_bits, fraction_bits=places)

    def design(definition, seen):
        changed = [normalised(term) for _, term in terms(seen)]
        top = max(term.exp for term in changed)
        return sum(align(term, top, WINDOW, "truncate") for term in changed), top

    assert caught(design) >= 16


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("distance", range(1, 16))
def test_a_shift_off_by_one_at_one_distance_of_products(distance, by):
    """From 15 places on nothing is kept of a product, so that one place more of 15 changes nothing."""

    def shift(lane, term, d):
        return term._replace(exp=term.exp - by) if lane >= 0 and d == distance else term

    found = caught(lambda definition, seen: summed(definition, seen, shift))
    assert found == 0 if (distance, by) == (15, 1) else found >= 1


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("distance", range(1, 15))
def test_a_shift_off_by_one_at_one_distance_of_the_addend(distance, by):
    """An addend is below 2, so that nothing is kept of it from 14 places on."""

    def shift(lane, term, d):
        return term._replace(exp=term.exp - by) if lane < 0 and d == distance else term

    found = caught(lambda definition, seen: summed(definition, seen, shift))
    assert found == 0 if (distance, by) == (14, 1) else found >= 1


@pytest.mark.parametrize("most", range(1, 15))
def test_a_shifter_that_saturates_too_early(most):
    def shift(lane, term, d):
        return term._replace(exp=term.exp + max(0, d - most))

    assert caught(lambda definition, seen: summed(definition, seen, shift)) >= 1


@pytest.mark.parametrize("bits", [3, 4])
def test_a_shifter_whose_high_bits_are_dropped(bits):
    """Shifts modulo 8 and 16."""

    def shift(lane, term, d):
        return term._replace(exp=term.exp + (d >> bits << bits))

    assert caught(lambda definition, seen: summed(definition, seen, shift)) >= 2


@pytest.mark.parametrize("lost", range(1, GROWTH + 1))
def test_a_carry_lost_at_a_growth_bit(lost):
    """Of magnitudes: the bit `lost` places above max_exp is dropped."""

    def design(definition, seen):
        total, top = summed(definition, seen)
        size = abs(total) & ~(1 << WINDOW + lost)
        return -size if total < 0 else size, top

    assert caught(design) >= 2


def test_a_sum_one_bit_too_narrow():
    """Of two's complement: 13 + 6 bits and the sign, which hold all but the largest binade."""

    def design(definition, seen):
        total, top = summed(definition, seen)
        half = 1 << WINDOW + GROWTH
        return (total + half) % (2 * half) - half, top

    assert caught(design) >= 2


DEEPEST = 28 + 6 - WINDOW  # of products that are 28 apart, with 6 fraction bits


@pytest.mark.slow
@pytest.mark.parametrize("depth", range(1, DEEPEST + 1))
def test_a_sticky_bit_that_ignores_one_place_below_the_window(depth):
    """Of a jamming shifter: a product's bit so far below the window's last place is not looked at."""

    def shift(lane, term, d):
        below = d + term.fraction_bits - WINDOW
        if lane < 0 or below < depth:
            return term
        return term._replace(sig=term.sig & ~(1 << below - depth))

    assert caught(lambda definition, seen: summed(definition, seen, shift), jam=True) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("place", range(GROWTH - 1))
def test_a_sticky_bit_that_ignores_one_place_of_the_sum(place):
    """Of rounding to nearest: a bit below guard."""

    def design(definition, seen):
        total, top = summed(definition, seen)
        cut = abs(total).bit_length() - 1 - definition.result.fraction_bits
        if cut >= place + 2:
            total = (abs(total) & ~(1 << place)) * (-1 if total < 0 else 1)
        return total, top

    assert caught(design, jam=True) >= 1


def test_the_numbers_are_the_plan_s():
    shape = UnitFacts(unit_of(HOPPER))
    assert (shape.window, shape.most_growth) == (WINDOW, GROWTH)
    assert shape.below(shape.farthest) == DEEPEST
