"""Playing a device that keeps its own time: results are compared in order, whenever they come.

What must hold of the handshake is watched too: a valid output stays, unchanged, until it is taken; no result comes
that no closing beat asked for; and something happens before patience ends. Where a latency is promised, every result
comes in just that cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hwsim.tb.board import ResultBoard, StandingOffer, WaitingOutput
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


class Player:
    def __init__(self, dut: Any, script: Script, order: BeatOrder, outcome: SuiteOutcome):
        self.dut, self.order, self.outcome, self.first = dut, order, outcome, script.first
        # What stands at the input before the first beat and after the last one.
        self.idle = script.first + len(order.last)
        self.results: list[list[int]] = script.results.tolist()
        self.board = ResultBoard(self.results, order.same, outcome)
        self.codes = [MISSING] * len(self.results)
        self.last, offer, self.take = (array.tolist() for array in (order.last, order.offer, order.take))
        self.cycle = self.count = self.silent = self.word = 0
        self.at = self.closed = self.start = 0  # the next beat, and the next result that a closing beat asks for
        self.traffic = bytearray()  # a byte a cycle: bits of `drive`, and above them those of `seen`
        self.due: deque[tuple[int, int]] = deque()  # results asked for, and the count in which they are due
        self.offer, self.waiting = StandingOffer(lambda: offer[self.cycle % len(offer)]), WaitingOutput()
        self.counts = self.late = self.filling = False
        self.extra = None if script.extra is None else ExtraOutputsBoard(script.extra, self.board.will_do)

    def note(self, kind: str, got: int, expected: int) -> None:
        """Record a mismatch of the result that is due next."""
        index = self.due[0][0] if self.due else min(self.closed, len(self.results) - 1)
        self.outcome.note(PortMismatch(kind, self.cycle, index, got, expected))

    def reset(self) -> BenchPlay[None]:
        """Hold reset, and forget the results that are due."""
        self.due.clear()
        self.waiting.held, self.offer.standing, self.late, self.start = None, False, False, self.at
        for _ in range(self.order.reset_cycles):
            self.traffic.append(RESET)
            yield RESET | self.idle << INDEX
            self.cycle += 1
        self.silent = 0

    def step(self, end: int) -> BenchPlay[None]:
        """Play one cycle, in which the beat `at` may be offered if it is before `end`."""
        take = self.take[self.cycle % len(self.take)] and not self.filling
        may = self.at < end and not (self.order.tagged and self._is_due(self.results[self.closed][0]))
        driven = VALID * self.offer.offers(may) | READY * take
        self.word = driven | self.at + self.first << INDEX
        yield self.word
        seen = int(self.dut.seen.value)
        self.traffic.append(driven | (seen & (SEEN_READY | SEEN_VALID)) << SEEN)
        if seen & SEEN_LOST:
            self.note("unknown", UNKNOWN, MISSING)
            raise LostStep
        self.silent += 1
        if self.offer.taken(bool(seen & SEEN_READY)):
            self._accepted()
        self._output(seen, bool(take))
        self.count += take
        if self.silent > self.order.patience:
            self.note("hang" if self.due else "refused", len(self.due), 0)
            raise LostStep
        self.cycle += 1

    def _accepted(self) -> None:
        self.silent = 0
        if self.last[self.at]:
            self.due.append((self.closed, self.count + max(self.order.latency, 0)))
            self.closed += 1
        self.at += 1

    def _output(self, seen: int, take: bool) -> None:
        latency = self.order.latency
        if not seen & SEEN_VALID:
            if self.waiting.dropped():
                self.note("dropped", 0, 1)
                raise LostStep
            if latency >= 0 and self.due and self.due[0][1] <= self.count:
                self.late = True  # when it comes after all says by how much
                if self.count - self.due[0][1] > self.order.patience:
                    self._never_came()
            return
        if not self.due:
            self.note("unasked", 1, 0)
            raise LostStep
        place = self._place(seen) if self.order.tagged else 0
        index, count = self.due[place]
        if latency >= 0 and count != self.count:
            self.note("latency", latency + self.count - count, latency)
            raise LostStep
        got = seen >> CONTEXT, UNKNOWN if seen & SEEN_UNKNOWN else int(self.dut.result.value)
        extra = 0 if self.extra is None else int(self.dut.extra.value)  # 0 where a bit of it is unknown
        if before := self.waiting.changed((*got, extra), take):
            self.note("changed", *((got[1], before[1]) if got != before[:2] else (extra, before[2])))
        if not take:
            return
        self.silent = 0
        self.codes[index] = got[1]
        self.board.compare(self.cycle, index, *got)
        if self.extra is not None and got[1] != UNKNOWN:
            for kind, name, signal, want in self.extra.wrong(index, extra):
                self.outcome.note(PortMismatch(kind, self.cycle, index, signal, want, name=name))
        self.outcome.results += self.counts
        del self.due[place]

    def _is_due(self, context: int) -> bool:
        return any(self.results[index][0] == context for index, _ in self.due)

    def _place(self, seen: int) -> int:
        """The place, among the results that are due, of the one that has come, by its context."""
        context = seen >> CONTEXT
        for place, (index, _) in enumerate(self.due):
            if self.results[index][0] == context and not seen & SEEN_UNKNOWN:
                return place
        self.note(*(("unknown", UNKNOWN, MISSING) if seen & SEEN_UNKNOWN else ("tag", context, len(self.due))))
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
        self.counts, self.filling = reset == AWAITED, reset == FILLED
        while self.at < end and not (self.filling and self.silent > FULL_AFTER):
            yield from self.step(end)
        if self.filling:
            self.filling = False
            self._skip_to(end)
            return
        while self.due and self.counts:
            yield from self.step(end)
        for _ in range(self.order.settle + max(self.order.latency, 0) if self.counts else reset):
            yield from self.step(end)
        if self.late:
            self._never_came()

    def _give_up(self, end: int) -> None:
        """Go on with the next segment; every result of this one is lost."""
        self._skip_to(end)
        first = self.closed - sum(self.last[self.start : end])
        self.codes[first : self.closed] = [LOST] * (self.closed - first)

    def _skip_to(self, end: int) -> None:
        """Skip the beats before `end`, and their results."""
        self.at, self.closed = end, sum(self.last[:end])


def play_order(dut: Any, script: Script, order: BeatOrder, outcome: SuiteOutcome) -> BenchPlay[None]:
    """Play a suite; the outcome has every result that came, and what happened at the ports."""
    player = Player(dut, script, order, outcome)
    yield from player.play()
    outcome.cycles, outcome.codes, outcome.traffic = player.cycle, player.codes, bytes(player.traffic)
