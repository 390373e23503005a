"""Playing a trace into the RTL in Amaranth's own simulator, without any other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from hwsim.cosim.bulk import Seen
from hwsim.cosim.compare import compare
from hwsim.cosim.ports import PortMap, port_map
from hwsim.cosim.trace import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID, Trace, words_of
from hwsim.rtl import DotUnit
from hwsim.spec import Pipeline, Unit
from hwsim.tb.job import Outcome


def amaranth_play(unit: Unit, built: Pipeline, trace: Trace) -> Outcome:
    """What comparing every cycle of a trace with the RTL finds."""
    ports = port_map(unit, built)
    return compare(trace, amaranth_seen(unit, built, trace, ports), ports)


def amaranth_seen(unit: Unit, built: Pipeline, trace: Trace, ports: PortMap) -> Seen:
    """What the RTL answers, cycle by cycle."""
    m = Module()
    m.domains.sync = clock = ClockDomain()
    m.submodules.dut = dut = DotUnit(unit, built)
    payloads = [ports.pack(item.beat) for item in trace.beats]
    flags: list[int] = []
    results: list[int] = []

    async def bench(ctx: Any) -> None:
        for drive, offered in zip(trace.drive.tolist(), trace.offered.tolist(), strict=True):
            ctx.set(clock.rst, bool(drive & RESET))
            ctx.set(dut.i.valid, drive & VALID)
            ctx.set(dut.o.ready, bool(drive & READY))
            if offered >= 0:
                ctx.set(dut.i.payload.as_value(), payloads[offered])
            seen = SEEN_READY * ctx.get(dut.i.ready) | SEEN_VALID * ctx.get(dut.o.valid)
            flags.append(seen | SEEN_MISUSE * ctx.get(dut.misuse))
            if ctx.get(dut.o.valid) and drive & (READY | RESET) == READY:
                results.append(ctx.get(dut.o.payload.as_value()))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator.run()
    return Seen(np.array(flags, np.uint8), words_of(results, ports.output.words))
