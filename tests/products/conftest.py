"""Both ways that a product is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from hwsim.compute import products as facade


@pytest.fixture(params=["kernel", "model"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways that a product is computed, however small or large it is."""
    few = {"kernel": -1, "model": 1 << 60}[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facade, "FEW", few)
        patch.setattr(facade, "SOME", -1)
        patch.setattr(facade, "_asked", Counter())
        yield request.param


@pytest.fixture
def by_kernel() -> Iterator[pytest.MonkeyPatch]:
    """However small a product is, its kernel computes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facade, "FEW", -1)
        patch.setattr(facade, "SOME", -1)
        patch.setattr(facade, "_asked", Counter())
        yield patch
