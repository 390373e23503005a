"""What commands write for users: what is a user's stays as it is.

Files are listed, with digests, in the folder that they are in. What is still as the list says is replaced by what the
same command writes again, and nothing else ever is.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import BinaryIO

from hwsim.errors import InputError
from hwsim.files import beside, contents, created, digest_of, folder_of, naming, replaced, write_texts
from hwsim.leftovers import removed_with_us

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
    with folder_of(path), removed_with_us(scratch), naming(path, scratch):
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
        with removed_with_us(scratch), naming(folder, scratch):
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
    """Raise InputError where a file is to be written and something is that hwsim did not write, or that was changed.

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
    found: dict[str, set[str]] = {}
    data = LIST_HEAD
    with contextlib.suppress(FileNotFoundError, PermissionError):
        _check_list(listing)
        data = contents(listing, MOST_LIST)
    for line in filter(None, data.removeprefix(LIST_HEAD).split(b"\n")):
        digest, _, name = line.partition(b"  ")
        found.setdefault(os.fsdecode(name), set()).add(digest.decode("ascii", "replace"))
    return found


def _check_list(listing: Path) -> None:
    """Raise InputError where something stands in the place of a list that is none."""
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
            found = (name for name in os.listdir(self.place) if name != scratch)
            if others := sorted(found, key=lambda name: (name.startswith("."), name)):
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
        found = {str(path.relative_to(scratch)): path for path in sorted(scratch.rglob("*")) if path.is_file()}
        if digests is None:
            for name in [name for name, path in found.items() if path.name == LIST]:
                found.pop(name).unlink()
            digests = {name: digest_of(path) for name, path in found.items()}
        if not self.place.exists() and found.keys() == digests.keys():
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
    with folder_of(place), removed_with_us(scratch), naming(place, scratch):
        try:
            scratch.mkdir(parents=True)
            yield scratch
            target.put(scratch, last)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
