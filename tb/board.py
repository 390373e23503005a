"""What every testbench holds a design to: offers that stay, an output that waits, and the results that are due."""

from __future__ import annotations

from collections.abc import Callable

from hwsim.tb.job import UNKNOWN, PortMismatch, SameCodes, SuiteOutcome

Row = list[int]  # a context and a code, as `hwsim.tb.job.result_rows` has them
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


class ResultBoard:
    """Holds results against those that are due, and notes what differs.

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
