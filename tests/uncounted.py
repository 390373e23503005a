"""Runs and vector sets that count no likely mistakes, which takes seconds of each unit: tests/explain counts them.

from uncounted import uncounted  # noqa: F401  a fixture
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from hwsim.cases.case import Case
from hwsim.cosim import coverage
from hwsim.cosim.vectors import make
from hwsim.explain import Kills
from hwsim.spec import Unit


def none(unit: Unit, cases: Sequence[Case]) -> Kills:
    return Kills(unit=unit.name, cases=len(cases), killed={}, equivalent={}, open=())


@pytest.fixture(scope="module", autouse=True)
def uncounted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (coverage, make):
            patch.setattr(module, "kept_kills", none)
        yield
