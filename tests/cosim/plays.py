"""Suites of a unit with their traces, its pipelines, and what the bulk driver and Amaranth's simulator make of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PortMap, port_map, words_of
from hwsim.cosim.design import FULL, Play, Suite, Tagged, Traffic
from hwsim.cosim.play import BulkUnit, answers, compared, play_in_bulk
from hwsim.cosim.suites import Planner
from hwsim.cosim.trace import record
from hwsim.cosim.unitdesign import UnitDesign, unit_design
from hwsim.rtl import DotUnit
from hwsim.spec import Pipeline, Specified, Unit, pipeline, steps
from hwsim.tb.job import READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID, Script, SuiteOutcome, Trace
from hwsim.tb.trace import TraceAnswers


def stream(seed: int = 1) -> Stream:
    return Stream(seed, "tests")


def design_of(unit: Unit, built: Pipeline | None = None) -> UnitDesign:
    return unit_design(unit, built or pipeline(unit))


def recorded(
    unit: Unit,
    built: Pipeline,
    cases: Sequence[Case],
    traffic: Traffic = FULL,
    *,
    shuffled: bool = False,
    resets: bool = False,
    expected: Sequence[int] | None = None,
) -> Play:
    """Cases as our RTL is put through them."""
    codes = None if expected is None else tuple(expected)
    suite = Suite("suite", tuple(cases), codes, traffic, shuffled, resets)
    return design_of(unit, built).play(suite, stream())


def recorded_in(unit: Unit, built: Pipeline, cases: Sequence[Case], order: Sequence[Tagged]) -> Play:
    """Beats of cases in an order of one's own."""
    return record(Suite("suite", tuple(cases)), unit, built, port_map(unit, built), order, stream())


def planned(unit: Unit, driver: str, count: int | None, seed: int = 1, built: Pipeline | None = None) -> list[Play]:
    """All suites of a driver."""
    return Planner(design_of(unit, built), seed).plan(driver, count)[0]


def planner(unit: Unit, seed: int = 1) -> Planner:
    return Planner(design_of(unit), seed)


def trace_of(play: Play) -> Trace:
    assert isinstance(play.script.promise, Trace)
    return play.script.promise


def with_trace(play: Play, **changes: np.ndarray) -> Play:
    """The same with other columns of its trace."""
    return replace(play, script=replace(play.script, promise=replace(trace_of(play), **changes)))


def with_codes(play: Play, codes: Sequence[int] | int) -> Play:
    """The same with other results."""
    results = play.script.results.copy()
    results[:, 1] = codes
    return replace(play, script=replace(play.script, results=results))


def codes_of(play: Play) -> list[int]:
    """The codes that are due, in order."""
    return list(play.script.results[:, 1].tolist())


def output_words(script: Script, ports: PortMap) -> np.ndarray:
    """The results of a script as the output's payloads."""
    fields = {field.name: field for field in ports.output.fields}
    rows = script.results.tolist()
    words = [fields["context"].place([context]) | fields["result"].place([code]) for context, code in rows]
    return words_of(words, ports.output.words)


def played(device: BulkUnit, play: Play) -> SuiteOutcome:
    """What comes of a play in a device that is there."""
    trace, words = trace_of(play), words_of(play.script.payloads, device.ports.input.words)
    return compared(play.script, trace, device.run(trace.drive, trace.offered, words))


def bulk_outcomes(design: UnitDesign, plays: Sequence[Play]) -> list[SuiteOutcome]:
    """What comes of plays in the bulk driver."""
    return [one.outcome for one in play_in_bulk(design.library(), design.ports, plays, Path())]


def odd_pipelines(unit: Unit) -> dict[str, Pipeline]:
    """The usual pipeline, one that cuts inside the trees, and a single register."""
    inside = ("maximum.1", "sum.1") if unit.instruction.lanes > 2 else ("maximum", "sum")
    cuts = tuple(cut for cut in (*inside, "normalize") if cut in steps(unit)) or steps(unit)[1:2]
    return {
        "usual": pipeline(unit),
        "trees, 3 contexts": pipeline(unit, cuts=cuts, contexts=3),
        "one register": pipeline(unit, cuts=(), contexts=1),
    }


def amaranth_play(unit: Specified, built: Pipeline, *plays: Play) -> list[SuiteOutcome]:
    """What comparing every cycle of some plays, one after another, with the RTL finds."""
    ports = port_map(unit, built)
    m = Module()
    m.domains.sync = clock = ClockDomain()
    m.submodules.dut = dut = DotUnit(unit, built)
    seen: list[TraceAnswers] = []

    async def bench(ctx: Any) -> None:
        seen.extend([await _play(ctx, dut, clock.rst, play, ports) for play in plays])

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator.run()
    return [compared(play.script, trace_of(play), got) for play, got in zip(plays, seen, strict=True)]


async def _play(ctx: Any, dut: DotUnit, reset: Any, play: Play, ports: PortMap) -> TraceAnswers:
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
    words = words_of(results, ports.output.words)
    return answers(trace.drive, np.array(flags, np.uint8), words, ports)
