"""A device's results, as evidence for or against candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.errors import InputError
from hwsim.readings.answers import results
from hwsim.readings.changes import Candidate
from hwsim.spec import Unit, unpromised


class Example(NamedTuple):
    """A mismatch. case: the case's number. got: the device's result. said: the candidate's."""

    case: int
    got: int
    said: int


class Evidence:
    """Cases, and the codes that a device returned for them.

    whole: whether the device takes whole instructions, even where whole groups would do.
    Raises ValueError unless there are as many results as cases.
    """

    def __init__(self, unit: Unit, cases: Sequence[Case], codes: Sequence[int], whole: bool = False):
        if len(cases) != len(codes):
            raise InputError(f"results must be as many as cases ({len(cases)}), not {len(codes)}")
        self.cases, self.codes, self.whole, self._plain = cases, codes, whole, unpromised(unit).plain

    def mismatches(self, candidate: Candidate, at: Sequence[int]) -> list[Example]:
        """The results at these indices that a candidate does not explain."""
        said = results(candidate, [self.cases[index] for index in at], self.whole)
        rows = zip(at, said, strict=True)
        return [
            Example(index, self.codes[index], code)
            for index, code in rows
            if self._plain(code) != self._plain(self.codes[index])
        ]

    def right(self, candidate: Candidate, at: Sequence[int]) -> int:
        """How many results at these indices a candidate explains."""
        return len(at) - len(self.mismatches(candidate, at))

    def explained(self, candidate: Candidate, at: Sequence[int]) -> bool:
        """Whether a candidate explains all results at these indices; the first two are tried first."""
        return not self.mismatches(candidate, at[:2]) and not self.mismatches(candidate, at[2:])
