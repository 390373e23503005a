"""Unit files that tests write, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import hwsim
from hwsim.spec import load_unit


def write(folder: Path, text: str, name: str = "unit.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def failure(folder: Path, text: str) -> str:
    """The message for a file, which must begin with the file."""
    path = write(folder, text)
    with pytest.raises(hwsim.SpecError) as caught:
        load_unit(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert "\n" not in message
    return message.removeprefix(f"{path}:")
