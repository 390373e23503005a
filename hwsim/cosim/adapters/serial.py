"""When the cycles of a serial protocol are, as Verilog of the adapter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hwsim.cosim.adapters.beatphases import when
from hwsim.cosim.adapters.controls import ALWAYS, NEVER, all_of, inverted
from hwsim.cosim.dut.serialprotocol import SerialProtocol


@dataclass(frozen=True)
class ScheduleLogic:
    """When the cycles of a schedule are.

    begins: whether this is cycle 0. reading: which bit of `reading_before` says that this is cycle 1 of the results;
    started: what says so of their cycle 0. ready, valid: of the streams.
    """

    lines: tuple[str, ...]
    begins: str
    started: str
    ready: str
    valid: str

    def reads(self, cycle: int) -> str:
        """Whether this is that cycle of the results."""
        return f"reading[{cycle - 1}]" if cycle else self.started


def schedule_logic(protocol: SerialProtocol, step: str, free: str, done: str) -> ScheduleLogic:
    """A counter of the cycles of a dot product, and a register that says how long ago its result's cycles began.

    step: whether a cycle counts. free: whether the design lets a dot product begin. done: whether it says that its
    result comes.
    """
    timer = _Timer(protocol, step, free, done)
    lines = (*timer.counter(), *timer.waiting(), *timer.reading())
    return ScheduleLogic(lines, timer.begins, timer.started, timer.taken, timer.valid)


@dataclass(frozen=True)
class _Timer:
    protocol: SerialProtocol
    step: str
    free: str
    done: str

    @property
    def waits(self) -> bool:
        """Whether the design says when its result comes."""
        return self.done != NEVER

    @property
    def repeats(self) -> bool:
        """Whether the design's cycles go on by themselves."""
        return self.protocol.between == "repeats"

    def at(self, cycle: int) -> str:
        """Whether this is that cycle."""
        return f"cycle == {self.number(cycle)}"

    def number(self, cycle: int) -> str:
        """A number as wide as the counter."""
        return f"{max(1, (self.protocol.cycles - 1).bit_length())}'d{cycle}"

    @property
    def empty(self) -> str:
        """Whether no result is being read."""
        return f"reading == {self.protocol.given}'d0"

    @property
    def begins(self) -> str:
        """Whether this is cycle 0 of a dot product."""
        return f"active & {self.at(0)}"

    @property
    def taken(self) -> str:
        """Whether this is the last cycle of a dot product."""
        return all_of("active", self.at(self.protocol.cycles - 1), self.step)

    @property
    def started(self) -> str:
        """Whether this is cycle 0 of a result."""
        return all_of("pending", self.done) if self.waits else self.begins

    @property
    def valid(self) -> str:
        """Whether all of a result is there, or the design said so of one that nobody asked for."""
        there = f"reading[{self.protocol.given - 1}]"
        return f"{there} | stray & ~pending & {self.empty}" if self.waits else there

    def counter(self) -> Iterator[str]:
        """The cycle of a dot product."""
        width, last = max(1, (self.protocol.cycles - 1).bit_length()), self.protocol.cycles - 1
        yield "// cycle: of the dot product that stands at the input, which is taken in the last one"
        yield f"reg [{width - 1}:0] cycle;"
        yield f"reg [{self.protocol.given - 1}:0] reading;"
        if self.waits:
            yield "// stray: whether the design said that it was done where no dot product was under way"
            yield "reg pending, was_done, stray;"
        if self.repeats:
            yield "// engaged: whether the cycles are those of a dot product"
            yield "reg engaged;"
            yield f"wire active = {self.at(0)} ? i__valid : engaged;"
        else:
            begin = all_of(self.free, *["~pending"] * self.waits, *[self.empty] * (self.waits and self.free == ALWAYS))
            under_way = ALWAYS if begin == ALWAYS else f"cycle != {self.number(0)} | {begin}"
            yield f"wire active = {all_of('i__valid', under_way)};"
        counts = self.step if self.repeats else all_of("active", self.step)
        yield "always @(posedge clk)"
        yield f"  if (rst) cycle <= {self.number(0)};"
        yield f"  else {when(counts)}cycle <= {self.at(last)} ? {self.number(0)} : cycle + {self.number(1)};"
        if self.repeats:
            yield "always @(posedge clk)"
            yield "  if (rst) engaged <= 1'b0;"
            yield f"  else {when(self.step)}engaged <= active;"

    def waiting(self) -> Iterator[str]:
        """Whether the result of a dot product is waited for."""
        if not self.waits:
            return
        yield "always @(posedge clk)"
        yield "  if (rst) begin pending <= 1'b0; was_done <= 1'b0; stray <= 1'b0; end"
        yield f"  else {when(self.step)}begin"
        yield f"    pending <= {self.taken} | pending & {inverted(self.done)};"
        yield f"    was_done <= {self.done};"
        yield f"    stray <= stray | {all_of(self.done, '~was_done', '~pending')};"
        yield "  end"

    def reading(self) -> Iterator[str]:
        """How many cycles ago the cycles of the result began."""
        width = self.protocol.given
        following = f"{{reading[{width - 2}:0], {self.started}}}" if width > 1 else self.started
        yield "// reading: how many cycles ago the cycles of the result began"
        yield "always @(posedge clk)"
        yield f"  if (rst) reading <= {width}'d0;"
        yield f"  else {when(self.step)}reading <= {following};"
