"""Files: read with a bound, and written completely or not at all.

`replaced` and `replaced_folder` replace anything, and are for caches and for scratch folders: what is written for users
is written by `hwsim.outputs`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TextIO

from hwsim.errors import InputError
from hwsim.leftovers import removed_with_us

MOST_BYTES = 1 << 30  # of a file that is read whole
LEAST_FREE = 1 << 22  # bytes of a disk that is not full
MOST_LINE = 1 << 22  # characters of a line
SEAL = ".sealed"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def contents(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file, which a person or a program gave.

    Raises OSError, and InputError for a file of more than `most` bytes, or one without an end, such as a device.
    """
    with named(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: must have at most {most:,} bytes; it has more")
    return data


def named(path: Path) -> Path:
    """A path that can be a file's. Raises InputError for a name that no file has, with a NUL in it."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r} is the name of no file: it has half a surrogate pair") from None
    if "\0" in str(path):
        raise InputError(f"{str(path)!r} is the name of no file: it has a NUL")
    return path


def bounded_lines(file: TextIO, name: str) -> Iterator[str]:
    """The lines of a text. Raises InputError for one that does not end within `MOST_LINE` characters."""
    number = 0
    while line := file.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise InputError(f"{name}:{number}: a line must have at most {MOST_LINE:,} characters; this one has more")
        yield line


def ascii_lines(lines: Iterator[str], name: str) -> Iterator[str]:
    """Lines that were read with `surrogateescape`. Raises InputError for bytes that are no text."""
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            byte = next(ord(one) & 0xFF for one in line if not one.isascii())
            raise InputError(f"{name} must be text: line {number} has the byte {byte:#04x}")
        yield line


@contextlib.contextmanager
def naming(path: Path, scratch: Path | None = None) -> Iterator[None]:
    """Errors of the system name a file, or the folder that it is in: a full disk's name none, others a scratch file.

    scratch: the file or folder that is to take the place of `path`.
    """
    try:
        yield
    except OSError as error:
        found = Path(str(error.filename))
        of_scratch = scratch is not None and found.is_relative_to(scratch)
        if error.filename is None or error.errno in NO_ROOM or of_scratch:
            inside = found.relative_to(scratch) if of_scratch and scratch is not None else ""
            error.filename = str(path / inside)
            if error.filename2 is not None:
                del error.filename2
        raise


@contextlib.contextmanager
def folder_of(path: Path) -> Iterator[None]:
    """The folder that a path is in is made where it is missing, and removed again where nothing comes into it."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` once it is completely written, and is removed otherwise.

    Devices and pipes are written to directly.
    """
    if path.exists() and not path.is_file():
        with naming(path), path.open("wb") as file:
            yield file
        return
    scratch = beside(path)
    with folder_of(path), removed_with_us(scratch), naming(path, scratch):
        try:
            with created(scratch) as file:
                yield file
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def replaced_folder(path: Path, keep: bool = False) -> Iterator[Path]:
    """A folder that replaces `path` once it is completely filled, and is removed otherwise.

    keep: leave a `path` that another process has made in the meantime.
    """
    scratch = beside(path)
    with folder_of(path), removed_with_us(scratch), naming(path, scratch):
        try:
            scratch.mkdir(parents=True)
            yield scratch
            if path.exists() and not keep:
                shutil.rmtree(path)
            with contextlib.suppress(OSError) if keep else contextlib.nullcontext():
                scratch.rename(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def created(scratch: Path) -> BinaryIO:
    """A new file, opened to be written."""
    try:
        return scratch.open("xb")
    except FileNotFoundError:
        # Another process, which made the folder too and failed, has removed it again.
        scratch.parent.mkdir(parents=True, exist_ok=True)
        return scratch.open("xb")


def beside(path: Path) -> Path:
    """An unused name in the same folder."""
    return path.with_name(f".{path.name[:100]}-{secrets.token_hex(4)}")


def seal(folder: Path) -> None:
    """Write down what every file in a folder holds, for `is_sealed`."""
    digests = {str(path.relative_to(folder)): digest_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    (folder / SEAL).write_text(json.dumps(digests, indent=1))


def is_sealed(folder: Path) -> bool:
    """Whether files are as they were sealed. What has come since does not matter."""
    try:
        digests = json.loads((folder / SEAL).read_bytes())
        return all(digest_of(folder / name) == digest for name, digest in digests.items())
    except (OSError, ValueError, AttributeError):
        return False


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def takes_files(folder: Path) -> bool:
    """Whether files can be written into a folder, which need not be there yet: its disk has room, and it may be."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK) and shutil.disk_usage(there).free > LEAST_FREE


@contextlib.contextmanager
def held_alone(lock: Path, taken: str) -> Iterator[None]:
    """Hold a lock file for this process alone; where it is killed, the lock goes with it.

    Raises InputError, with `taken` as its words, where another process holds it.
    """
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(taken) from None
        yield


def cache_folder() -> Path:
    """The folder of results that take long to compute: HWSIM_CACHE, or `hwsim` in the user's cache folder."""
    if own := os.environ.get("HWSIM_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hwsim"


def write_texts(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Write texts to files of a folder, by their paths in it; bytes that were read as surrogates as they were."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
