"""Fixtures of the tests of vector sets."""

from pathlib import Path
from shutil import copytree

import pytest
from uncounted import uncounted  # noqa: F401  a fixture
from vectors.vectorset_units import made


@pytest.fixture(scope="session")
def tiny_set_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 cases of a unit of four e2m1 lanes."""
    return made(tmp_path_factory.mktemp("sets") / "tiny", "tiny", cases=200).folder


@pytest.fixture
def tiny_set(tiny_set_once: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return copytree(tiny_set_once, tmp_path / "tiny")
