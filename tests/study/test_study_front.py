"""The Pareto front: nothing on it is dominated, everything else is; and mutants that this must catch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwsim.study.area.sized import front

Point = tuple[float, ...]
Front = Callable[[Sequence[Point]], list[bool]]
SMALL = st.integers(0, 4).map(float)
POINTS = st.integers(1, 3).flatmap(lambda size: st.lists(st.tuples(*[SMALL] * size), max_size=12))


def better(one: Point, other: Point) -> bool:
    """As good in everything and better in something, said as it is defined."""
    pairs = list(zip(one, other, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def check(points: Sequence[Point], found: list[bool]) -> None:
    assert len(found) == len(points)
    for point, on_front in zip(points, found, strict=True):
        assert on_front != any(better(other, point) for other in points)


@given(POINTS)
def test_what_is_on_the_front_is_not_dominated_and_all_else_is(points: list[Point]) -> None:
    check(points, front(points))


def mutant_strict(points: Sequence[Point]) -> list[bool]:
    """Better in everything."""
    return [not any(all(a < b for a, b in zip(o, p, strict=True)) for o in points) for p in points]


def mutant_first(points: Sequence[Point]) -> list[bool]:
    """The first number alone."""
    return [all(p[0] <= o[0] for o in points) for p in points]


def mutant_equal(points: Sequence[Point]) -> list[bool]:
    """Equal points keep each other out."""
    inside = front(points)
    return [on and points.count(point) == 1 for on, point in zip(inside, points, strict=True)]


def mutant_ways(points: Sequence[Point]) -> list[bool]:
    """More is better."""
    return front([tuple(-number for number in point) for point in points])


@pytest.mark.parametrize("mutant", [mutant_strict, mutant_first, mutant_equal, mutant_ways])
def test_a_wrong_front_is_caught(mutant: Front) -> None:
    places = list(itertools.product((0.0, 1.0), (0.0, 1.0)))
    cases = [list(case) for size in (1, 2, 3) for case in itertools.product(places, repeat=size)]
    caught = 0
    for points in cases:
        try:
            check(points, mutant(points))
        except AssertionError:
            caught += 1
    assert caught


def test_what_is_not_a_number_is_not_on_it_and_keeps_none_from_it() -> None:
    assert front([(1, math.nan), (2, 2), (math.nan, 0), (3, 1), (3, 3)]) == [False, True, False, True, False]
    assert front([(1, math.inf), (2, 2)]) == [True, True]
    assert front([]) == []
