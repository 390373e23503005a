"""Where a mistake parts from the model: named wherever its result is another, and at the stage that it is of."""

from __future__ import annotations

import pytest

from hwsim.cases.random_cases import random_cases
from hwsim.explain.candidate import Candidate, results
from hwsim.explain.known import candidates
from hwsim.explain.parting import first_parting
from hwsim.spec import load_unit


@pytest.mark.parametrize("name", ["rvbna-e4m3-f32-n4", "mxfp8-e4m3-f32", "cdna3-mfma-e4m3fnuz-f32"])
def test_a_result_that_differs_has_a_stage_at_which_it_parts(name: str) -> None:
    unit = load_unit(name)
    cases = random_cases(unit, 8, 1)
    own, told = results(Candidate("as specified", unit), cases), 0
    for semantic in candidates(unit)[::7]:
        codes = results(semantic.candidate, cases)
        for case, code, expected in zip(cases, codes, own, strict=True):
            if code != expected:
                assert first_parting(unit, semantic.candidate, case), (semantic.name, case.id)
                told += 1
    assert told > 20


def test_nothing_parts_where_nothing_is_wrong() -> None:
    unit = load_unit("rvbna-e4m3-f32-n4")
    assert {first_parting(unit, Candidate("as specified", unit), case) for case in random_cases(unit, 20, 1)} == {""}


def test_the_stage_is_that_of_the_mistake() -> None:
    unit = load_unit("rvbna-e4m3-f32-n4")
    named = {semantic.name: semantic.candidate for semantic in candidates(unit)}
    stages: dict[str, set[str]] = {}
    for mistake in ("lost bits floored", "lane 2 dropped"):
        texts = {first_parting(unit, named[mistake], case) for case in random_cases(unit, 60, 1)} - {""}
        stages[mistake] = {text.partition(",")[0] for text in texts}
    assert stages == {"lost bits floored": {"align"}, "lane 2 dropped": {"decode"}}
