"""The folder of a run's results: it takes its place whole at the end of the run, or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from hwsim.errors import InputError
from hwsim.files import replaced_folder

MARK = "hwsim-cosim"


@contextlib.contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """A folder to write in, which takes its place whole at the end, or not at all.

    Raises ValueError for a folder that holds something else than a run's results.
    """
    if folder.exists() and not (folder / MARK).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} holds something else than a run's results; name another folder")
    with replaced_folder(folder.resolve()) as scratch:
        (scratch / MARK).write_text("The results of `hwsim cosim`; the next run replaces them.\n")
        yield scratch
