"""Files that take their place whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

UMASK_MODE = 0o666


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `path` when all of it is written, and leaves nothing when it is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, UMASK_MODE & ~mask)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def cache_folder() -> Path:
    """Where results that take long are kept, by content: HWSIM_CACHE, or `hwsim` in the user's cache folder."""
    if own := os.environ.get("HWSIM_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hwsim"
