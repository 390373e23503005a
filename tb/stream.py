"""The testbench of a device that keeps its own time: results are compared in order, whenever they come.

What must hold of the handshake is watched too: a valid output stays, unchanged, until it is taken; no result comes
that no closing beat asked for; and something happens before patience ends. Where a latency is promised, every result
comes in just that cycle. What is driven is `hwsim.cosim.adapter`'s bench.
"""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hwsim.tb.job import FOLDER, Mismatch, Outcome, write_outcome
from hwsim.tb.stream_job import LOST, MISSING, SEEN, UNKNOWN, Segment, StreamScript, read_stream_scripts, write_answers

VALID, READY, RESET = 1, 2, 4  # bits of `drive`
SEEN_READY, SEEN_VALID, SEEN_LOST, SEEN_UNKNOWN = 1, 2, 4, 8  # bits of `seen`; the context stands above
INDEX, FLAGS = 3, 4
PERIOD_NS = 10
MOST_LOST = 16  # of isolated segments in which the device may lose step, before it is given up

JOB = Path(os.environ[FOLDER]) if FOLDER in os.environ else None


class LostStep(Exception):
    """The device no longer answers what it was asked: nothing after it means anything."""


class Player:
    """Plays one script into the bench."""

    def __init__(self, dut: Any, script: StreamScript, outcome: Outcome):
        self.dut, self.script, self.outcome = dut, script, outcome
        self.results: list[list[int]] = script.results.tolist()
        self.codes = [MISSING] * len(self.results)
        self.last, self.offer, self.take = (array.tolist() for array in (script.last, script.offer, script.take))
        self.cycle = self.count = self.silent = 0
        self.at = self.closed = self.start = 0  # the next beat, and the next result that a closing beat asks for
        self.traffic = bytearray()  # a byte a cycle: bits of `drive`, and above them those of `seen`
        self.due: deque[tuple[int, int]] = deque()  # results asked for, and the count in which they are due
        self.held: tuple[int, int] | None = None
        self.standing = self.counts = False
        self.edge, self.quiet = RisingEdge(dut.clk), ReadOnly()

    def note(self, kind: str, got: int, expected: int, index: int | None = None) -> None:
        """Note a mismatch of the result that is due next."""
        due = self.due[0][0] if self.due else min(self.closed, len(self.results) - 1)
        self.outcome.note(Mismatch(kind, self.cycle, due if index is None else index, got, expected))

    async def reset(self) -> None:
        """Hold reset; what was asked for is forgotten."""
        self.due.clear()
        self.held, self.standing, self.start = None, False, self.at
        for _ in range(self.script.reset_cycles):
            self.dut.drive.value = RESET
            self.traffic.append(RESET)
            await self.edge
            self.cycle += 1
        self.silent = 0

    async def step(self, end: int) -> None:
        """One cycle, in which the beat `at` may be offered if it is before `end`."""
        take = self.take[self.cycle % len(self.take)]
        # An offer that is not taken stays, whatever the pattern says.
        offered = self.at < end and (self.standing or bool(self.offer[self.cycle % len(self.offer)]))
        self.dut.drive.value = (
            VALID * offered | READY * take | min(self.at, len(self.last) - 1) + self.script.first << 3
        )
        await self.quiet
        seen = int(self.dut.seen.value)
        self.traffic.append(VALID * offered | READY * take | (seen & (SEEN_READY | SEEN_VALID)) << SEEN)
        if seen & SEEN_LOST:
            self.note("unknown", UNKNOWN, 0)
            raise LostStep
        self.silent += 1
        accepted = offered and bool(seen & SEEN_READY)
        self.standing = offered and not accepted
        if accepted:
            self._accepted()
        self._output(seen, bool(take))
        self.count += take
        if self.silent > self.script.patience:
            self.note("hang", len(self.due), 0)
            raise LostStep
        await self.edge
        self.cycle += 1

    def _accepted(self) -> None:
        self.silent = 0
        if self.last[self.at]:
            self.due.append((self.closed, self.count + max(self.script.latency, 0)))
            self.closed += 1
        self.at += 1

    def _output(self, seen: int, take: bool) -> None:
        if not seen & SEEN_VALID:
            if self.held is not None:
                self.note("dropped", 0, 1)
                raise LostStep
            if self.script.latency >= 0 and self.due and self.due[0][1] <= self.count:
                self.note("latency", -1, self.script.latency)
                raise LostStep
            return
        if not self.due:
            self.note("unasked", 1, 0)
            raise LostStep
        index, count = self.due[0]
        if self.script.latency >= 0 and count != self.count:
            self.note("latency", self.script.latency + self.count - count, self.script.latency)
            raise LostStep
        context, code, any_nan = self.results[index]
        got = UNKNOWN if seen & SEEN_UNKNOWN else int(self.dut.result.value)
        if self.held is not None and self.held != (seen >> FLAGS, got):
            self.note("changed", got, self.held[1])
        self.held = None if take else (seen >> FLAGS, got)
        if not take:
            return
        self.silent = 0
        self.codes[index] = got
        self._compare(index, (seen >> FLAGS, got), (context, code), bool(any_nan))
        self.outcome.results += self.counts
        self.due.popleft()

    def _compare(self, index: int, got: tuple[int, int], expected: tuple[int, int], any_nan: bool) -> None:
        is_nan = any_nan and got[1] >= 0 and got[1] & self.script.nan_mask > self.script.nan_above
        if got != expected and not (is_nan and got[0] == expected[0]):
            kind = "unknown" if got[1] == UNKNOWN else "result"
            self.outcome.note(Mismatch(kind, self.cycle, index, got[1], expected[1], got[0], expected[0]))

    async def play(self) -> None:
        """Every segment, until the device loses step."""
        lost = 0
        for segment in self.script.segments:
            await self.reset()
            try:
                await self._segment(segment)
            except LostStep:
                # An assertion of the same fault is sampled at the next edges.
                await self.edge
                await self.edge
                lost += 1
                if not self.script.isolated or lost > MOST_LOST:
                    return
                self._give_up(segment)

    async def _segment(self, segment: Segment) -> None:
        self.counts = segment.reset is None
        while self.at < segment.end:
            await self.step(segment.end)
        while self.due and segment.reset is None:
            await self.step(segment.end)
        more = segment.reset if segment.reset is not None else self.script.settle + max(self.script.latency, 0)
        for _ in range(more):
            await self.step(segment.end)

    def _give_up(self, segment: Segment) -> None:
        """Go on with the next segment; every result of this one is lost."""
        asked = sum(self.last[: segment.end])
        first = asked - sum(self.last[self.start : segment.end])
        self.codes[first:asked] = [LOST] * (asked - first)
        self.at, self.closed = segment.end, asked


async def play(dut: Any, script: StreamScript, outcome: Outcome) -> tuple[list[int], bytes]:
    """Play a suite; every result that came, and what happened at the ports."""
    player = Player(dut, script, outcome)
    dut.drive.value = RESET
    clock = Clock(dut.clk, PERIOD_NS, "ns")
    clock.start(start_high=False)
    await player.edge
    await player.play()
    clock.stop()
    outcome.cycles = player.cycle
    return player.codes, bytes(player.traffic)


def make_test(folder: Path, index: int, script: StreamScript) -> Any:
    """A cocotb test that plays one suite of a job and writes its outcome and its results."""

    async def suite(dut: Any) -> None:
        outcome = Outcome(script.name)
        started = time.perf_counter()
        try:
            write_answers(folder, index, *await play(dut, script, outcome))
        finally:
            outcome.seconds = time.perf_counter() - started
            write_outcome(folder, index, outcome)
        assert outcome.count == 0, f"{outcome.count} mismatches"

    suite.__name__ = suite.__qualname__ = script.name
    return cocotb.test(name=script.name)(suite)


if JOB is not None:
    for _index, _script in enumerate(read_stream_scripts(JOB)):
        globals()[f"suite{_index}"] = make_test(JOB, _index, _script)
