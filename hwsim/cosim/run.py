"""A run: designs, simulators and suites, from specification to verdict."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import yaml

from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.base.files import written_folder
from hwsim.cases.drawing import Stream
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.casefile import load_case
from hwsim.cosim.coverage import UnitCoverage, design_coverage
from hwsim.cosim.design import BULK_KINDS, EVERY_SUITE, AskedSuites, Design, DotDesign, Play, Played, Suite, SuiteKind
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.fixes import FixSearch
from hwsim.cosim.minimal import Minimized, Minimizer, explain_mismatch
from hwsim.cosim.play import BULK, WAVEFORM, command, play_in_bulk, play_simulated
from hwsim.cosim.report import judge, refusal
from hwsim.cosim.suites import ModalPlanner, Planner, SparsePlanner
from hwsim.cosim.tables import TablesDesign
from hwsim.cosim.tools import require
from hwsim.cosim.unitdesign import ModalDesign, SparseDesign, UnitDesign
from hwsim.cosim.waivers import AppliedWaivers
from hwsim.explain import NAMES, LeftOut, Mismatch, Row, RunReport, WaivedDifference, write_reports
from hwsim.spec import AnyUnit, as_yaml

WORKERS = 2
ALL_SUITES = "every suite"  # of a simulator that refuses the design
BUILD_LOG = "build.log"

FOLDER = Path("build/cosim")  # where results go unless said


@dataclass(frozen=True)
class CosimOptions:
    """The options of a run.

    cases: random cases of a suite, or None for the usual number. folder: where results are written. bulk: whether our
    own RTL is put through the bulk driver too, on Verilator. case: a case file, which a user's design is put through
    instead of its suites. minimize: whether a case on which a user's design fails is made simpler, explained and named.
    stuck_after: seconds without the end of a cycle after which a simulator is ended; as the design says unless given.
    suites: which of them are asked for. coverage: whether bins are counted.
    """

    designs: tuple[Design, ...]
    simulators: tuple[str, ...] = ("verilator", "icarus")
    seed: int = 1
    cases: int | None = None
    waves: bool = False
    folder: Path = FOLDER
    bulk: bool = True
    case: Path | None = None
    minimize: bool = True
    stuck_after: float | None = None
    suites: AskedSuites = EVERY_SUITE
    coverage: bool = True

    @property
    def whole(self) -> str:
        """The command that repeats the whole run."""
        dots = [design for design in self.designs if isinstance(design, DotDesign)]
        return self.again(dots or self.designs, self.simulators)

    def again(self, designs: Sequence[Design], simulators: Sequence[str]) -> str:
        """The command that repeats the run for some designs."""
        names, ends = list[str](), list[str]()
        for design in designs:
            names += [word for word in design.words if word not in names]
            ends = list(design.ends)
        words = ["hwsim", "cosim", *names, *(["--sim", *simulators] if len(simulators) == 1 else [])]
        into = ["-o", str(self.folder)] if self.folder != FOLDER else []
        into += ["--waves"] if self.waves else []
        into += ["--stuck-after", f"{self.stuck_after:g}"] if self.stuck_after is not None else []
        into += self.suites.arguments
        if self.case is not None:
            return shlex.join([*words, "--case", str(self.case), *into])
        count = ["--cases", str(self.cases)] if self.cases is not None else []
        return shlex.join([*words, "--seed", str(self.seed), *count, *ends, *into])


class Watcher(Protocol):
    """Shows the progress of a run."""

    def plan(self, steps: int) -> None:
        """Note the number of steps to come."""
        return

    def step(self, what: str) -> None:
        """Note that a step is done: `what`."""
        return

    def say(self, what: str) -> None:
        """Note the work in progress: `what`."""
        return


class NoProgress(Watcher):
    """Shows no progress."""


@dataclass
class _Found:
    """The findings of a run so far. notes: further lines for a reader. coverage: of each unit that has a plan."""

    rows: list[Row] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    coverage: list[UnitCoverage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    minimal: Minimized = field(default_factory=Minimized)
    waivers: list[WaivedDifference] = field(default_factory=list)


def run(options: CosimOptions, watcher: Watcher | None = None) -> RunReport:
    """Run everything, or stop everything: when this returns or raises, no simulator runs and no file is half written.

    Returns the run's record, which is written to the folder in all its forms.
    Where one of two simulators refuses a user's design the other's part is run, and the report says what is missing.

    Raises ToolMissing for a simulator that is missing, BuildFailed for a design that no simulator takes, and ValueError
    for two designs of one name, for one that no simulator is fit for, and for a folder that holds something else.
    """
    started = time.monotonic()
    check(options)
    with written_folder(options.folder, "cosim", last=NAMES[-1]) as folder:
        report = carried_out(options, folder, watcher or NoProgress(), started)
        write_reports(folder, report)
    return report


def check(options: CosimOptions) -> None:
    """Raise the errors of `run` that are known before anything is built."""
    for simulator in options.simulators:
        require(simulator)
    names = [design.name for design in options.designs]
    for design in options.designs:
        if names.count(design.name) > 1:
            raise InputError(f"units must have names of their own, not {design.name} more than once")
    if options.cases is not None and options.cases < 1:
        raise InputError(f"cases must be at least 1, not {options.cases}: a run of none proves nothing")


def carried_out(options: CosimOptions, folder: Path, watcher: Watcher, started: float) -> RunReport:
    """Carry out a run that was checked. folder: for logs, an empty one; started: when, by the monotonic clock."""
    waivers = {design.name: design.waivers(date.today()) for design in options.designs if isinstance(design, DutDesign)}
    results = _Run(options, watcher, folder, waivers).all()
    return _report(options, results, time.monotonic() - started)


def _report(options: CosimOptions, found: _Found, seconds: float) -> RunReport:
    dots = [design for design in options.designs if isinstance(design, DotDesign)]
    return RunReport(
        title=f"Co-simulation of {', '.join(design.title for design in dots)}",
        command=options.whole,
        version=version("hwsim"),
        seed=options.seed,
        seconds=round(seconds, 1),
        units=tuple(yaml.safe_load(as_yaml(_specified(design))) for design in dots),
        rows=tuple(found.rows),
        left_out=tuple(found.left_out),
        waivers=tuple(found.waivers),
        coverage=tuple(group for coverage in found.coverage for group in coverage.groups),
        kills=tuple(coverage.kills for coverage in found.coverage if coverage.kills is not None),
        mismatches=tuple(found.mismatches),
        kinds=found.minimal.kinds,
        notes=(*found.notes, *found.minimal.notes, *(note for unit in found.coverage for note in unit.notes)),
    )


def _specified(design: DotDesign) -> AnyUnit:
    return design.built if isinstance(design, UnitDesign) else design.unit


@dataclass(frozen=True)
class _Run:
    options: CosimOptions
    watcher: Watcher
    folder: Path
    waivers: dict[str, AppliedWaivers]
    found: _Found = field(default_factory=_Found)

    def all(self) -> _Found:
        """Play every design on every simulator; find the simplest case for a user's design that fails."""
        with processes.threads(WORKERS) as pool:
            for design, pending in list(self._submit(pool)):
                played = self._judge(design, [result for future in pending for result in future.result()])
                # Meanwhile the simulators are at work on the next design.
                if isinstance(design, DotDesign) and self.options.case is None and self.options.coverage:
                    self.watcher.say(f"{design.folder}: bins, and likely mistakes that its cases kill")
                    self.found.coverage += design_coverage(design, self.options.seed, played)
                if isinstance(design, DutDesign):
                    self._minimize(design, played)
        return self.found

    def _submit(self, pool: ThreadPoolExecutor) -> Iterator[tuple[Design, list[Future[list[Played]]]]]:
        """Yield the simulations of each design; all builds are at work before the first suite is planned."""
        options = self.options
        bulk = options.bulk and options.case is None and "verilator" in options.simulators
        bulk = bulk and not all(options.suites.left_out(kind) for kind in BULK_KINDS)
        drivers = [(design, bulk and isinstance(design, UnitDesign)) for design in self._asked_designs()]
        self.watcher.plan(sum(2 * len(options.simulators) + bulky for _, bulky in drivers))
        builds = [
            {simulator: pool.submit(self._build, design, simulator) for simulator in options.simulators}
            for design, _ in drivers
        ]
        for (design, bulky), programs in zip(drivers, builds, strict=True):
            jobs = []
            if isinstance(design, DutDesign):
                programs = self._accepted(design, programs)
            for simulator, program in programs.items():
                plays = self._plan(design, simulator)
                jobs.append(pool.submit(self._simulated, design, simulator, plays, program))
            if isinstance(design, UnitDesign) and bulky:
                jobs.append(pool.submit(self._bulk, design, self._plan(design, BULK)))
            yield design, jobs

    def _asked_designs(self) -> Iterator[Design]:
        """Yield the designs, without the tables of codes where these are not asked for."""
        why = self.options.suites.left_out(SuiteKind.TABLES)
        for design in self.options.designs:
            if not (why and isinstance(design, TablesDesign)):
                yield design
                continue
            self.found.left_out += [
                LeftOut(unit=design.name, suite=SuiteKind.TABLES.suite, driver=simulator, reason=why)
                for simulator in self.options.simulators
            ]

    def _accepted(self, design: DutDesign, programs: dict[str, Future[list[str]]]) -> dict[str, Future[list[str]]]:
        """The simulators that take a design. Refusals by the others are reported before cases are worked out.

        Raises what the first of them says where none takes it.
        """
        refused = dict[str, Exception]()
        for simulator, program in programs.items():
            try:
                program.result()
            except (BuildFailed, InputError) as error:
                refused[simulator] = error
        if len(refused) == len(programs):
            simulator, why = next(iter(refused.items()))
            if isinstance(why, BuildFailed):
                raise BuildFailed(f"{why}\n{refusal(simulator, str(why))}")
            raise why
        self.found.left_out += [self._refused(design, simulator, why) for simulator, why in refused.items()]
        return {simulator: program for simulator, program in programs.items() if simulator not in refused}

    def _refused(self, design: DutDesign, simulator: str, error: Exception) -> LeftOut:
        """The report of suites left out where a simulator does not take a design; the end of its log is kept."""
        reason = str(error)
        if isinstance(error, BuildFailed):
            folder = self.folder / f"{design.folder}-{simulator}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / BUILD_LOG).write_text(f"{error}\n", encoding="utf-8")
            log = self.options.folder / folder.name / BUILD_LOG
            reason = f"{refusal(simulator, str(error))} (the end of its log: {log})"
        return LeftOut(unit=design.name, suite=ALL_SUITES, driver=simulator, reason=reason, required=True)

    def _plan(self, design: Design, driver: str) -> Sequence[Play]:
        options = self.options
        if options.case is not None and isinstance(design, (DutDesign, UnitDesign)):
            suite = Suite("case", (load_case(options.case, design),))
            return [design.play(suite, Stream(options.seed, "case"))]
        if isinstance(design, DotDesign):
            plays, left_out = self._planner(design).plan(driver, options.cases)
            self.found.left_out.extend(left_out)
            self.found.notes.extend(note for note in design.notes(driver) if note not in self.found.notes)
            return plays
        return design.plays if isinstance(design, TablesDesign) else []

    def _planner(self, design: DotDesign) -> Planner:
        seed, asked = self.options.seed, self.options.suites
        if isinstance(design, ModalDesign):
            return ModalPlanner(design, seed, asked)
        if isinstance(design, SparseDesign):
            return SparsePlanner(design, seed, asked)
        return Planner(design, seed, asked.and_without(design.skipped_suites))

    def _build(self, design: Design, simulator: str) -> list[str]:
        if isinstance(design, DutDesign) and (unfit := design.unfit_for(simulator)):
            raise InputError(unfit)
        program = command(simulator, design.sources(simulator), trace=self.options.waves)
        self.watcher.step(f"{design.folder}: built for {simulator}")
        return program

    def _simulated(
        self, design: Design, simulator: str, plays: Sequence[Play], program: Future[list[str]]
    ) -> list[Played]:
        folder, seed = self.folder / f"{design.folder}-{simulator}", self.options.seed
        limit = design.stuck_after if self.options.stuck_after is None else self.options.stuck_after
        played = play_simulated(simulator, program.result(), design, plays, folder, seed, limit)
        self.watcher.step(f"{design.folder}: {design.suites} on {simulator}")
        return played

    def _bulk(self, design: UnitDesign, plays: Sequence[Play]) -> list[Played]:
        played = play_in_bulk(design.library(), design.ports, plays, self.folder)
        self.watcher.step(f"{design.folder}: bulk suites")
        return played

    def _judge(self, design: Design, played: Sequence[Played]) -> list[Played]:
        """Add the rows of a design's suites. Return the suites without the results that are waived."""
        options, judged = self.options, list[Played]()
        waivers = self.waivers.get(design.name)
        for result in played:
            waived = 0
            if waivers is not None:
                result, waived = waivers.judged(result)
            judged.append(result)
            waves: Path | str = "none; add --waves"
            if options.waves and result.driver == BULK:
                waves = "none: the bulk driver records none"
            elif options.waves:
                waves = options.folder / result.folder.name / WAVEFORM
            again = options.again([design], [result.driver.split(",")[0]])
            row, mismatches = judge(design, result, waves, options.seed, again, waived)
            self.found.rows.append(row)
            if result.stuck and (note := f"{design.name}: {result.stuck}") not in self.found.notes:
                self.found.notes.append(note)
            self.found.mismatches.extend(mismatches)
        if waivers is not None:
            self.found.waivers.extend(waivers.differences)
            self.found.notes.extend(f"{design.name}: {note}" for note in waivers.notes())
        return judged

    def _minimize(self, design: DutDesign, played: Sequence[Played]) -> None:
        """Add the simplest case of the first simulator that failed, or explain the case of a case file as it is."""
        options = self.options
        failed = next((row.driver for row in self.found.rows if not row.passed), None)
        if failed is None:
            return
        there = [result for result in played if result.driver == failed]
        if not there:
            return
        if options.case is not None:
            self.found.mismatches = [
                explain_mismatch(design.unit, there[0], mismatch) for mismatch in self.found.mismatches
            ]
        elif options.minimize:
            traced = "icarus" if any(result.driver == "icarus" for result in played) else failed  # which may refuse it
            limit = design.stuck_after if options.stuck_after is None else options.stuck_after
            search = FixSearch(design, traced, options.seed, self.folder, limit)
            if fix := search.suggest_fix(there):
                # Where all are right in another cycle, no case says anything of the arithmetic.
                self.found.notes.append(fix)
                return
            waivers = self.waivers[design.name]
            minimizer = Minimizer(
                design, failed, traced, options.seed, self.folder, options.folder, limit, waivers,
                lambda what: self.watcher.say(f"{design.folder}: {what}"),
            )  # fmt: skip
            self.found.minimal = minimizer.minimize(there)
