"""A run in figures, as its folder keeps them for pages of later runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from hwsim.campaign.store import CampaignRun, runs_in
from hwsim.errors import InputError
from hwsim.explain.frozen import Count, Record, Text
from hwsim.files import contents
from hwsim.formats.yamlfile import broken_rule
from hwsim.outputs import written

SUMMARY = "summary.json"


class RunSummary(Record):
    """A run in figures.

    number, began: which one, and when. jobs: how many. failed: jobs with a failure that is not known; known: jobs whose
    failures are all known. new, again, known_failures, mended: failures; `again` are not known, and the run before had
    them too. taken: jobs that an earlier run had done. cases: results compared. seconds: of all jobs together.
    """

    number: Annotated[int, Field(ge=1)]
    began: Text
    jobs: Count
    failed: Count
    known: Count
    new: Count
    again: Count
    known_failures: Count
    mended: Count
    taken: Count
    cases: Count
    mismatches: Count
    bins_hit: Count
    bins_reachable: Count
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @property
    def passed(self) -> int:
        """Jobs without any failure."""
        return self.jobs - self.failed - self.known


def write_summary(folder: Path, summary: RunSummary) -> None:
    """Write the figures of a run into its folder."""
    with written(folder / SUMMARY) as file:
        file.write(summary.model_dump_json(indent=1).encode() + b"\n")


def read_summary(run: CampaignRun) -> RunSummary:
    """The figures of a run that ended. Raises InputError where they are damaged, naming the file and the key."""
    path = run.folder / SUMMARY
    try:
        return RunSummary.model_validate_json(contents(path))
    except ValidationError as error:
        first = error.errors()[0]
        inside, rule = broken_rule(first)
        raise InputError(f"{path}: {'.'.join(map(str, (*first['loc'], *inside))) or 'the file'} {rule}") from None


def summaries(folder: Path) -> list[RunSummary]:
    """The figures of all runs of a folder that ended, the first one first."""
    return [read_summary(run) for run in runs_in(folder) if run.ended]
