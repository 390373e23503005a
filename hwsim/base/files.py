"""Files: read with a bound, written completely or not at all, and a user's own left as they are.

`replaced` and `replaced_folder` replace anything, and are for caches and for scratch folders. What commands write for
users (`written` and so on) is listed, with digests, in the folder that it is in: what is still as the list says is
replaced by what the same command writes again, and nothing else ever is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import BinaryIO, TextIO

from hwsim.base.errors import InputError
from hwsim.base.processes import remove_on_exit

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
            byte = next(ord(character) & 0xFF for character in line if not character.isascii())
            raise InputError(f"{name} must be text: line {number} has the byte {byte:#04x}")
        yield line


@contextlib.contextmanager
def naming(path: Path, scratch: Path | None = None) -> Iterator[None]:
    """Make errors of the system name a file, or the folder that it is in.

    By themselves a full disk's errors name none, and others a scratch file.
    scratch: the file or folder that is to take the place of `path`.
    """
    try:
        yield
    except OSError as error:
        file = Path(str(error.filename))
        of_scratch = scratch is not None and file.is_relative_to(scratch)
        if error.filename is None or error.errno in NO_ROOM or of_scratch:
            inside = file.relative_to(scratch) if of_scratch and scratch is not None else ""
            error.filename = str(path / inside)
            if error.filename2 is not None:
                del error.filename2
        raise


@contextlib.contextmanager
def folder_of(path: Path) -> Iterator[None]:
    """Make the folder that a path is in where it is missing, and remove it again where nothing comes into it."""
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
    with folder_of(path), remove_on_exit(scratch), naming(path, scratch):
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
    with folder_of(path), remove_on_exit(scratch), naming(path, scratch):
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
    """True if files are as they were sealed. What has come since does not matter."""
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
    """True if files can be written into a folder: its disk has room, and the process may write there.

    The folder need not be there yet.
    """
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK) and shutil.disk_usage(nearest).free > LEAST_FREE


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
    if folder := os.environ.get("HWSIM_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hwsim"


def write_texts(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Write texts to files of a folder, by their paths in it; bytes that were read as surrogates as they were."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))


LIST = ".hwsim-files"  # in a folder: the files in it that hwsim wrote one by one
LIST_OF = ".hwsim-{}"  # the same of a folder that is written as a whole
LIST_HEAD = b"# SHA-256 of what hwsim wrote here: it replaces and removes these where they are unchanged, no others.\n"
MOST_LIST = 1 << 28  # bytes of a list


@contextlib.contextmanager
def written(path: Path, aside: bool = False) -> Iterator[BinaryIO]:
    """A file for a user, which takes its place once it is completely written, and is listed beside it.

    aside: a file that is not as hwsim wrote it is given another name, NAME.changed, because it is in the way.
    Devices and pipes are written to directly. Raises InputError where something else is there than what hwsim wrote:
    it stays.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with replaced(path) as file:
            yield file
        return
    scratch = beside(path)
    with folder_of(path), remove_on_exit(scratch), naming(path, scratch):
        try:
            with created(scratch) as file:
                yield file
            _put(path, scratch, digest_of(scratch), aside)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def written_texts(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Files for a user, by their paths in a folder: all of them or, where something else is in the way, none.

    A file that does not change keeps its time, so that nothing is rebuilt for it. Raises InputError as `written` does.
    """
    with folder_of(folder / LIST):
        scratch = folder / f".hwsim-{secrets.token_hex(4)}"
        with remove_on_exit(scratch), naming(folder, scratch):
            try:
                scratch.mkdir()
                write_texts(scratch, texts)
                digests = {name: digest_of(scratch / name) for name in texts}
                for name, digest in digests.items():
                    refuse_strangers(folder / name, digest)
                for name, digest in digests.items():
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if path.is_file() and digest_of(path) == digest:
                        _list(path, digest)
                    else:
                        _put(path, scratch / name, digest)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)


def _put(path: Path, scratch: Path, digest: str, aside: bool = False) -> None:
    """Put a file in its place, and list it."""
    try:
        refuse_strangers(path, digest)
    except InputError:
        if not aside:
            raise
        names = (path.with_name(f"{path.name}.changed{number or ''}") for number in itertools.count())
        path.rename(next(name for name in names if not os.path.lexists(name)))
    _list(path, digest)
    scratch.replace(path)


def _list(path: Path, digest: str) -> None:
    """List a file, before it takes its place: an interruption leaves none that is not listed."""
    listing = path.parent / LIST
    if not path.exists() or digest not in _listed(listing).get(path.name, ()):
        _add(listing, {path.name: digest})


def refuse_strangers(path: Path, digest: str | None = None) -> None:
    """Raise InputError where a file's place holds something that hwsim did not write, or that was changed since.

    digest: of what is to be written, where it is known; a file that holds the same is no stranger.
    """
    if path.is_symlink():
        raise InputError(f"{path} is a link, which hwsim did not make and leaves as it is: name another file")
    if not path.exists():
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file: name another file")
    if path.is_file():
        _refuse(path, _listed(path.parent / LIST).get(path.name, frozenset()), digest)


def refuse_changed(folder: Path) -> None:
    """Raise InputError where a file that hwsim wrote in a folder was changed since."""
    for name, digests in _listed(folder / LIST).items():
        if (folder / name).exists() or (folder / name).is_symlink():
            _refuse(folder / name, digests)


def _refuse(path: Path, listed: Set[str], digest: str | None = None) -> None:
    """Raise InputError unless a file is as it is listed, or as it is to be."""
    if path.is_file() and not path.is_symlink() and digest_of(path) in {*listed, digest}:
        return
    why = "was changed since hwsim wrote it" if listed else "is there already, and hwsim did not write it"
    raise InputError(f"{path} {why}; it stays as it is: move it, or name another place")


def remove_written(folder: Path) -> None:
    """Remove from a folder, and from those in it, the files that hwsim wrote, and then their folders if empty.

    What is not listed, or was changed since, stays.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    for inside in folder.iterdir():
        remove_written(inside)
    if not (folder / LIST).exists():
        return
    listed = _listed(folder / LIST)
    for name, digests in listed.items():
        remove_if_written(folder / name, digests)
    if not any((folder / name).exists() for name in listed):
        (folder / LIST).unlink()
        with contextlib.suppress(OSError):
            folder.rmdir()


def remove_if_written(path: Path, digests: Set[str] | None = None) -> None:
    """Remove a file where it is as hwsim wrote it. digests: of what was written there; as listed beside it if None."""
    listed = _listed(path.parent / LIST).get(path.name, frozenset()) if digests is None else digests
    if path.is_file() and not path.is_symlink() and digest_of(path) in listed:
        path.unlink()


def _listed(listing: Path) -> dict[str, set[str]]:
    """The digests of what hwsim wrote under each name; none where the list is not to be read.

    Raises InputError for a list that is not hwsim's.
    """
    listed: dict[str, set[str]] = {}
    data = LIST_HEAD
    with contextlib.suppress(FileNotFoundError, PermissionError):
        _check_list(listing)
        data = contents(listing, MOST_LIST)
    for line in filter(None, data.removeprefix(LIST_HEAD).split(b"\n")):
        digest, _, name = line.partition(b"  ")
        listed.setdefault(os.fsdecode(name), set()).add(digest.decode("ascii", "replace"))
    return listed


def _check_list(listing: Path) -> None:
    """Raise InputError where the place of a list holds something else."""
    if listing.is_symlink() or not listing.exists():
        ours = not listing.is_symlink()
    else:
        ours = listing.is_file()
        if ours:
            with listing.open("rb") as file:
                ours = file.read(len(LIST_HEAD)) in (LIST_HEAD, b"")
    if not ours:
        raise InputError(f"{listing} is there already, and hwsim did not write it; it stays as it is: move it")


def _lines(digests: Mapping[str, str]) -> bytes:
    """Lines of a list. A name of two lines has none: what is written under it is never replaced."""
    named = ((os.fsencode(name), digest.encode()) for name, digest in digests.items())
    return b"".join(digest + b"  " + name + b"\n" for name, digest in named if b"\n" not in name)


def _add(listing: Path, digests: Mapping[str, str]) -> None:
    """Add to a list. A folder of somebody else's takes none: what is written there is never replaced."""
    with contextlib.suppress(PermissionError):
        _check_list(listing)
        with listing.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            head = b"" if os.fstat(file.fileno()).st_size else LIST_HEAD
            file.write(head + _lines(digests))


class WrittenFolder:
    """A folder that is written as a whole for a user, again and again. kind: of what it holds.

    Raises InputError for a place that is no folder, that holds something and nothing of this kind, or in which a file
    was changed since it was written.
    """

    def __init__(self, place: Path, kind: str):
        self.place, self.kind = place.resolve(), kind
        self.listing = self.place / LIST_OF.format(kind)
        self.check()

    def check(self, scratch: str = "") -> dict[str, set[str]]:
        """The files of this kind that are in the place, with their digests. scratch: the name of a folder of ours."""
        if not self.place.exists():
            return {}
        if not self.place.is_dir():
            raise InputError(f"{self.place} is a file, which stays as it is; `hwsim {self.kind}` writes a folder")
        if not (self.listing.exists() or self.listing.is_symlink()):
            names = (name for name in os.listdir(self.place) if name != scratch)
            if others := sorted(names, key=lambda name: (name.startswith("."), name)):
                raise InputError(
                    f"{self.place} holds {others[0]}, which `hwsim {self.kind}` did not write; name another folder"
                )
            return {}
        listed = _listed(self.listing)
        for name, digests in listed.items():
            path = self.place / name
            if path.exists() or path.is_symlink():
                _refuse(path, digests)
        return listed

    def put(self, scratch: Path, last: str, digests: Mapping[str, str] | None = None) -> None:
        """Let files of a scratch folder take the place of what was written here before; all else stays.

        last: the name of the file that says that all is there. digests: of the files; all that are there unless given.
        """
        files = {str(path.relative_to(scratch)): path for path in sorted(scratch.rglob("*")) if path.is_file()}
        if digests is None:
            for name in [name for name, path in files.items() if path.name == LIST]:
                files.pop(name).unlink()
            digests = {name: digest_of(path) for name, path in files.items()}
        if not self.place.exists() and files.keys() == digests.keys():
            (scratch / self.listing.name).write_bytes(LIST_HEAD + _lines(digests))
            scratch.rename(self.place)
            return
        before = self.check(scratch.name)
        for name in digests:
            self._refuse_strangers(name, before, digests[name])
        _add(self.listing, digests)
        for name in sorted(before, key=lambda name: name != last):
            if name == last or name not in digests:
                (self.place / name).unlink(missing_ok=True)
        for name in sorted(digests, key=lambda name: name == last):
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).replace(path)
        with replaced(self.listing) as file:
            file.write(LIST_HEAD + _lines(digests))
        for folder in sorted({path.parent for name in before for path in [self.place / name]}, reverse=True):
            with contextlib.suppress(OSError):
                while folder != self.place:
                    folder.rmdir()
                    folder = folder.parent

    def _refuse_strangers(self, name: str, before: Mapping[str, set[str]], digest: str) -> None:
        """Raise InputError where a file is to be written and something stands that is a user's."""
        path = self.place / name
        for folder in path.relative_to(self.place).parents:
            there = self.place / folder
            if there.is_symlink() or (there.exists() and not there.is_dir() and str(folder) not in before):
                raise InputError(f"{there} is there already, and hwsim did not write it; it stays as it is: move it")
        if path.exists() or path.is_symlink():
            _refuse(path, before.get(name, set()), digest)


@contextlib.contextmanager
def written_folder(path: Path, kind: str, last: str) -> Iterator[Path]:
    """A folder to write in, whose files take their places in `path` at the end, or not at all.

    kind, last: as of `WrittenFolder`. What hwsim did not write in `path` stays. Raises InputError as `WrittenFolder`.
    """
    target = WrittenFolder(path, kind)
    place = target.place
    # Inside a folder that is there: it may be the current one, or a disk of its own.
    scratch = place / f".hwsim-{secrets.token_hex(4)}" if place.exists() else beside(place)
    with folder_of(place), remove_on_exit(scratch), naming(place, scratch):
        try:
            scratch.mkdir(parents=True)
            yield scratch
            target.put(scratch, last)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
