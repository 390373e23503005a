"""CAMPAIGN.yaml: which jobs a team runs again and again, and which of their failures are known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from hwsim.base.errors import InputError
from hwsim.cosim.design import SuiteKind
from hwsim.cosim.fuzz.findings import MOST_CASES
from hwsim.cosim.fuzz.trial import SIDES, Side
from hwsim.explain.frozen import Text
from hwsim.formats.yamlfile import Document, FilePart, Location, RuleError, SpecError, read, shown, validated

MOST_SEED = 2**32 - 1
MOST_RANGE = 100_000  # seeds of `1..N`
MOST_UNITS = 10_000_000
AXES = ("unit", "mode", "design", "pipeline", "seed", "simulator", "cases")
# Tables are of all formats: jobs of their own, which `tables` asks for.
SUITES = tuple(kind for kind in SuiteKind if kind is not SuiteKind.TABLES)

Simulator = Literal["verilator", "icarus"]
# mismatch: a result or a signal differs. incomplete: fewer results than planned. stuck: a simulator was ended in which
# no cycle ended. build: a simulator did not take the design. error: hwsim raised what it must not. lost: the job's
# process ended again and again.
FailureKind = Literal["mismatch", "incomplete", "stuck", "build", "error", "lost"]


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _seeds(value: Any) -> Any:
    """Seeds, with each range `1..20` written out; both ends belong to it."""
    seeds = list[Any]()
    for item in _listed(value):
        first, dots, last = item.partition("..") if isinstance(item, str) else ("", "", "")
        if not (dots and first.isdecimal() and last.isdecimal()):
            seeds.append(item)
            continue
        if not 0 <= int(last) - int(first) < MOST_RANGE:
            raise RuleError("", f"must be FIRST..LAST of 1 to {MOST_RANGE:,} seeds, not {item!r}")
        seeds += range(int(first), int(last) + 1)
    return seeds


def _suites(value: Any) -> Any:
    for name in _listed(value):
        if name not in SUITES:
            raise RuleError("", f"must be of {', '.join(SUITES)}, not {name!r}")
    return _listed(value)


def _steps(value: Any) -> Any:
    """The names of steps; none for the word `none`."""
    if value == "none":
        return []
    return [step.strip() for step in value.split(",") if step.strip()] if isinstance(value, str) else value


def _day(value: Any) -> Any:
    if type(value) is not date:
        raise RuleError("", f"must be a day, as 2026-11-26, not {value!r}")
    return value


class PipelineKeys(FilePart):
    """The pipeline of a unit. cuts, contexts: as `hwsim cosim --cuts` and `--contexts`; the usual ones unless given."""

    cuts: Annotated[tuple[str, ...], BeforeValidator(_steps)] | None = None
    contexts: Annotated[int, Strict(), Field(ge=1)] | None = None
    register_ready: bool = False

    @property
    def label(self) -> str:
        """The pipeline in names of jobs; empty where all is as usual."""
        cuts = "" if self.cuts is None else "+".join(self.cuts) or "none"
        contexts = "" if self.contexts is None else f"x{self.contexts}"
        return "-".join(part for part in (cuts, contexts, "ready" if self.register_ready else "") if part)


Seed = Annotated[int, Strict(), Field(ge=0, le=MOST_SEED)]
Cases = Annotated[int, Strict(), Field(ge=1, le=MOST_CASES)]
Seconds = Annotated[int, Strict(), Field(ge=1)]
Named = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Named, ...], BeforeValidator(_listed)]
Built = Annotated[PipelineKeys, BeforeValidator(lambda value: {} if value == "usual" else value)]
Suites = Annotated[tuple[SuiteKind, ...], BeforeValidator(_suites), Field(min_length=1)]
SectionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Number = Annotated[int, Strict(), Field(ge=0, le=MOST_UNITS)]


class Combination(FilePart):
    """Values of some axes, and of keys that are not axes."""

    unit: Named | None = None
    mode: Named | None = None
    design: Named | None = None
    pipeline: Built | None = None
    seed: Seed | None = None
    simulator: Simulator | None = None
    cases: Cases | None = None
    suites: Suites | None = None
    stuck_after: Seconds | None = None
    coverage: bool | None = None

    @property
    def given(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.model_fields_set}

    @model_validator(mode="after")
    def _says_something(self) -> Combination:
        if not self.model_fields_set:
            raise RuleError("", "must have a key at least")
        return self


class JobMatrix(FilePart):
    """Axes, whose values are combined. exclude: parts of combinations that are left out; one must match something.

    include: as GitHub's workflows have it. Its keys are added to each combination whose own values they do not change;
    where there is none, it is a combination itself.
    """

    unit: Names = ()
    mode: Names = ()
    design: Names = ()
    pipeline: Annotated[tuple[Built, ...], BeforeValidator(_listed)] = ()
    seed: Annotated[tuple[Seed, ...], BeforeValidator(_seeds)] = (1,)
    simulator: Annotated[tuple[Simulator, ...], BeforeValidator(_listed)] = ("verilator", "icarus")
    cases: Annotated[tuple[Cases, ...], BeforeValidator(_listed)] = ()
    exclude: tuple[Combination, ...] = ()
    include: tuple[Combination, ...] = ()

    @model_validator(mode="after")
    def _has_something(self) -> JobMatrix:
        if not (self.unit or self.design or self.include):
            raise RuleError("", "must have unit or design, an axis of one at least")
        if self.unit and self.design:
            raise RuleError("design", "must be a matrix of its own: a job is of a unit or of a design")
        return self

    def combinations(self, excluded_nothing: Callable[[int], InputError]) -> Iterator[Combination]:
        """All combinations, in the order of the axes. excluded_nothing: what to raise for an `exclude` without use."""
        names = [name for name in AXES if getattr(self, name)]
        values = itertools.product(*(getattr(self, name) for name in names)) if self.unit or self.design else ()
        kept = [dict(zip(names, row, strict=True)) for row in values]
        for index, excluded in enumerate(self.exclude):
            part = excluded.given.items()
            left = [keys for keys in kept if not all(keys.get(key) == value for key, value in part)]
            if len(left) == len(kept):
                raise excluded_nothing(index)
            kept = left
        grown, new = [dict(keys) for keys in kept], list[dict[str, Any]]()
        for included in self.include:
            added = included.given
            fitting = [
                index for index, keys in enumerate(kept)
                if all(keys.get(key, value) == value for key, value in added.items())
            ]  # fmt: skip
            for index in fitting:
                grown[index] |= added
            new += [] if fitting else [added]
        yield from (Combination.model_construct(set(keys), **keys) for keys in [*grown, *new])


class MatrixJobs(FilePart):
    """Jobs of a matrix, and the keys that all of them share unless a combination has its own.

    suites: all unless given. coverage: whether bins are counted. tables: whether there is also a job for each simulator
    with every code and product of every format; of a matrix with units, unless suites are given. minimize: whether a
    case on which a user's design fails is made simpler, as `hwsim cosim` does.
    """

    matrix: JobMatrix
    suites: Suites | None = None
    cases: Cases | None = None
    stuck_after: Seconds | None = None
    coverage: bool = True
    tables: bool | None = None
    minimize: bool = True


class FuzzRange(FilePart):
    """Random units by number, run as `hwsim fuzz` in blocks. first, last: the first and the last number.

    cases: of each unit. block: units of a job. every: for each side, which units have it: every so many-th, 0 for none.
    """

    seed: Annotated[int, Strict(), Field(ge=0, le=2**31 - 1)] = 1
    first: Number = Field(default=0, alias="from")
    last: Number = Field(alias="to")
    cases: Cases = 1000
    block: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 20
    every: dict[Side, Annotated[int, Strict(), Field(ge=0)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _in_order(self) -> FuzzRange:
        if self.last < self.first:
            raise RuleError("to", f"must be at least from ({self.first}), not {self.last}")
        if "cases" in self.every:
            raise RuleError("every.cases", f"is no side; sides are {', '.join(SIDES)}")
        return self


class FuzzJobs(FilePart):
    fuzz: FuzzRange


def _kind(value: Any) -> str:
    return "<fuzz>" if isinstance(value, dict) and "fuzz" in value else "<matrix>"


Section = Annotated[
    Annotated[MatrixJobs, Tag("<matrix>")] | Annotated[FuzzJobs, Tag("<fuzz>")], Discriminator(_kind)
]  # fmt: skip


class CampaignFile(FilePart):
    """The file's keys. campaign: its name. jobs: sections, by name. known: a file of failures that are known."""

    campaign: SectionName
    title: Text = ""
    jobs: Annotated[dict[SectionName, Section], Field(min_length=1)]
    known: str | None = None


class KnownFailure(FilePart):
    """An entry for failures that are known. job, suite: their names, with `*` and `?` as shells have them."""

    job: Named
    suite: Named = "*"
    kind: FailureKind
    reason: Annotated[Text, Field(min_length=1)]
    date: Annotated[date, BeforeValidator(_day)]

    def is_of(self, job: str) -> bool:
        return fnmatchcase(job, self.job)

    def covers(self, job: str, suite: str, kind: FailureKind) -> bool:
        return kind == self.kind and self.is_of(job) and fnmatchcase(suite, self.suite)


class KnownFile(FilePart):
    known: tuple[KnownFailure, ...] = ()


def known_reason(known: Sequence[KnownFailure], job: str, suite: str, kind: FailureKind) -> str:
    """The reason of the first entry that covers a failure; empty where none does."""
    return next((f"{entry.reason} ({entry.date.isoformat()})" for entry in known if entry.covers(job, suite, kind)), "")


@dataclass(frozen=True)
class Campaign:
    """A campaign as its file has it. known: failures that are known, in the order of their file."""

    path: Path
    file: CampaignFile
    known: tuple[KnownFailure, ...]
    document: Document

    @property
    def name(self) -> str:
        return self.file.campaign

    @property
    def folder(self) -> Path:
        """The folder in which paths in the file start."""
        return self.path.absolute().parent

    def wrong(self, location: Location, rule: object) -> SpecError:
        """An error: `FILE:LINE: KEY RULE`."""
        return SpecError(f"{self.document.where(location)}: {'.'.join(map(str, location))} {rule}")


def load_campaign(path: str | Path) -> Campaign:
    """A campaign, from its YAML file (`hwsim docs campaign`). Paths in the file start where the file is.

    Raises SpecError for a file that breaks a rule, naming file, line, key, rule and value.
    """
    path = Path(path)
    document = read(path)
    file = validated(CampaignFile, document)
    known: tuple[KnownFailure, ...] = ()
    if file.known is not None:
        try:
            known = validated(KnownFile, read(path.parent / file.known)).known
        except SpecError as error:
            raise SpecError(f"{document.where(('known',))}: known names {shown(file.known)}: {error}") from None
    return Campaign(path, file, known, document)
