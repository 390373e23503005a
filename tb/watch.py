"""Recording a device: beats are put in, and what its output holds in every cycle is written down."""

from __future__ import annotations

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hwsim.tb.cycles import PERIOD_NS
from hwsim.tb.heartbeat import Heartbeat
from hwsim.tb.job import (
    INDEX,
    MISSING,
    READY,
    RESET,
    SEEN,
    SEEN_READY,
    SEEN_UNKNOWN,
    UNKNOWN,
    VALID,
    Recording,
    Script,
    SuiteOutcome,
)


async def play_recording(
    dut: Any, script: Script, recording: Recording, outcome: SuiteOutcome, beat: Heartbeat
) -> tuple[list[int], bytes]:
    """Play the beats; the output's code in every cycle, and what happened at the ports.

    A code is UNKNOWN where a bit of it is, and MISSING in a reset.
    """
    edge, quiet = RisingEdge(dut.clk), ReadOnly()
    codes, traffic, position, remaining = [MISSING] * recording.reset_cycles, bytearray(), 0, recording.patience
    dut.drive.value = RESET
    clock = Clock(dut.clk, PERIOD_NS, "ns")
    clock.start(start_high=False)
    await edge
    for _ in range(recording.reset_cycles):
        traffic.append(RESET)
        await edge
    while remaining:
        offered = VALID * (position < recording.beats)
        dut.drive.value = offered | READY | min(position, recording.beats - 1) + script.first << INDEX
        await quiet
        seen = int(dut.seen.value)
        codes.append(UNKNOWN if seen & SEEN_UNKNOWN else int(dut.result.value))
        traffic.append(offered | READY | (seen & SEEN_READY) << SEEN)
        taken = bool(offered and seen & SEEN_READY)
        position += taken
        remaining = recording.patience if taken else remaining - 1
        await edge
        beat(len(traffic))
    clock.stop()
    outcome.cycles = len(traffic)
    return codes, bytes(traffic)
