"""Runs what an earlier run of a study has not done, and keeps each part as soon as it is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwsim.parquet import arrow, read_table
from hwsim.runners import Rows, Runner
from hwsim.study.part import StudyPart
from hwsim.study.store import METADATA, RESULTS, Store

# What was done, of how much, and what is being done: products, as a bar shows them.
Progress = Callable[[int, int, str], None]


def nothing(_done: int, _planned: int, _what: str) -> None:
    """Show no progress."""


def all_rows(
    name: str, parts: Sequence[StudyPart], store: Store, runner: Runner, progress: Progress = nothing
) -> tuple[Any, int]:
    """The rows of all parts of a study, as a table, and how many of them an earlier run had left.

    name: of the study. store: its folder, claimed.
    """
    left, found = [], []
    planned, ended = sum(part.products for part in parts), 0
    for part in parts:
        kept = store.part(part.key)
        if kept is None or kept.num_rows != part.count:
            left.append(part)
        else:
            found.append(kept)
            ended += part.products
    resumed = sum(one.num_rows for one in found)
    progress(ended, planned, name)

    def done(part: StudyPart, rows: Rows) -> None:
        nonlocal ended
        store.keep(part.key, rows)
        ended += part.products
        progress(ended, planned, name)

    if left:
        runner(left, done)
    found += [store.part(part.key) for part in left]
    if any(one is None for one in found):
        raise RuntimeError(f"{store.folder}: parts of study {name} were lost while it ran")
    return arrow().concat_tables(found), resumed


@dataclass(frozen=True)
class StudyInParts:
    """A study that is no grid of units.

    name: of its folder. said: what it is, in YAML, as the folder keeps it. parts: what is to be run. summary: records
    for people, from all rows.
    """

    name: str
    said: str
    parts: Sequence[StudyPart]
    summary: Callable[[Rows], Rows]


def run_parts(
    study: StudyInParts, folder: Path, runner: Runner, progress: Progress = nothing, overwrite: bool = False
) -> Rows:
    """The rows of a study, by point and trial, which are written to a folder: results.parquet, and what Store has.

    An earlier run that was interrupted is taken up where it stopped, and one that ended is read.
    Raises ValueError for a folder that holds something else.
    """
    identity = hashlib.sha256("".join(part.key for part in study.parts).encode()).hexdigest()
    store = Store(folder, identity)
    with store.claimed(overwrite):
        if store.finished:
            found: Rows = read_table(folder / RESULTS).to_pylist()
            return found
        table, _ = all_rows(study.name, study.parts, store, runner, progress)
        order = [(name, "ascending") for name in ("point", "trial", "step") if name in table.column_names]
        table = table.sort_by(order).replace_schema_metadata({METADATA: identity.encode()})
        rows: Rows = table.to_pylist()
        store.finish(table, arrow().Table.from_pylist(study.summary(rows)), study.said)
    return rows
