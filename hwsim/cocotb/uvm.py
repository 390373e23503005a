"""pyuvm components of a unit: a sequence of dot products, an agent that drives and monitors, and a scoreboard.

    class MyTest(uvm_test):
        def build_phase(self):
            self.agent = DotAgent("agent", self)
            self.board = DotScoreboard("board", self)

        def connect_phase(self):
            self.agent.connect_to(self.board)

The test puts a source, a sink and a scoreboard of `hwsim.cocotb` into the ConfigDB, as SOURCE, SINK and SCOREBOARD. It
needs pyuvm, the extra `uvm`.
"""

from __future__ import annotations

from typing import Any, Protocol

from pyuvm import (
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_scoreboard,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
    uvm_subscriber,
)

from hwsim.base.errors import InputError
from hwsim.cocotb.coverage import Coverage
from hwsim.cocotb.scoreboard import Scoreboard, Verdict
from hwsim.cocotb.stimuli import Stimuli, Stimulus
from hwsim.spec import Unit
from hwsim.tb.pins import Transfer, Value

SOURCE, SINK, SCOREBOARD = "SOURCE", "SINK", "SCOREBOARD"  # names in the ConfigDB


class BeatSource(Protocol):
    """The source that a driver sends by: `ValidReadySource`, or another that has its `send`."""

    async def send(self, **fields: list[Value]) -> None:
        """Send transfers, one after the other."""


class DotItem(uvm_sequence_item):
    """One dot product."""

    def __init__(self, stimulus: Stimulus):
        super().__init__(stimulus.case.id)
        self.stimulus = stimulus

    def __str__(self) -> str:
        return str(self.stimulus.case)


class DotSequence(uvm_sequence):
    """A sequence of dot products. stimuli: the return value of `hwsim.cocotb.stimulus`."""

    def __init__(self, stimuli: Stimuli, name: str = "dot_sequence"):
        super().__init__(name)
        self.stimuli = stimuli

    async def body(self) -> None:
        """Hand every item to the driver."""
        for stimulus in self.stimuli:
            item = DotItem(stimulus)
            await self.start_item(item)
            await self.finish_item(item)


class DotDriver(uvm_driver):
    """Sends each item by the SOURCE of the ConfigDB. sent: an analysis port, which gets each item before it is sent."""

    def build_phase(self) -> None:
        """Look up the source."""
        self.sent = uvm_analysis_port("sent", self)
        self.source: BeatSource = self.cdb_get(SOURCE)

    async def run_phase(self) -> None:
        """Send the sequencer's items."""
        while True:
            item = await self.seq_item_port.get_next_item()
            self.sent.write(item)
            await self.source.send(**item.stimulus.beats)
            self.seq_item_port.item_done()


class DotMonitor(uvm_monitor):
    """Writes each transfer of the SINK of the ConfigDB to its analysis port `seen`."""

    def build_phase(self) -> None:
        """Look up the sink."""
        self.seen = uvm_analysis_port("seen", self)
        self.sink: Any = self.cdb_get(SINK)

    async def run_phase(self) -> None:
        """Write every transfer that leaves the design to the port."""
        while True:
            self.seen.write(await self.sink.receive())


class DotAgent(uvm_agent):
    """A sequencer, a driver and a monitor; a passive one (`is_active` of the ConfigDB) has the monitor alone."""

    def build_phase(self) -> None:
        """Make the components."""
        super().build_phase()
        self.monitor = DotMonitor("monitor", self)
        if self.active():
            self.sequencer = uvm_sequencer("sequencer", self)
            self.driver = DotDriver("driver", self)

    def connect_phase(self) -> None:
        """Connect the driver to the sequencer."""
        if self.active():
            self.driver.seq_item_port.connect(self.sequencer.seq_item_export)

    def connect_to(self, board: DotScoreboard) -> None:
        """Connect a scoreboard, so that it expects what is sent, and sees what comes."""
        if self.active():
            self.driver.sent.connect(board.expected.analysis_export)
        self.monitor.seen.connect(board.seen.analysis_export)


class _Expected(uvm_subscriber):
    """Subscribes to items that are sent."""

    def write(self, item: DotItem) -> None:
        """Expect the item's result."""
        self.get_parent().board.expect(item.stimulus)


class _Seen(uvm_subscriber):
    """Subscribes to transfers that come."""

    def write(self, transfer: Transfer) -> None:
        """Compare the transfer."""
        self.get_parent().board.see(transfer)


class DotScoreboard(uvm_scoreboard):
    """Connects the SCOREBOARD of the ConfigDB to analysis exports: `expected` for items, `seen` for transfers."""

    def build_phase(self) -> None:
        """Look up the scoreboard and the sink."""
        self.board: Scoreboard = self.cdb_get(SCOREBOARD)
        self.sink: Any = self.cdb_get(SINK)
        self.expected, self.seen = _Expected("expected", self), _Seen("seen", self)

    @property
    def unit(self) -> Unit:
        """The unit that the design must equal."""
        return self.board.unit

    @property
    def coverage(self) -> Coverage:
        """The coverage. Raises InputError where none is counted."""
        if self.board.coverage is None:
            raise InputError("the scoreboard has no coverage: Scoreboard(unit, coverage=Coverage(unit))")
        return self.board.coverage

    async def drain(self, patience: int = 1000) -> Verdict:
        """Wait for the results that are due, and raise Mismatched unless all is as promised; as `Scoreboard.drain`."""
        return await self.board.drain(self.sink, patience)

    def check_phase(self) -> None:
        """Raise Mismatched unless everything is as promised, also in a test that does not drain."""
        self.board.check(self.sink.outcome)
