"""The Pareto front: nothing on it is dominated, everything else is; and mutants that this must catch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwsim.study.area.front import front

Point = tuple[float, ...]
Front = Callable[[Sequence[Point], Sequence[bool]], list[bool]]
SMALL = st.integers(0, 4).map(float)
POINTS = st.integers(1, 3).flatmap(
    lambda size: st.tuples(
        st.lists(st.tuples(*[SMALL] * size), max_size=12), st.tuples(*[st.booleans()] * size)
    )
)  # fmt: skip


def better(one: Point, other: Point, minimise: Sequence[bool]) -> bool:
    """As good in everything and better in something, said as it is defined."""
    pairs = [(a, b) if less else (b, a) for a, b, less in zip(one, other, minimise, strict=True)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def check(points: Sequence[Point], minimise: Sequence[bool], found: list[bool]) -> None:
    assert len(found) == len(points)
    for point, on_front in zip(points, found, strict=True):
        assert on_front != any(better(other, point, minimise) for other in points)


@given(POINTS)
def test_what_is_on_the_front_is_not_dominated_and_all_else_is(drawn: tuple[list[Point], tuple[bool, ...]]) -> None:
    points, minimise = drawn
    check(points, minimise, front(points, minimise))


@given(POINTS, st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_count(drawn: tuple[list[Point], tuple[bool, ...]], random: object) -> None:
    points, minimise = drawn
    found = dict(zip(points, front(points, minimise), strict=True))
    turned = points[::-1]
    assert front(turned, minimise) == [found[point] for point in turned]


def mutant_strict(points: Sequence[Point], minimise: Sequence[bool]) -> list[bool]:
    """Better in everything."""
    return [not any(all(a < b for a, b in zip(o, p, strict=True)) for o in points) for p in points]


def mutant_first(points: Sequence[Point], minimise: Sequence[bool]) -> list[bool]:
    """The first number alone."""
    return [all(p[0] <= o[0] for o in points) for p in points]


def mutant_equal(points: Sequence[Point], minimise: Sequence[bool]) -> list[bool]:
    """Equal points keep each other out."""
    inside = front(points, minimise)
    return [on and points.count(point) == 1 for on, point in zip(inside, points, strict=True)]


def mutant_ways(points: Sequence[Point], minimise: Sequence[bool]) -> list[bool]:
    """Less is always better."""
    return front(points)


@pytest.mark.parametrize("mutant", [mutant_strict, mutant_first, mutant_equal, mutant_ways])
def test_a_wrong_front_is_caught(mutant: Front) -> None:
    places = list(itertools.product((0.0, 1.0), (0.0, 1.0)))
    cases = [list(case) for size in (1, 2, 3) for case in itertools.product(places, repeat=size)]
    caught = 0
    for points, minimise in itertools.product(cases, [(True, True), (True, False)]):
        try:
            check(points, minimise, mutant(points, minimise))
        except AssertionError:
            caught += 1
    assert caught


def test_what_is_not_a_number_is_not_on_it_and_keeps_none_from_it() -> None:
    assert front([(1, math.nan), (2, 2), (math.nan, 0), (3, 1), (3, 3)]) == [False, True, False, True, False]
    assert front([(1, math.inf), (2, 2)]) == [True, True]
    assert front([]) == []


def test_points_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="points must have 2 numbers each, not 1"):
        front([(1, 2), (1,)])
