"""Where cases are that real GPUs answered: in a folder that the caller names, or those that HWSIM_SILICON names."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "HWSIM_SILICON"
FILE = "captured.npz"


def folders(folder: str | Path | None = None) -> list[Path]:
    """The folder that is given, or those that HWSIM_SILICON names, parted as in PATH."""
    named = [folder] if folder is not None else os.environ.get(VARIABLE, "").split(os.pathsep)
    return [Path(one) for one in named if one]


def silicon(folder: str | Path | None = None) -> Path | None:
    """The file of captured results in a folder, or in one that HWSIM_SILICON names; None where there is none."""
    return next((path for one in folders(folder) if (path := one / FILE).is_file()), None)
