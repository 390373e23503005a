"""Jobs: what a worker does alone, known by a digest of all that its outcome depends on."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, cast

import hwsim
from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import NO_ROOM
from hwsim.base.package import identity
from hwsim.base.processes import scratch_folder
from hwsim.base.text import counted
from hwsim.cosim.build import BuildFailed, verilator_version
from hwsim.cosim.campaign.file import PipelineKeys, Simulator
from hwsim.cosim.campaign.results import Breakage, JobOutcome
from hwsim.cosim.design import Design
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.fuzz.draw import counted_settings
from hwsim.cosim.fuzz.run import UNPLAYED, FuzzedUnit, FuzzPlan, collected_between, fuzzed, reasons, unplayed
from hwsim.cosim.fuzz.trial import Ask, Side, defect_words
from hwsim.cosim.run import CosimOptions, NoProgress, carried_out, check
from hwsim.cosim.tables import tables_design
from hwsim.cosim.tools import find_icarus, find_verilator
from hwsim.cosim.unitdesign import design_of
from hwsim.explain import CodeReading, CoverageGroup, LeftOut, Mismatch, Row, RunReport, coverage_groups
from hwsim.runners import OtherCode, Rows, WorkPart
from hwsim.spec import Specified, as_yaml, pipeline

MOST_FILE = 1 << 20  # bytes of a file that an outcome keeps
VERSION_SECONDS = 60  # that a program may take to say its version
# Guesses, in seconds of a core, that a progress bar begins with.
COST: dict[Simulator, float] = {"verilator": 40.0, "icarus": 20.0}
COST_OF_UNIT, COST_OF_CASES = 4.0, 1 / 20_000
# What was compared, and files where something failed.
Ran = tuple[RunReport, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class CampaignJob(WorkPart):
    """A job.

    name: unlike any other's of its campaign. words: what it does, for people. inputs: all that its outcome depends on
    beside the code of hwsim, as plain data. simulators: those that it runs. action: does it. cost: a guess, in seconds.
    dut: a design's file, whose `content` is among the inputs. code: the module that imports all that it may call.
    """

    name: str
    words: str
    inputs: Mapping[str, Any]
    simulators: tuple[Simulator, ...]
    action: Callable[[], Ran]
    cost: float = 10.0
    dut: Path | None = None
    code: str = __name__

    @property
    def work(self) -> int:
        return max(1, round(self.cost * 1000))

    @cached_property  # it goes along to the worker, which need not read all of hwsim's code
    def key(self) -> str:
        """A digest of its inputs, of versions of simulators, and of hwsim's code."""
        tools = {name: simulator_version(name) for name in self.simulators}
        text = json.dumps([identity(self.code), self.name, dict(self.inputs), tools], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def check(self) -> None:
        """Raise OtherCode where a design's files hold something else."""
        if self.dut is not None and content_of(self.dut) != self.inputs["content"]:
            raise OtherCode(f"{self.dut}: a worker finds other sources there than this machine")

    def execute(self) -> Rows:
        """Run the job; return its outcome. Raises ToolMissing, and OSError of a full disk: no failures of the job."""
        started = time.monotonic()

        def outcome(**more: Any) -> Rows:
            seconds = round(time.monotonic() - started, 3)
            return [JobOutcome(key=self.key, name=self.name, seconds=seconds, **more).model_dump(mode="json")]

        try:
            report, files = self.action()
        except ToolMissing:
            raise
        except (BuildFailed, InputError) as error:  # a source that cannot be elaborated, a cut that is no step
            return outcome(breakage=Breakage(kind="build", said=str(error)))
        except Exception as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            return outcome(breakage=Breakage(kind="error", said=defect_words(error)))
        return outcome(report=report, files={} if report.passed else files)


@cache
def simulator_version(simulator: Simulator) -> str:
    """The version of an installed simulator, which is part of a job's key. Raises ToolMissing."""
    if simulator == "verilator":
        return verilator_version(find_verilator())
    program = find_icarus()
    try:
        done = subprocess.run(
            [program, "-V"], capture_output=True, text=True, errors="replace", timeout=VERSION_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{program} does not say its version: {error}") from None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "")


# Co-simulation.


def unit_job(name: str, options: CosimOptions, unit: Specified, called: str, built: PipelineKeys) -> CampaignJob:
    """A job for suites of our RTL of a unit on one simulator. called: the unit's name on a command line."""
    inputs = {"unit": as_yaml(unit), "pipeline": built.model_dump(mode="json")}
    design = partial(_unit_design, unit, called, built)
    return _suites_job(name, options, f"our RTL of {unit.name}", inputs, design)


def design_job(name: str, options: CosimOptions, path: Path, content: str) -> CampaignJob:
    """A job for suites of a user's design on one simulator. content: a digest of its files, wherever they lie."""
    return _suites_job(name, options, path.name, {"content": content}, partial(_users_design, path), path)


def _suites_job(
    name: str, options: CosimOptions, words: str, inputs: dict[str, Any], design: Callable[[], Design],
    dut: Path | None = None,
) -> CampaignJob:  # fmt: skip
    simulator, only, cases = cast(Simulator, options.simulators[0]), sorted(options.suites.only), options.cases
    keys = ("simulators", "seed", "cases", "stuck_after", "coverage", "minimize")
    asked = {key: getattr(options, key) for key in keys}
    suites = counted(len(only), "suite") if only else "all suites"
    random = "" if cases is None else f", {counted(cases, 'random case')}"
    return CampaignJob(
        name=name, cost=COST[simulator], words=f"{words}: {suites} on {simulator}{random}, seed {options.seed}",
        simulators=(simulator,), inputs={**asked, "suites": only, **inputs},
        action=partial(_run_suites, options, design), dut=dut,
    )  # fmt: skip


def _unit_design(unit: Specified, called: str, built: PipelineKeys) -> Design:
    return design_of(unit, pipeline(unit, built.cuts, built.contexts, register_ready=built.register_ready), called)


def _users_design(path: Path) -> Design:
    return dut_design(load_dut(path), called=str(path))


def _run_suites(options: CosimOptions, design: Callable[[], Design]) -> Ran:
    """Run the suites as `hwsim cosim` does, in a temporary folder."""
    options = replace(options, designs=(design(),))
    check(options)
    with scratch_folder() as folder:
        report = _without_files(carried_out(options, folder, NoProgress(), time.monotonic()))
        return report, {
            f"{place.name}-{name}": text
            for place in sorted(folder.glob("minimal*"))
            for name, text in _texts(place).items()
        }


def _without_files(report: RunReport) -> RunReport:
    """The report without paths of files in the temporary folder of the run."""
    kinds = tuple(
        kind.changed(minimal=None if kind.minimal is None else kind.minimal.changed(files=())) for kind in report.kinds
    )
    return report.changed(mismatches=tuple(mismatch.changed(files=()) for mismatch in report.mismatches), kinds=kinds)


def _texts(folder: Path) -> dict[str, str]:
    """The small texts of a folder, by name."""
    paths = sorted(folder.glob("*")) if folder.is_dir() else []
    small = [path for path in paths if path.suffix in {".yaml", ".hex"} and path.stat().st_size <= MOST_FILE]
    return {path.name: path.read_text("utf-8", "replace") for path in small}


def content_of(path: Path) -> str:
    """A digest of a design's file, its unit, and all sources that it reads. Raises SpecError for a wrong file."""
    dut = load_dut(path)
    try:
        sources: Sequence[Path] = dut_design(dut).module.files
    except InputError:  # what cannot be elaborated is a failure of its jobs
        sources = dut.sources.files
    digest = hashlib.sha256(as_yaml(dut.sparse or dut.unit).encode())
    for file in (path, *sorted(sources)):
        digest.update(b"\0" + file.read_bytes())
    return digest.hexdigest()[:32]


def tables_job(name: str, simulator: Simulator, units: Mapping[str, Specified]) -> CampaignJob:
    """A job for every code and product of every format, through the RTL. units: by their names on a command line."""
    return CampaignJob(
        name=name, cost=COST[simulator], words=f"codec tables and products on {simulator}", simulators=(simulator,),
        inputs={"simulator": simulator, "units": [(called, as_yaml(unit)) for called, unit in units.items()]},
        action=partial(_run_tables, simulator, dict(units)),
    )  # fmt: skip


def _run_tables(simulator: Simulator, units: dict[str, Specified]) -> Ran:
    options = CosimOptions(designs=(tables_design(units),), simulators=(simulator,))
    with scratch_folder() as folder:
        return _without_files(carried_out(options, folder, NoProgress(), time.monotonic())), {}


# Random units: a row for each side, a mismatch for each finding, and what was drawn as coverage.

RANDOM_UNITS = "random units"  # the driver, and what coverage calls all of them: settings are of the language
SHOWN = 400  # characters of a finding


@dataclass(frozen=True)
class HandedSides:
    """Sides of random units from packages above. asks: by side. code: the module that imports them and this one."""

    asks: Mapping[Side, Ask] = field(default_factory=dict)
    code: str = __name__


def fuzz_job(name: str, plan: FuzzPlan, code: str = __name__) -> CampaignJob:
    """A job for random units, by a plan without a folder. code: as of `HandedSides`."""
    simulators: dict[Side, Simulator] = {"RTL": "verilator", "Icarus": "icarus"}
    keys = ("seed", "first", "units", "cases")
    return CampaignJob(
        name=name,
        cost=plan.units * (COST_OF_UNIT + plan.cases * COST_OF_CASES),
        words=f"{counted(plan.units, 'random unit')} of seed {plan.seed}, {counted(plan.cases, 'case')} each",
        simulators=tuple(
            simulator
            for side, simulator in simulators.items()
            if any(plan.has(number, side) for number in plan.numbers)
        ),
        inputs={**{key: getattr(plan, key) for key in keys}, "every": dict(plan.every)},
        action=partial(_run_random_units, plan),
        code=code,
    )


def _run_random_units(plan: FuzzPlan) -> Ran:
    """Put each unit through all sides; findings are made simpler, and kept as files."""
    with scratch_folder() as folder:
        plan = replace(plan, folder=folder)
        units = [fuzzed(plan, number) for number in collected_between(plan.numbers)]
        return random_units_report(plan, units), _texts(folder)


def random_units_report(plan: FuzzPlan, units: Sequence[FuzzedUnit]) -> RunReport:
    """The report of some units of a plan."""
    first, last = units[0].number, units[-1].number
    name = f"units {first} to {last} of seed {plan.seed}"
    findings = [(unit, *finding) for unit in units for finding in unit.found]
    sides = dict.fromkeys([*(side for unit in units for side in unit.cases), *(side for _, side, _, _ in findings)])
    mismatches = tuple(
        Mismatch(
            unit=name, suite=side, driver=RANDOM_UNITS, case=f"unit {unit.number}", what="finding",
            expected=CodeReading(code="equal", value=""), got=CodeReading(code=words[:SHOWN], value=""),
            notes=(f"seed {plan.seed}",), again=f"hwsim fuzz --again {file}" if file else "",
        )
        for unit, side, words, file in findings
    )  # fmt: skip
    return RunReport(
        title=f"Random {name}",
        command=f"hwsim fuzz --first {first} --units {len(units)} --cases {plan.cases} --seed {plan.seed} -o found",
        version=hwsim.__version__,
        seed=plan.seed,
        rows=tuple(_side_row(name, side, units, mismatches) for side in sides),
        left_out=tuple(_left_out(name, plan, units)),
        coverage=_drawn(units),
        mismatches=mismatches,
    )


def _side_row(name: str, side: Side, units: Sequence[FuzzedUnit], mismatches: Sequence[Mismatch]) -> Row:
    """A side's row; for a unit on which it raised, nothing counts as compared."""
    wrong = sum(mismatch.suite == side for mismatch in mismatches)
    asked = sum(unit.cases.get(side, 0) for unit in units)
    raised = sum(side not in unit.cases and any(where == side for where, _, _ in unit.found) for unit in units)
    return Row(
        unit=name, suite=side, driver=RANDOM_UNITS, planned=asked + raised, compared=asked, mismatches=wrong
    )  # fmt: skip


def _left_out(name: str, plan: FuzzPlan, units: Sequence[FuzzedUnit]) -> Iterator[LeftOut]:
    """Yield the reasons why sides do not have units, with the number of cases that they were not asked for."""
    ran = {side for unit in units for side in [*unit.cases, *(side for side, _, _ in unit.found)]}
    for side, counts in reasons(units).items():
        for reason, count in counts.items() if side != "any" else ():
            cases, why = count if side in ran else 0, f"units with {reason}"
            yield LeftOut(unit=name, suite=side, driver=RANDOM_UNITS, cases=cases, reason=why)
    if cases := unplayed(plan.cases, units):
        yield LeftOut(unit=name, suite="RTL", driver=RANDOM_UNITS, cases=cases, reason=UNPLAYED)


def _drawn(units: Sequence[FuzzedUnit]) -> tuple[CoverageGroup, ...]:
    """The bins of every value of every key; a value that was never drawn is open, since it may be impossible."""
    counts = counted_settings(unit.settings for unit in units)
    planned = [(key, f"{key}: {value}", None, "") for key, values in counts.items() for value in values]
    hits = {f"{key}: {value}": count for key, values in counts.items() for value, count in values.items() if count}
    return coverage_groups(planned, hits, unit=RANDOM_UNITS)
