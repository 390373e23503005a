"""A pyuvm test of any design here, of the components of hwsim.cocotb.uvm."""

from pathlib import Path

import cocotb
import pyuvm
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from pyuvm import ConfigDB, uvm_test

from hwsim.cocotb import Coverage, Scoreboard, ValidReadySink, ValidReadySource, sometimes, stimulus
from hwsim.cocotb.uvm import SCOREBOARD, SINK, SOURCE, DotAgent, DotScoreboard, DotSequence

DESIGNS = Path(__file__).parent / "designs"


@pyuvm.test()
class DotTest(uvm_test):
    """Every boundary of the unit's arithmetic, and random sums of up to four beats, as the unit returns them."""

    def build_phase(self) -> None:
        """An agent and a scoreboard, and what they take from the ConfigDB."""
        dut, database = cocotb.top, ConfigDB()
        unit = DESIGNS / f"{dut._name}.yaml"
        source = ValidReadySource(dut, "in", dut.clk, offer=sometimes(0.9, name="in"))
        sink = ValidReadySink(dut, "out", dut.clk, take=sometimes(0.8, name="out"), reset=dut.rst)
        board = Scoreboard(unit, coverage=Coverage(unit), name="DotTest")
        for name, value in ((SOURCE, source), (SINK, sink), (SCOREBOARD, board)):
            database.set(self, "*", name, value)
        self.agent = DotAgent("agent", self)
        self.board = DotScoreboard("board", self)

    def connect_phase(self) -> None:
        """The scoreboard expects what the agent sends."""
        self.agent.connect_to(self.board)

    async def run_phase(self) -> None:
        """Reset, run the sequence, and wait for its results."""
        self.raise_objection()
        dut = cocotb.top
        Clock(dut.clk, 10, "ns").start()
        dut.rst.value = 1
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        await DotSequence(stimulus(self.board.unit, random=500, seed=1)).start(self.agent.sequencer)
        await self.board.drain()
        self.drop_objection()

    def report_phase(self) -> None:
        """Write the coverage."""
        self.board.coverage.write("coverage.xml")
        self.logger.info("%s", self.board.coverage.counts)
