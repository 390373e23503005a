"""The jobs of a campaign: the same whatever runs them, so that a run that was interrupted finds what is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from hwsim.base.errors import InputError
from hwsim.cosim.campaign.file import Campaign, Combination, FuzzJobs, FuzzRange, MatrixJobs, PipelineKeys, Simulator
from hwsim.cosim.campaign.job import (
    CampaignJob,
    HandedSides,
    content_of,
    design_job,
    fuzz_job,
    tables_job,
    unit_job,
)
from hwsim.cosim.design import AskedSuites
from hwsim.cosim.fuzz.run import EVERY, FuzzPlan
from hwsim.cosim.fuzz.trial import SIDES, Side
from hwsim.cosim.run import CosimOptions
from hwsim.formats.catalog import looks_like_path
from hwsim.formats.yamlfile import Location, shown
from hwsim.spec import Specified, load_specified, pipeline

MOST_JOBS = 100_000
USUAL = PipelineKeys()


@dataclass(frozen=True)
class JobPlan:
    """Jobs by their keys; jobs of the same key count once. repeated: names of jobs whose key another job has."""

    jobs: dict[str, CampaignJob] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)


def planned(campaign: Campaign, handed: HandedSides | None = None) -> JobPlan:
    """All jobs of a campaign. handed: sides of random units that are not cosim's own.

    Raises SpecError for a unit or a design that cannot be, an `exclude` without use, two jobs of one name and none at
    all; ToolMissing for a simulator that jobs run.
    """
    plan, names = JobPlan(), set[str]()
    for job in _jobs(campaign, handed or HandedSides()):
        if (key := job.key) in plan.jobs:
            plan.repeated.append(job.name)
            continue
        if job.name in names:
            raise InputError(
                f"{campaign.path}: two jobs are called {job.name}, which differ in more than a name says: give one of "
                "them a section of its own under jobs"
            )
        if len(plan.jobs) == MOST_JOBS:
            raise InputError(f"{campaign.path}: must have at most {MOST_JOBS:,} jobs; it has more")
        names.add(job.name)
        plan.jobs[key] = job
    return plan


def _jobs(campaign: Campaign, handed: HandedSides) -> Iterator[CampaignJob]:
    for name, section in campaign.file.jobs.items():
        match section:
            case MatrixJobs():
                yield from _MatrixPlanner(campaign, name, section).jobs()
            case FuzzJobs():
                yield from _fuzz_jobs(name, section.fuzz, handed)
            case _:
                assert_never(section)


def _fuzz_jobs(section: str, units: FuzzRange, handed: HandedSides) -> Iterator[CampaignJob]:
    every: dict[Side, int] = {side: units.every.get(side, EVERY.get(side, 1)) for side in SIDES}
    width = len(str(units.last))
    for first in range(units.first, units.last + 1, units.block):
        last = min(first + units.block - 1, units.last)
        name = f"{section}/seed-{units.seed}/{first:0{width}}-{last:0{width}}"
        count, asks = last - first + 1, dict(handed.asks)
        plan = FuzzPlan(count, units.cases, units.seed, every=every, first=first, kept=False, handed=asks)
        yield fuzz_job(name, plan, handed.code)


@dataclass(frozen=True)
class _MatrixPlanner:
    """Makes the jobs of one section with a matrix. units, contents: caches, so that each file is read once."""

    campaign: Campaign
    name: str
    section: MatrixJobs
    units: dict[str, Specified] = field(default_factory=dict)
    contents: dict[Path, str] = field(default_factory=dict)

    @property
    def place(self) -> Location:
        return ("jobs", self.name, "matrix")

    def jobs(self) -> Iterator[CampaignJob]:
        """Yield one job for each combination, and those with tables of formats."""
        combinations = self.section.matrix.combinations(
            lambda index: self.campaign.wrong((*self.place, "exclude", index), "must match a combination at least")
        )
        jobs = [self._job(combination) for combination in list(combinations)]
        if not jobs:
            raise self.campaign.wrong(self.place, "must leave a combination at least")
        wanted = self.section.tables
        if self.units and (self.section.suites is None if wanted is None else wanted):
            for simulator in dict.fromkeys(job.simulators[0] for job in jobs if job.dut is None):
                yield tables_job(f"{self.name}/tables/{simulator}", simulator, self.units)
        yield from jobs

    def _job(self, combination: Combination) -> CampaignJob:
        wrong, simulator = self.campaign.wrong, combination.simulator
        if simulator is None:
            raise wrong((*self.place, "include"), "must say simulator where it is a combination of its own")
        if (combination.unit is None) == (combination.design is None):
            raise wrong(self.place, "must say unit or design, and not both, in each combination")
        chosen = self._suites(combination, simulator)
        cases = [] if combination.cases is None else [f"cases-{combination.cases}"]
        words = [simulator, f"seed-{chosen.seed}", *cases]
        if combination.design is not None:
            if combination.mode is not None or combination.pipeline not in (None, USUAL):
                raise wrong(self.place, "must not say mode or pipeline of a design")
            path, content = self._content(combination.design)
            return design_job("/".join([self.name, path.stem, *words]), chosen, path, content)
        called, unit = self._unit(combination)
        built = self._built(unit, combination)
        name = "/".join([self.name, Path(called).name, *([built.label] if built.label else []), *words])
        return unit_job(name, chosen, unit, called, built)

    def _suites(self, combination: Combination, simulator: Simulator) -> CosimOptions:
        """The options of a combination, with the section's where the combination has none."""
        section = self.section
        suites = combination.suites or section.suites
        return CosimOptions(
            designs=(),
            simulators=(simulator,),
            seed=1 if combination.seed is None else combination.seed,
            cases=combination.cases or section.cases,
            suites=AskedSuites(frozenset(suites or ())),
            stuck_after=combination.stuck_after or section.stuck_after,
            coverage=section.coverage if combination.coverage is None else combination.coverage,
            minimize=section.minimize,
        )

    def _unit(self, combination: Combination) -> tuple[str, Specified]:
        """A combination's unit, or one mode of it, with its name on a command line."""
        name = combination.unit
        assert name is not None
        called = str(self.campaign.folder / name) if looks_like_path(name) else name
        called = called if combination.mode in (None, "all") else f"{called}:{combination.mode}"
        try:
            if called not in self.units:
                self.units[called] = load_specified(called)
            return called, self.units[called]
        except InputError as error:
            raise self.campaign.wrong((*self.place, "unit"), f"names {shown(name)}: {error}") from None

    def _built(self, unit: Specified, combination: Combination) -> PipelineKeys:
        """The pipeline's keys, once they are known to fit the unit."""
        built = combination.pipeline or USUAL
        try:
            pipeline(unit, built.cuts, built.contexts, register_ready=built.register_ready)
        except ValueError as error:
            raise self.campaign.wrong((*self.place, "pipeline"), f"does not fit {unit.name}: {error}") from None
        return built

    def _content(self, design: str) -> tuple[Path, str]:
        path = self.campaign.folder / design
        try:
            if path not in self.contents:
                self.contents[path] = content_of(path)
            return path, self.contents[path]
        except InputError as error:
            raise self.campaign.wrong((*self.place, "design"), f"names {shown(design)}: {error}") from None
