"""The results that are due, to which every testbench holds a design."""

from __future__ import annotations

from hwsim.tb.job import UNKNOWN, PortMismatch, SameCodes, SuiteOutcome

Row = list[int]  # a context and a code, as `hwsim.tb.job.result_rows` has them


class ResultBoard:
    """Compares results with those that are due, and notes the differences.

    rows: of each result, in the order in which they are due; more may be added while results come.
    """

    def __init__(self, rows: list[Row], same: SameCodes, outcome: SuiteOutcome):
        self.rows, self.same, self.outcome = rows, same, outcome

    def will_do(self, index: int, code: int) -> bool:
        """True if a code will do for the result of that number."""
        return self.same.will_do(self.rows[index][1], code)

    def compare(self, cycle: int, index: int, context: int, code: int) -> None:
        """Compare a result with the one that is due. code: UNKNOWN where a bit of it is."""
        owner, expected = self.rows[index]
        if context == owner and (code == expected or self.same.will_do(expected, code)):
            return
        kind = "unknown" if code == UNKNOWN else "result"
        self.outcome.note(PortMismatch(kind, cycle, index, code, expected, context, owner))
