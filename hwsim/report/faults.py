"""A diagnosis as a report has it."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.readings.diagnosis import Diagnosis
from hwsim.report.differences import FaultGroup, KnownCause, Mismatch


def fault_groups(diagnosis: Diagnosis, minimal: Sequence[Mismatch | None] = ()) -> tuple[FaultGroup, ...]:
    """The groups of a diagnosis. minimal: the simplest case of each, in the same order; empty for none of any."""
    cases = minimal or [None] * len(diagnosis.groups)
    return tuple(
        FaultGroup(
            wrong=len(group.members),
            of=diagnosis.wrong,
            # A cause explains the group, and all right results are as it says.
            causes=tuple(
                KnownCause(name=one.name, description=one.description, right=tried, of=tried) for one in group.causes
            ),
            facts=group.facts,
            minimal=case,
        )
        for group, case in zip(diagnosis.groups, cases, strict=True)
        for tried in [len(group.members) + diagnosis.right]
    )
