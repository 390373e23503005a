"""A study's folder: the rows of each finished task, and then the results. Files are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hwsim.base.arrays import arrow, read_table, write_table
from hwsim.base.errors import InputError
from hwsim.base.files import (
    LIST,
    held_alone,
    refuse_changed,
    refuse_strangers,
    remove_if_written,
    remove_written,
    written,
)

PARTS, IDENTITY, LOCK = ".parts", "study", "lock"
RESULTS, SUMMARY, STUDY = "results.parquet", "summary.parquet", "study.yaml"
# What a study's folder holds; `report.html` and `figures` are drawn from the results.
MADE, FIGURES = (RESULTS, SUMMARY, STUDY, "report.html"), "figures"
OURS = {PARTS, *MADE, FIGURES}
METADATA = b"hwsim.study"
BY = " by "  # between the identity of a study and that of the code


def table_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows with `point`, `trial` and measures as a table: int32 and float64. All rows have the same columns."""
    pa = arrow()
    names = list(rows[0])
    for row in rows:
        if list(row) != names:
            raise InputError(f"rows must have the same columns, not {sorted(set(names) ^ set(row))} in some alone")
    schema = pa.schema([(name, pa.int32() if name in ("point", "trial") else pa.float64()) for name in names])
    return pa.Table.from_pylist(rows, schema)


class Store:
    """A study's folder. identity: of the study BY the code, which everything in the folder must be of."""

    def __init__(self, folder: Path, identity: str):
        self.folder, self.identity = folder, identity
        self.parts = folder / PARTS

    @contextmanager
    def claimed(self, overwrite: bool) -> Iterator[None]:
        """Hold the folder for this process alone.

        overwrite: take the place of other results. Raises ValueError for a folder that holds those without,
        that holds files of other kinds, or that another process is writing; OSError where nothing can be written.
        """
        self._check(overwrite)
        self.parts.mkdir(parents=True, exist_ok=True)
        with held_alone(self.parts / LOCK, f"{self.folder}: another process is writing a study's results here"):
            if self._held() not in (None, self.identity):
                self.clear()
            with written(self.parts / IDENTITY) as file:
                file.write(self.identity.encode())
            try:
                yield
            except InputError:
                if not any(self.parts.glob("*.parquet")):  # nothing to go on from
                    self._drop_parts()
                raise
            if self.finished:
                self._drop_parts()

    def _drop_parts(self) -> None:
        """Remove what hwsim wrote among the parts, and their folder where nothing else is in it."""
        lock = self.parts / LOCK
        if lock.is_file() and not lock.stat().st_size:
            lock.unlink()
        remove_written(self.parts)

    def _check(self, overwrite: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder}: must be a folder, which results are written to; it is a file")
        inside = set(os.listdir(self.folder)) - {LIST} if self.folder.exists() else set()
        held, damaged = self._held(), not is_readable(self.folder / RESULTS)
        if inside - OURS or (inside - {*MADE} and held is None and not damaged):
            other = sorted(inside - OURS) or sorted(inside)
            raise InputError(
                f"{self.folder}: holds {', '.join(other[:3])}{', ...' if len(other) > 3 else ''}, which are no study's "
                "results; name a new folder"
            )
        if damaged:
            raise InputError(f"{self.folder / RESULTS}: is damaged, or was changed; move it, or name another folder")
        if held not in (None, self.identity) and not overwrite:
            holds = "the results of another study, or of this one before it was changed"
            if held is not None and held.partition(BY)[0] == self.identity.partition(BY)[0]:
                holds = "results of this study that other code of hwsim made"
            raise InputError(f"{self.folder}: holds {holds}; name another folder, or give --overwrite")
        for name in MADE:
            refuse_strangers(self.folder / name)
        refuse_changed(self.folder / FIGURES)

    def _held(self) -> str | None:
        """The identity of what the folder holds; None where it holds nothing that says so."""
        if (found := identity_of(self.folder / RESULTS)) is not None:
            return found
        try:
            return (self.parts / IDENTITY).read_text(errors="replace")
        except OSError:
            return None

    def clear(self) -> None:
        """Remove results, and what was made of them; figures too."""
        for name in MADE:
            remove_if_written(self.folder / name)
        remove_written(self.folder / FIGURES)
        for part in self.parts.glob("*.parquet"):
            remove_if_written(part)

    @property
    def finished(self) -> bool:
        """Whether the results of this study are there."""
        return identity_of(self.folder / RESULTS) == self.identity

    def part(self, key: str) -> Any:
        """The rows of the task of that key, as a table; None where there are none that can be read."""
        try:
            return read_table(self.parts / f"{key}.parquet")
        except (OSError, InputError):
            return None

    def keep(self, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the rows of a task."""
        write_table(table_of(rows), self.parts / f"{key}.parquet", aside=True)

    def finish(self, results: Any, summary: Any, study: str) -> None:
        """Write what a study ends with, the results last: they say that the study has ended."""
        self.complete(summary, study)
        write_table(results, self.folder / RESULTS)

    def complete(self, summary: Any, study: str) -> None:
        """Write what follows from the results."""
        with written(self.folder / STUDY) as file:
            file.write(study.encode())
        write_table(summary, self.folder / SUMMARY)


def is_readable(path: Path) -> bool:
    """Whether a file is a whole Parquet file, or not there."""
    try:
        return not path.exists() or arrow().parquet.read_schema(path) is not None
    except (OSError, ValueError, arrow().ArrowException):
        return False


def identity_of(path: Path) -> str | None:
    """The identity of the study whose results a file holds; None for any other file, and for none."""
    pa = arrow()
    try:
        metadata = pa.parquet.read_schema(path).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return None
    found = metadata.get(METADATA)
    return None if found is None else found.decode(errors="replace")
