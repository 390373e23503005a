"""The rules of valid and ready that every source and sink derives from."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.tb.streams import StreamSink, StreamSource, Word


class Source(StreamSource):
    """Offers `count` transfers to a design that is ready in some cycles."""

    def __init__(self, may: Sequence[bool], ready: Sequence[bool], count: int) -> None:
        super().__init__(iter(may).__next__)
        self.ready, self.left, self.shown = iter(ready), count, list[tuple[bool, bool]]()

    def more(self) -> bool:
        return self.left > 0

    def show(self, new: bool) -> None:
        self.shown.append((self.standing, new))

    def accepted(self) -> bool:
        return next(self.ready)

    def sent(self) -> None:
        self.left -= 1


class Sink(StreamSink):
    """Looks at words that stand at a stream, in cycles in which they are taken or not."""

    def __init__(self) -> None:
        super().__init__()
        self.now: Word | None = None
        self.events = list[object]()

    def word(self) -> Word | None:
        return self.now

    def absent(self, dropped: bool) -> None:
        self.events.append("dropped" if dropped else "none")

    def changed(self, before: Word, word: Word) -> None:
        self.events.append((before, word))

    def taken(self, word: Word) -> None:
        self.events.append(word)

    def cycle(self, word: Word | None, take: bool) -> None:
        self.now, self.take = word, take
        self.look()


def test_an_offer_stays_until_it_is_taken_and_may_is_asked_where_none_stands() -> None:
    # The two cycles in which the first transfer waits ask nothing: what follows them in `may` is of the second one.
    source = Source(may=[False, True, False, True], ready=[False, False, True, True], count=2)
    for _ in range(7):
        source.drive()
        source.look()
    waiting = [(True, True), (True, False), (True, False)]
    assert source.shown == [(False, False), *waiting, (False, False), (True, True), (False, False)]
    assert source.left == 0


def test_a_waiting_word_that_changes_or_goes_is_told() -> None:
    sink = Sink()
    for word, take in (((1,), False), ((1,), True), ((2,), False), ((3,), False), (None, True), (None, False)):
        sink.cycle(word, take)
    assert sink.events == [(1,), ((2,), (3,)), "dropped", "none"]
