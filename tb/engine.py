"""The testbench of a matrix engine: it plays what cosim recorded, and compares every port in every cycle."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock

from hwsim.tb.cycles import PERIOD_NS, Cycles, Heartbeat
from hwsim.tb.job import FOLDER, MOST_MISMATCHES, PortMismatch, SuiteOutcome, write_outcome
from hwsim.tb.pins import seen

SCRIPTS = "engine"


@dataclass(frozen=True)
class EngineScript:
    """What is played, and promised of every cycle.

    streams: of each operand its words. offered: int32[cycles] by stream, the word that is valid at it, -1 where none
    is; lasts: of every word, whether it ends a frame. take: bool[cycles], whether a result may leave. mode:
    int[cycles]. reset: bool[cycles].
    ready: bool[cycles] by stream. results: words at d, and whether each ends a frame; valid: int32[cycles], which of
    them is there, -1 for none. error: int[cycles].
    driven, promised: int[cycles] by the name of another port; -1 where nothing is promised.
    reset_port: its name; reset_low: it is active low; at_once: it does not wait for the clock's edge.
    """

    name: str
    streams: dict[str, list[int]]
    offered: dict[str, np.ndarray]
    lasts: dict[str, np.ndarray]
    take: np.ndarray
    mode: np.ndarray
    reset: np.ndarray
    ready: dict[str, np.ndarray]
    results: list[tuple[int, bool]]
    valid: np.ndarray
    error: np.ndarray
    driven: dict[str, np.ndarray] = field(default_factory=dict)
    promised: dict[str, np.ndarray] = field(default_factory=dict)
    reset_port: str = "rst"
    reset_low: bool = False
    at_once: bool = False

    @property
    def cycles(self) -> int:
        return len(self.take)

    @cached_property
    def compared(self) -> np.ndarray:
        """bool[cycles]: where ports are promised: outside of resets, and in those that act at once, if they begin
        after the script does.
        """
        return ~self.reset | (self.at_once & (np.arange(self.cycles) > 0))


class EnginePlay:
    """A part of the clock that drives an engine's ports and looks at them."""

    def __init__(self, dut: Any, script: EngineScript, outcome: SuiteOutcome, cycles: Cycles, beat: Heartbeat):
        self.dut, self.script, self.outcome, self.cycles, self.beat = dut, script, outcome, cycles, beat
        self.cycle, self.streams = 0, list(script.streams)
        self.ports = {name: {port: getattr(dut, f"{name}_{port}") for port in ("tdata", "tvalid", "tlast", "tready")}
                      for name in self.streams}  # fmt: skip
        self.mode, self.reset = getattr(dut, "mode", None), getattr(dut, script.reset_port)
        self.others = {name: getattr(dut, name) for name in (*script.driven, *script.promised)}
        self.shown: dict[str, int] = {}

    def _set(self, name: str, handle: Any, value: int) -> None:
        if self.shown.get(name) != value:
            handle.value = self.shown[name] = value

    def drive(self) -> None:
        """Begin a cycle: drive what the script has for it."""
        self.beat(self.cycles.cycle)
        script, at = self.script, self.cycle
        for name, ports in self.ports.items():
            word = int(script.offered[name][at])
            self._set(f"{name}v", ports["tvalid"], int(word >= 0))
            if word >= 0:
                self._set(f"{name}d", ports["tdata"], script.streams[name][word])
                self._set(f"{name}l", ports["tlast"], int(script.lasts[name][word]))
        self._set("take", self.dut.d_tready, int(script.take[at]))
        self._set("rst", self.reset, int(script.reset[at]) ^ script.reset_low)
        if self.mode is not None:
            self._set("mode", self.mode, int(script.mode[at]))
        for name, column in script.driven.items():
            self._set(name, self.others[name], int(column[at]))

    def look(self) -> None:
        """End a cycle: compare every port with what is promised."""
        self.outcome.cycles += not self.script.reset[self.cycle]
        if self.script.compared[self.cycle]:
            for mismatch in self._wrong():
                self.outcome.note(mismatch)
        self.cycle += 1
        if self.cycle == self.script.cycles or self.outcome.count >= MOST_MISMATCHES:
            self.cycles.leave(self)

    def _wrong(self) -> Iterator[PortMismatch]:
        script, at, dut = self.script, self.cycle, self.dut
        for name, ports in self.ports.items():
            yield from self._differs(f"{name}_tready", ports["tready"], int(script.ready[name][at]))
        yield from self._differs("error", dut.error, int(script.error[at]))
        word = int(script.valid[at])
        yield from self._differs("d_tvalid", dut.d_tvalid, int(word >= 0), word)
        if word >= 0:
            data, last = script.results[word]
            yield from self._differs("d_tdata", dut.d_tdata, data, word)
            yield from self._differs("d_tlast", dut.d_tlast, int(last), word)
            self.outcome.results += bool(script.take[at])
        for name, column in script.promised.items():
            if column[at] >= 0:
                yield from self._differs(name, self.others[name], int(column[at]))

    def _differs(self, port: str, handle: Any, expected: int, word: int = -1) -> Iterator[PortMismatch]:
        got = seen(handle)
        if got != expected:
            yield PortMismatch(port, self.cycle, word, got, expected)


def make_test(folder: Path, index: int, script: EngineScript) -> Any:
    """A cocotb test that plays one script and writes what came of it."""

    async def suite(dut: Any) -> None:
        outcome, started = SuiteOutcome(script.name), time.perf_counter()
        clock, cycles = Clock(dut.clk, PERIOD_NS, "ns"), Cycles(dut.clk)
        clock.start(start_high=False)
        try:
            await cycles.edge
            cycles.join(EnginePlay(dut, script, outcome, cycles, Heartbeat(folder, script.name)))
            await cycles.run()
        finally:
            clock.stop()
            outcome.seconds = time.perf_counter() - started
            write_outcome(folder, index, outcome)
        assert outcome.count == 0, f"{outcome.count} differences"

    suite.__name__ = suite.__qualname__ = script.name
    return cocotb.test(name=script.name)(suite)


if FOLDER in os.environ:
    _folder = Path(os.environ[FOLDER])
    for _index, _script in enumerate(pickle.loads((_folder / SCRIPTS).read_bytes())):
        globals()[f"suite{_index}"] = make_test(_folder, _index, _script)
