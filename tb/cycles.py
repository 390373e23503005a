"""Playing a trace: every cycle driven as it says, and compared.

A cycle's inputs are put on the ports just after the rising edge; the outputs are read once all is quiet. What is
driven is `hwsim.cosim.bench`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hwsim.tb.board import OtherCodes, ResultBoard
from hwsim.tb.heartbeat import Heartbeat
from hwsim.tb.job import (
    CONTEXT,
    HOLD,
    INDEX,
    MISSING,
    READY,
    RESET,
    SEEN_LOST,
    SEEN_MISUSE,
    SEEN_READY,
    SEEN_UNKNOWN,
    SEEN_VALID,
    UNKNOWN,
    VALID,
    PortMismatch,
    Script,
    SuiteOutcome,
    Trace,
)

PERIOD_NS = 10
# A device that has lost step answers nothing but mismatches: stop there, and say where it began.
MOST_TIMING_MISMATCHES = 16
ALWAYS, UNCLEAR = SEEN_VALID | SEEN_MISUSE, SEEN_LOST | SEEN_UNKNOWN
FLAGS = {SEEN_READY: "ready", SEEN_VALID: "valid", SEEN_MISUSE: "misuse"}


class TraceBoard:
    """Holds what the ports say against what the script promises."""

    def __init__(self, dut: Any, script: Script, outcome: SuiteOutcome):
        self.result, self.outcome = dut.result, outcome
        self.board = ResultBoard(script.results.tolist(), OtherCodes(), outcome)
        self.timing = 0

    def look(self, cycle: int, drive: int, expect: int, seen: int) -> None:
        """One cycle's outputs. The result is looked at in every cycle that it waits: it must not change."""
        wrong = (seen ^ expect) & (ALWAYS | SEEN_READY if drive & VALID else ALWAYS)
        if wrong or seen & UNCLEAR:
            self._flags(cycle, wrong, seen, expect)
        if seen & expect & SEEN_VALID:
            if not seen & SEEN_UNKNOWN:
                self.board.compare(cycle, self.outcome.results, seen >> CONTEXT, int(self.result.value))
            if drive & READY and not drive & HOLD:
                self.outcome.results += 1

    def _flags(self, cycle: int, wrong: int, seen: int, expect: int) -> None:
        for bit, kind in FLAGS.items():
            if wrong & bit:
                got, expected = int(seen & bit > 0), int(expect & bit > 0)
                self.outcome.note(PortMismatch(kind, cycle, self.outcome.results, got, expected))
        if seen & UNCLEAR:
            self.outcome.note(PortMismatch("unknown", cycle, self.outcome.results, UNKNOWN, MISSING))
        self.timing += 1


async def play_trace(dut: Any, script: Script, trace: Trace, outcome: SuiteOutcome, beat: Heartbeat) -> None:
    """Play a suite, from reset to the last result."""
    board = TraceBoard(dut, script, outcome)
    look, drive_port, seen_port = board.look, dut.drive, dut.seen
    edge, quiet = RisingEdge(dut.clk), ReadOnly()
    words = trace.drive.astype(np.int64) | np.maximum(trace.offered, 0).astype(np.int64) + script.first << INDEX
    drive_port.value = RESET
    clock = Clock(dut.clk, PERIOD_NS, "ns")
    clock.start(start_high=False)
    await edge
    cycles = zip(trace.drive.tolist(), words.tolist(), trace.expect.tolist(), strict=True)
    for cycle, (drive, word, expect) in enumerate(cycles):
        drive_port.value = word
        await quiet
        if not drive & RESET:
            look(cycle, drive, expect, int(seen_port.value))
            if board.timing >= MOST_TIMING_MISMATCHES:
                break
        await edge
        beat(cycle)
    outcome.cycles = cycle + 1
    clock.stop()
