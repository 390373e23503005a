"""What every testbench holds a design to: offers that stay, an output that waits, and the results that are due."""

from __future__ import annotations

from collections.abc import Callable

from hwsim.tb.job import UNKNOWN, PortMismatch, SameCodes, SuiteOutcome

Row = list[int]  # a context and a code, as `hwsim.tb.job.result_rows` has them
Word = tuple[int, ...]


class StandingOffer:
    """The rule for a source of transfers: an offered transfer stays until it is taken.

    may: whether one may be offered, cycle by cycle. standing: whether one is offered.
    """

    def __init__(self, may: Callable[[], object]):
        self.may, self.standing = may, False

    def offers(self, more: bool) -> bool:
        """Begin a cycle; True if a transfer is offered in it. more: whether a transfer is waiting to be offered."""
        self.standing = more and (self.standing or bool(self.may()))
        return self.standing

    def taken(self, ready: bool) -> bool:
        """End a cycle, once all signals are quiet; True if the offered transfer is taken."""
        taken = self.standing and ready
        self.standing = self.standing and not ready
        return taken


class WaitingOutput:
    """The rule for an output that is valid and not taken: it stays valid, and its word does not change.

    held: what waits; None where nothing does.
    """

    def __init__(self) -> None:
        self.held: Word | None = None

    def dropped(self) -> bool:
        """Note a cycle in which the output is not valid; True if a word was waiting to be taken."""
        dropped, self.held = self.held is not None, None
        return dropped

    def changed(self, word: Word, take: bool) -> Word | None:
        """Note a cycle in which the output is valid. Return the waiting word where another replaced it; else None."""
        before, self.held = self.held, None if take else word
        return before if before is not None and before != word else None


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
