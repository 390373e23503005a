"""Every part of a set is made of any unit, or refused by name."""

from __future__ import annotations

import contextlib

import pytest
from random_units.random_unit_files import SMALL

from hwsim.base.errors import InputError
from hwsim.cosim.fuzz.draw import Size, drawn_unit
from hwsim.cosim.vectors.plan import plan
from hwsim.spec import Unit

# A promotion's register without a fraction; scales in fixed point; a factor whose largest number is 1; a window of one
# place.
ONCE = (
    ("sensitive", 2034, 13, SMALL), ("gemm", 2034, 50, SMALL), ("sensitive", 2034, 57, None),
    ("sensitive", 2034, 95, SMALL),
)  # fmt: skip


def cases_of(unit: Unit, suite: str) -> int:
    return sum(len(part.cases) for part in plan(unit, suite, 1).parts)


@pytest.mark.parametrize(("suite", "seed", "number", "size"), ONCE)
def test_what_was_found_has_cases(suite: str, seed: int, number: int, size: Size | None) -> None:
    assert cases_of(drawn_unit(seed, number, size).unit, suite) > 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 20))
def test_every_part_is_made_or_refused_by_name(first: int) -> None:
    for number in range(first, first + 20):
        unit = drawn_unit(2034, number, SMALL if number % 3 else None).unit
        for suite in ("coverage", "sensitive", "products", "gemm"):
            with contextlib.suppress(InputError):
                cases_of(unit, suite)
