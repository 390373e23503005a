"""CAMPAIGN.yaml: which jobs a team runs again and again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from hwsim.campaign.known import KnownFailure, load_known
from hwsim.campaign.matrix import CampaignModel, Cases, JobMatrix, Seconds, Suites
from hwsim.explain.frozen import Text
from hwsim.formats.yamlfile import Document, Location, RuleError, SpecError, read, shown, validated
from hwsim.fuzz.trial import SIDES, Side

MOST_UNITS = 10_000_000
SectionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Number = Annotated[int, Strict(), Field(ge=0, le=MOST_UNITS)]


class MatrixJobs(CampaignModel):
    """Jobs of a matrix, and what all of them have unless a combination says otherwise.

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


class FuzzRange(CampaignModel):
    """Random units, numbered: `hwsim fuzz` in blocks. first, last: numbers of units, both of it.

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


class FuzzJobs(CampaignModel):
    """Jobs of random units."""

    fuzz: FuzzRange


def _kind(value: Any) -> str:
    return "<fuzz>" if isinstance(value, dict) and "fuzz" in value else "<matrix>"


Section = Annotated[
    Annotated[MatrixJobs, Tag("<matrix>")] | Annotated[FuzzJobs, Tag("<fuzz>")], Discriminator(_kind)
]  # fmt: skip


class CampaignFile(CampaignModel):
    """The file's keys. campaign: its name. jobs: sections, by name. known: a file of failures that are known."""

    campaign: SectionName
    title: Text = ""
    jobs: Annotated[dict[SectionName, Section], Field(min_length=1)]
    known: str | None = None


@dataclass(frozen=True)
class Campaign:
    """A campaign as its file has it. known: failures that are known, in the order of their file."""

    path: Path
    file: CampaignFile
    known: tuple[KnownFailure, ...]
    document: Document

    @property
    def name(self) -> str:
        """Its name."""
        return self.file.campaign

    @property
    def folder(self) -> Path:
        """Where paths in the file start."""
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
    try:
        known = () if file.known is None else load_known(path.parent / file.known)
    except SpecError as error:
        raise SpecError(f"{document.where(('known',))}: known names {shown(file.known)}: {error}") from None
    return Campaign(path, file, known, document)
