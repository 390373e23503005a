"""Make a vector set: from a unit, a suite and a seed to a folder of files."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby, islice
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

import hwsim
from hwsim.base.arrays import npz, to_words, words_of
from hwsim.base.errors import InputError
from hwsim.base.files import WrittenFolder, digest_of, held_alone, naming, replaced
from hwsim.base.package import identity
from hwsim.base.resources import demand_disk
from hwsim.cases.bins.plan import Counter as Coverage
from hwsim.cases.bins.plan import plan as coverage_plan
from hwsim.cases.case import Batch, batches, dot, expected, multiplied, operand_formats
from hwsim.cases.matrices import GemmProblem, gemm_cases
from hwsim.cases.random_cases import MANY, random_batch, runs
from hwsim.compute.kernels import AnyKernel
from hwsim.compute.kernels.tiles import threads
from hwsim.compute.products import kernel_for
from hwsim.cosim.vectors.lines import (
    EXPECTED,
    OPERANDS,
    PARTIAL,
    STAGES,
    Written,
    dense,
    header,
    json_lines,
    layouts,
    lines_of,
    operand_fields,
    operand_layout,
    partial_fields,
    result_layout,
    stage_fields,
    stage_layout,
    text_lines,
)
from hwsim.cosim.vectors.plan import SUITES, SetPlan, Wanted, cost, plan
from hwsim.explain import Discrimination, Kills
from hwsim.explain.mistakes.kills import kept_kills
from hwsim.formats import Format, container_dtype, tables
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.spec import NotImplementedYet, Unit, as_yaml, pipeline, unpromised
from hwsim.tb.fields import Layout

TEXT, JSON = "cases.txt", "cases.jsonl"


@dataclass(frozen=True)
class Block:
    """Consecutive cases of a set.

    files: the bytes that follow in each file. batch: the cases as the unit that multiplies has them; lines: as the
    files' lines have them. results: the expected codes. explained: every stage, or nothing.
    """

    files: dict[str, bytes]
    batch: Batch
    lines: Batch
    results: Codes
    explained: tuple[Explanation, ...] = ()


def explained_block(
    unit: Unit,
    batch: Batch,
    wanted: Collection[str],
    kernel: AnyKernel | None,
    answers: dict[str, int] | None,
    asked: Wanted | None = None,
) -> Block:
    """A block computed by the definition, with partial results and stages.

    kernel: computes the same once more. answers: results that come from elsewhere, by case id. asked: the set, where
    its lines may be a sparse unit's.
    Raises RuntimeError where definition and kernel differ, which is a defect of hwsim.
    """
    held = asked or Wanted(unit)
    lines, batch = held.lines(batch), held.multiplied(batch)
    definition, cases = definition_of(unit), list(batch.cases())
    explained = tuple(dot(definition, case) for case in cases)
    results: Codes = np.array([explanation.code for explanation in explained], container_dtype(unit.output))
    if kernel is not None:
        _compare(batch, results, computed(unit, batch, kernel))
    results = _answered(unit, batch, results, answers)
    files, layout = _files(held.written, lines, results, wanted), layouts(unit, wanted)
    if PARTIAL in wanted:
        files[PARTIAL] = layout[PARTIAL].packed(partial_fields(unit, definition, batch.c.tolist(), explained))
    if STAGES in wanted:
        files[STAGES] = layout[STAGES].packed(stage_fields(unit, explained))
    return Block(files, batch, lines, results, explained)


def computed_block(
    unit: Unit,
    batch: Batch,
    wanted: Collection[str],
    kernel: AnyKernel | None,
    answers: dict[str, int] | None = None,
    asked: Wanted | None = None,
) -> Block:
    """A block computed by the kernel; by the definition where there is none. The rest as of `explained_block`."""
    held = asked or Wanted(unit)
    lines, batch = held.lines(batch), held.multiplied(batch)
    results = _answered(unit, batch, computed(unit, batch, kernel), answers)
    return Block(_files(held.written, lines, results, wanted), batch, lines, results)


def computed(unit: Unit, batch: Batch, kernel: AnyKernel | None) -> Codes:
    if kernel is None or batch.a.shape[1] > kernel.longest:
        return expected(unit, batch)
    out = np.empty(len(batch), kernel.word)
    kernel.pairs((batch.a, batch.scale_a), (batch.b, batch.scale_b), batch.c.astype(kernel.word), out)
    return out.astype(container_dtype(unit.output))


def _answered(unit: Unit, batch: Batch, results: Codes, answers: dict[str, int] | None) -> Codes:
    """The results that come from elsewhere, where there are; else those given."""
    return results if answers is None else np.array([answers[name] for name in batch.ids], container_dtype(unit.output))


def _compare(batch: Batch, results: Codes, others: Codes) -> None:
    wrong = np.flatnonzero(results != others)
    if wrong.size:
        first = int(wrong[0])
        raise RuntimeError(f"model and kernel differ at {batch.ids[first]}: {results[first]:#x} and {others[first]:#x}")


def _files(unit: Written, batch: Batch, results: Codes, wanted: Collection[str]) -> dict[str, bytes]:
    layout, files = layouts(unit, ()), {}
    if OPERANDS in wanted:
        files[OPERANDS] = layout[OPERANDS].packed(operand_fields(unit, batch))
    if EXPECTED in wanted:
        files[EXPECTED] = layout[EXPECTED].packed({"result": results[:, None]})
    if TEXT in wanted:
        files[TEXT] = text_lines(unit, batch, results).encode()
    if JSON in wanted:
        files[JSON] = json_lines(unit, batch, results).encode()
    return files


MANIFEST = "manifest.yaml"
PROGRESS = "progress.json"
LOCK = ".lock"  # held by the run that writes; the names of its files
MARK = "Files of an interrupted `hwsim vectors`, which goes on or removes them:\n"


class Growing:
    """The temporary folder beside `target` in which its files are written.

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
        self._digests: dict[str, str] = {}
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
        """The note of an interrupted run of the same work, if its files are intact. Else empty the folder."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            noted: dict[str, Any] = _unsealed((self.folder / PROGRESS).read_text())
            sizes = noted["sizes"]
            whole = all((self.folder / name).stat().st_size >= size for name, size in sizes.items())
            if noted["key"] == self.key and whole:
                for name, size in sizes.items():
                    self._resume(name, size)
                return noted
        self._clear()
        return None

    def _clear(self) -> None:
        for name in self._claimed():
            (self.folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                (self.folder / name).parent.rmdir()

    def _claimed(self) -> list[str]:
        return (self.folder / LOCK).read_text(encoding="utf-8").removeprefix(MARK).splitlines()

    def _claim(self, name: str) -> None:
        """List a file as ours before it is written: a file that is not listed is never replaced or removed."""
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
        self._files[name] = path.open("ab")

    def grow(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            if name not in self._files:
                self._claim(name)
                self._files[name] = (self.folder / name).open("wb")
            with naming(self.target / name):
                self._files[name].write(data)

    def note(self, **state: Any) -> None:
        sizes = {}
        for name, file in self._files.items():
            with naming(self.target / name):
                file.flush()
            sizes[name] = file.tell()
        with replaced(self.folder / PROGRESS) as scratch:
            scratch.write(_sealed({**state, "key": self.key, "sizes": sizes}).encode())

    def whole(self, name: str, data: bytes) -> None:
        """Write a whole file at once. name: may hold folders."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._claim(name)
        with naming(self.target / name):
            path.write_bytes(data)
        self._digests[name] = hashlib.sha256(data).hexdigest()

    def digests(self) -> dict[str, str]:
        """Close all files, and return their digests."""
        for name, file in self._files.items():
            with naming(self.target / name):
                file.close()
            self._digests[name] = digest_of(self.folder / name)
        return self._digests

    def finish(self, manifest: bytes) -> None:
        """Write the manifest, which marks the set as complete, and move the folder into place."""
        self.whole(MANIFEST, manifest)
        for name in (PROGRESS, LOCK):
            (self.folder / name).unlink(missing_ok=True)
        with naming(self.target, self.folder):
            self._place.put(self.folder, MANIFEST, self._digests)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _sealed(noted: Mapping[str, Any]) -> str:
    """A note with its digest, by which a note from elsewhere is refused."""
    return json.dumps({"noted": noted, "sha256": _digest(noted)})


def _unsealed(text: str) -> dict[str, Any]:
    """The note in a text, if it is as it was written. Raises ValueError, KeyError or TypeError for any other text."""
    data = json.loads(text)
    noted: dict[str, Any] = data["noted"]
    if data["sha256"] != _digest(noted):
        raise ValueError("not as it was written")
    return noted


def _digest(noted: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(noted).encode()).hexdigest()


VERSION = 4  # of the sequence of cases, and of what the files hold and how
NOTE = "# By `hwsim vectors`; `hwsim docs vectors` says what the files hold. `hwsim check` compares results with it.\n"


MOST_COUNTED = 12_000  # cases of which likely mistakes are counted: the first ones, which are directed


class Counts:
    """The counts of what is in a set so far. parts: cases of each part."""

    def __init__(self, unit: Unit, planned: SetPlan):
        self.unit, self.planned = unit, planned
        self.cases = self.lines = 0
        self.parts: Counter[str] = Counter()
        self.coverage: Coverage | None = None
        with contextlib.suppress(NotImplementedYet):
            self.coverage = Coverage(coverage_plan(unit))

    def add(self, block: Block) -> None:
        self.parts[self._part()] += len(block.batch)
        self.cases += len(block.batch)
        self.lines += len(block.batch) * lines_of(self.unit, block.batch)
        if self.coverage is not None and block.explained:
            for case, explained in zip(block.batch.cases(), block.explained, strict=True):
                self.coverage.sample(case, explained)

    def _part(self) -> str:
        end = 0
        for part in self.planned.parts:
            end += len(part.cases)
            if self.cases < end:
                return part.name
        return "random"

    def made(self) -> Iterator[tuple[str, int, int | None, str]]:
        """Yield for each part: name, number of cases, the part's total where not all are there, and why there are none.

        The total is left out where a set ends before its smoke part does: parts that nobody asked for are not computed.
        """
        whole = True
        for name, same in groupby(self.planned.parts, key=lambda part: part.name):
            pieces = list(same)
            whole = whole and all(part.asked for part in pieces if name == "smoke")
            made, there = self.parts[name], sum(len(part.cases) for part in pieces) if whole else 0
            yield name, made, there if made < there else None, pieces[0].why if whole else ""
        for part in self.planned.lacking:
            if part.asked and part.why:
                yield part.name, 0, None, part.why
        if self.planned.random:
            yield "random", self.parts["random"], None, ""

    def state(self) -> dict[str, Any]:
        coverage = None if self.coverage is None else self.coverage.state()
        return {"cases": self.cases, "lines": self.lines, "parts": dict(self.parts), "coverage": coverage}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.cases, self.lines, self.parts = state["cases"], state["lines"], Counter(state["parts"])
        if self.coverage is not None:
            self.coverage = Coverage.restore(self.coverage.plan, state["coverage"])


def manifest(wanted: Wanted, counts: Counts, digests: Mapping[str, str], files: Sequence[str], counted: Kills) -> bytes:
    unit, layout = wanted.written, layouts(wanted.written, files)
    data = {
        "generator": "hwsim vectors",
        "hwsim": hwsim.__version__,
        "code": identity("hwsim.cosim.vectors.make"),
        "version": VERSION,
        "suite": wanted.suite,
        "seed": wanted.seed,
        "cases": counts.cases,
        "lines": counts.lines,
        "parts": {name: _part(count, of, why) for name, count, of, why in counts.made()},
        "discrimination": _discrimination(counts.planned.told()),
        "coverage": _bins(counts.coverage),
        "mistakes": counted.model_dump(mode="json", exclude={"unit"}),
        "unit": unit.model_dump(mode="json", exclude_unset=True),
        "formats": {
            name: fmt.model_dump(mode="json", exclude_unset=True) for name, fmt in used_formats(wanted.unit).items()
        },
        "files": {name: _file(layout.get(name), digest) for name, digest in sorted(digests.items())},
    }
    data = {key: value for key, value in data.items() if value is not None}
    text = yaml.safe_dump(data, sort_keys=False, width=110, allow_unicode=True)
    return (NOTE + text).encode()


def used_formats(unit: Unit) -> dict[str, Format]:
    """The formats of the codes in a set, by name."""
    return {fmt.name: fmt for fmt in (*operand_formats(unit).values(), unit.output, unit.result.format)}


def _part(made: int, of: int | None, why: str) -> dict[str, Any]:
    return {"cases": made} | ({"why": why} if why else {"of": of} if of is not None else {})


def _discrimination(told: Discrimination | None) -> dict[str, Any] | None:
    """The readings of the specification in pairs, by whether all of the part's cases tell them apart."""
    if told is None:
        return None
    others: dict[str, dict[str, list[str]]] = {}
    for pair in told.pairs:
        if pair.word != "told apart":
            names = f"{pair.first.name} / {pair.second.name}"
            others.setdefault(pair.word, {}).setdefault(pair.reason or pair.sentence, []).append(names)
    apart = [pair.differ for pair in told.pairs if pair.word == "told apart"]
    words = {"pairs": len(told.pairs), "told_apart": len(apart), "by_at_least": min(apart, default=0)}
    return {**words, **{word: dict(pairs) for word, pairs in sorted(others.items())}}


def _bins(coverage: Coverage | None) -> dict[str, Any] | None:
    """The bins that the explained cases hit, and those that nothing can hit."""
    if coverage is None:
        return None
    sampled = [functional for functional in coverage.plan.bins if functional.how == "model"]
    counts = coverage.counts
    bins: dict[str, dict[str, int]] = {}
    unreachable: dict[str, dict[str, list[str]]] = {}
    for bin in sampled:
        if bin.unreachable is None:
            bins.setdefault(bin.group, {})[bin.name] = counts[bin.name]
        else:
            unreachable.setdefault(bin.group, {}).setdefault(bin.unreachable, []).append(bin.name)
    return {
        "cases": coverage.cases,
        "groups": {
            group: {"bins": figures.bins, "reachable": figures.reachable, "hit": figures.hit}
            for group, figures in coverage.summary().items()
            if any(bin_.group == group for bin_ in sampled)
        },
        "missed": [bin_.name for bin_ in coverage.missed()],
        "unreachable": unreachable,
        "bins": bins,
    }


def _file(layout: Layout | None, digest: str) -> dict[str, Any]:
    if layout is None:
        return {"sha256": digest}
    fields = {
        field.name: {"offset": field.offset, "bits": field.bits, "count": field.count}
        | ({"signed": True} if field.signed else {})
        for field in layout.fields
    }
    return {"sha256": digest, "bits": layout.bits, "digits": layout.digits, "fields": fields}


ARRAYS = "cases.npz"
MOST_ARRAYS = 1_000_000

Arrays = dict[str, NDArray[Any]]


def stored(fmt: Format | None, codes: NDArray[Any]) -> NDArray[Any]:
    """Codes as a file holds them: those of more than 64 bits as words of 64, the low one first, in a last axis."""
    return codes if fmt is None or codes.dtype != object else to_words(codes, words_of(fmt.container_bits))


def case_arrays(written: Written, blocks: Iterable[Block]) -> Arrays:
    """The arrays of `cases.npz`: a, b, scale_a, scale_b (lines, count); first_line (cases,); c, result, id (cases,).

    A sparse unit has metadata (lines, count), too. Of more than 64 bits, c and result have a last axis of words.
    """
    unit, parts, first_line = dense(written), list[Arrays](), 0
    for block in blocks:
        batch, per_case = block.batch, lines_of(unit, block.batch)
        lines = {
            name: values
            for name, values in operand_fields(written, block.lines).items()
            if name in ("a", "b", "metadata", "scale_a", "scale_b")
        }
        ids = np.array(list(batch.ids), dtype=np.bytes_)
        results, c = stored(unit.output, block.results), stored(unit.operands.addend, batch.c)
        cases = {"first_line": first_line + np.arange(len(batch)) * per_case, "result": results, "id": ids}
        parts.append(lines | cases | ({"c": c} if unit.operands.addend is not None else {}))
        first_line += len(batch) * per_case
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def problem_arrays(written: Written, problem: GemmProblem) -> Arrays:
    """The arrays of `gemm/NUMBER.npz`, for one matrix product.

    A, B, C, scale_a, scale_b, metadata: the operands, as far as the unit has them. D (M, N): the results.
    partials (M, N, groups): every group's result. registers (M, N, additions): the promotion register, or the sum
    with the late addend, after each addition. Codes of more than 64 bits have a last axis of words.
    """
    unit, m, n = dense(written), problem.A.shape[0], problem.B.shape[1]
    explained = [dot(definition_of(unit), multiplied(written, case)) for case in gemm_cases(written, problem)]
    output, result = container_dtype(unit.output), container_dtype(unit.result.format)
    arrays: Arrays = problem.arrays
    if problem.C is not None:
        arrays["C"] = stored(unit.operands.addend, problem.C)
    arrays["D"] = stored(unit.output, np.array([explanation.code for explanation in explained], output).reshape(m, n))
    partials = [[group.code for group in explanation.groups] for explanation in explained]
    arrays["partials"] = stored(unit.result.format, np.array(partials, result).reshape(m, n, -1))
    if unit.promotion is not None or unit.late is not None:
        added = [
            [step.code for step in (explanation.promotions or explanation.additions).values()]
            for explanation in explained
        ]
        arrays["registers"] = stored(unit.output, np.array(added, output).reshape(m, n, -1))
    return arrays


FILES = ("vectors_pkg.sv", "replay_dut.sv", "replay_tb.sv")


def bench_texts(written: Written, cases: int, lines: int, files: Iterable[str]) -> dict[str, str]:
    """The package, the module that instantiates a design in the testbench, and the testbench, by file name.

    files: the names of the set's files.
    """
    unit = dense(written)
    values: dict[str, Any] = {
        "unit": written,
        "cases": cases,
        "lines": lines,
        "terms": unit.instruction.fill,
        "layouts": list(layouts(written, files).items()),
        "prefix": lambda name: name.partition(".")[0].upper(),
        "result_bits": unit.output.container_bits,
        **_any_nan(unit),
        "minus_zero": unpromised(unit).minus_zero,
        **_design(written),
    }
    return {name: _environment().get_template(f"{name}.jinja").render(values) for name in FILES}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("hwsim.cosim.vectors"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _any_nan(unit: Unit) -> dict[str, Any]:
    """The template's values for whether any NaN will do, and for the masks of a result's exponent and fraction."""
    output = unpromised(unit).nans
    if output is None or output.nan != "ieee":
        return {"any_nan": False}
    exponent = (output.top_bexp << output.fraction_bits) << output.padding
    fraction = (1 << output.fraction_bits + output.padding) - 1
    return {"any_nan": True, "exponent": exponent, "fraction": fraction}


def _design(unit: Written) -> dict[str, Any]:
    """The template's values for hwsim's own RTL of the unit, or the reason why there is none."""
    from hwsim.rtl import supports, top_name  # Amaranth takes a while

    support = supports(unit)
    if not support:
        return {"top": None, "why": support.reason}
    return {"top": top_name(unit), "context_bits": pipeline(unit).context_bits}


EXPLAINED = 50_000  # cases of a set that the definition explains; the kernel computes those that follow
NOTED = 64  # blocks after which progress is noted
FORMATS = {"hex": (OPERANDS, EXPECTED), "text": (TEXT,), "json": (JSON,), "npz": (ARRAYS,)}
MOST_CASES = 10**12
SMALL = 100_000  # up to so many cases, all formats are written unless said
UNIT = "unit.yaml"  # the specification once more, as a file that commands take
DENSE = "dense.yaml"  # of a sparse unit, the unit that multiplies


@dataclass
class Made:
    """The result of `make`. resumed: cases that an interrupted run had left."""

    folder: Path
    counts: Counts
    resumed: int
    kills: Kills


Progress = Callable[[int, int, str], None]


def silent(done: int, planned: int, what: str) -> None:
    """Show no progress. done, planned: cases."""


def number_of_cases(wanted: Wanted, planned: SetPlan) -> int:
    if planned.random:
        return wanted.cases or SUITES.get(wanted.suite, 10_000)
    there = sum(len(part.cases) for part in planned.parts)
    return there if wanted.cases is None else min(wanted.cases, there)


def make(wanted: Wanted, folder: Path, progress: Progress = silent) -> Made:
    """Make a vector set in a folder. The folder is there whole or not at all.

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

    planned = plan(wanted.written, wanted.suite, wanted.seed, solving)
    total = number_of_cases(wanted, planned)
    digits = operand_layout(wanted.written).digits + result_layout(unit).digits + 2
    demand_disk(folder / OPERANDS, total * digits)
    formats = wanted.formats or (("hex",) if total > SMALL else tuple(FORMATS))
    if "npz" in formats and total > MOST_ARRAYS:
        raise InputError(f"an npz file holds up to {MOST_ARRAYS:,} cases, not {total:,}; ask for other formats")
    files = [name for format_ in formats for name in FORMATS[format_]]
    files += [PARTIAL] * (total <= EXPLAINED) + [STAGES] * wanted.stages
    # A few cases do not wait for a kernel to be compiled.
    kernel = kernel_for(unit) if total > MANY else None
    counts = Counts(unit, planned)
    with Growing(folder, _key(wanted, total, files)) as growing:
        if growing.state is not None:
            counts.restore(growing.state)
        elif TEXT in files:
            growing.grow({TEXT: header(wanted.written, expected=True).encode()})
        resumed = counts.cases
        for number, block in enumerate(_blocks(wanted, planned, total, files, kernel, resumed), 1):
            growing.grow(block.files)
            counts.add(block)
            if number % NOTED == 0:
                growing.note(**counts.state())
            progress(counts.cases, total, "writing cases")
        for name, fmt in used_formats(unit).items():
            growing.whole(f"codecs/{name}.csv", tables.text(fmt).encode())
        growing.whole(UNIT, as_yaml(wanted.written).encode())
        if wanted.sparse is not None:
            growing.whole(DENSE, as_yaml(unit).encode())
        for number, problem in enumerate(planned.problems()):
            growing.whole(f"gemm/{number}.npz", npz(problem_arrays(wanted.written, problem)))
        for name, text in bench_texts(wanted.written, counts.cases, counts.lines, files).items():
            growing.whole(name, text.encode())
        if ARRAYS in files:
            drawn = (draw() for _, draw in _batches(wanted, planned, total))
            again = (computed_block(unit, batch, (), kernel, planned.expected, wanted) for batch in drawn)
            growing.whole(ARRAYS, npz(case_arrays(wanted.written, again)))
        progress(counts.cases, total, "counting likely mistakes that they kill")
        counted_from = (draw() for _, draw in _batches(wanted, planned, min(total, MOST_COUNTED)))
        first = (case for batch in counted_from for case in wanted.multiplied(batch).cases())
        counted = kept_kills(unit, list(islice(first, min(total, MOST_COUNTED))))
        growing.finish(manifest(wanted, counts, growing.digests(), files, counted))
    return Made(folder, counts, resumed, counted)


def made_batches(wanted: Wanted) -> Iterator[Batch]:
    """Yield the cases of a set as its lines have them, without results."""
    planned = plan(wanted.written, wanted.suite, wanted.seed)
    total = number_of_cases(wanted, planned)
    return (wanted.lines(draw()) for _, draw in _batches(wanted, planned, total))


def _key(wanted: Wanted, total: int, files: Sequence[str]) -> dict[str, Any]:
    unit = wanted.written.model_dump(mode="json")
    key = {"unit": unit, "suite": wanted.suite, "seed": wanted.seed, "cases": total, "files": list(files)}
    return {**key, "code": identity(__name__)}


def _blocks(
    wanted: Wanted, planned: SetPlan, total: int, files: Sequence[str], kernel: AnyKernel | None, skip: int
) -> Iterator[Block]:
    """Yield the blocks of a set from that of case `skip` on, in order, a few of them computed at once."""

    def computed(draw: Callable[[], Batch]) -> Block:
        return computed_block(wanted.unit, draw(), files, kernel, planned.expected, wanted)

    with ThreadPoolExecutor(threads()) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for first, draw in _batches(wanted, planned, total):
                if first < skip:
                    continue
                if first < EXPLAINED or STAGES in files:  # Python alone, which threads do not make faster
                    yield explained_block(wanted.unit, draw(), files, kernel, planned.expected, wanted)
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
    """Yield the number of each batch's first case, and the function that makes the batch."""
    unit, start = wanted.unit, 0
    for part in planned.parts:
        if start >= total:
            return  # what nobody asked for is not looked for
        for batch in batches(unit, part.cases, MANY):
            if start >= total:
                return
            yield start, partial(batch.cut, total - start)
            start += len(batch)
    for first, size in runs(total - start):
        yield start + first, partial(random_batch, unit, wanted.seed, first, size)
