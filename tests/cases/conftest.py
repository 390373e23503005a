"""The units that the directed suites are measured on."""

import pytest
from cases.vectors_measure import NAMES, Suite, suite


@pytest.fixture(params=NAMES)
def measured(request: pytest.FixtureRequest) -> Suite:
    """The measured directed suite of every unit in turn."""
    return suite(request.param)


@pytest.fixture
def hopper() -> Suite:
    """The measured directed suite of the unit whose bins are known by count."""
    return suite("hopper-wgmma-e4m3-f32")
