"""Making a vector set: from a unit, a suite and a seed to a folder of files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import hwsim
from hwsim.cases.batch import Batch, batches
from hwsim.cases.random_cases import MANY, random_batch, runs
from hwsim.formats import tables
from hwsim.kernels import AnyKernel
from hwsim.kernels.tiles import threads
from hwsim.products import kernel_for
from hwsim.spec import as_yaml
from hwsim.vectors.block import (
    EXPECTED,
    JSON,
    OPERANDS,
    PARTIAL,
    STAGES,
    TEXT,
    Block,
    computed_block,
    explained_block,
)
from hwsim.vectors.folder import Growing
from hwsim.vectors.manifest import UNIT, VERSION, Counts, manifest, used_formats
from hwsim.vectors.npzfiles import ARRAYS, MOST_ARRAYS, write_arrays, write_problems
from hwsim.vectors.plan import SUITES, SetPlan, Wanted, plan
from hwsim.vectors.stages import stage_layout
from hwsim.vectors.systemverilog import bench_files
from hwsim.vectors.text import header

EXPLAINED = 50_000  # cases of a set that the definition explains; the kernel computes those that follow
NOTED = 64  # blocks after which progress is noted
FORMATS = {"hex": (OPERANDS, EXPECTED), "text": (TEXT,), "json": (JSON,), "npz": (ARRAYS,)}
SMALL = 100_000  # up to so many cases, all formats are written unless said


@dataclass
class Made:
    """What was made. resumed: cases that an interrupted run had left."""

    folder: Path
    planned: SetPlan
    counts: Counts
    resumed: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def parts(self) -> list[tuple[str, int, str]]:
        """Name and number of cases of each part, and why it has none, or not all."""
        found = []
        for part in self.planned.parts:
            made = self.counts.parts[part.name]
            cut = f"of {len(part.cases):,}" if made < len(part.cases) else ""
            found.append((part.name, made, part.why or cut))
        return [*found, ("random", self.counts.parts["random"], "")] if self.planned.random else found


Progress = Callable[[int, int, str], None]


def silent(done: int, planned: int, what: str) -> None:
    """No progress is shown. done, planned: cases."""


def number_of_cases(wanted: Wanted, planned: SetPlan) -> int:
    """How many cases a set has."""
    there = sum(len(part.cases) for part in planned.parts)
    if wanted.cases is not None:
        return wanted.cases if planned.random else min(wanted.cases, there)
    return SUITES.get(wanted.suite, 10_000 if planned.random else there)


def make(wanted: Wanted, folder: Path, progress: Progress = silent) -> Made:
    """Make a vector set in a folder, which is there whole or not at all.

    progress: called with cases done, cases planned and what is being done. An interrupted run of the same goes on.
    Raises ValueError for what cannot be wanted and for a folder that holds something else, NotImplementedYet for a
    unit that the model does not have.
    """
    unit = wanted.unit
    if wanted.cases is not None and wanted.cases < 1:
        raise ValueError(f"cases must be at least 1, not {wanted.cases}: a set of none proves nothing")
    if wanted.stages:
        stage_layout(unit)
    planned = plan(unit, wanted.suite, wanted.seed, lambda what: progress(0, 0, f"solving for {what} cases"))
    total = number_of_cases(wanted, planned)
    formats = wanted.formats or (("hex",) if total > SMALL else tuple(FORMATS))
    if "npz" in formats and total > MOST_ARRAYS:
        raise ValueError(f"an npz file holds up to {MOST_ARRAYS:,} cases, not {total:,}; ask for other formats")
    files = [name for each in formats for name in FORMATS[each]]
    files += [PARTIAL] * (total <= EXPLAINED) + [STAGES] * wanted.stages
    with Growing(folder, _key(wanted, total, files)) as growing:
        counts = Counts(unit, planned, total)
        resumed = counts.restore(growing.state)
        maker = _Maker(wanted, planned, total, files, growing, counts, progress)
        maker.all(resumed)
        for name, fmt in used_formats(unit).items():
            growing.whole(f"codecs/{name}.csv", tables.text(fmt).encode())
        growing.whole(UNIT, as_yaml(unit).encode())
        write_problems(growing, unit, planned.problems)
        bench_files(growing, unit, counts.cases, counts.lines, files)
        if ARRAYS in files:
            write_arrays(growing, unit, maker.again())
        growing.finish(manifest(wanted, planned, counts, growing.digests(), files))
    return Made(folder, planned, counts, resumed)


def made_batches(wanted: Wanted) -> Iterator[Batch]:
    """The cases of a set, without results."""
    planned = plan(wanted.unit, wanted.suite, wanted.seed)
    total = number_of_cases(wanted, planned)
    return (draw() for _, draw in _batches(wanted, planned, total))


def _key(wanted: Wanted, total: int, files: Sequence[str]) -> dict[str, Any]:
    unit = wanted.unit.model_dump(mode="json")
    key = {"unit": unit, "suite": wanted.suite, "seed": wanted.seed, "cases": total, "files": list(files)}
    return {**key, "hwsim": hwsim.__version__, "version": VERSION}


class _Maker:
    """The blocks of one set, in order."""

    def __init__(
        self,
        wanted: Wanted,
        planned: SetPlan,
        total: int,
        files: Sequence[str],
        growing: Growing,
        counts: Counts,
        progress: Progress,
    ):
        self.wanted, self.planned, self.total, self.files = wanted, planned, total, files
        self.growing, self.counts, self.progress = growing, counts, progress
        # A few cases do not wait for a kernel to be compiled.
        self.kernel: AnyKernel | None = kernel_for(wanted.unit) if total > MANY else None

    def all(self, skip: int) -> None:
        """Every block that is not there yet. skip: cases that are."""
        if TEXT in self.files and not skip:
            self.growing.grow({TEXT: header(self.wanted.unit, expected=True).encode()})
        made = skip
        for number, block in enumerate(_in_order(self._tasks(skip))):
            self.growing.grow(block.files)
            self.counts.add(block)
            made += block.cases
            if number % NOTED == NOTED - 1:
                self.growing.note(**self.counts.state())
            self.progress(made, self.total, "writing cases")

    def again(self) -> Iterator[Block]:
        """Every block once more, results alone."""
        for _, draw in _batches(self.wanted, self.planned, self.total):
            yield computed_block(self.wanted.unit, draw(), (), self.kernel)

    def _tasks(self, skip: int) -> Iterator[Callable[[], Block]]:
        for first, draw in _batches(self.wanted, self.planned, self.total):
            if first >= skip:
                yield partial(self._block, first, draw)

    def _block(self, first: int, draw: Callable[[], Batch]) -> Block:
        unit, batch = self.wanted.unit, draw()
        if first < EXPLAINED or STAGES in self.files:
            return explained_block(unit, batch, self.files, self.kernel, self.planned.expected)
        return computed_block(unit, batch, self.files, self.kernel)


def _batches(wanted: Wanted, planned: SetPlan, total: int) -> Iterator[tuple[int, Callable[[], Batch]]]:
    """The first case of each batch, and what makes the batch."""
    unit, at = wanted.unit, 0
    for part in planned.parts:
        for batch in batches(unit, part.cases, MANY):
            if at >= total:
                return
            yield at, partial(batch.cut, total - at)
            at += len(batch)
    for first, size in runs(total - at):
        yield at + first, partial(random_batch, unit, wanted.seed, first, size)


def _in_order(tasks: Iterator[Callable[[], Block]]) -> Iterator[Block]:
    """What tasks make, in their order, a few of them at once."""
    with ThreadPoolExecutor(threads()) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * threads():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
