"""The folder of a run's results: it takes its place whole at the end of the run, or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

MARK = "hwsim-cosim"


@contextlib.contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """A folder to write in, which takes its place whole at the end, or not at all.

    Raises ValueError for a folder that holds something else than a run's results.
    """
    if folder.exists() and not (folder / MARK).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} holds something else than a run's results; name another folder")
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (scratch / MARK).write_text("The results of `hwsim cosim`; the next run replaces them.\n")
        yield scratch
        if folder.exists():
            shutil.rmtree(folder)
        scratch.chmod(0o755)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
