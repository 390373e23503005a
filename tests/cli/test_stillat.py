"""What long work is at is said on the standard error, wherever nothing else is said."""

from __future__ import annotations

import pytest
from patience import wait_until

from hwsim.cli import progress as stillat
from hwsim.cli.progress import StillAt


def test_what_takes_long_is_named_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(stillat, "note", said.append)
    with StillAt(soon=0.01, later=0.01) as heart:
        for what in ("one thing", "another"):
            heart.at(what)
            wait_until(lambda what=what: sum(line.startswith(f"{what}: ") for line in said) > 1)
    assert not heart.thread.is_alive()
    assert all(line.endswith(" s so far") for line in said)
