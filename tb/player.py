"""The testbench: a cocotb test for each suite of a job, played as its promise says."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, assert_never

import cocotb
from cocotb.triggers import Timer

from hwsim.tb.cycles import Heartbeat, played
from hwsim.tb.job import (
    FOLDER,
    BeatOrder,
    CodeTable,
    PortMismatch,
    Recording,
    Script,
    SuiteOutcome,
    Trace,
    read_job,
    write_outcome,
)
from hwsim.tb.order import play_order
from hwsim.tb.trace import compare, play_recording, play_trace

FOLDER_OF_JOB = os.environ.get(FOLDER)


def make_test(folder: Path, index: int, script: Script) -> Any:
    """A cocotb test that plays one suite of a job and writes its outcome."""
    name = script.name

    async def suite(dut: Any) -> None:
        beat, outcome = Heartbeat(folder, name), SuiteOutcome(name)
        started = time.perf_counter()
        try:
            match script.promise:
                case Trace() as trace:
                    compare(script, trace, await played(dut, play_trace(dut, script, trace), beat), outcome)
                case BeatOrder() as order:
                    await played(dut, play_order(dut, script, order, outcome), beat)
                case Recording() as recording:
                    await played(dut, play_recording(dut, script, recording, outcome), beat)
                case CodeTable() as table:
                    await play_table(dut, table, outcome, beat)
                case _:
                    assert_never(script.promise)
        finally:
            outcome.seconds = time.perf_counter() - started
            write_outcome(folder, index, outcome)
        assert outcome.count == 0, f"{outcome.count} mismatches"
        assert outcome.results == script.planned, f"{outcome.results} of {script.planned} results"

    suite.__name__ = suite.__qualname__ = name
    return cocotb.test(name=name)(suite)


async def play_table(dut: Any, table: CodeTable, outcome: SuiteOutcome, beat: Heartbeat) -> None:
    """Drive every row's codes into combinational blocks, and compare every port's answer in the bits of its mask."""
    ports = table.ports.tolist()
    handles = [getattr(dut, port) for port in ports]
    a, b, settle = dut.a, dut.b, Timer(1, "ns")
    rows = zip(*(column.tolist() for column in (table.a, table.b, table.expected.T, table.mask.T)), strict=True)
    for row, (code_a, code_b, expected, masks) in enumerate(rows):
        a.value, b.value = code_a, code_b
        await settle
        beat(row)
        for index, (handle, want, mask) in enumerate(zip(handles, expected, masks, strict=True)):
            if mask:
                got = int(handle.value)
                outcome.results += 1
                if (got ^ want) & mask:
                    outcome.note(PortMismatch(ports[index], row, row, got & mask, want & mask, code_a, code_b))
        outcome.cycles = row + 1


if FOLDER_OF_JOB is not None:
    for _index, _script in enumerate(read_job(Path(FOLDER_OF_JOB))):
        globals()[f"suite{_index}"] = make_test(Path(FOLDER_OF_JOB), _index, _script)
