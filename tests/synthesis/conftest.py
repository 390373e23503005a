"""The tools of synthesis, and a cache of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import at_hand

from hwsim.rtl.synthesis import NEXTPNR, YOSYS, require


@pytest.fixture(scope="session")
def tools() -> None:
    with at_hand():
        require(YOSYS, NEXTPNR)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "synthesis"
