"""A cocotb testbench of int8axis.sv, whose ports are AXI4-Stream."""

from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from hwsim.cocotb import Coverage, Scoreboard, sometimes, stimulus
from hwsim.cocotb.axis import AxisSink, AxisSource, beat_fields

UNIT = Path(__file__).parent / "designs" / "int8axis.yaml"


@cocotb.test()
async def dot(dut: Any) -> None:
    """Every dot product as the unit returns it."""
    Clock(dut.clk, 10, "ns").start()
    board = Scoreboard(UNIT, coverage=Coverage(UNIT), name="dot")
    source = AxisSource(dut, "s_axis", dut.clk, dut.rst, fields=beat_fields(UNIT))
    sink = AxisSink(dut, "m_axis", dut.clk, dut.rst, bits=32, take=sometimes(0.4))
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    async for case in stimulus(board.unit, random=500, seed=1):
        board.expect(case)
        await source.send(**case.beats)
    await board.drain(sink)
    assert board.coverage is not None
    dut._log.info("%s", board.coverage.counts)
