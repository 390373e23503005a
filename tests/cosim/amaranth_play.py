"""Playing a trace into the RTL in Amaranth's own simulator, without any other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator
from cosim.plays import trace_of

from hwsim.cosim.bench import PortMap, port_map, words_of
from hwsim.cosim.design import Play
from hwsim.cosim.play import PortAnswers, compare
from hwsim.rtl import DotUnit
from hwsim.spec import Pipeline, Specified
from hwsim.tb.job import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID, SuiteOutcome


def amaranth_play(unit: Specified, built: Pipeline, *plays: Play) -> list[SuiteOutcome]:
    """What comparing every cycle of some plays, one after another, with the RTL finds."""
    ports = port_map(unit, built)
    m = Module()
    m.domains.sync = clock = ClockDomain()
    m.submodules.dut = dut = DotUnit(unit, built)
    seen: list[PortAnswers] = []

    async def bench(ctx: Any) -> None:
        seen.extend([await _play(ctx, dut, clock.rst, play, ports) for play in plays])

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator.run()
    return [compare(play.script, trace_of(play), got, ports) for play, got in zip(plays, seen, strict=True)]


async def _play(ctx: Any, dut: DotUnit, reset: Any, play: Play, ports: PortMap) -> PortAnswers:
    """What the RTL answers, cycle by cycle."""
    trace, payloads = trace_of(play), play.script.payloads
    flags: list[int] = []
    results: list[int] = []
    for drive, offered in zip(trace.drive.tolist(), trace.offered.tolist(), strict=True):
        ctx.set(reset, bool(drive & RESET))
        ctx.set(dut.i.valid, drive & VALID)
        ctx.set(dut.o.ready, bool(drive & READY))
        if offered >= 0:
            ctx.set(dut.i.payload.as_value(), payloads[offered])
        leaves = ctx.get(dut.o.valid)
        flags.append(SEEN_READY * ctx.get(dut.i.ready) | SEEN_VALID * leaves | SEEN_MISUSE * ctx.get(dut.misuse))
        if leaves and drive & (READY | RESET) == READY:
            results.append(ctx.get(dut.o.payload.as_value()))
        await ctx.tick()
    return PortAnswers(np.array(flags, np.uint8), words_of(results, ports.output.words))
