"""What a candidate says that hardware returns."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.readings.changes import Candidate, said
from hwsim.readings.silicon.case import CaptureCase


def answer(candidate: Candidate, case: CaptureCase) -> int:
    """The result's code, of one case. An addend that is switched off is +0."""
    # A machine takes whole instructions, where the model would be content with whole groups.
    zeros = (0,) * (-len(case.a) % candidate.unit.instruction.k)
    return said(candidate, (*case.a, *zeros), (*case.b, *zeros), case.c or 0)


def answers(candidate: Candidate, cases: Sequence[CaptureCase]) -> list[int]:
    """The results' codes."""
    return [answer(candidate, case) for case in cases]
