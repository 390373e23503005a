"""Failures that are known: a file of them, by job and kind, with the reason and the day that each was written down."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hwsim.campaign.matrix import CampaignModel
from hwsim.explain.frozen import Text
from hwsim.formats.yamlfile import RuleError, read, validated

# mismatch: a result or a signal differs. incomplete: fewer results than planned. stuck: a simulator was ended in which
# no cycle ended. build: a simulator did not take the design. error: hwsim raised what it must not. lost: the job's
# process ended again and again.
FailureKind = Literal["mismatch", "incomplete", "stuck", "build", "error", "lost"]


def _day(value: Any) -> Any:
    if type(value) is not date:
        raise RuleError("", f"must be a day, as 2026-11-26, not {value!r}")
    return value


class KnownFailure(CampaignModel):
    """Failures that are known. job, suite: their names, with `*` and `?` as shells have them."""

    job: Annotated[str, Field(min_length=1)]
    suite: Annotated[str, Field(min_length=1)] = "*"
    kind: FailureKind
    reason: Annotated[Text, Field(min_length=1)]
    date: Annotated[date, BeforeValidator(_day)]

    def is_of(self, job: str) -> bool:
        """Whether it speaks of a job."""
        return fnmatchcase(job, self.job)

    def covers(self, job: str, suite: str, kind: FailureKind) -> bool:
        """Whether a failure is one of these."""
        return kind == self.kind and self.is_of(job) and fnmatchcase(suite, self.suite)


class KnownFile(CampaignModel):
    """The file's keys."""

    known: tuple[KnownFailure, ...] = ()


def load_known(path: Path) -> tuple[KnownFailure, ...]:
    """The failures of a file.

    Raises SpecError for a file that breaks a rule, naming file, line, key, rule and value.
    """
    document = read(path)
    return validated(KnownFile, document).known


def known_reason(known: Sequence[KnownFailure], job: str, suite: str, kind: FailureKind) -> str:
    """Why a failure is known, by the first entry that covers it; empty where none does."""
    found = next((one for one in known if one.covers(job, suite, kind)), None)
    return "" if found is None else f"{found.reason} ({found.date.isoformat()})"
