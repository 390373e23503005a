"""The capture program, built once on a stand-in for the GPU."""

from __future__ import annotations

import random
import shutil
import sysconfig
from pathlib import Path

import pytest
from conftest import missing
from silicon.capture_program import (
    INSTRUCTIONS,
    Build,
    Section,
    build_in,
    moderate_case,
    random_case,
    unit_file,
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables as they are written into a file: pytest-xdist says that a terminal has 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        missing("no g++")
    return str(found)


@pytest.fixture(scope="session")
def nvcc() -> str:
    """From PATH, else as pip installs it: packages nvidia-cuda-nvcc, -nvvm, -crt and -runtime."""
    packaged = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvcc"
    found = shutil.which("nvcc") or (str(packaged) if packaged.exists() else None)
    if found is None:
        missing("no nvcc in PATH, nor in the package nvidia-cuda-nvcc")
    return str(found)


@pytest.fixture(scope="session")
def build(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build_in(tmp_path_factory.mktemp("standin"), compiler)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    """Cases for every instruction."""
    folder = tmp_path_factory.mktemp("units")
    draw = random.Random(1)
    return {
        name: Section(
            name, unit_file(folder, name), [one(name, draw) for one in [random_case] * 2 + [moderate_case] * 6]
        )
        for name in INSTRUCTIONS
    }
