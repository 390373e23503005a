"""Playing a code table: codes into combinational blocks, fields out, held against the table row by row."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import Timer

from hwsim.tb.heartbeat import Heartbeat
from hwsim.tb.job import CodeTable, PortMismatch, SuiteOutcome


async def play_table(dut: Any, table: CodeTable, outcome: SuiteOutcome, beat: Heartbeat) -> None:
    """Drive every row's codes, and compare every port's answer where its mask says so."""
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
