"""What a run found: failures that are new, those that are known, and what was mended since the run before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hwsim.campaign.known import KnownFailure, known_reason
from hwsim.campaign.outcome import WHOLE, JobFailure, JobOutcome


class FailurePlace(NamedTuple):
    """By which failures of two runs are the same."""

    job: str
    suite: str
    driver: str
    kind: str


@dataclass(frozen=True)
class JudgedFailure:
    """A failure of a run. reason: why it is known, or empty. since: the first run that had it, with all up to now."""

    job: str
    failure: JobFailure
    reason: str
    since: int

    @property
    def place(self) -> FailurePlace:
        """By which it is found again."""
        return FailurePlace(self.job, self.failure.suite, self.failure.driver, self.failure.kind)

    def word(self, number: int) -> str:
        """`known`, `new` or `again`, in that run."""
        return "known" if self.reason else "new" if self.since == number else "again"

    def __str__(self) -> str:
        one = self.failure
        where = "" if one.suite == WHOLE else f" · {one.driver} · {one.suite}"
        return f"{self.job}{where}: {one.kind}: {first_line(one.said)}"


def first_line(text: str) -> str:
    """The first line, shortened; of a build the line below it too, which says more."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()][:2]
    return " ".join(lines)[:240] if lines and lines[0].endswith("failed:") else "".join(lines[:1])[:240]


@dataclass(frozen=True)
class RunVerdict:
    """What is to be said of a run. number: which one it is.

    failures: in the order of jobs' names. mended: failures of the run before that this one has not, though their jobs
    ran. unused: entries of the known failures that cover a job that ran, and nothing that failed.
    """

    number: int
    failures: tuple[JudgedFailure, ...] = ()
    mended: tuple[FailurePlace, ...] = ()
    unused: tuple[KnownFailure, ...] = ()

    @property
    def unknown(self) -> list[JudgedFailure]:
        """Failures that nobody has called known: new ones, and those that the run before had too."""
        return [one for one in self.failures if not one.reason]

    @property
    def new(self) -> list[JudgedFailure]:
        """Those of them that the run before had not."""
        return [one for one in self.unknown if one.since == self.number]

    @property
    def known(self) -> list[JudgedFailure]:
        """The others."""
        return [one for one in self.failures if one.reason]


@dataclass
class VerdictMaker:
    """Collects the failures of a run, a job at a time.

    known: those that are. before: of the last run that ended, from each failure to the run that had it first.
    """

    number: int
    known: Sequence[KnownFailure]
    before: Mapping[FailurePlace, int]
    found: list[JudgedFailure] = field(default_factory=list)
    ran: set[str] = field(default_factory=set)

    def add(self, outcome: JobOutcome) -> list[JudgedFailure]:
        """What failed in a job."""
        made = [self._judged(outcome.name, one) for one in outcome.failures]
        self.ran.add(outcome.name)
        self.found += made
        return made

    def _judged(self, job: str, failure: JobFailure) -> JudgedFailure:
        reason = known_reason(self.known, job, failure.suite, failure.kind)
        place = FailurePlace(job, failure.suite, failure.driver, failure.kind)
        return JudgedFailure(job, failure, reason, self.before.get(place, self.number))

    @property
    def verdict(self) -> RunVerdict:
        """Of the jobs that were added."""
        places = {one.place for one in self.found}
        mended = sorted(place for place in self.before if place.job in self.ran and place not in places)
        failures = tuple(sorted(self.found, key=lambda one: one.place))
        return RunVerdict(self.number, failures, tuple(mended), tuple(self._unused()))

    def _unused(self) -> Iterator[KnownFailure]:
        for entry in self.known:
            used = any(entry.covers(one.job, one.failure.suite, one.failure.kind) for one in self.found)
            if not used and any(map(entry.is_of, self.ran)):
                yield entry
