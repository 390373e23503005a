"""A run: units, simulators and suites, from specification to verdict."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hwsim import processes
from hwsim.cases.bins.interface import interface_bins
from hwsim.cases.case import Case
from hwsim.cosim.bench import TOP
from hwsim.cosim.build import Design, bulk_build, unit_design
from hwsim.cosim.bulk import BulkUnit
from hwsim.cosim.compare import compare
from hwsim.cosim.coverage import Device, UnitCoverage, unit_coverage
from hwsim.cosim.diagnose import Difference, first_difference
from hwsim.cosim.interface import in_step, interface_counts
from hwsim.cosim.ports import PortMap, port_map
from hwsim.cosim.report import Row, run_report, told, told_of_codes
from hwsim.cosim.simulate import command, simulate
from hwsim.cosim.suites import Planner, Suite, fitting
from hwsim.cosim.tables import TOP as TABLES_TOP
from hwsim.cosim.tables import CodeTable, bench_formats, codec_table, product_table, tables_design, write_tables
from hwsim.cosim.tools import require
from hwsim.cosim.trace import words_of
from hwsim.report import File, write_reports
from hwsim.report.cases import explain_command
from hwsim.rtl import supports, verilog
from hwsim.spec import Pipeline, Unit
from hwsim.spec import pipeline as usual_pipeline
from hwsim.tb.job import Mismatch, Outcome, Script, read_outcome, write_job

MARK = "hwsim-cosim"
WORKERS = 2
MOST_TOLD = 3  # mismatches of a suite that are reported, each of another case


@dataclass(frozen=True)
class Options:
    """What to run.

    cases: random cases a suite, or None for the usual number. folder: where results are written.
    called: what a command line calls each unit, to run it again; its name unless given. command: the whole command.
    """

    units: tuple[tuple[Unit, Pipeline], ...]
    simulators: tuple[str, ...] = ("verilator", "icarus")
    seed: int = 1
    cases: int | None = None
    waves: bool = False
    folder: Path = Path("build/cosim")
    tables: bool = True
    bulk: bool = True
    called: tuple[str, ...] = ()
    command: str = ""


class Progress(Protocol):
    """How far a run is."""

    def plan(self, steps: int) -> None:
        """There are so many steps."""

    def step(self, what: str) -> None:
        """A step is done: `what`."""

    def tick(self) -> None:
        """Still at work."""


class Silence:
    """Progress that is not shown."""

    def plan(self, steps: int) -> None:
        """Nothing."""

    def step(self, what: str) -> None:
        """Nothing."""

    def tick(self) -> None:
        """Nothing."""


@dataclass
class Report:
    """What a run found. coverage: of each unit. folder: holds the reports, and a folder for each unit and simulator."""

    rows: list[Row] = field(default_factory=list)
    coverage: list[UnitCoverage] = field(default_factory=list)
    folder: Path = Path()

    @property
    def passed(self) -> bool:
        """Whether there was something to run, and all of it passed."""
        return bool(self.rows) and all(row.passed for row in self.rows)


def run(options: Options, progress: Progress | None = None) -> Report:
    """Run everything, or stop everything: when this returns or raises, no simulator runs and no file is half written.

    Raises ToolMissing for a simulator that is missing, NotImplementedYet for a unit that the RTL cannot build,
    BuildFailed for a design that a simulator refuses, and ValueError for two units of one name and for a folder that
    holds something else.
    """
    for simulator in options.simulators:
        require(simulator)
    names = [unit.name for unit, _ in options.units]
    for unit, _ in options.units:
        supports(unit).demand()
        if names.count(unit.name) > 1:
            raise ValueError(f"units must have names of their own, not {unit.name} more than once")
    if options.cases is not None and options.cases < 1:
        raise ValueError(f"cases must be at least 1, not {options.cases}: a run of none proves nothing")
    with results_folder(options.folder) as folder:
        report = _Run(options, progress or Silence(), folder).all()
        units = [unit for unit, _ in options.units]
        command = options.command or again(options)
        write_reports(folder, run_report(units, report.rows, report.coverage, command, options.seed))
    report.folder = options.folder
    return report


@contextlib.contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """A folder to write in, which takes its place whole at the end, or not at all.

    Raises ValueError for a folder that holds something else than a run's results.
    """
    if folder.exists() and not (folder / MARK).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} holds something else than a run's results; name another folder")
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (scratch / MARK).write_text("The results of `hwsim cosim`; the next run replaces them.\n")
        yield scratch
        if folder.exists():
            shutil.rmtree(folder)
        scratch.chmod(0o755)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Run:
    def __init__(self, options: Options, progress: Progress, folder: Path):
        self.options, self.progress, self.folder = options, progress, folder
        self._lock = threading.Lock()
        self._suites: dict[tuple[str, str, str], Suite] = {}  # what was played, by unit, suite and driver

    def all(self) -> Report:
        """Every unit on every simulator."""
        processes.start()
        pool = ThreadPoolExecutor(WORKERS)
        report = Report()
        try:
            for built, pending in list(self._submit(pool)):
                rows = [row for future in pending for row in future.result()]
                report.rows += rows
                # Meanwhile the simulators are at work on the next unit.
                report.coverage += [self._coverage(*built, rows)] if built else []
        except BaseException:
            processes.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return report

    def _coverage(self, unit: Unit, pipeline: Pipeline, rows: Sequence[Row]) -> UnitCoverage:
        """What the cases of a unit's suites did, and the traffic at its ports, as far as they were compared."""
        played, traffic = list[tuple[str, list[Case]]](), Counter[str]()
        for row in rows:
            suite = self._suites.pop((row.unit, row.suite, row.driver))
            results = suite.trace.results[: row.outcome.results]
            played.append((suite.name, [suite.cases[case] for case, _ in results]))
            traffic += interface_counts(suite.trace, pipeline.latency, in_step(row.outcome))
        device = Device(unit, self.options.seed, unit.name, interface_bins(unit, pipeline))
        return unit_coverage(device, played, traffic, self.progress.tick)

    def _submit(
        self, pool: ThreadPoolExecutor
    ) -> Iterator[tuple[tuple[Unit, Pipeline] | None, list[Future[list[Row]]]]]:
        """The jobs of the tables, and of each unit."""
        options = self.options
        bulk = options.bulk and "verilator" in options.simulators
        steps = len(options.units) * (2 * len(options.simulators) + bulk) + 2 * options.tables * len(options.simulators)
        self.progress.plan(steps)
        if options.tables:
            yield None, list(self._submit_tables(pool))
        devices = []
        for unit, pipeline in options.units:
            ports = port_map(unit, pipeline)
            text = pool.submit(verilog, unit, pipeline)
            builds = {
                simulator: pool.submit(self._build, simulator, unit, ports, text) for simulator in options.simulators
            }
            devices.append((unit, pipeline, ports, text, builds))
        for unit, pipeline, ports, text, builds in devices:
            planner = Planner(unit, pipeline, ports, options.seed, self.progress.tick)
            jobs = []
            for simulator in options.simulators:
                suites = list(planner.cocotb(simulator, options.cases))
                jobs.append(pool.submit(self._cocotb, simulator, unit, pipeline, ports, suites, builds[simulator]))
            if bulk:
                suites = list(planner.bulk(options.cases))
                jobs.append(pool.submit(self._bulk, unit, pipeline, ports, suites, text))
            yield (unit, pipeline), jobs

    def _build(self, simulator: str, unit: Unit, ports: PortMap, text: Future[str]) -> list[str]:
        made = command(simulator, unit_design(text.result(), ports), trace=self.options.waves)
        self.progress.step(f"{unit.name}: built for {simulator}")
        return made

    def _submit_tables(self, pool: ThreadPoolExecutor) -> Iterator[Future[list[Row]]]:
        formats, pairs = bench_formats(unit for unit, _ in self.options.units)
        design = tables_design(formats, pairs)
        tables = [codec_table(formats), product_table(pairs)]
        for simulator in self.options.simulators:
            yield pool.submit(self._tables, simulator, design, tables)

    def _tables(self, simulator: str, design: Design, tables: Sequence[CodeTable]) -> list[Row]:
        job = self.folder / f"formats-{simulator}"
        write_tables(job, tables)
        program = command(simulator, design, trace=self.options.waves)
        self.progress.step(f"formats: built for {simulator}")
        simulate(simulator, program, TABLES_TOP, "hwsim.tb.tables", job, self.options.seed)
        rows = []
        for index, table in enumerate(tables):
            outcome = read_outcome(job, index) or Outcome(table.name)
            row = Row("all formats", table.name, simulator, table.planned, outcome)
            row.told = [told_of_codes(row, mismatch) for mismatch in outcome.mismatches[:MOST_TOLD]]
            self._finish(row, job)
            rows.append(row)
        self.progress.step(f"formats: tables on {simulator}")
        return rows

    def _cocotb(
        self,
        simulator: str,
        unit: Unit,
        pipeline: Pipeline,
        ports: PortMap,
        suites: Sequence[Suite],
        build: Future[list[str]],
    ) -> list[Row]:
        rows = []
        for number, part in enumerate(fitting(suites, lambda suite: len(suite.trace.beats), len(suites))):
            job = self.folder / "-".join([unit.name, simulator, *([str(number)] if number else [])])
            arguments = write_job(job, [_script(suite, ports) for suite in part], ports.input.width)
            simulate(simulator, [*build.result(), *arguments], TOP, "hwsim.tb.dot_unit", job, self.options.seed)
            (job / "payloads.hex").unlink()
            for index, suite in enumerate(part):
                outcome = read_outcome(job, index) or Outcome(suite.name)
                rows.append(self._judge(unit, pipeline, simulator, suite, outcome, job))
        self.progress.step(f"{unit.name}: suites on {simulator}")
        return rows

    def _bulk(
        self, unit: Unit, pipeline: Pipeline, ports: PortMap, suites: Sequence[Suite], text: Future[str]
    ) -> list[Row]:
        rows = []
        library = bulk_build(text.result(), ports)
        for suite in suites:
            trace = suite.trace
            words = words_of([ports.pack(item.beat) for item in trace.beats], ports.input.words)
            with BulkUnit(library, ports) as device:
                started = time.perf_counter()
                seen = device.run(trace.drive, trace.offered, words)
                seconds = time.perf_counter() - started
            outcome = compare(trace, seen, ports)
            outcome.seconds = seconds
            rows.append(self._judge(unit, pipeline, "verilator, bulk", suite, outcome, self.folder))
        self.progress.step(f"{unit.name}: bulk suites")
        return rows

    def _judge(self, unit: Unit, pipeline: Pipeline, driver: str, suite: Suite, outcome: Outcome, job: Path) -> Row:
        row = Row(unit.name, suite.name, driver, suite.planned, outcome)
        self._suites[row.unit, row.suite, row.driver] = suite
        for mismatch in _of_several_cases(outcome.mismatches):
            case = _case(suite, mismatch)
            # Only the first is taken apart, which takes a while.
            first = not row.told
            difference = self._difference(unit, pipeline, case) if first else None
            made = told(row, unit, mismatch, case, difference)
            explain = explain_command(unit, self._called(row.unit), case) if case and made.explanation else ""
            stage = _stage(case, difference) if first else ""
            row.told.append(made.changed(stage=stage, explain=explain))
        self._finish(row, job)
        return row

    def _difference(self, unit: Unit, pipeline: Pipeline, case: Case | None) -> Difference | None:
        if case is None:
            return None
        with self._lock:
            return first_difference(unit, pipeline, case)

    def _finish(self, row: Row, job: Path) -> None:
        """What every report ends with: the seed, the waveform, the command that runs it again."""
        if row.passed:
            return
        waves, files = "none; add --waves", tuple[File, ...]()
        if self.options.waves and job == self.folder:
            waves = "none: the bulk driver records none"
        elif self.options.waves:
            waves = str(self.options.folder / job.name / "dump.vcd")
            files = (File(what="waveform", path=waves),)
        seed, command = f"seed {self.options.seed}", again(self.options, row)
        note = f"{seed}; waveform: {waves}"
        notes = (seed if files else note,)
        row.told = [mismatch.changed(notes=notes, files=files, again=command) for mismatch in row.told]
        if not row.told:
            row.notes = ["the end of the simulation's log:", *log_end(job), note, f"again: {command}"]

    def _called(self, name: str) -> str:
        """What a command line calls a unit."""
        return next(called for called, (unit, _) in _called(self.options) if unit.name == name)


def _called(options: Options) -> list[tuple[str, tuple[Unit, Pipeline]]]:
    """The units, each with what a command line calls it."""
    called = options.called or [unit.name for unit, _ in options.units]
    return list(zip(called, options.units, strict=True))


def again(options: Options, row: Row | None = None) -> str:
    """The command that runs all of it again, or a row's unit on its simulator; for a table, that of all formats."""
    known = _called(options)
    chosen = [one for one in known if row is not None and one[1][0].name == row.unit] or known
    words = ["hwsim", "cosim", *(name for name, _ in chosen)]
    simulators = options.simulators if row is None else (row.driver.split(",")[0],)
    if len(simulators) == 1:
        words += ["--sim", *simulators]
    words += ["--seed", str(options.seed)]
    if options.cases is not None:
        words += ["--cases", str(options.cases)]
    unit, built = chosen[0][1]
    if built != usual_pipeline(unit):
        words += ["--cuts", ",".join(built.cuts), "--contexts", str(built.contexts)]
    return shlex.join(words)


def _of_several_cases(mismatches: Sequence[Mismatch]) -> list[Mismatch]:
    """The first mismatch, and the next results that differ, each of another case."""
    others = {mismatch.index: mismatch for mismatch in reversed(mismatches[1:]) if mismatch.kind == "result"}
    rest = sorted(others.values(), key=lambda mismatch: mismatch.index)
    return [*mismatches[:1], *(one for one in rest if one.index != mismatches[0].index)][:MOST_TOLD]


def log_end(job: Path) -> list[str]:
    """The end of a simulation's log, for a report."""
    log = job / "simulation.log"
    return log.read_text(errors="replace").splitlines()[-8:] if log.exists() else []


def _script(suite: Suite, ports: PortMap) -> Script:
    trace = suite.trace
    results = [ports.unpack(payload) for _, payload in trace.results]
    return Script(
        name=suite.name,
        drive=trace.drive,
        offered=trace.offered,
        expect=trace.expect,
        payloads=[ports.pack(item.beat) for item in trace.beats],
        results=[(result.context, result.code) for result in results],
    )


def _case(suite: Suite, mismatch: Mismatch) -> Case | None:
    index = mismatch.index
    if not 0 <= index < len(suite.trace.results):
        return None
    return suite.cases[suite.trace.results[index][0]]


def _stage(case: Case | None, difference: Difference | None) -> str:
    if case is None:
        return "control (no result was due)"
    if difference is not None:
        return str(difference)
    return "control: alone, the case is right in every stage; see registers, contexts and handshake"
