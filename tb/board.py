"""What every testbench holds a design to: offers that stay, an output that waits, and the results that are due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hwsim.tb.job import ANY_NAN, ANY_ZERO, UNKNOWN, PortMismatch, SuiteOutcome

Row = list[int]  # a context, a code, and which other codes will do, as `hwsim.tb.job.result_rows` has them
Word = tuple[int, ...]


class StandingOffer:
    """The rule of what offers transfers: one that is offered stays until it is taken.

    may: whether one may be offered, cycle by cycle. standing: whether one is offered.
    """

    def __init__(self, may: Callable[[], object]):
        self.may, self.standing = may, False

    def offers(self, more: bool) -> bool:
        """A cycle begins: whether a transfer is offered in it. more: whether there is one."""
        self.standing = more and (self.standing or bool(self.may()))
        return self.standing

    def taken(self, ready: bool) -> bool:
        """All is quiet: whether the transfer is taken."""
        taken = self.standing and ready
        self.standing = self.standing and not ready
        return taken


class WaitingOutput:
    """The rule of an output that is valid and not taken: it stays valid, and what it says does not change.

    held: what waits; None where nothing does.
    """

    def __init__(self) -> None:
        self.held: Word | None = None

    def dropped(self) -> bool:
        """A cycle in which the output is not valid: whether something waited."""
        dropped, self.held = self.held is not None, None
        return dropped

    def changed(self, word: Word, take: bool) -> Word | None:
        """A cycle in which it is: what stood there before, where that is another word; None where the rule is kept."""
        before, self.held = self.held, None if take else word
        return before if before is not None and before != word else None


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
