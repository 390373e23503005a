"""The cycles of a clock: what plays at it drives just after a rising edge, and looks once all is quiet.

`hwsim cosim` and testbenches of a user's own are driven by the same loop.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hwsim.tb.job import PROGRESS, RESET

T = TypeVar("T")
PERIOD_NS = 10
OFTEN = 0.5  # seconds between two notes of progress, at least


class ClockedPart(Protocol):
    """A part of a testbench that runs at a clock."""

    def drive(self) -> None:
        """Begin a cycle: drive the ports."""

    def look(self) -> None:
        """End a cycle, once all signals are quiet: look at the ports, none of which may be driven."""


class Cycles:
    """One coroutine for all parts that run at a clock. cycle: how many cycles have ended since the first part joined.

    begun: whether a cycle has begun in which ports may still be driven.
    """

    def __init__(self, clock: Any):
        self.edge, self.quiet = RisingEdge(clock), ReadOnly()
        self.parts: tuple[ClockedPart, ...] = ()
        self.cycle, self.begun = 0, False

    def join(self, part: ClockedPart) -> None:
        """Run a part from this cycle on; from the next one where it is too late to drive."""
        self.parts = (*self.parts, part)
        if self.begun:
            part.drive()

    def leave(self, part: ClockedPart) -> None:
        """Run a part no more."""
        self.parts = tuple(other for other in self.parts if other is not part)

    async def run(self) -> None:
        """Run cycle after cycle, until no part is left."""
        while self.parts:
            self.begun = True
            for part in self.parts:
                part.drive()
            await self.quiet
            self.begun = False
            for part in self.parts:
                part.look()
            await self.edge
            self.cycle += 1


_running: dict[Any, tuple[Cycles, Any]] = {}  # by clock, with their tasks


def cycles_of(clock: Any) -> Cycles:
    """The cycles of a clock, for a part that joins them now: they run while any part is at the clock."""
    running = _running.get(clock)
    if running is None or running[1].done():
        cycles = Cycles(clock)
        running = _running[clock] = cycles, cocotb.start_soon(cycles.run())
    return running[0]


class Heartbeat:
    """A sign that a simulation goes on: a small file, written again while cycles end."""

    def __init__(self, folder: Path, name: str):
        self.path, self.name, self.next = folder / PROGRESS, name, 0.0
        self(0)

    def __call__(self, cycle: int) -> None:
        """Note that so many cycles have ended."""
        now = time.monotonic()
        if now >= self.next:
            self.path.write_text(f"{cycle} {self.name}\n", encoding="utf-8")
            self.next = now + OFTEN


# What plays at a bench: it yields what is driven in a cycle, and goes on when all is quiet.
BenchPlay = Generator[int, None, T]


class BenchPart(Generic[T]):
    """The bench of `hwsim cosim`, whose inputs of a cycle are driven as one word."""

    def __init__(self, port: Any, play: BenchPlay[T], cycles: Cycles, beat: Heartbeat):
        self.port, self.play, self.cycles, self.beat = port, play, cycles, beat
        self.word, self.values = next(play), list[T]()

    def drive(self) -> None:
        self.beat(self.cycles.cycle)
        self.port.value = self.word

    def look(self) -> None:
        try:
            self.word = next(self.play)
        except StopIteration as ended:
            self.values.append(ended.value)
            self.cycles.leave(self)


async def played(dut: Any, play: BenchPlay[T], beat: Heartbeat) -> T:
    """Play at the bench from reset on. Return what the play returns."""
    dut.drive.value = RESET
    clock, cycles = Clock(dut.clk, PERIOD_NS, "ns"), Cycles(dut.clk)
    clock.start(start_high=False)
    await cycles.edge
    part = BenchPart(dut.drive, play, cycles, beat)
    cycles.join(part)
    await cycles.run()
    clock.stop()
    (value,) = part.values
    return value
