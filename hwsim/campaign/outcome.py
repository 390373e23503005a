"""What came of a job: what was compared, or why nothing was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import Field

from hwsim.campaign.known import FailureKind
from hwsim.cosim.report import ENDED
from hwsim.explain import RunReport
from hwsim.explain.frozen import Record, Text

WHOLE = "whole job"  # what the suite of a failure is called where no suite ran


class Breakage(Record):
    """Why a job compared nothing."""

    kind: FailureKind
    said: Text


class JobFailure(NamedTuple):
    """A suite of a job that failed, or the whole job. said: in words, the first line alone where it is short."""

    suite: str
    driver: str
    kind: FailureKind
    said: str


class JobOutcome(Record):
    """What came of a job.

    key: the job's digest. name: the job's. seconds: that it took. report: what was compared; None where it broke.
    files: texts that are of use where something failed, by name: findings of random units, minimal cases. taken_from:
    the run that ran it, where an earlier one did.
    """

    key: Text
    name: Text
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    report: RunReport | None = None
    breakage: Breakage | None = None
    files: dict[str, Text] = Field(default_factory=dict)
    taken_from: int | None = None

    @property
    def passed(self) -> bool:
        """Whether all that was planned was compared, and equal."""
        return self.report is not None and self.report.passed

    @property
    def failures(self) -> Iterator[JobFailure]:
        """What failed: nothing of a job that passed."""
        if self.breakage is not None:
            yield JobFailure(WHOLE, "", self.breakage.kind, self.breakage.said)
        elif self.report is not None and not self.report.rows:
            yield JobFailure(WHOLE, "", "incomplete", self.report.verdict)
        elif self.report is not None:
            for row in self.report.failed:
                kind: FailureKind = "mismatch" if row.mismatches else "stuck" if ENDED in row.notes else "incomplete"
                yield JobFailure(row.suite, row.driver, kind, row.verdict)
            for suite in self.report.lacking:
                yield JobFailure(suite.suite, suite.driver, "incomplete", suite.what)
