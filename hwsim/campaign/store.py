"""A campaign's folder: its runs, and of each what came of its jobs. Files are written whole or not at all.

- `campaign`: what the folder is, and of which campaign; `lock`: held by the process that writes here.
- `runs/0001/outcomes`: what came of each job, a file by its key, until a later run has ended.
- `runs/0001/*.parquet`: what came of all, written at the run's end, `jobs.parquet` last.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from hwsim.campaign.outcome import JobOutcome
from hwsim.errors import InputError
from hwsim.files import contents, held_alone
from hwsim.outputs import LIST, remove_written, written

MARK, LOCK, RUNS, FAILED = "campaign", "lock", "runs", "failed"
OUTCOMES, BEGAN, SUFFIX = "outcomes", "began", ".json.gz"
LEVEL = 3  # of compression: bins are a thousand lines that are much the same
MOST_OUTCOME = 1 << 28  # bytes of an outcome, before it was compressed
JOBS = "jobs.parquet"  # written last: a run that has it has ended
WORDS = "The runs of a campaign of hwsim, which are kept here: "


class CampaignFolder:
    """A campaign's folder. name: of the campaign."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = folder, name

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Hold the folder for this process alone; where it is killed, the lock goes with it.

        Raises InputError for a folder that holds something else, or that another process writes to.
        """
        self._check()
        self.folder.mkdir(parents=True, exist_ok=True)
        with held_alone(self.folder / LOCK, f"{self.folder}: another campaign runs in this folder; wait for its end"):
            with written(self.folder / MARK) as file:
                file.write(f"{WORDS}{self.name}\n".encode())
            yield

    def _check(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder}: must be a folder, which results are written to; it is a file")
        inside = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        held = held_campaign(self.folder)
        if inside - {LOCK, LIST} and held is None:
            other = min(inside - {LOCK, LIST})
            raise InputError(f"{self.folder}: holds {other}, which is of no campaign; name a new folder")
        if held not in (None, self.name):
            raise InputError(f"{self.folder}: holds runs of campaign {held}, not of {self.name}; name another folder")

    def current(self) -> CampaignRun:
        """The run that was begun and has not ended, or a new one behind the last."""
        runs = runs_in(self.folder)
        if runs and not runs[-1].ended:
            return runs[-1]
        run = CampaignRun(self.folder / RUNS / f"{runs[-1].number + 1 if runs else 1:04}")
        run.begin()
        return run

    @property
    def last(self) -> CampaignRun | None:
        """The last run that ended."""
        ended = [one for one in runs_in(self.folder) if one.ended]
        return ended[-1] if ended else None

    def forget(self) -> None:
        """Remove what came of single jobs in runs before the last that ended."""
        last = self.last
        for one in runs_in(self.folder):
            if last is not None and one.number < last.number:
                remove_written(one.folder / OUTCOMES)


class CampaignRun:
    """One run. folder: its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def number(self) -> int:
        """From 1 on."""
        return int(self.folder.name)

    @property
    def ended(self) -> bool:
        """Whether all that the run ends with is there."""
        return (self.folder / JOBS).exists()

    @property
    def began(self) -> str:
        """When it began, in UTC; empty where nobody wrote it down."""
        try:
            return contents(self.folder / BEGAN).decode("utf-8", "replace").strip()[:40]
        except OSError:
            return ""

    def begin(self) -> None:
        """Make its folder."""
        (self.folder / OUTCOMES).mkdir(parents=True, exist_ok=True)
        with written(self.folder / BEGAN) as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}\n".encode())

    def keep(self, outcome: JobOutcome) -> None:
        """Write what came of a job. Half a file is known by its check sum."""
        with written(self._path(outcome.key), aside=True) as file:
            file.write(gzip.compress(outcome.model_dump_json().encode(), LEVEL, mtime=0))

    def outcome(self, key: str) -> JobOutcome | None:
        """What came of a job; None where there is nothing that can be read."""
        try:
            with gzip.open(BytesIO(contents(self._path(key)))) as file:
                found = JobOutcome.model_validate_json(file.read(MOST_OUTCOME))
        except (OSError, EOFError, ValueError, zlib.error):  # ValueError: ValidationError too
            return None
        return found if found.key == key else None

    def _path(self, key: str) -> Path:
        return self.folder / OUTCOMES / f"{key}{SUFFIX}"

    @property
    def kept(self) -> set[str]:
        """The keys of all outcomes that were written, readable or not."""
        return {path.name.removesuffix(SUFFIX) for path in (self.folder / OUTCOMES).glob(f"*{SUFFIX}")}


def failed_folder(job: str) -> str:
    """Where in a run's folder the report of a job is that failed: a name of its own for each job."""
    return f"{FAILED}/{job.replace('~', '~~').replace('/', '~')}"


def held_campaign(folder: Path) -> str | None:
    """The campaign whose runs a folder holds; None where it holds none."""
    try:
        text = contents(folder / MARK).decode("utf-8", "replace")
    except (OSError, InputError):
        return None
    return text.removeprefix(WORDS).strip() if text.startswith(WORDS) else None


def runs_in(folder: Path) -> list[CampaignRun]:
    """The runs of a campaign's folder, the first one first."""
    found = (folder / RUNS).glob("*") if (folder / RUNS).is_dir() else ()
    runs = [CampaignRun(path) for path in found if path.is_dir() and path.name.isdecimal()]
    return sorted(runs, key=lambda run: run.number)
