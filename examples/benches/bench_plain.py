"""A cocotb testbench of any design here: every boundary of its arithmetic and random cases, under back-pressure."""

from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from hwsim.cocotb import Coverage, Scoreboard, ValidReadySink, ValidReadySource, sometimes, stimulus

DESIGNS = Path(__file__).parent / "designs"


@cocotb.test()
async def dot(dut: Any) -> None:
    """Every dot product as the unit returns it."""
    unit = DESIGNS / f"{dut._name}.yaml"
    Clock(dut.clk, 10, "ns").start()
    board = Scoreboard(unit, coverage=Coverage(unit), name="dot")
    source = ValidReadySource(dut, "in", dut.clk)
    sink = ValidReadySink(dut, "out", dut.clk, take=sometimes(0.8, seed=1), reset=dut.rst)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    async for case in stimulus(board.unit, directed=True, random=500, seed=1):
        board.expect(case)
        await source.send(**case.beats)
    await board.drain(sink)
    assert board.coverage is not None
    board.coverage.write("coverage.xml")
    board.coverage.write("ucis.xml", format="ucis")
    dut._log.info("%s", board.coverage.counts)
