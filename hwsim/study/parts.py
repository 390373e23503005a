"""Runs what an earlier run of a study has not done, and keeps each part as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hwsim.base.arrays import arrow
from hwsim.runners import Rows, Runner
from hwsim.study.part import StudyPart
from hwsim.study.store import Store

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
