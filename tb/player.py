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
    SuiteOutcome,
    Trace,
    read_script,
    suite_names,
    write_answers,
    write_outcome,
)
from hwsim.tb.order import play_order
from hwsim.tb.trace import compare, play_recording, play_trace

JOB = Path(os.environ[FOLDER]) if FOLDER in os.environ else None


def make_test(folder: Path, index: int, name: str) -> Any:
    """A cocotb test that plays one suite of a job and writes its outcome."""

    async def suite(dut: Any) -> None:
        beat = Heartbeat(folder, name)
        script, outcome = read_script(folder, index, name), SuiteOutcome(name)
        started = time.perf_counter()
        try:
            match script.promise:
                case Trace() as trace:
                    compare(script, trace, await played(dut, play_trace(dut, script, trace), beat), outcome)
                case BeatOrder() as order:
                    answers = await played(dut, play_order(dut, script, order, outcome), beat)
                    write_answers(folder, index, *answers)
                case Recording() as recording:
                    answers = await played(dut, play_recording(dut, script, recording), beat)
                    outcome.cycles = len(answers[0])
                    write_answers(folder, index, *answers)
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
    """Drive every row's codes into combinational blocks, and compare every port's answer where its mask says so."""
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


if JOB is not None:
    for _index, _name in enumerate(suite_names(JOB)):
        globals()[f"suite{_index}"] = make_test(JOB, _index, _name)
