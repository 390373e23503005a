"""The testbench: a cocotb test for each suite of a job, played as its promise says."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, assert_never

import cocotb

from hwsim.tb.cycles import play_trace
from hwsim.tb.heartbeat import Heartbeat
from hwsim.tb.job import (
    FOLDER,
    BeatOrder,
    CodeTable,
    Recording,
    SuiteOutcome,
    Trace,
    read_script,
    suite_names,
    write_answers,
    write_outcome,
)
from hwsim.tb.order import play_order
from hwsim.tb.tables import play_table
from hwsim.tb.watch import play_recording

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
                    await play_trace(dut, script, trace, outcome, beat)
                case BeatOrder() as order:
                    write_answers(folder, index, *await play_order(dut, script, order, outcome, beat))
                case Recording() as recording:
                    write_answers(folder, index, *await play_recording(dut, script, recording, outcome, beat))
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


if JOB is not None:
    for _index, _name in enumerate(suite_names(JOB)):
        globals()[f"suite{_index}"] = make_test(JOB, _index, _name)
