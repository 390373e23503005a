"""One unit's trial: every implementation gives its results of the same cases, and those that differ are named."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

import hwsim
from hwsim.base import processes
from hwsim.base.arrays import objects
from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.processes import scratch_folder
from hwsim.cases.case import Batch, Case, dot
from hwsim.compute.c import export_c
from hwsim.compute.c import supports as in_c
from hwsim.compute.kernels import AnyKernel, kernel_of
from hwsim.compute.kernels import supports as in_kernels
from hwsim.compute.kernels.tiles import ProductOperands, multiply, multiply_pairs
from hwsim.cosim.fuzz.draw import DrawnUnit, modes_of
from hwsim.cosim.fuzz.hardware import (
    TILE,
    Codes,
    RecordedTile,
    TiledCases,
    UnitInMachineCode,
    c_compiler,
    played_in_bulk,
    played_on_icarus,
    tiled_cases,
)
from hwsim.cosim.run import CosimOptions
from hwsim.cosim.run import run as cosim
from hwsim.cosim.unitdesign import UnitDesign, modal_design, unit_design
from hwsim.cosim.vectors.check import check, same, stored
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted, plan
from hwsim.explain import discrimination
from hwsim.explain.mistakes import catalogue
from hwsim.explain.mistakes.kills import search
from hwsim.explain.readings import supports as has_readings
from hwsim.formats import container_dtype
from hwsim.model import Definition
from hwsim.model.clock import supports as on_clock
from hwsim.rtl import supports as in_rtl
from hwsim.spec import Support, Unit, pipeline
from hwsim.tb.job import SuiteOutcome

# What is compared; `cases` draws the operands. The last five are what commands do with a unit; of these study and
# qualify are handed in, by those who may import them.
Side = Literal[
    "cases", "kernels", "own kernel", "gemm", "C", "clock", "RTL", "Icarus", "vectors", "export-c", "study", "qualify",
    "modes",
]  # fmt: skip
SIDES: tuple[Side, ...] = get_args(Side)[1:]
ROWS, COLUMNS = 9, 7  # of a matrix product
STRIP_ROWS, STRIP_COLUMNS = 24, 150  # of one in strips, the last of them narrower
LAST_PLACES = 3  # of a traceback
# The model, which is slow, is asked for every so many-th tile, and where there are no kernels for so many at least.
SAMPLE, FEWEST = 40, 40


# What users ask of a unit beside its results, each done as the command does it, in small. What is wrong is yielded in
# words; what a command refuses by name raises InputError, and what it raises else is a finding.

Ask = Callable[[DrawnUnit], Iterator[str]]
CASES, TRIED = 120, 96


def vectors(drawn: DrawnUnit) -> Iterator[str]:
    """Check a set of vectors: its own results pass its check, and with one of them changed that one alone fails.

    What a longer set has is made too, and left: sensitive cases, matrix products, and some that tell readings apart.
    """
    if has_readings(drawn.unit):
        discrimination(drawn.unit, drawn.seed, limit=TRIED)
    else:
        search(drawn.unit, catalogue(drawn.unit), drawn.seed, TRIED)
    for suite in ("sensitive", "gemm"):
        with contextlib.suppress(InputError):  # what a unit lacks
            plan(drawn.unit, suite, drawn.seed)
    with scratch_folder() as folder:
        known = stored(make(Wanted(drawn.unit, "smoke", drawn.seed, CASES), folder / "set").folder)
        lines = [known.expected[case].decode().strip() for case in range(known.cases)]
        right = check(known, lines, "results.hex")
        if (right.compared, right.wrong) != (known.cases, 0):
            yield f"of its own {known.cases} results {right.compared} are compared and {right.wrong} wrong"
        place = drawn.seed % known.cases
        changed = int(lines[place], 16) ^ 1
        if not same(drawn.unit, int(lines[place], 16), changed):
            lines[place] = f"{changed:0{len(lines[place])}x}"
            findings = check(known, lines, "results.hex")
            if findings.wrong != 1 or findings.report("hwsim check", str(folder / "set" / "unit.yaml")).passed:
                yield f"with the last bit of result {place} changed {findings.wrong} results are wrong, not 1"


def exported(drawn: DrawnUnit) -> Iterator[str]:
    """Check the files of `hwsim export-c`: the example compiles, and returns hwsim's result."""
    with scratch_folder() as folder:
        for name, text in export_c(drawn.unit, hwsim.__version__).items():
            (folder / name).write_text(text, encoding="utf-8")
        program = str(folder / "example")
        command = [c_compiler(), "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-o", program]
        log = folder / "log"
        for words in ([*command, str(folder / "example.c")], [program]):
            if status := processes.run(words, log, os.environ, folder):
                yield f"{Path(words[0]).name}, of example.c, ended with {status}: {log.read_text()[-400:]}"
                return


def modal(drawn: DrawnUnit) -> Iterator[str]:
    """Check, in Verilator, a unit of two modes, this unit's factors and others, which change with every beat."""
    unit = modes_of(drawn)
    if unit is None:
        raise InputError("has no modes that make units")
    built = pipeline(unit, None, drawn.pipeline.contexts, register_ready=drawn.pipeline.register_ready)
    with scratch_folder() as folder:
        options = CosimOptions(
            (modal_design(unit, built),), ("verilator",), drawn.seed, CASES, folder=folder / "cosim", coverage=False
        )
        report = cosim(options)
        if not report.passed:
            mismatches = [
                f"{mismatch.suite}: {mismatch.case}: expected {mismatch.expected}, got {mismatch.got}"
                for mismatch in report.mismatches
            ]
            yield "; ".join(mismatches[:2] or list(report.notes[:2]) or ["a suite did not pass"])


COMMANDS: dict[Side, Ask] = {"vectors": vectors, "export-c": exported, "modes": modal}


@dataclass(frozen=True)
class SideMismatch:
    """A failure on one side.

    case, expected, got: of a result that differs; None where the
    side raised, or where it left the promised cycles. said: what happened, in words.
    """

    side: Side
    said: str
    case: Case | None = None
    expected: int | None = None
    got: int | None = None

    @property
    def raised(self) -> bool:
        return self.case is None


class SideDifference(NamedTuple):
    """A difference on a side: in words, and for a result the case and both codes."""

    said: str
    case: Case | None = None
    expected: int | None = None
    got: int | None = None


@dataclass
class TrialResult:
    """The result of a unit's trial. cases: results compared, by side. refused: why a side does not have the unit."""

    drawn: DrawnUnit
    cases: dict[Side, int] = field(default_factory=dict)
    refused: dict[Side, str] = field(default_factory=dict)
    found: list[SideMismatch] = field(default_factory=list)


@dataclass(frozen=True)
class Depth:
    """The amount of work in a unit's trial.

    cases: at least so many; of a unit that neither kernels nor C have a fortieth, or 1,000.
    sides: those that are asked, as far as they are cosim's own or handed in. handed: what to ask of sides, in the place
    of cosim's own or beside them. kept: whether builds are kept in the cache, for another time.
    """

    cases: int = 1000
    sides: frozenset[Side] = frozenset(SIDES)
    kept: bool = True
    handed: Mapping[Side, Ask] = field(default_factory=dict)


class Trial:
    """Puts a unit through all implementations that have it; the model is right, by definition."""

    def __init__(self, drawn: DrawnUnit, depth: Depth, cases: TiledCases | None = None):
        """cases: to try; drawn unless given."""
        self.drawn, self.depth = drawn, depth
        self.unit = drawn.unit
        self.result = TrialResult(drawn)
        self._given = cases

    def run(self) -> TrialResult:
        if not self._tried("cases", lambda: self.cases):
            return self.result
        steps: dict[Side, tuple[Support | None, Callable[[], Iterator[SideDifference]]]] = {
            "kernels": (in_kernels(self.unit), self._kernels),
            "own kernel": (in_kernels(self.unit), self._own_kernel),
            "gemm": (in_kernels(self.unit), self._gemm),
            "C": (in_c(self.unit), self._c),
            # The ports that it is recorded at are the RTL's.
            "clock": (on_clock(self.unit) and in_rtl(self.unit), self._clock),
            "RTL": (in_rtl(self.unit), self._rtl),
            "Icarus": (in_rtl(self.unit), self._icarus),
        }
        for side, (support, ask) in steps.items():
            if side not in self.depth.sides:
                continue
            if not support:
                self.result.refused[side] = support.lacks[0] if support is not None else ""
            elif not self._tried(side, partial(self._ask, side, ask)) and self._is_reference(side):
                # What others are compared with is not there.
                break
        asks = {**COMMANDS, **self.depth.handed}
        for side in SIDES:
            if side in self.depth.sides and side in asks:
                self._tried(side, partial(self._commanded, side, asks[side]))
        return self.result

    def _commanded(self, side: Side, command: Ask) -> None:
        """Run a command; a unit that it refuses by name is no finding."""
        try:
            self.result.found += [SideMismatch(side, words) for words in command(self.drawn)]
            self.result.cases[side] = 1
        except ToolMissing:
            raise
        except InputError as error:
            self.result.refused[side] = str(error)

    def _ask(self, side: Side, ask: Callable[[], Iterator[SideDifference]]) -> None:
        count = self._count(side)
        for difference in ask():
            self.result.found.append(SideMismatch(side, *self._judged(difference)))
            break
        self.result.cases[side] = count  # nothing of a side that raises was compared

    def _judged(self, difference: SideDifference) -> SideDifference:
        """The difference, marked where the model disagrees with the expected code, which mostly comes from kernels."""
        if difference.case is None or (code := dot(self.definition, difference.case).code) == difference.expected:
            return difference
        return difference._replace(said=f"{difference.said}; the model has {code:#x}, so that kernels are wrong")

    def _is_reference(self, side: Side) -> bool:
        return side in ("kernels", "clock") or (side == "C" and self._c_is_reference)

    @cached_property
    def _c_is_reference(self) -> bool:
        """True if expected results come from C: for many cases of a unit without kernels; the model checks some."""
        without = not in_kernels(self.unit) and bool(in_c(self.unit)) and "C" in self.depth.sides
        return without and self.cases.tiles > 2 * FEWEST

    @cached_property
    def _sampled(self) -> int:
        """The number of tiles for which the model computes results."""
        sample = self.cases.tiles // SAMPLE
        return max(FEWEST, sample) if self._c_is_reference else max(1, sample)

    def _count(self, side: Side) -> int:
        if side == "gemm":
            rows, columns = (min(len(self.cases.slots[0]), most) for most in (ROWS, COLUMNS))
            return rows * columns if self._fits_kernel else 0
        if side == "kernels" or (side == "C" and self._c_is_reference):
            return self._sampled * len(self.cases.slots)
        return len(self.first) if side in ("clock", "Icarus") else sum(map(len, self.cases.slots))

    def _tried(self, side: Side, action: Callable[[], object]) -> bool:
        try:
            action()
        except (ToolMissing, KeyboardInterrupt):
            raise
        except Exception as error:
            self.result.found.append(SideMismatch(side, defect_words(error)))
            return False
        return True

    @cached_property
    def cases(self) -> TiledCases:
        if self._given is not None:
            return self._given
        return tiled_cases(self.unit, self._many, self.drawn.seed)

    @property
    def _many(self) -> int:
        """The number of cases to draw; for a unit that neither kernels nor C have, as many as the model computes."""
        if in_kernels(self.unit) or (in_c(self.unit) and "C" in self.depth.sides):
            return self.depth.cases
        return min(self.depth.cases, max(self.depth.cases // SAMPLE, FEWEST * TILE))

    @cached_property
    def kernel(self) -> AnyKernel:
        return kernel_of(self.unit)

    @property
    def _fits_kernel(self) -> bool:
        """True if the cases of the matrix product are no longer than a kernel takes."""
        return bool(self.cases.slots[0].a.shape[1] <= self.kernel.longest)

    @cached_property
    def definition(self) -> Definition:
        return Definition(self.unit)

    @cached_property
    def first(self) -> list[Case]:
        return self.cases.tile(0)

    @cached_property
    def model_first(self) -> list[int]:
        return [dot(self.definition, case).code for case in self.first]

    @cached_property
    def expected(self) -> list[Codes]:
        """The expected codes of each slot, one for each tile: from kernels, or C, or the model."""
        if in_kernels(self.unit):
            return self._of_kernel(self.kernel.general)
        if self._c_is_reference:
            return self._of_c
        return [codes_of_model(self.unit, batch) for batch in self.cases.slots]

    def _of_kernel(self, kernel: AnyKernel) -> list[Codes]:
        return [codes_of_kernel(self.unit, kernel, batch) for batch in self.cases.slots]

    @cached_property
    def _of_c(self) -> list[Codes]:
        library = UnitInMachineCode(self.unit)
        return [library.codes(batch).astype(object) for batch in self.cases.slots]

    def _kernels(self) -> Iterator[SideDifference]:
        """Compare kernels with the model, in the first tiles."""
        yield from self._against_model(self.expected)

    def _c(self) -> Iterator[SideDifference]:
        """Compare C: with the model in the first tiles where C is the reference, else in all cases."""
        if self._c_is_reference:
            yield from self._against_model(self._of_c)
        else:
            yield from self._all_cases(lambda: self._of_c)

    def _against_model(self, got: Sequence[Codes]) -> Iterator[SideDifference]:
        for batch, have in zip(self.cases.slots, got, strict=True):
            some = batch.cut(self._sampled)
            yield from _differing(some, codes_of_model(self.unit, some), have[: self._sampled])

    def _all_cases(self, ask: Callable[[], Sequence[Codes]]) -> Iterator[SideDifference]:
        got = ask()
        for batch, want, have in zip(self.cases.slots, self.expected, got, strict=True):
            yield from _differing(batch, want, have)

    def _own_kernel(self) -> Iterator[SideDifference]:
        """Compare all cases one by one, and a matrix product of several strips of columns, which runs other code."""
        yield from self._all_cases(lambda: self._of_kernel(self.kernel))
        yield from self._product(self.kernel, STRIP_ROWS, STRIP_COLUMNS)

    def _gemm(self) -> Iterator[SideDifference]:
        return self._product(self.kernel.general, ROWS, COLUMNS)

    def _product(self, kernel: AnyKernel, rows_most: int, columns_most: int) -> Iterator[SideDifference]:
        """Compare a matrix product of the first slot's rows and columns with the dot products of each pair."""
        unit, batch = self.unit, self.cases.slots[0]
        m, n = min(len(batch), rows_most), min(len(batch), columns_most)
        pairs = [(row, column) for row in range(m) for column in range(n)]
        rows, columns = (np.array(side) for side in zip(*pairs, strict=True))
        c = np.resize(batch.c, (m, n))
        cases = Batch([f"gemm/{row},{column}" for row, column in pairs], batch.a[rows], batch.b[columns], c.ravel())
        sides: tuple[Any, Any] = (None, None)
        if unit.scale is not None and batch.scale_a is not None and batch.scale_b is not None:
            of_rows, of_columns = unit.scale.a.block[0], unit.scale.b.block[1]
            scale_a, scale_b = batch.scale_a[: -(-m // of_rows)], batch.scale_b[: -(-n // of_columns)]
            sides = scale_a, scale_b.T
            cases = replace(cases, scale_a=scale_a[rows // of_rows], scale_b=scale_b[columns // of_columns])
        if not self._fits_kernel:
            return
        want = codes_of_kernel(unit, self.kernel.general, cases)
        got = np.empty((m, n), container_dtype(unit.output))
        operands = ProductOperands(unit, batch.a[:m], batch.b[:n].T, c, *sides)
        multiply(kernel, operands, got, lambda _: None, 1)
        yield from _differing(cases, want, got.ravel().astype(object))

    @cached_property
    def design(self) -> UnitDesign:
        return unit_design(self.unit, self.drawn.pipeline)

    @cached_property
    def recorded(self) -> RecordedTile:
        return RecordedTile(self.drawn, self.design, self.first)

    def _clock(self) -> Iterator[SideDifference]:
        for case, want, got in zip(self.first, self.model_first, self.recorded.codes.tolist(), strict=True):
            if want != got:
                yield SideDifference("another result", case, want, got)

    def _rtl(self) -> Iterator[SideDifference]:
        with contextlib.nullcontext() if self.depth.kept else scratch_folder() as folder:
            outcome = played_in_bulk(self.recorded, self.cases, self.expected, folder)
        yield from self._of_outcome(outcome)

    def _icarus(self) -> Iterator[SideDifference]:
        with scratch_folder() as folder:
            yield from self._of_outcome(played_on_icarus(self.recorded, folder / "job", self.drawn.seed))

    def _of_outcome(self, outcome: SuiteOutcome) -> Iterator[SideDifference]:
        owners = self.recorded.play.owners
        for mismatch in outcome.mismatches:
            if mismatch.kind != "result":
                yield SideDifference(
                    f"{mismatch.kind} in cycle {mismatch.cycle}: {mismatch.got}, expected {mismatch.expected}"
                )
                return
            tile, place = divmod(mismatch.index, len(owners))
            case = self.cases.slots[owners[place]].case(tile)
            yield SideDifference("another result", case, int(mismatch.expected), int(mismatch.got))


def defect_words(error: Exception) -> str:
    """An exception that nothing should raise, in words, with the last places of its traceback, innermost first."""
    places = [place.strip().splitlines()[0] for place in traceback.format_tb(error.__traceback__)[-LAST_PLACES:]]
    return f"{type(error).__name__}: {str(error)[:600]} ({' < '.join(places[::-1])})"


def codes_of_model(unit: Unit, batch: Batch) -> Codes:
    definition = Definition(unit)
    return objects([dot(definition, case).code for case in batch.cases()])


def codes_of_kernel(unit: Unit, kernel: AnyKernel, batch: Batch) -> Codes:
    """A kernel's results: (cases,). The model's, where the cases are longer than the kernel takes."""
    if batch.a.shape[1] > kernel.longest:
        return codes_of_model(unit, batch)
    scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
    return multiply_pairs(kernel, batch.a, batch.b, batch.c, scales).astype(object)


def _differing(batch: Batch, want: Codes, got: Codes) -> Iterator[SideDifference]:
    for index in np.flatnonzero(want != got).tolist():
        yield SideDifference("another result", batch.case(index), int(want[index]), int(got[index]))
