"""A vector set that was made, read from its folder."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from hwsim.cases.case import Case
from hwsim.cosim.vectors.block import TEXT
from hwsim.cosim.vectors.folder import MANIFEST, hashed
from hwsim.cosim.vectors.layout import Layout
from hwsim.cosim.vectors.lines import EXPECTED, OPERANDS, case_of, operand_layout, result_layout
from hwsim.cosim.vectors.manifest import VERSION
from hwsim.errors import InputError
from hwsim.files import ascii_lines, bounded_lines
from hwsim.formats.yamlfile import read, shown, validated
from hwsim.spec import Unit
from hwsim.spec.catalog import written_out

CHECKED = 1 << 16  # lines that are read at once


class _Read(BaseModel):
    """Keys that are read; others are left as they are."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class StoredFile(_Read):
    """A file of a set."""

    sha256: str


class StoredGroup(_Read):
    """How many bins of a group of coverage the cases hit."""

    bins: int
    reachable: int
    hit: int


class StoredCoverage(_Read):
    """What the cases cover."""

    cases: int
    groups: dict[str, StoredGroup]
    missed: list[str]
    unreachable: dict[str, dict[str, list[str]]]
    bins: dict[str, dict[str, int]]


class StoredManifest(_Read):
    """What manifest.yaml holds, as far as sets are read by it."""

    generator: Literal["hwsim vectors"]
    suite: str
    seed: int
    cases: int = Field(ge=1)
    lines: int = Field(ge=1)
    files: dict[str, StoredFile]
    coverage: StoredCoverage | None = None
    unit: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Stored:
    """A set in a folder."""

    folder: Path
    manifest: StoredManifest
    unit: Unit

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return self.manifest.cases

    @cached_property
    def expected(self) -> HexLines:
        """The lines of expected.hex."""
        return HexLines(self.folder / EXPECTED, result_layout(self.unit), self.cases)

    @cached_property
    def operands(self) -> HexLines:
        """The lines of operands.hex."""
        return HexLines(self.folder / OPERANDS, operand_layout(self.unit), self.manifest.lines)

    @cached_property
    def names(self) -> Sequence[str] | None:
        """The cases' names, in order; None where the set has no cases.txt."""
        path = self.folder / TEXT
        if not path.exists():
            return None
        with path.open(encoding="ascii", errors="surrogateescape") as file:
            lines = ascii_lines(bounded_lines(file, str(path)), str(path))
            names = [line.partition(" ")[0].strip() for line in lines if not line.startswith("#")]
        if len(names) != self.cases:
            raise InputError(f"{path} must name {self.cases:,} cases, not {len(names):,}; make the set again")
        return names

    def name(self, case: int) -> str:
        """The name of a case, or its number."""
        return f"case {case}" if self.names is None else self.names[case]

    @cached_property
    def _first_lines(self) -> Any:
        """The first line of each case, and the line after the last."""
        if self.operands.count == self.cases:
            return range(self.cases + 1)
        layout = self.operands.layout
        at = layout.field("first").offset
        column = self.operands.bytes()[:, layout.digits - 1 - at // 4]
        nibbles = np.where(column >= ord("a"), column - ord("a") + 10, column - ord("0"))
        return np.append(np.flatnonzero(nibbles >> at % 4 & 1), self.operands.count)

    def case(self, number: int) -> Case:
        """A case, from its lines of operands."""
        lines = range(int(self._first_lines[number]), int(self._first_lines[number + 1]))
        return case_of(self.unit, self.name(number), [self.operands[line] for line in lines])


class HexLines:
    """A file of lines that are equally long, in memory as far as it is read."""

    def __init__(self, path: Path, layout: Layout, count: int):
        self.path, self.layout, self.count = path, layout, count
        self.length = layout.digits + 1
        if path.stat().st_size != count * self.length:
            raise InputError(
                f"{path} must have {count} lines of {layout.digits} digits, which {path.stat().st_size} bytes are not"
            )
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def check(self) -> None:
        """Raise ValueError where a line is not of hexadecimal digits alone."""
        for first in range(0, self.count, CHECKED):
            lines = self._data[first * self.length : (first + CHECKED) * self.length]
            ends = lines[self.length - 1 :: self.length]
            if (
                lines.translate(None, b"0123456789abcdefABCDEF\n")
                or ends.strip(b"\n")
                or lines.count(b"\n") != len(ends)
            ):
                raise InputError(f"{self.path} must have lines of hexadecimal digits alone; make the set again")

    def __getitem__(self, line: int) -> bytes:
        return self._data[line * self.length : line * self.length + self.layout.digits]

    def bytes(self) -> Any:
        """All bytes, (lines, digits + 1)."""
        return np.frombuffer(self._data, np.uint8).reshape(self.count, self.length)


def stored(folder: str | Path) -> Stored:
    """Read a set's manifest, and see that what results are compared with is as it was written.

    Raises ValueError for a folder that holds no set, one of another version, and files that were changed.
    """
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise InputError(f"{path} holds no vector set: there is no {MANIFEST}")
    document = read(path / MANIFEST)
    if document.data.get("generator") != "hwsim vectors":
        raise InputError(f"{path / MANIFEST} is not a manifest that `hwsim vectors` wrote")
    if (version := document.data.get("version")) != VERSION:
        raise InputError(f"{path / MANIFEST}: version must be {VERSION}, not {shown(version)}; make the set again")
    manifest = validated(StoredManifest, document)
    unit = written_out(manifest.unit, document, ("unit",))
    for name in (OPERANDS, EXPECTED):
        if name not in manifest.files:
            raise InputError(f"{document.where(('files',))}: files must name {name}")
        if not (path / name).is_file():
            raise InputError(f"{path / name} is missing")
        if hashed(path / name).hexdigest() != manifest.files[name].sha256:
            raise InputError(f"{path / name} is not as it was written: its SHA-256 is not that of {MANIFEST}")
    found = Stored(path, manifest, unit)
    for lines in (found.expected, found.operands):
        lines.check()
    return found
