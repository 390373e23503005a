"""The jobs of a campaign: the same whatever runs them, so that a run that was interrupted finds what is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from hwsim.campaign.file import Campaign, FuzzJobs, FuzzRange, MatrixJobs
from hwsim.campaign.job import CampaignJob, ChosenSuites, DesignJob, FuzzJob, TablesJob, UnitJob, content_of
from hwsim.campaign.matrix import Combination, PipelineKeys, Simulator
from hwsim.errors import InputError
from hwsim.formats.catalog import looks_like_path
from hwsim.formats.yamlfile import Location, shown
from hwsim.fuzz.campaign import EVERY
from hwsim.fuzz.trial import SIDES, Side
from hwsim.spec import Specified, load_specified, pipeline

MOST_JOBS = 100_000
USUAL = PipelineKeys()
# Guesses, in seconds of a core, that a progress bar begins with.
COST: dict[Simulator, float] = {"verilator": 40.0, "icarus": 20.0}
COST_OF_UNIT, COST_OF_CASES = 4.0, 1 / 20_000


@dataclass(frozen=True)
class JobPlan:
    """Jobs, by their keys; several of one key are one. repeated: names of those that another job is, too."""

    jobs: dict[str, CampaignJob] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)


def planned(campaign: Campaign) -> JobPlan:
    """All jobs of a campaign.

    Raises SpecError for a unit or a design that cannot be, an `exclude` without use, two jobs of one name and none at
    all; ToolMissing for a simulator that jobs run.
    """
    plan, names = JobPlan(), dict[str, str]()
    for job in _jobs(campaign):
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
        names[job.name] = key
        plan.jobs[key] = job
    return plan


def _jobs(campaign: Campaign) -> Iterator[CampaignJob]:
    for name, section in campaign.file.jobs.items():
        match section:
            case MatrixJobs():
                yield from MatrixPlanner(campaign, name, section).jobs()
            case FuzzJobs():
                yield from _fuzz_jobs(name, section.fuzz)
            case _:
                assert_never(section)


def _fuzz_jobs(section: str, units: FuzzRange) -> Iterator[FuzzJob]:
    steps: dict[Side, int] = {side: units.every.get(side, EVERY.get(side, 1)) for side in SIDES}
    width = len(str(units.last))
    for first in range(units.first, units.last + 1, units.block):
        last = min(first + units.block - 1, units.last)
        yield FuzzJob(
            name=f"{section}/seed-{units.seed}/{first:0{width}}-{last:0{width}}",
            cost=(last - first + 1) * (COST_OF_UNIT + units.cases * COST_OF_CASES),
            seed=units.seed,
            first=first,
            last=last,
            cases=units.cases,
            every=tuple(sorted(steps.items())),
        )


@dataclass(frozen=True)
class MatrixPlanner:
    """Makes the jobs of one section with a matrix. units, contents: what was read of files, which is read once."""

    campaign: Campaign
    name: str
    section: MatrixJobs
    units: dict[str, Specified] = field(default_factory=dict)
    contents: dict[Path, str] = field(default_factory=dict)

    @property
    def place(self) -> Location:
        """Where the matrix is in the file."""
        return ("jobs", self.name, "matrix")

    def jobs(self) -> Iterator[CampaignJob]:
        """One for each combination, and those with tables of formats."""
        matrix = self.section.matrix
        combinations = list(
            matrix.combinations(
                lambda at: self.campaign.wrong((*self.place, "exclude", at), "must match a combination at least")
            )
        )
        made = [self._job(one) for one in combinations]
        if not made:
            raise self.campaign.wrong(self.place, "must leave a combination at least")
        yield from self._tables([one for one in made if isinstance(one, UnitJob)])
        yield from made

    def _tables(self, jobs: list[UnitJob]) -> Iterator[TablesJob]:
        wanted = self.section.tables
        if not jobs or not (self.section.suites is None if wanted is None else wanted):
            return
        units = tuple({one.called: one.unit for one in jobs}.items())
        for simulator in dict.fromkeys(one.asked.simulator for one in jobs):
            name = f"{self.name}/tables/{simulator}"
            yield TablesJob(name=name, cost=COST[simulator], simulator=simulator, units=units)

    def _job(self, one: Combination) -> CampaignJob:
        wrong = self.campaign.wrong
        if one.simulator is None:
            raise wrong((*self.place, "include"), "must say simulator where it is a combination of its own")
        if (one.unit is None) == (one.design is None):
            raise wrong(self.place, "must say unit or design, and not both, in each combination")
        asked = self._asked(one, one.simulator)
        words = [one.simulator, f"seed-{asked.seed}", *([f"cases-{one.cases}"] if one.cases is not None else [])]
        cost = COST[one.simulator]
        if one.design is not None:
            if one.mode is not None or one.pipeline not in (None, USUAL):
                raise wrong(self.place, "must not say mode or pipeline of a design")
            path, content = self._content(one.design)
            name = "/".join([self.name, path.stem, *words])
            return DesignJob(name=name, cost=cost, asked=asked, path=path, content=content)
        called, unit = self._unit(one)
        built = self._built(unit, one)
        name = "/".join([self.name, Path(called).name, *([built.label] if built.label else []), *words])
        return UnitJob(name=name, cost=cost, asked=asked, unit=unit, called=called, built=built)

    def _asked(self, one: Combination, simulator: Simulator) -> ChosenSuites:
        """What a combination says, and where it says nothing the section."""
        section = self.section
        suites = one.suites or section.suites
        return ChosenSuites(
            simulator=simulator,
            seed=1 if one.seed is None else one.seed,
            cases=one.cases or section.cases,
            suites=None if suites is None else frozenset(suites),
            stuck_after=one.stuck_after or section.stuck_after,
            coverage=section.coverage if one.coverage is None else one.coverage,
            minimize=section.minimize,
        )

    def _unit(self, one: Combination) -> tuple[str, Specified]:
        """What a command line calls a combination's unit, or one mode of it, and the unit."""
        assert one.unit is not None
        name = str(self.campaign.folder / one.unit) if looks_like_path(one.unit) else one.unit
        called = name if one.mode in (None, "all") else f"{name}:{one.mode}"
        try:
            if called not in self.units:
                self.units[called] = load_specified(called)
            return called, self.units[called]
        except InputError as error:
            raise self.campaign.wrong((*self.place, "unit"), f"names {shown(one.unit)}: {error}") from None

    def _built(self, unit: Specified, one: Combination) -> PipelineKeys:
        """The pipeline's keys, after it was tried that the unit takes them."""
        built = one.pipeline or USUAL
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
