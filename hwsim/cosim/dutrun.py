"""A run of a user's design: suites on simulators, and of what fails the simplest case, explained and named."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hwsim import processes
from hwsim.cases.case import Case
from hwsim.cosim.casefile import load_case, write_case
from hwsim.cosim.coverage import UnitCoverage
from hwsim.cosim.dutcoverage import dut_coverage
from hwsim.cosim.dutdesign import Built, Played
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.dutreport import minimal_mismatch, run_report
from hwsim.cosim.dutsuites import DutPlanner, DutSuite, expected_codes
from hwsim.cosim.naming import explanations, naming
from hwsim.cosim.report import Row, told
from hwsim.cosim.run import Progress, Silence, log_end, results_folder
from hwsim.cosim.shrink import Shrinker, Shrunk
from hwsim.cosim.story import story
from hwsim.cosim.tools import require
from hwsim.report import File, Mismatch, write_reports
from hwsim.report.cases import explain_command
from hwsim.tb.stream_job import MISSING

MINIMAL = "minimal"


@dataclass(frozen=True)
class DutOptions:
    """What to run.

    case: a case file to play instead of the suites. called: what a command line calls the design.
    assertions: whether Verilator checks those of the stream's ports, and the user's own.
    minimize: whether a failing case is made simpler, explained and named.
    """

    dut: Dut
    simulators: tuple[str, ...] = ("verilator", "icarus")
    seed: int = 1
    cases: int | None = None
    waves: bool = False
    folder: Path = Path("build/cosim")
    case: Path | None = None
    called: str = ""
    assertions: bool = False
    minimize: bool = True

    @property
    def name(self) -> str:
        """What rows and reports call the design."""
        return self.dut.file.top

    def again(self, simulators: Sequence[str]) -> str:
        """The command that runs the same again, on these simulators."""
        words = ["hwsim", "cosim", "--dut", self.called or str(self.dut.path)]
        words += ["--sim", simulators[0]] if len(simulators) == 1 else []
        if self.case is not None:
            return shlex.join([*words, "--case", str(self.case)])
        words += ["--seed", str(self.seed), *(["--assertions"] if self.assertions else [])]
        return shlex.join([*words, *(["--cases", str(self.cases)] if self.cases is not None else [])])


@dataclass
class DutReport:
    """What a run found.

    notes: cases and suites that were left out, and why. story: of the minimal case, for a reader.
    named: the semantics that explain every result that came. coverage: None for a unit without a plan, or one case.
    minimal: that case; None where nothing failed, or nothing that a case alone repeats. told: as a report tells it.
    """

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    minimal: Shrunk | None = None
    told: Mismatch | None = None
    coverage: UnitCoverage | None = None

    @property
    def passed(self) -> bool:
        """Whether there was something to run, and all of it passed."""
        return bool(self.rows) and all(row.passed for row in self.rows)


def run_dut(options: DutOptions, progress: Progress | None = None) -> DutReport:
    """Run a design on each simulator, or stop everything.

    Raises ToolMissing, BuildFailed for sources that a simulator refuses, SpecError for ports that do not fit, and
    ValueError for arrays as ports on Icarus and for a folder that holds something else.
    """
    for simulator in options.simulators:
        require(simulator)
    if options.cases is not None and options.cases < 1:
        raise ValueError(f"cases must be at least 1, not {options.cases}: a run of none proves nothing")
    built = Built(options.dut, options.assertions)
    built.design  # noqa: B018 - what does not fit is said before anything is built
    arrays = [port.name for port in built.module.ports if port.elements]
    if arrays and "icarus" in options.simulators:
        raise ValueError(f"{options.dut.path}: Icarus takes no arrays as ports ({', '.join(arrays)}): --sim verilator")
    case = load_case(options.case, options.dut) if options.case is not None else None
    processes.start()
    try:
        with results_folder(options.folder) as folder:
            report = _Run(options, built, progress or Silence(), folder).all(case)
            command = options.again(options.simulators)
            made = run_report(
                options.dut, report.rows, report.told, report.coverage, report.notes, command, options.seed
            )
            write_reports(folder, made)
    except BaseException:
        processes.stop()
        raise
    return report


class _Run:
    def __init__(self, options: DutOptions, built: Built, progress: Progress, folder: Path):
        self.options, self.built, self.progress, self.folder = options, built, progress, folder
        self.planner = DutPlanner(options.dut, options.seed)
        self.report = DutReport()

    def all(self, case: Case | None) -> DutReport:
        """Every simulator, and the simplest case of the first that failed."""
        self.progress.plan(2 * len(self.options.simulators))
        failed: tuple[str, list[Played]] | None = None
        answered: list[Played] = []
        for simulator in self.options.simulators:
            played = self._simulator(simulator, case)
            answered += played
            if failed is None and any(not row.passed for row in self.report.rows):
                failed = simulator, played
        if case is None:
            self.report.coverage = dut_coverage(self.options.dut, self.planner, answered)
        if failed is not None and case is not None:
            self._single(failed[1])
        elif failed is not None and self.options.minimize:
            self._minimize(*failed)
        return self.report

    def _simulator(self, simulator: str, case: Case | None) -> list[Played]:
        options = self.options
        self.built.program(simulator, trace=options.waves)
        self.progress.step(f"{options.name}: built for {simulator}")
        if case is None:
            self.planner.skipped.clear()
            suites = list(self.planner.suites(simulator, options.cases))
            self._note(simulator, suites)
        else:
            suites = [DutSuite("case", (case,), expected_codes(options.dut.unit, [case]))]
        job = self.folder / f"{options.name}-{simulator}"
        played = self.built.play(
            simulator, suites, self.planner.rng(simulator), job, trace=options.waves, seed=options.seed
        )
        self.report.rows += [self._row(simulator, one, job) for one in played]
        self.progress.step(f"{options.name}: suites on {simulator}")
        return played

    def _note(self, simulator: str, suites: Sequence[DutSuite]) -> None:
        """What this design is not asked, and why."""
        for suite in suites:
            for reason, count in suite.left_out:
                self.report.notes.append(f"{suite.name} on {simulator}: {count:,} cases left out, which take {reason}")
        for name, reason in self.planner.skipped:
            self.report.notes.append(f"{name} on {simulator}: left out, because {reason}")
        if self.options.assertions and simulator == "icarus":
            self.report.notes.append("assertions: not checked on icarus, which has none")
        if self.options.dut.file.reset is None:
            self.report.notes.append(f"handshake and reset on {simulator}: left out, because there is no reset")

    def _row(self, simulator: str, played: Played, job: Path) -> Row:
        options, suite = self.options, played.suite
        row = Row(options.name, suite.name, simulator, played.planned, played.outcome)
        row.notes = [f"{count:,} cases left out, which take {why}" for why, count in suite.left_out]
        if row.passed:
            return row
        waves = str(options.folder / job.name / "dump.vcd") if options.waves else "none; add --waves"
        note, again = f"seed {options.seed}; waveform: {waves}", options.again((simulator,))
        files = (File(what="waveform", path=waves),) if options.waves else ()
        for mismatch in played.outcome.mismatches[:1]:
            case = played.case(mismatch.index)
            made = told(row, options.dut.unit, mismatch, case, None)
            called = str(options.dut.file.unit)
            explain = explain_command(options.dut.unit, called, case) if case and made.explanation else ""
            row.told.append(made.changed(notes=(note,), files=files, again=again, explain=explain))
        if not row.told:
            row.notes += ["the simulation's log:", *(assertions_in(job) or log_end(job)), note, f"again: {again}"]
        return row

    # The simplest failing case.

    def _single(self, played: Sequence[Played]) -> None:
        """The case of a case file as it is."""
        ((case,), (expected,), (code,)) = played[0].suite.cases, played[0].suite.expected, played[0].codes.tolist()
        if code != MISSING:
            self.report.minimal = Shrunk(case, expected, code, 1, 1)
            self.report.story = story(self.options.dut, self.report.minimal)[1:]

    def _minimize(self, simulator: str, played: Sequence[Played]) -> None:
        failing = list(_failing(played))
        if not failing:
            return
        scratch = self.folder / ".shrinking"
        plain = Built(self.options.dut)  # an assertion that fails would end the simulation of all candidates
        shrinker = Shrinker(self.options.dut, lambda cases: plain.answers(simulator, cases, scratch, self.options.seed))
        found = shrinker.shrink(failing)
        if found is None:
            self.report.story = [
                f"no minimal case: none of {len(failing):,} failing cases fails alone, after a reset and without "
                "back-pressure; see registers, contexts and handshake"
            ]
            return
        self.report.minimal = found
        named = self._named(played)
        lines = [*story(self.options.dut, found), *named]
        folder = self.folder / MINIMAL
        files, again = self._kept(simulator, found, folder)
        lines += [f"{what}: {path}" for what, path in files.items()] + [f"again: {again}"]
        self.report.story = lines
        self.report.told = minimal_mismatch(self.options.dut, simulator, found, named, files, again)
        (folder / "story.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _named(self, played: Sequence[Played]) -> list[str]:
        """The semantics that explain what the design returned, the best first."""
        wrong: list[tuple[Case, int]] = []
        right: list[tuple[Case, int]] = []
        for one in played:
            if one.suite.resets or one.suite.name.startswith("code pairs"):
                continue
            for case, code, expected in zip(one.suite.cases, one.codes.tolist(), one.suite.expected, strict=True):
                if code >= 0:
                    (right if code == expected else wrong).append((case, code))
        found = explanations(self.options.dut.unit, wrong, right)
        self.report.named = [one.name for one in found if one.everything]
        return naming(found)

    def _kept(self, simulator: str, found: Shrunk, folder: Path) -> tuple[dict[str, str], str]:
        """The case as files, with a waveform: what they are and where, and the command that plays it again."""
        options = self.options
        path = write_case(folder, self.built, found.case, found.got if found.got >= 0 else None)
        traced = "icarus" if "icarus" in options.simulators else simulator
        suite = DutSuite("case", (found.case,), (found.expected,))
        job = self.folder / ".tracing"
        Built(options.dut).play(traced, [suite], self.planner.rng("minimal"), job, trace=True, seed=options.seed)
        shutil.move(job / "dump.vcd", folder / "dump.vcd")
        shutil.rmtree(job)
        final = options.folder / MINIMAL
        words = ["hwsim", "cosim", "--dut", options.called or str(options.dut.path), "--sim", simulator]
        files = {"operands": "operands.hex", "expected": "expected.hex", "waveform": "dump.vcd"}
        again = shlex.join([*words, "--case", str(final / path.name), "-o", f"{options.folder}-case"])
        return {what: str(final / name) for what, name in files.items()}, again


def assertions_in(job: Path) -> list[str]:
    """The assertions that failed in a simulation, a line each."""
    log = job / "simulation.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return [f"  {line}" for line in text.splitlines() if "Assertion failed" in line]


def _failing(played: Sequence[Played]) -> list[Case]:
    """The cases that something was wrong with."""
    found = []
    for one in played:
        for mismatch in one.outcome.mismatches:
            case = one.case(mismatch.index)
            if case is not None:
                found.append(case)
    return found
