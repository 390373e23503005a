"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.cli_run import Done, Run

from hwsim.cli import main


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that says nothing of the output."""
    for name in ("HWSIM_DEBUG", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """hwsim with these arguments, in this process."""

    def call(*arguments: str) -> Done:
        status = main(arguments)
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
