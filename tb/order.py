"""Playing a device that keeps its own time: results are compared in order, whenever they come.

What must hold of the handshake is watched too: a valid output stays, unchanged, until it is taken; no result comes
that no closing beat asked for; and something happens before patience ends. Where a latency is promised, every result
comes in just that cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hwsim.tb.board import ResultBoard
from hwsim.tb.cycles import BenchPlay
from hwsim.tb.job import (
    AWAITED,
    CONTEXT,
    COPY,
    FILLED,
    INDEX,
    LOST,
    MISSING,
    READY,
    RESET,
    SEEN,
    SEEN_LOST,
    SEEN_READY,
    SEEN_UNKNOWN,
    SEEN_VALID,
    UNKNOWN,
    VALID,
    BeatOrder,
    ExtraOutputs,
    PortMismatch,
    Script,
    SuiteOutcome,
)
from hwsim.tb.streams import StreamSink, StreamSource, Word

FULL_AFTER = 64  # cycles in which a device whose results are not taken takes no beat, before it is full
MOST_LOST = 16  # of isolated segments in which the device may lose step, before it is given up


class LostStep(Exception):
    """The device no longer answers the beats that it was given: nothing after this means anything."""


class ExtraOutputsBoard:
    """Compares the signals beside a result with the promise. will_do: whether a result's copy may be that code."""

    def __init__(self, extra: ExtraOutputs, will_do: Callable[[int, int], bool]):
        self.will_do, self.promised, self.signals = will_do, extra.promised, list[tuple[str, str, int, int]]()
        low = 0
        for kind, name, bits in extra.signals:
            self.signals.append((kind, name, low, (1 << bits) - 1))
            low += bits
        self.wanted = [self._packed([want or 0 for want in row]) for row in extra.promised]
        whole = [ones for *_, ones in self.signals]
        masks = ([ones * (want is not None) for ones, want in zip(whole, row, strict=True)] for row in extra.promised)
        self.masks = [self._packed(row) for row in masks]

    def _packed(self, values: Sequence[int]) -> int:
        return sum(value << low for value, (_, _, low, _) in zip(values, self.signals, strict=True))

    def wrong(self, index: int, seen: int) -> Iterator[tuple[str, str, int, int]]:
        """The signals of a result that differ from the promise: kind, name, seen value, promised value."""
        if not (seen ^ self.wanted[index]) & self.masks[index]:
            return
        for (kind, name, low, ones), want in zip(self.signals, self.promised[index], strict=True):
            got = seen >> low & ones
            if want not in (None, got) and not (kind == COPY and self.will_do(index, got)):
                yield kind, name, got, want


class BenchSource(StreamSource):
    """Offers a suite's beats to the bench, one by one. at: the next beat. end: the beat before which it stops."""

    def __init__(self, player: Player, offer: Sequence[int]):
        super().__init__(lambda: offer[player.cycle % len(offer)])
        self.player = player
        self.at = self.end = 0

    def more(self) -> bool:
        """True if a beat waits, before the end, that may be offered."""
        return self.at < self.end and not self.player.blocked()

    def show(self, new: bool) -> None:
        """Drive valid and the beat's place in the bench; both stand in the low bits of its word."""
        self.player.word = VALID * self.standing | self.at + self.player.first << INDEX

    def accepted(self) -> bool:
        """True if the design is ready."""
        return bool(self.player.seen & SEEN_READY)

    def sent(self) -> None:
        """Go on to the next beat."""
        self.player.accepted(self.at)
        self.at += 1


class BenchSink(StreamSink):
    """Takes the bench's results, each a context, a code and the signals beside it."""

    def __init__(self, player: Player, take: Sequence[int]):
        super().__init__()
        self.player, self.takes = player, take

    def drive(self) -> None:
        """Drive ready, after the source."""
        self.take = bool(self.takes[self.player.cycle % len(self.takes)]) and not self.player.filling
        self.player.word |= READY * self.take

    def word(self) -> Word | None:
        """The result that stands at the output, once it is known to be one that is due; None where none is valid."""
        player = self.player
        if not player.seen & SEEN_VALID:
            return None
        player.find()
        code = UNKNOWN if player.seen & SEEN_UNKNOWN else int(player.dut.result.value)
        extra = 0 if player.extra is None else int(player.dut.extra.value)  # 0 where a bit of it is unknown
        return player.seen >> CONTEXT, code, extra

    def absent(self, dropped: bool) -> None:
        """Note a result that was dropped, or one that is late."""
        if dropped:
            self.player.note("dropped", 0, 1)
            raise LostStep
        self.player.missed()

    def changed(self, before: Word, word: Word) -> None:
        """Note a result that changed while it waited."""
        part = 2 if before[:2] == word[:2] else 1
        self.player.note("changed", word[part], before[part])

    def taken(self, word: Word) -> None:
        """Compare the result."""
        self.player.compare(*word)


class Player:
    """Plays a suite by a source and a sink.

    word: what drives the bench in this cycle. seen: what stood at its port of that name. place: of the result at the
    output, among those that are due.
    """

    def __init__(self, dut: Any, script: Script, order: BeatOrder, outcome: SuiteOutcome):
        self.dut, self.order, self.outcome, self.first = dut, order, outcome, script.first
        # What stands at the input before the first beat and after the last one.
        self.idle = script.first + len(order.last)
        self.results: list[list[int]] = script.results.tolist()
        self.board = ResultBoard(self.results, order.same, outcome)
        self.codes = [MISSING] * len(self.results)
        self.last: list[int] = order.last.tolist()
        self.source, self.sink = BenchSource(self, order.offer.tolist()), BenchSink(self, order.take.tolist())
        self.cycle = self.count = self.silent = self.word = self.seen = self.place = 0
        self.closed = self.start = 0  # the next result that a closing beat asks for, and the segment's first beat
        self.traffic = bytearray()  # a byte a cycle: bits of `drive`, and above them those of `seen`
        self.due: deque[tuple[int, int]] = deque()  # results asked for, and the count in which they are due
        self.counts = self.late = self.filling = False
        self.extra = None if script.extra is None else ExtraOutputsBoard(script.extra, self.board.will_do)

    def note(self, kind: str, got: int, expected: int, *, name: str = "", index: int | None = None) -> None:
        """Record a mismatch, of the result that is due next unless another is given."""
        if index is None:
            index = self.due[0][0] if self.due else min(self.closed, len(self.results) - 1)
        self.outcome.note(PortMismatch(kind, self.cycle, index, got, expected, name=name))

    def reset(self) -> BenchPlay[None]:
        """Hold reset, and forget the results that are due."""
        self.due.clear()
        self.sink.held, self.source.standing, self.late, self.start = None, False, False, self.source.at
        for _ in range(self.order.reset_cycles):
            self.traffic.append(RESET)
            yield RESET | self.idle << INDEX
            self.cycle += 1
        self.silent = 0

    def step(self) -> BenchPlay[None]:
        """Play one cycle."""
        self.source.drive()
        self.sink.drive()
        yield self.word
        self.seen = int(self.dut.seen.value)
        self.traffic.append(self.word & (VALID | READY) | (self.seen & (SEEN_READY | SEEN_VALID)) << SEEN)
        if self.seen & SEEN_LOST:
            self.note("unknown", UNKNOWN, MISSING)
            raise LostStep
        self.silent += 1
        self.source.look()
        self.sink.look()
        self.count += self.sink.take
        if self.silent > self.order.patience:
            self.note("hang" if self.due else "refused", len(self.due), 0)
            raise LostStep
        self.cycle += 1

    def blocked(self) -> bool:
        """True if the next beat must wait for a result of its context, because results say whose they are."""
        if not self.order.tagged:
            return False
        context = self.results[self.closed][0]
        return any(self.results[index][0] == context for index, _ in self.due)

    def accepted(self, beat: int) -> None:
        """Note a beat that is taken, and the result that it asks for."""
        self.silent = 0
        if self.last[beat]:
            self.due.append((self.closed, self.count + max(self.order.latency, 0)))
            self.closed += 1

    def missed(self) -> None:
        """Note that no result is valid in this cycle."""
        if self.order.latency >= 0 and self.due and self.due[0][1] <= self.count:
            self.late = True  # when it comes after all says by how much
            if self.count - self.due[0][1] > self.order.patience:
                self._never_came()

    def find(self) -> None:
        """Find, among the results that are due, the one at the output, and see that it comes when it must."""
        if not self.due:
            self.note("unasked", 1, 0)
            raise LostStep
        self.place, latency = self._place() if self.order.tagged else 0, self.order.latency
        count = self.due[self.place][1]
        if latency >= 0 and count != self.count:
            self.note("latency", latency + self.count - count, latency)
            raise LostStep

    def compare(self, context: int, code: int, extra: int) -> None:
        """Compare a result that is taken, and the signals beside it."""
        self.silent, (index, _) = 0, self.due[self.place]
        self.codes[index] = code
        self.board.compare(self.cycle, index, context, code)
        if self.extra is not None and code != UNKNOWN:
            for kind, name, signal, want in self.extra.wrong(index, extra):
                self.note(kind, signal, want, name=name, index=index)
        self.outcome.results += self.counts
        del self.due[self.place]

    def _place(self) -> int:
        """The place, among the results that are due, of the one that has come, by its context."""
        unknown, context = self.seen & SEEN_UNKNOWN, self.seen >> CONTEXT
        for place, (index, _) in enumerate(self.due):
            if self.results[index][0] == context and not unknown:
                return place
        self.note(*(("unknown", UNKNOWN, MISSING) if unknown else ("tag", context, len(self.due))))
        raise LostStep

    def _never_came(self) -> None:
        self.note("latency", MISSING, self.order.latency)
        raise LostStep

    def play(self) -> BenchPlay[None]:
        """Play every segment, until the device loses step."""
        lost = 0
        for end, reset in self.order.segments.tolist():
            yield from self.reset()
            try:
                yield from self._segment(end, reset)
            except LostStep:
                # An assertion of the same fault is sampled at the next edges.
                yield from [self.word] * 2
                lost += 1
                if not self.order.isolated or lost > MOST_LOST:
                    return
                self._give_up(end)

    def _segment(self, end: int, reset: int) -> BenchPlay[None]:
        self.counts, self.filling, self.source.end = reset == AWAITED, reset == FILLED, end
        while self.source.at < end and not (self.filling and self.silent > FULL_AFTER):
            yield from self.step()
        if self.filling:
            self.filling = False
            self._skip_to(end)
            return
        while self.due and self.counts:
            yield from self.step()
        for _ in range(self.order.settle + max(self.order.latency, 0) if self.counts else reset):
            yield from self.step()
        if self.late:
            self._never_came()

    def _give_up(self, end: int) -> None:
        """Go on with the next segment; every result of this one is lost."""
        self._skip_to(end)
        first = self.closed - sum(self.last[self.start : end])
        self.codes[first : self.closed] = [LOST] * (self.closed - first)

    def _skip_to(self, end: int) -> None:
        """Skip the beats before `end`, and their results."""
        self.source.at, self.closed = end, sum(self.last[:end])


def play_order(dut: Any, script: Script, order: BeatOrder, outcome: SuiteOutcome) -> BenchPlay[None]:
    """Play a suite; the outcome has every result that came, and what happened at the ports."""
    player = Player(dut, script, order, outcome)
    yield from player.play()
    outcome.cycles, outcome.codes, outcome.traffic = player.cycle, player.codes, bytes(player.traffic)
