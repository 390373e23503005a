"""Fixtures of the tests of vector sets."""

from pathlib import Path

import pytest
from vectors.vectorset_units import made


@pytest.fixture
def tiny_set(tmp_path: Path) -> Path:
    """200 cases of a unit of four e2m1 lanes."""
    return made(tmp_path / "tiny", "tiny", cases=200).folder
