"""Covering cases and what they hit, computed once for all tests."""

from __future__ import annotations

from typing import Any

from computed_once import computed_once

from hwsim.cases.bins.covering import Covered, covered
from hwsim.cases.bins.plan import Counter, Hit, plan
from hwsim.cases.case import Case
from hwsim.spec import Unit


@computed_once("cases")
def _covering(unit: Unit, seed: int) -> tuple[tuple[Case, ...], tuple[Hit, ...], dict[str, Any]]:
    """The covering cases of a unit, what each hits, and the state of the counter of all that."""
    made = covered(unit, seed)
    return made.cases, made.hits, made.counter.state()


def covering_once(unit: Unit, seed: int = 1) -> Covered:
    """`covered`, from what an earlier run or another worker has computed."""
    cases, hits, state = _covering(unit, seed)
    return Covered(cases, hits, Counter.restore(plan(unit), state))
