"""Every test of exported C needs gcc and g++, and some clang."""

from __future__ import annotations

import shutil

import pytest
from conftest import missing


@pytest.fixture(autouse=True)
def compilers() -> None:
    for program in ("gcc", "g++"):
        if shutil.which(program) is None:
            missing(f"{program} is missing: apt-get install g++")


@pytest.fixture
def clang() -> None:
    for program in ("clang", "clang++"):
        if shutil.which(program) is None:
            missing(f"{program} is missing: apt-get install clang")
