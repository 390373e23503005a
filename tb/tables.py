"""The testbench of combinational blocks: codes in, fields out, held against a table row by row."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer

from hwsim.tb.job import FOLDER, Mismatch, Outcome, write_outcome

JOB = Path(os.environ[FOLDER]) if FOLDER in os.environ else None


async def play(dut: Any, table: dict[str, np.ndarray], ports: list[str], outcome: Outcome) -> None:
    """Drive every row's codes, and compare every port's answer where its mask says so.

    table: `a` and `b`, int64[rows]; `expected` and `mask`, int64[ports, rows].
    """
    handles = [getattr(dut, port) for port in ports]
    a, b, settle = dut.a, dut.b, Timer(1, "ns")
    columns = (table["a"], table["b"], table["expected"].T, table["mask"].T)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (code_a, code_b, expected, masks) in enumerate(rows):
        a.value, b.value = code_a, code_b
        await settle
        for index, (handle, want, mask) in enumerate(zip(handles, expected, masks, strict=True)):
            if mask:
                got = int(handle.value)
                outcome.results += 1
                if (got ^ want) & mask:
                    outcome.note(Mismatch(ports[index], row, row, got & mask, want & mask, code_a, code_b))
        outcome.cycles = row + 1


def make_test(folder: Path, index: int, suite: dict[str, Any]) -> Any:
    """A cocotb test that plays one table of a job and writes its outcome."""
    name, ports = suite["name"], suite["ports"]

    async def table(dut: Any) -> None:
        outcome = Outcome(name)
        started = time.perf_counter()
        with np.load(folder / f"suite{index}.npz") as saved:
            arrays = {key: saved[key] for key in ("a", "b", "expected", "mask")}
        try:
            await play(dut, arrays, ports, outcome)
        finally:
            outcome.seconds = time.perf_counter() - started
            write_outcome(folder, index, outcome)
        assert outcome.count == 0, f"{outcome.count} mismatches"

    table.__name__ = table.__qualname__ = name
    return cocotb.test(name=name)(table)


if JOB is not None:
    for _index, _suite in enumerate(json.loads((JOB / "job.json").read_text())["suites"]):
        globals()[f"suite{_index}"] = make_test(JOB, _index, _suite)
