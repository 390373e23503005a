"""A folder of files that grow together, takes its place whole, and goes on where it was interrupted."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from hwsim.errors import InputError
from hwsim.files import held_alone, naming, replaced
from hwsim.outputs import WrittenFolder

MANIFEST = "manifest.yaml"
PROGRESS = "progress.json"
LOCK = ".lock"  # held by the run that writes; the names of its files
MARK = "Files of an interrupted `hwsim vectors`, which goes on or removes them:\n"
STEP = 1 << 22  # bytes that are read at a time


class Growing:
    """The folder beside `target` in which its files grow.

    key: what is made there; work on something else is thrown away, work on the same goes on. state: what was noted
    last, or None where nothing is there. A run that ends early leaves the folder, whose name begins with a dot and
    ends in `.part`, and `target` as it was.
    Raises ValueError for a target that holds something else, and where another run works on the same.
    """

    def __init__(self, target: Path, key: Mapping[str, Any]):
        self._place = WrittenFolder(target, "vectors")
        self.target = self._place.place
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.folder = self.target.with_name(f".{self.target.name}.part")
        self.key = json.loads(json.dumps(key))
        self.state: dict[str, Any] | None = None
        self._files: dict[str, BinaryIO] = {}
        self._hashes: dict[str, Any] = {}
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Growing:
        with naming(self.target, self.folder):
            self._begin()
            self._held.enter_context(held_alone(self.folder / LOCK, f"another run is writing {self.target}"))
        self.state = self._noted()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            with contextlib.suppress(OSError):  # what finds no room has been said
                file.close()
        self._held.close()

    def _begin(self) -> None:
        """Make the folder in which files grow. Raises InputError for one that hwsim did not make."""
        lock = self.folder / LOCK
        try:
            self.folder.mkdir()
            lock.write_text(MARK, encoding="utf-8")
        except FileExistsError:
            if self.folder.is_symlink() or not lock.is_file() or not lock.read_bytes().startswith(MARK.encode()):
                raise InputError(f"{self.folder} is there already, and hwsim did not write it; move it") from None

    def _noted(self) -> dict[str, Any] | None:
        """What an interrupted run of the same noted, if its files are as it left them; else an empty folder."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            found: dict[str, Any] = _unsealed((self.folder / PROGRESS).read_text())
            sizes = found["sizes"]
            whole = all((self.folder / name).stat().st_size >= size for name, size in sizes.items())
            if found["key"] == self.key and whole:
                for name, size in sizes.items():
                    self._resume(name, size)
                return found
        self._clear()
        return None

    def _clear(self) -> None:
        """Remove what an interrupted run has written."""
        for name in self._claimed():
            (self.folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                (self.folder / name).parent.rmdir()

    def _claimed(self) -> list[str]:
        """The names of all files that were written here."""
        return (self.folder / LOCK).read_text(encoding="utf-8").removeprefix(MARK).splitlines()

    def _claim(self, name: str) -> None:
        """Write down, before a file is written, that it is ours: what is not is never replaced or removed."""
        if name in self._claimed():
            return
        if (self.folder / name).exists() or (self.folder / name).is_symlink():
            raise InputError(f"{self.folder / name} is there already, and hwsim did not write it; move it")
        with (self.folder / LOCK).open("a", encoding="utf-8") as lock:
            lock.write(f"{name}\n")

    def _resume(self, name: str, size: int) -> None:
        path = self.folder / name
        with path.open("r+b") as file:
            file.truncate(size)
        self._hashes[name] = hashed(path)
        self._files[name] = path.open("ab")

    def grow(self, files: Mapping[str, bytes]) -> None:
        """Append to files."""
        for name, data in files.items():
            if name not in self._files:
                self._claim(name)
                self._files[name], self._hashes[name] = (self.folder / name).open("wb"), hashlib.sha256()
            with naming(self.target / name):
                self._files[name].write(data)
            self._hashes[name].update(data)

    def note(self, **state: Any) -> None:
        """Remember how far the files are."""
        sizes = {}
        for name, file in self._files.items():
            with naming(self.target / name):
                file.flush()
            sizes[name] = file.tell()
        with replaced(self.folder / PROGRESS) as scratch:
            scratch.write(_sealed({**state, "key": self.key, "sizes": sizes}).encode())

    def whole(self, name: str, data: bytes) -> None:
        """A file that is written at once. name: may hold folders."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._claim(name)
        with naming(self.target / name):
            path.write_bytes(data)
        self._hashes[name] = hashlib.sha256(data)

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file, by name."""
        return {name: made.hexdigest() for name, made in self._hashes.items()}

    def finish(self, manifest: bytes) -> None:
        """Write the manifest, which says that all is there, and put the folder in its place."""
        for name, file in self._files.items():
            with naming(self.target / name):
                file.close()
        self.whole(MANIFEST, manifest)
        for name in (PROGRESS, LOCK):
            (self.folder / name).unlink(missing_ok=True)
        with naming(self.target, self.folder):
            self._place.put(self.folder, MANIFEST, self.digests())
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _sealed(noted: Mapping[str, Any]) -> str:
    """A note with its digest: what was not written here is not gone on from."""
    return json.dumps({"noted": noted, "sha256": _digest(noted)})


def _unsealed(text: str) -> dict[str, Any]:
    """A note that is as it was written. Raises ValueError, KeyError or TypeError for any other text."""
    data = json.loads(text)
    noted: dict[str, Any] = data["noted"]
    if data["sha256"] != _digest(noted):
        raise ValueError("not as it was written")
    return noted


def _digest(noted: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(noted).encode()).hexdigest()


def hashed(path: Path) -> Any:
    """The SHA-256 of a file so far."""
    made = hashlib.sha256()
    for data in pieces(path):
        made.update(data)
    return made


def pieces(path: Path) -> Iterator[bytes]:
    """A file's bytes, some at a time."""
    with path.open("rb") as file:
        while data := file.read(STEP):
            yield data
