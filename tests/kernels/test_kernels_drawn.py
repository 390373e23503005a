"""Kernels of units that are drawn from the whole schema, against the model; many more are in tests/random_units."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import pytest

from hwsim.compute.kernels import kernel_of, supports
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.cosim.fuzz.hardware import tiled_cases
from hwsim.cosim.fuzz.trial import codes_of_kernel, codes_of_model
from hwsim.spec import Unit

# So many units run always: windows share their code, chains, trees and exact sums compile a loop for each rounding.
ALWAYS = {"aligned": 4, "even-odd": 1, "sequential": 2, "pairwise": 1, "exact": 2}


def drawn(seed: int, method: str) -> Iterator[Unit]:
    every = (drawn_unit(seed, number).unit for number in count())
    return (unit for unit in every if unit.sum.method == method and supports(unit))


def check(unit: Unit, cases: int) -> int:
    """How many results are the model's."""
    kernel, checked = kernel_of(unit).general, 0
    for batch in tiled_cases(unit, cases, 1).slots:
        want = codes_of_model(unit, batch).tolist()
        assert codes_of_kernel(unit, kernel, batch).tolist() == want, unit.model_dump_json(exclude={"source"})
        checked += len(want)
    return checked


@pytest.mark.parametrize("method", ALWAYS)
def test_drawn_units_are_the_models(method: str) -> None:
    assert sum(check(unit, 20) for unit in islice(drawn(1, method), ALWAYS[method])) >= 20 * ALWAYS[method]
