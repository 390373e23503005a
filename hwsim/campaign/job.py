"""Jobs: what a worker does alone, known by a digest of all that its outcome depends on."""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import hwsim
from hwsim.campaign.matrix import PipelineKeys, Simulator
from hwsim.campaign.outcome import Breakage, JobOutcome
from hwsim.campaign.randomunits import random_units_report
from hwsim.campaign.versions import simulator_version
from hwsim.cosim.build import BuildFailed
from hwsim.cosim.design import AskedSuites, Design, SuiteKind
from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, NoProgress, carried_out, check
from hwsim.cosim.tables import tables_design
from hwsim.cosim.unitdesign import design_of
from hwsim.errors import InputError, ToolMissing
from hwsim.explain import RunReport
from hwsim.files import NO_ROOM
from hwsim.fuzz.campaign import FuzzPlan, collected_between, fuzzed
from hwsim.fuzz.trial import Side
from hwsim.leftovers import scratch_folder
from hwsim.runners import OtherCode, Rows, WorkPart
from hwsim.sources import identity
from hwsim.spec import Specified, as_yaml, pipeline
from hwsim.words import counted

LAST_LINES = 3  # of a traceback
MOST_FILE = 1 << 20  # bytes of a file that an outcome keeps
Ran = tuple[RunReport, dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class CampaignJob(WorkPart):
    """A job. name: unlike any other's of its campaign. cost: a guess, in seconds."""

    code = "hwsim.campaign.job"

    name: str
    cost: float = 10.0

    @property
    def work(self) -> int:
        """The guess, in milliseconds."""
        return max(1, round(self.cost * 1000))

    @property
    @abstractmethod
    def words(self) -> str:
        """What it does, for people."""

    @property
    @abstractmethod
    def said(self) -> Mapping[str, Any]:
        """All that its outcome depends on beside the code of hwsim, as plain data."""

    @property
    @abstractmethod
    def simulators(self) -> Sequence[Simulator]:
        """The simulators that it runs."""

    @abstractmethod
    def ran(self) -> Ran:
        """What was compared, and files where something failed."""

    @cached_property  # it goes along to the worker, which need not read all of hwsim's code
    def key(self) -> str:
        """A digest of what it says, of versions of simulators, and of hwsim's code."""
        tools = {name: simulator_version(name) for name in self.simulators}
        text = json.dumps([identity(self.code), type(self).__name__, self.name, dict(self.said), tools], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def check(self) -> None:
        """Nothing: a job says all that it needs, unless it has files."""

    def execute(self) -> Rows:
        """Its outcome. Raises ToolMissing, and OSError of a full disk, which are no failures of the job."""
        started = time.monotonic()

        def outcome(**more: Any) -> Rows:
            seconds = round(time.monotonic() - started, 3)
            made = JobOutcome(key=self.key, name=self.name, seconds=seconds, **more)
            return [made.model_dump(mode="json")]

        try:
            report, files = self.ran()
        except ToolMissing:
            raise
        except BuildFailed as error:
            return outcome(breakage=Breakage(kind="build", said=str(error)))
        except InputError as error:  # a source that cannot be elaborated, a cut that is no step
            return outcome(breakage=Breakage(kind="build", said=str(error)))
        except Exception as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            return outcome(breakage=Breakage(kind="error", said=_defect(error)))
        return outcome(report=report, files={} if report.passed else files)


def _defect(error: Exception) -> str:
    lines = [line.strip().splitlines()[0] for line in traceback.format_tb(error.__traceback__)[-LAST_LINES:]]
    return f"{type(error).__name__}: {str(error)[:600]} ({' < '.join(lines[::-1])})"


@dataclass(frozen=True, kw_only=True)
class ChosenSuites:
    """What a design is put through, and on what: as CosimOptions has it."""

    simulator: Simulator
    seed: int = 1
    cases: int | None = None
    suites: frozenset[SuiteKind] | None = None
    stuck_after: int | None = None
    coverage: bool = True
    minimize: bool = True

    @property
    def said(self) -> Mapping[str, Any]:
        """All of it, as plain data."""
        return {**asdict(self), "suites": None if self.suites is None else sorted(self.suites)}

    def __str__(self) -> str:
        suites = "all suites" if self.suites is None else counted(len(self.suites), "suite")
        cases = "" if self.cases is None else f", {counted(self.cases, 'random case')}"
        return f"{suites} on {self.simulator}{cases}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class SuitesJob(CampaignJob):
    """Suites of a design on one simulator."""

    asked: ChosenSuites

    @property
    def said(self) -> Mapping[str, Any]:
        """What is asked."""
        return self.asked.said

    @property
    def simulators(self) -> Sequence[Simulator]:
        """One."""
        return (self.asked.simulator,)

    @abstractmethod
    def design(self) -> Design:
        """What is put through the suites."""

    def ran(self) -> Ran:
        """As `hwsim cosim` runs it, in a folder for a while."""
        asked = self.asked
        options = CosimOptions(
            designs=(self.design(),),
            simulators=(asked.simulator,),
            seed=asked.seed,
            cases=asked.cases,
            stuck_after=asked.stuck_after,
            suites=AskedSuites(asked.suites or frozenset()),
            coverage=asked.coverage,
            minimize=asked.minimize,
        )
        check(options)
        with scratch_folder() as folder:
            report = carried_out(options, folder, NoProgress(), time.monotonic())
            kept = {
                f"{place.name}-{name}": text
                for place in sorted(folder.glob("minimal*"))
                for name, text in _texts(place).items()
            }
            return _without_files(report), kept


def _without_files(report: RunReport) -> RunReport:
    """The same, without paths of files that went with the folder of the run."""
    told = tuple(one.changed(files=()) for one in report.mismatches)
    kinds = tuple(
        kind.changed(minimal=None if kind.minimal is None else kind.minimal.changed(files=())) for kind in report.kinds
    )
    return report.changed(mismatches=told, kinds=kinds)


def _texts(folder: Path) -> dict[str, str]:
    """The small texts of a folder, by name."""
    found = sorted(folder.glob("*")) if folder.is_dir() else []
    small = [path for path in found if path.suffix in {".yaml", ".hex"} and path.stat().st_size <= MOST_FILE]
    return {path.name: path.read_text("utf-8", "replace") for path in small}


@dataclass(frozen=True, kw_only=True)
class UnitJob(SuitesJob):
    """Our RTL of a unit. called: what a command line calls it."""

    unit: Specified
    called: str
    built: PipelineKeys

    @property
    def words(self) -> str:
        """The unit and the suites."""
        return f"our RTL of {self.unit.name}: {self.asked}"

    @property
    def said(self) -> Mapping[str, Any]:
        """The unit and its pipeline too."""
        return {**super().said, "unit": as_yaml(self.unit), "pipeline": self.built.model_dump(mode="json")}

    def design(self) -> Design:
        """The RTL."""
        built = self.built
        made = pipeline(self.unit, built.cuts, built.contexts, register_ready=built.register_ready)
        return design_of(self.unit, made, self.called)


@dataclass(frozen=True, kw_only=True)
class DesignJob(SuitesJob):
    """A user's design. path: of its file. content: a digest of that, of its unit and of its sources."""

    path: Path
    content: str

    @property
    def words(self) -> str:
        """The design and the suites."""
        return f"{self.path.name}: {self.asked}"

    @property
    def said(self) -> Mapping[str, Any]:
        """What the design's files hold too; where they lie does not matter."""
        return {**super().said, "content": self.content}

    def check(self) -> None:
        """Raise OtherCode where the files hold something else."""
        if content_of(self.path) != self.content:
            raise OtherCode(f"{self.path}: a worker finds other sources there than this machine")

    def design(self) -> Design:
        """The user's RTL."""
        return dut_design(load_dut(self.path), called=str(self.path))


def content_of(path: Path) -> str:
    """A digest of a design's file, its unit, and all sources that it reads. Raises SpecError for a wrong file."""
    dut = load_dut(path)
    try:
        read: Sequence[Path] = dut_design(dut).module.files
    except InputError:  # what cannot be elaborated is a failure of its jobs
        read = dut.sources.files
    digest = hashlib.sha256(as_yaml(dut.unit).encode())
    for one in (path, *sorted(read)):
        digest.update(b"\0" + one.read_bytes())
    return digest.hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class TablesJob(CampaignJob):
    """Every code and product of every format, through the RTL. units: by what a command line calls them."""

    simulator: Simulator
    units: tuple[tuple[str, Specified], ...]

    @property
    def words(self) -> str:
        """The tables and the simulator."""
        return f"codec tables and products on {self.simulator}"

    @property
    def said(self) -> Mapping[str, Any]:
        """The units, whose formats count."""
        return {"simulator": self.simulator, "units": [(called, as_yaml(unit)) for called, unit in self.units]}

    @property
    def simulators(self) -> Sequence[Simulator]:
        """One."""
        return (self.simulator,)

    def ran(self) -> Ran:
        """Both tables."""
        options = CosimOptions(designs=(tables_design(dict(self.units)),), simulators=(self.simulator,))
        with scratch_folder() as folder:
            return _without_files(carried_out(options, folder, NoProgress(), time.monotonic())), {}


@dataclass(frozen=True, kw_only=True)
class FuzzJob(CampaignJob):
    """Random units, numbers first to last, both included. every: of each side, by name; 0 for none of it."""

    seed: int
    first: int
    last: int
    cases: int
    every: tuple[tuple[Side, int], ...]

    @property
    def words(self) -> str:
        """How many units and cases."""
        units = counted(self.last - self.first + 1, "random unit")
        return f"{units} of seed {self.seed}, {counted(self.cases, 'case')} each"

    @property
    def said(self) -> Mapping[str, Any]:
        """All of it."""
        return {"seed": self.seed, "first": self.first, "last": self.last, "cases": self.cases, "every": self.every}

    @property
    def simulators(self) -> Sequence[Simulator]:
        """Those of the sides that some unit has."""
        numbers, steps = range(self.first, self.last + 1), dict(self.every)
        of_sides: dict[Side, Simulator] = {"RTL": "verilator", "Icarus": "icarus"}
        return [
            simulator
            for side, simulator in of_sides.items()
            if (step := steps.get(side, 1)) and any(number % step == 0 for number in numbers)
        ]

    def ran(self) -> Ran:
        """Each unit through all sides; what differs is made simpler, and kept as a file."""
        with scratch_folder() as folder:
            count = self.last - self.first + 1
            plan = FuzzPlan(count, self.cases, self.seed, folder, every=dict(self.every), first=self.first, kept=False)
            units = [fuzzed(plan, number) for number in collected_between(plan.numbers)]
            report = random_units_report(plan, units, hwsim.__version__)
            return report, _texts(folder)
