"""The results that a candidate predicts for hardware."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.readings.changes import Candidate, candidate_result
from hwsim.readings.silicon.case import CaptureCase


def answer(candidate: Candidate, case: CaptureCase) -> int:
    """The result code of a case. An addend that is switched off is +0."""
    # A GPU takes whole instructions, while whole groups would do for the model.
    zeros = (0,) * (-len(case.a) % candidate.unit.instruction.k)
    return candidate_result(candidate, (*case.a, *zeros), (*case.b, *zeros), case.c or 0)


def answers(candidate: Candidate, cases: Sequence[CaptureCase]) -> list[int]:
    """The result codes of cases."""
    return [answer(candidate, case) for case in cases]
