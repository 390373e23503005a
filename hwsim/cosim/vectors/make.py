"""Making a vector set: from a unit, a suite and a seed to a folder of files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hwsim.cases.case import Batch, batches
from hwsim.cases.random_cases import MANY, random_batch, runs
from hwsim.compute.kernels import AnyKernel
from hwsim.compute.kernels.tiles import threads
from hwsim.compute.products import kernel_for
from hwsim.cosim.vectors.block import JSON, TEXT, Block, computed_block, explained_block
from hwsim.cosim.vectors.folder import Growing
from hwsim.cosim.vectors.lines import EXPECTED, OPERANDS, PARTIAL, STAGES, operand_layout, result_layout, stage_layout
from hwsim.cosim.vectors.manifest import Counts, manifest, used_formats
from hwsim.cosim.vectors.npzfiles import ARRAYS, MOST_ARRAYS, case_arrays, problem_arrays
from hwsim.cosim.vectors.plan import SUITES, SetPlan, Wanted, cost, plan
from hwsim.cosim.vectors.systemverilog import bench_texts
from hwsim.cosim.vectors.text import header
from hwsim.errors import InputError
from hwsim.formats import tables
from hwsim.npz import npz
from hwsim.outputs import WrittenFolder
from hwsim.resources import demand_disk
from hwsim.sources import identity
from hwsim.spec import as_yaml

EXPLAINED = 50_000  # cases of a set that the definition explains; the kernel computes those that follow
NOTED = 64  # blocks after which progress is noted
FORMATS = {"hex": (OPERANDS, EXPECTED), "text": (TEXT,), "json": (JSON,), "npz": (ARRAYS,)}
MOST_CASES = 10**12
SMALL = 100_000  # up to so many cases, all formats are written unless said
UNIT = "unit.yaml"  # the specification once more, as a file that commands take


@dataclass
class Made:
    """What was made. resumed: cases that an interrupted run had left."""

    folder: Path
    counts: Counts
    resumed: int


Progress = Callable[[int, int, str], None]


def silent(done: int, planned: int, what: str) -> None:
    """No progress is shown. done, planned: cases."""


def number_of_cases(wanted: Wanted, planned: SetPlan) -> int:
    """How many cases a set has."""
    if planned.random:
        return wanted.cases or SUITES.get(wanted.suite, 10_000)
    there = sum(len(part.cases) for part in planned.parts)
    return there if wanted.cases is None else min(wanted.cases, there)


def make(wanted: Wanted, folder: Path, progress: Progress = silent) -> Made:
    """Make a vector set in a folder, which is there whole or not at all.

    progress: called with cases done, cases planned and what is being done. An interrupted run of the same goes on.
    Raises ValueError for what cannot be wanted and for a folder that holds something else, NotImplementedYet for a
    unit that the model does not have.
    """
    unit = wanted.unit
    if wanted.cases is not None and wanted.cases < 1:
        raise InputError(f"cases must be at least 1, not {wanted.cases}: a set of none proves nothing")
    if wanted.cases is not None and wanted.cases > MOST_CASES:
        raise InputError(f"--cases must be at most {MOST_CASES:,}, not {wanted.cases:,}")
    if wanted.stages:
        stage_layout(unit)
    cost(wanted).demand()
    WrittenFolder(folder, "vectors")  # refuses what is somebody else's before the work
    counts: Counts | None = None
    total = 0

    def solving(what: str) -> None:
        progress(0 if counts is None else counts.cases, total, f"solving for {what} cases")

    planned = plan(unit, wanted.suite, wanted.seed, solving)
    total = number_of_cases(wanted, planned)
    digits = operand_layout(unit).digits + result_layout(unit).digits + 2
    demand_disk(folder / OPERANDS, total * digits)
    formats = wanted.formats or (("hex",) if total > SMALL else tuple(FORMATS))
    if "npz" in formats and total > MOST_ARRAYS:
        raise InputError(f"an npz file holds up to {MOST_ARRAYS:,} cases, not {total:,}; ask for other formats")
    files = [name for each in formats for name in FORMATS[each]]
    files += [PARTIAL] * (total <= EXPLAINED) + [STAGES] * wanted.stages
    # A few cases do not wait for a kernel to be compiled.
    kernel = kernel_for(unit) if total > MANY else None
    counts = Counts(unit, planned)
    with Growing(folder, _key(wanted, total, files)) as growing:
        if growing.state is not None:
            counts.restore(growing.state)
        elif TEXT in files:
            growing.grow({TEXT: header(unit, expected=True).encode()})
        resumed = counts.cases
        for number, block in enumerate(_blocks(wanted, planned, total, files, kernel, resumed), 1):
            growing.grow(block.files)
            counts.add(block)
            if number % NOTED == 0:
                growing.note(**counts.state())
            progress(counts.cases, total, "writing cases")
        for name, fmt in used_formats(unit).items():
            growing.whole(f"codecs/{name}.csv", tables.text(fmt).encode())
        growing.whole(UNIT, as_yaml(unit).encode())
        for number, problem in enumerate(planned.problems()):
            growing.whole(f"gemm/{number}.npz", npz(problem_arrays(unit, problem)))
        for name, text in bench_texts(unit, counts.cases, counts.lines, files).items():
            growing.whole(name, text.encode())
        if ARRAYS in files:
            again = (computed_block(unit, draw(), (), kernel) for _, draw in _batches(wanted, planned, total))
            growing.whole(ARRAYS, npz(case_arrays(unit, again)))
        growing.finish(manifest(wanted, counts, growing.digests(), files))
    return Made(folder, counts, resumed)


def made_batches(wanted: Wanted) -> Iterator[Batch]:
    """The cases of a set, without results."""
    planned = plan(wanted.unit, wanted.suite, wanted.seed)
    total = number_of_cases(wanted, planned)
    return (draw() for _, draw in _batches(wanted, planned, total))


def _key(wanted: Wanted, total: int, files: Sequence[str]) -> dict[str, Any]:
    unit = wanted.unit.model_dump(mode="json")
    key = {"unit": unit, "suite": wanted.suite, "seed": wanted.seed, "cases": total, "files": list(files)}
    return {**key, "code": identity(__name__)}


def _blocks(
    wanted: Wanted, planned: SetPlan, total: int, files: Sequence[str], kernel: AnyKernel | None, skip: int
) -> Iterator[Block]:
    """The blocks of a set from that of case `skip` on, in order, a few of them made at once."""

    def computed(draw: Callable[[], Batch]) -> Block:
        return computed_block(wanted.unit, draw(), files, kernel)

    with ThreadPoolExecutor(threads()) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for first, draw in _batches(wanted, planned, total):
                if first < skip:
                    continue
                if first < EXPLAINED or STAGES in files:  # Python alone, which threads do not make faster
                    yield explained_block(wanted.unit, draw(), files, kernel, planned.expected)
                    continue
                waiting.append(pool.submit(computed, draw))
                if len(waiting) > 2 * threads():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _batches(wanted: Wanted, planned: SetPlan, total: int) -> Iterator[tuple[int, Callable[[], Batch]]]:
    """The first case of each batch, and what makes the batch."""
    unit, at = wanted.unit, 0
    for part in planned.parts:
        if at >= total:
            return  # what nobody asked for is not looked for
        for batch in batches(unit, part.cases, MANY):
            if at >= total:
                return
            yield at, partial(batch.cut, total - at)
            at += len(batch)
    for first, size in runs(total - at):
        yield at + first, partial(random_batch, unit, wanted.seed, first, size)
