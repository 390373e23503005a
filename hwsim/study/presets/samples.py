"""What presets are given: matrices of a distribution, which depend on its name and seed alone, and a page of text."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.study.data import draw, parse_data

Entry = str | dict[str, Any]


def drawn(entry: Entry, rows: int, length: int, *, seed: int, trial: int = 0) -> NDArray[np.float32]:
    """float32 (rows, length) of a distribution, in the words of a study's `data`. Outlier channels are columns."""
    return draw(parse_data(entry, Path.cwd()), seed, trial, length, rows, 1).a


def page() -> list[str]:
    """The sentences of the page."""
    text = files("hwsim.study.presets").joinpath("page.txt").read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
