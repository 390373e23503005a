"""The units that the directed suites are measured on."""

import pytest
from built_presets import others_slow
from cases.vectors_measure import NAMES, Suite, suite

# A window, scales, a promotion, and an odd one; the others have one of these in other formats.
ALWAYS = ["hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32", "odd-e4m3-f16"]


@pytest.fixture(params=others_slow(NAMES, ALWAYS))
def measured(request: pytest.FixtureRequest) -> Suite:
    """The measured directed suite of every unit in turn."""
    return suite(request.param)


@pytest.fixture
def hopper() -> Suite:
    """The measured directed suite of the unit whose bins are known by count."""
    return suite("hopper-wgmma-e4m3-f32")
