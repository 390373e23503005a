"""The capture program, built once on a stand-in for the GPU."""

from __future__ import annotations

import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from conftest import missing
from silicon.capture_program import (
    INSTRUCTIONS,
    SHARED,
    SOURCE,
    WARNINGS,
    Build,
    Section,
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
    folder = tmp_path_factory.mktemp("standin")
    objects = {name: folder / f"{name}.o" for name in (*SHARED, "standin", "layout")}
    running = [
        subprocess.Popen([compiler, "-std=c++17", "-O1", *WARNINGS, "-c", SOURCE / f"{name}.cpp", "-o", path])
        for name, path in objects.items()
    ]
    assert [one.wait() for one in running] == [0] * len(running)
    subprocess.run([compiler, "-o", folder / "program", *objects.values()], check=True)
    return Build(folder / "program", compiler, objects)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    """Cases for every instruction."""
    folder = tmp_path_factory.mktemp("units")
    draw = random.Random(1)
    return {
        name: Section(
            name, unit_file(folder, name), [one(name, draw) for one in [random_case] * 4 + [moderate_case] * 12]
        )
        for name in INSTRUCTIONS
    }
