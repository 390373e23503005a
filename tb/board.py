"""What every testbench holds a design to: the results that are due, and an output that waits until it is taken."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.tb.job import ANY_NAN, ANY_ZERO, UNKNOWN, PortMismatch, SuiteOutcome

Row = list[int]  # a context, a code, and which other codes will do, as `hwsim.tb.job.result_rows` has them
Word = tuple[int, ...]


@dataclass(frozen=True)
class OtherCodes:
    """The codes that are as good as an expected one, where a result's row says that others will do.

    nan_above: a code is NaN whose bits under nan_mask are more than that. minus_zero: the other code of zero.
    """

    nan_mask: int = 0
    nan_above: int = 0
    minus_zero: int = 0

    def will_do(self, others: int, code: int) -> bool:
        if others == ANY_NAN:
            return code >= 0 and code & self.nan_mask > self.nan_above
        return others == ANY_ZERO and code in (0, self.minus_zero)


class ResultBoard:
    """Holds results against those that are due, and notes what differs.

    rows: of each result, in the order in which they are due; more may be added while results come.
    """

    def __init__(self, rows: list[Row], others: OtherCodes, outcome: SuiteOutcome):
        self.rows, self.others, self.outcome = rows, others, outcome

    def will_do(self, index: int, code: int) -> bool:
        """True if a code will do for the result of that number, though another one is expected."""
        return self.others.will_do(self.rows[index][2], code)

    def compare(self, cycle: int, index: int, context: int, code: int) -> None:
        """Compare a result with the one that is due. code: UNKNOWN where a bit of it is."""
        owner, expected, others = self.rows[index]
        if context == owner and (code == expected or self.others.will_do(others, code)):
            return
        kind = "unknown" if code == UNKNOWN else "result"
        self.outcome.note(PortMismatch(kind, cycle, index, code, expected, context, owner))


class WaitingOutput:
    """The rule of an output that is valid and not taken: it stays valid, and what it says does not change.

    held: what waits; None where nothing does.
    """

    def __init__(self) -> None:
        self.held: Word | None = None

    def changed(self, word: Word) -> Word | None:
        """What stood there before, where another word stands there now; None where the rule is kept."""
        return self.held if self.held is not None and self.held != word else None

    def leave(self, word: Word, take: bool) -> None:
        """The cycle ends: the word was taken, or waits."""
        self.held = None if take else word
