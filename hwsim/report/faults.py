"""A diagnosis as a report has it."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.readings.diagnosis import Diagnosis
from hwsim.report.differences import FaultKind, KnownCause, Mismatch


def fault_kinds(diagnosis: Diagnosis, minimal: Sequence[Mismatch | None] = ()) -> tuple[FaultKind, ...]:
    """The kinds of wrong results of a diagnosis.

    minimal: the simplest case of each, in the same order; empty where there is none of any.
    """
    cases = minimal or [None] * len(diagnosis.kinds)
    return tuple(
        FaultKind(
            wrong=len(kind.members),
            of=diagnosis.wrong,
            causes=tuple(
                KnownCause(name=one.name, description=one.description, right=tried, of=tried)
                for one in kind.causes
                for tried in [len(kind.members) + one.agrees]
            ),
            facts=kind.facts,
            minimal=case,
        )
        for kind, case in zip(diagnosis.kinds, cases, strict=True)
    )
