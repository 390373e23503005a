"""The testbench of a unit: every cycle driven and compared.

A cycle's inputs are put on the ports just after the rising edge; the outputs are read once all is quiet, and a
scoreboard holds them against the script. Every cycle is compared. What is driven is `hwsim.cosim.bench`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hwsim.tb.job import FOLDER, Mismatch, Outcome, Script, read_script, suite_names, write_outcome

VALID, READY, RESET = 1, 2, 4  # bits of `drive`
SEEN_READY, SEEN_VALID, SEEN_MISUSE, SEEN_UNKNOWN = 1, 2, 4, 8  # bits of `seen`; the context stands above
FLAGS = 4
PERIOD_NS = 10
# A device that has lost step answers nothing but mismatches: stop there, and say where it began.
MOST_TIMING_MISMATCHES = 16

JOB = Path(os.environ[FOLDER]) if FOLDER in os.environ else None


class Scoreboard:
    """Holds what the ports say against what the script expects."""

    def __init__(self, dut: Any, script: Script, outcome: Outcome):
        self.result, self.results, self.outcome = dut.result, script.results, outcome
        self.timing = 0

    def look(self, cycle: int, drive: int, expect: int, seen: int) -> None:
        """One cycle's outputs. The result is looked at in every cycle that it waits: it must not change."""
        wrong = (seen ^ expect) & (SEEN_READY | SEEN_VALID | SEEN_MISUSE if drive & VALID else SEEN_VALID | SEEN_MISUSE)
        if wrong or seen & SEEN_UNKNOWN:
            self._flags(cycle, wrong, seen, expect)
        if seen & expect & SEEN_VALID:
            outcome = self.outcome
            context, code = self.results[outcome.results]
            got = (seen >> FLAGS, int(self.result.value))
            if got != (context, code):
                outcome.note(Mismatch("result", cycle, outcome.results, got[1], code, got[0], context))
            if drive & READY:
                outcome.results += 1

    def _flags(self, cycle: int, wrong: int, seen: int, expect: int) -> None:
        kinds = {SEEN_READY: "ready", SEEN_VALID: "valid", SEEN_MISUSE: "misuse"}
        for bit, kind in kinds.items():
            if wrong & bit:
                got, expected = int(seen & bit > 0), int(expect & bit > 0)
                self.outcome.note(Mismatch(kind, cycle, self.outcome.results, got, expected))
        if seen & SEEN_UNKNOWN:
            self.outcome.note(Mismatch("unknown", cycle, self.outcome.results, -1, 0))
        self.timing += 1


async def play(dut: Any, script: Script, outcome: Outcome) -> None:
    """Play a suite, from reset to the last result."""
    scoreboard = Scoreboard(dut, script, outcome)
    look, drive_port, seen_port = scoreboard.look, dut.drive, dut.seen
    edge, quiet = RisingEdge(dut.clk), ReadOnly()
    drive_port.value = RESET
    clock = Clock(dut.clk, PERIOD_NS, "ns")
    clock.start(start_high=False)
    await edge
    cycles = zip(script.drive.tolist(), script.words().tolist(), script.expect.tolist(), strict=True)
    for cycle, (drive, word, expect) in enumerate(cycles):
        drive_port.value = word
        await quiet
        if not drive & RESET:
            look(cycle, drive, expect, int(seen_port.value))
            if scoreboard.timing >= MOST_TIMING_MISMATCHES:
                break
        await edge
    outcome.cycles = cycle + 1
    clock.stop()


def make_test(folder: Path, index: int, name: str) -> Any:
    """A cocotb test that plays one suite of a job and writes its outcome."""

    async def suite(dut: Any) -> None:
        script, outcome = read_script(folder, index, name), Outcome(name)
        started = time.perf_counter()
        try:
            await play(dut, script, outcome)
        finally:
            outcome.seconds = time.perf_counter() - started
            write_outcome(folder, index, outcome)
        assert outcome.count == 0, f"{outcome.count} mismatches"
        assert outcome.results == len(script.results), f"{outcome.results} of {len(script.results)} results"

    suite.__name__ = suite.__qualname__ = name
    return cocotb.test(name=name)(suite)


if JOB is not None:
    for _index, _name in enumerate(suite_names(JOB)):
        globals()[f"suite{_index}"] = make_test(JOB, _index, _name)
