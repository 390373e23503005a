"""The results of readings and designs: codes of any length."""

from __future__ import annotations

import pytest
from odd_units import unit

from hwsim.cases.case import batches, dot
from hwsim.cases.random_cases import random_cases
from hwsim.explain.candidate import batch_results
from hwsim.explain.diagnosis import diagnose
from hwsim.explain.facts import Observation
from hwsim.model import Definition


@pytest.mark.parametrize("name", ["long-43", "long-73"])
def test_results_of_a_batch_have_every_bit(name: str) -> None:
    made = unit(name)
    cases = sorted(random_cases(made, 60, 3), key=lambda case: len(case.a))
    codes = [code for batch in batches(made, cases) for code in batch_results(made, batch).tolist()]
    assert codes == [dot(Definition(made), case).code for case in cases]
    assert max(codes) >> 32


def test_a_wrong_bit_above_the_first_word_is_seen() -> None:
    made = unit("long-73")
    own = Definition(made)
    seen = [Observation(case, dot(own, case).code ^ 1 << 70) for case in random_cases(made, 60, 3)]
    (kind,) = diagnose(made, seen).kinds
    assert [cause.name for cause in kind.causes] == ["result bit 70 inverted"]
