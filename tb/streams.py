"""The two ends of a stream with valid and ready: what offers transfers to a design, and what takes them from it.

The rules of the handshake are here, once. How pins are written and read is left to the classes that have some:
`hwsim.tb.pins`, for a design's own ports, and `hwsim.tb.order`, for the bench of `hwsim cosim`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

Word = tuple[int, ...]


class StreamSource(ABC):
    """Offers transfers to a stream: one that is offered stays until it is taken.

    may: whether a transfer may be offered, cycle by cycle; asked where none stands. standing: whether one is offered.
    """

    def __init__(self, may: Callable[[], object]):
        self.may, self.standing = may, False

    def drive(self) -> None:
        """Begin a cycle: offer a transfer, or none."""
        stood = self.standing
        self.standing = self.more() and (stood or bool(self.may()))
        self.show(new=self.standing and not stood)

    def look(self) -> None:
        """End a cycle, once all signals are quiet: note whether the transfer is taken."""
        if self.standing and self.accepted():
            self.standing = False
            self.sent()

    @abstractmethod
    def more(self) -> bool:
        """True if a transfer waits to be offered."""

    @abstractmethod
    def show(self, new: bool) -> None:
        """Drive what stands at the stream. new: whether a transfer is offered that was not in the cycle before."""

    @abstractmethod
    def accepted(self) -> bool:
        """True if the design is ready."""

    @abstractmethod
    def sent(self) -> None:
        """Go on to the next transfer."""


class StreamSink(ABC):
    """Watches what leaves a stream: a valid output stays, and its word does not change, until it is taken.

    held: the word that waits; None where none does. take: whether a valid output is taken in this cycle.
    """

    def __init__(self) -> None:
        self.held: Word | None = None
        self.take = True

    def look(self) -> None:
        """End a cycle, once all signals are quiet: compare what stands at the stream with what waited there."""
        word, before = self.word(), self.held
        self.held = None if self.take else word
        if word is None:
            self.absent(dropped=before is not None)
            return
        if before is not None and before != word:
            self.changed(before, word)
        if self.take:
            self.taken(word)

    @abstractmethod
    def word(self) -> Word | None:
        """The word that stands at the stream; None where the output is not valid."""

    @abstractmethod
    def absent(self, dropped: bool) -> None:
        """Handle a cycle in which the output is not valid. dropped: whether a word was waiting to be taken."""

    @abstractmethod
    def changed(self, before: Word, word: Word) -> None:
        """Handle another word in the place of the one that waited."""

    @abstractmethod
    def taken(self, word: Word) -> None:
        """Handle a transfer that is taken."""
