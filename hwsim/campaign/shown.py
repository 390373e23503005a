"""What a campaign's folder tells: its runs, and the failures of the last that ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hwsim.campaign.store import held_campaign, runs_in
from hwsim.campaign.summary import RunSummary, read_summary
from hwsim.campaign.tables import reasons_of
from hwsim.campaign.verdict import FailurePlace
from hwsim.errors import InputError


@dataclass(frozen=True)
class ShownRuns:
    """The runs of a folder.

    name: the campaign. runs: those that ended, in figures, the first one first. failures: of the last, with the run
    that had each first, and why it is known. unfinished, done: the run that has not ended, or None, and its jobs.
    """

    name: str
    runs: tuple[RunSummary, ...]
    failures: tuple[tuple[FailurePlace, int, str], ...]
    unfinished: int | None
    done: int


def shown_runs(folder: Path) -> ShownRuns:
    """What a folder tells. Raises InputError for one that holds no campaign, and for damaged files; ToolMissing."""
    name = held_campaign(folder)
    if name is None:
        raise InputError(f"{folder}: must be the folder of a campaign's runs; it holds none")
    runs = runs_in(folder)
    ended = [one for one in runs if one.ended]
    unfinished = runs[-1] if runs and not runs[-1].ended else None
    return ShownRuns(
        name,
        tuple(map(read_summary, ended)),
        tuple(reasons_of(ended[-1].folder)) if ended else (),
        None if unfinished is None else unfinished.number,
        0 if unfinished is None else len(unfinished.kept),
    )
