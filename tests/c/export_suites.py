"""The suites that RTL is verified with, played to an exported header: results in bulk, and stages of some cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from c.export_library import Library
from c.export_stages import differences
from model.model_units import Case as Plain
from model.model_units import run

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cases.matrices import gemm_cases, gemm_problem
from hwsim.cases.random_cases import pair_cases, random_cases
from hwsim.spec import NotImplementedYet, Unit

SEED = 1


def suites(unit: Unit, count: int, every: int) -> Iterator[tuple[str, Sequence[Case]]]:
    """The suites of a unit by name, without those that are not made for it.

    count: random cases. every: of the directed cases and of the pairs each so many-th is taken.
    """
    # There are none for what the RTL lacks.
    with suppress(NotImplementedYet):
        yield "directed", directed(unit, SEED)[::every]
    yield "random", random_cases(unit, count, SEED)
    k = unit.instruction.k if unit.instruction.chain is None else max(4 * unit.instruction.k, 128)
    yield "matrices", gemm_cases(unit, gemm_problem(unit, 6, 6, k, SEED))
    yield "pairs", list(pair_cases(unit, every * 5))


def plain(given: Sequence[Case]) -> list[Plain]:
    """The same cases, as the model's tests have them."""
    return [Plain(list(one.a), list(one.b), one.c, list(one.scale_a), list(one.scale_b)) for one in given]


def results(library: Library, given: Sequence[Plain]) -> list[int]:
    """The header's results, those of one length in one call."""
    made = [0] * len(given)
    for k in {len(case.a) for case in given}:
        chosen = [index for index, case in enumerate(given) if len(case.a) == k]
        rows = [np.array([given[index][part] for index in chosen]) for part in range(5)]
        for index, code in zip(chosen, library.dots(*rows), strict=True):
            made[index] = code
    return made


def assert_equal(library: Library, name: str, given: Sequence[Case], stages: int) -> None:
    """Results are the model's; so is every stage of each `stages`-th case."""
    assert given, name
    cases = plain(given)
    wrong = [
        f"{library.unit.name}, {name} {case.id}: {got:#x}, not {want:#x}"
        for case, got, want in zip(given, results(library, cases), run(library.unit, cases), strict=True)
        if got != want
    ]
    assert not wrong, wrong[:5]
    for case in cases[::stages]:
        assert differences(library, case) == [], (name, case)
