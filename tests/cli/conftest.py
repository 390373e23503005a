"""Fixtures of the command line's tests."""

from __future__ import annotations

import pytest
from cli.cli_run import Done, Run

from hwsim.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """hwsim with these arguments, in this process."""
    for name in ("HWSIM_DEBUG", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Done:
        status = main(arguments)
        return Done(status, *capsys.readouterr())

    return call
