"""Where cases are that real GPUs answered: in a folder that the caller names, or HWSIM_SILICON."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "HWSIM_SILICON"
FILE = "captured.npz"


def silicon(folder: str | Path | None = None) -> Path | None:
    """The file of captured results in a folder, or in that which HWSIM_SILICON names; None where there is none."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    path = Path(named) / FILE if named else None
    return path if path is not None and path.is_file() else None
