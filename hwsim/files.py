"""Files and folders that take their place whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `path` when all of it is written, and leaves nothing when it is not.

    A device or a pipe is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = _beside(path)
    try:
        with scratch.open("xb") as file:
            yield file
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replaced_folder(path: Path, keep: bool = False) -> Iterator[Path]:
    """A folder to fill, which replaces `path` when all of it is there, and leaves nothing when it is not.

    keep: a `path` that is there by then, because another process was faster, stays in place of this one.
    """
    scratch = _beside(path)
    scratch.mkdir(parents=True)
    try:
        yield scratch
        if path.exists() and not keep:
            shutil.rmtree(path)
        with contextlib.suppress(OSError) if keep else contextlib.nullcontext():
            scratch.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A name in the same folder that nothing has."""
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}")


def cache_folder() -> Path:
    """Where results that take long are kept, by content: HWSIM_CACHE, or `hwsim` in the user's cache folder."""
    if own := os.environ.get("HWSIM_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hwsim"
