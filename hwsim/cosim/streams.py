"""Converters and quantisers as designs between two streams: built, played as units are, and reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from hwsim.base import processes
from hwsim.base.errors import InputError
from hwsim.base.processes import scratch_folder
from hwsim.cases.drawing import Stream
from hwsim.cocotb.told import KINDS
from hwsim.cosim.bench import PUBLIC, TOP, PortMap, StreamPort, bench, stream_ports
from hwsim.cosim.build import HdlSources, bulk_build
from hwsim.cosim.design import FULL, Design, Play, Played, Suite, Traffic, pattern
from hwsim.cosim.play import command, play_in_bulk, play_simulated
from hwsim.cosim.report import MOST_TOLD, suite_row
from hwsim.cosim.run import WORKERS, NoProgress, Watcher
from hwsim.cosim.tools import require
from hwsim.explain import CodeReading, Mismatch, Row, RunReport
from hwsim.model.clock import PipelinedStream
from hwsim.rtl import StreamedDatapath, module_name, stream_verilog
from hwsim.tb.fields import Layout, side_by_side
from hwsim.tb.job import READY, RESET, SEEN_READY, SEEN_VALID, VALID, PortMismatch, Script, Trace, result_rows

Words = NDArray[np.uint32]
RESET_CYCLES = 2
MEMORY = 25  # log2 of the bits that payloads in a bench can have


@dataclass(frozen=True, kw_only=True)
class StreamDesign(Design):
    """A design in Verilog with a stream in and a stream out. latency: cycles from a payload to its result."""

    verilog: str
    ports: PortMap
    latency: int

    def sources(self, simulator: str) -> HdlSources:
        """The Verilog in the bench of units."""
        return HdlSources(TOP, bench(self.ports, self.room) + self.verilog, PUBLIC)


def component_design(component: StreamedDatapath) -> StreamDesign:
    """A design of a single component, whose Verilog nothing else uses."""
    text = stream_verilog(component)
    return of_verilog(component.name, text, stream_ports(module_name(component.name), component), component.latency)


def of_verilog(name: str, verilog: str, ports: PortMap, latency: int) -> StreamDesign:
    """A design from Verilog with these ports; wide payloads leave room for fewer of them."""
    room = 1 << min(20, MEMORY - (max(ports.input.width, ports.output.width) - 1).bit_length())
    return StreamDesign(
        name=name, folder=name, words=(), width=ports.input.width, room=room, verilog=verilog, ports=ports,
        latency=latency,
    )  # fmt: skip


@dataclass(frozen=True)
class StreamSuite:
    """Payloads and their results, a row each: uint32[rows, words], the low word first.

    traffic: how busy the ports are. resets: whether resets come in flight, which lose what is under way.
    """

    name: str
    payloads: Words
    results: Words
    traffic: Traffic = FULL
    resets: bool = False


def packed(*columns: tuple[int, NDArray[np.integer]]) -> Words:
    """Pack fields side by side, the first in the low bits, into words: uint32[rows, words].

    columns: bits of an element, and the elements, [rows] or [rows, count], the first in the low bits.
    """
    values = {str(place): elements.reshape(len(elements), -1) for place, (_, elements) in enumerate(columns)}
    layout = Layout(side_by_side((name, columns[int(name)][0], rows.shape[1]) for name, rows in values.items()))
    return layout.words(values).view("<u4")[:, : -(-layout.bits // 32)]


def record(suite: StreamSuite, latency: int, stream: Stream) -> Play:
    """Record the cycle-level model's cycles in a suite; the owner of a result is the row of its payload.

    stream: when ports stop, and when resets come.
    """
    count = len(suite.payloads)
    model: PipelinedStream[int, int] = PipelinedStream(int, latency)
    cycles: list[tuple[int, int, int]] = [(RESET, -1, 0)] * RESET_CYCLES
    leaving, row = list[int](), 0
    traffic = suite.traffic
    offers = pattern(traffic.offer, stream).astype(bool).tolist()
    takes = pattern(traffic.take, stream, bursts=traffic.bursts).astype(bool).tolist()
    resets = set(stream.integers(0, max(count, 1), (3,)).tolist()) if suite.resets else set()
    while row < count or any(held is not None for held in model._registers):
        if row in resets:
            resets.remove(row)
            model.reset()
            cycles += [(RESET, -1, 0)] * RESET_CYCLES
        offer, take = row < count and offers[len(cycles) % len(offers)], takes[len(cycles) % len(takes)]
        seen = SEEN_READY * (offer and model.ready(take)) | SEEN_VALID * model.valid
        cycles.append((VALID * offer | READY * take, row if offer else -1, seen))
        if take and model.result is not None:
            leaving.append(model.result)
        row += model.tick(row if offer else None, take)
    drive, offered, expect = (np.array(column) for column in zip(*cycles, strict=True))
    trace = Trace(drive.astype(np.uint8), offered.astype(np.int32), expect.astype(np.uint8))
    results = result_rows([0] * len(leaving), _numbers(suite.results[leaving]))
    script = Script(suite.name, trace, _numbers(suite.payloads), results)
    return Play(Suite(suite.name, traffic=suite.traffic, resets=suite.resets), script, owners=tuple(leaving))


def _numbers(rows: Words) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in rows.astype("<u4")]


def play(design: StreamDesign, suites: Sequence[StreamSuite], simulator: str, seed: int) -> list[Played]:
    """Play every suite on a simulator. Raises ToolMissing or BuildFailed; ValueError for a suite of other widths."""
    ports, plays = design.ports, list[Play]()
    for suite in suites:
        for what, words, port in (("payloads", suite.payloads, ports.input), ("results", suite.results, ports.output)):
            if words.shape[1:] != (port.words,):
                raise InputError(f"{what} must have {port.words} words, not {words.shape[1:]}")
        if simulator == "icarus" and len(suite.payloads) > design.room:
            rule = f"must have at most {design.room:,} payloads, not {len(suite.payloads):,}"
            raise InputError(f"{suite.name} {rule}")
        plays.append(record(suite, design.latency, Stream(seed, "traffic", suite.name)))
    with scratch_folder() as folder:
        if simulator == "verilator":
            played = play_in_bulk(bulk_build(design.verilog, ports), ports, plays, folder)
            return [replace(result, driver=simulator) for result in played]
        program = command(simulator, design.sources(simulator), trace=False)
        return play_simulated(simulator, program, design, plays, folder / "job", seed, design.stuck_after)


@dataclass(frozen=True)
class StreamJob:
    """A design and its suites, made when they are asked for."""

    design: Callable[[], StreamDesign]
    suites: Callable[[], Iterable[StreamSuite]]


def run_streams(
    jobs: Sequence[StreamJob], simulators: Sequence[str], seed: int, command: str, watcher: Watcher | None = None
) -> RunReport:
    """Run every suite of every job on every simulator. seed: of when ports stop. command: what runs it again.

    Raises ToolMissing for a simulator that is missing, and BuildFailed for a design that one refuses.
    """
    for simulator in simulators:
        require(simulator)
    started, watching = time.monotonic(), watcher or NoProgress()
    watching.plan(len(jobs) * len(simulators))
    rows, mismatches, names = list[Row](), list[Mismatch](), list[str]()
    with processes.threads(WORKERS) as pool:
        for job in jobs:
            design, suites = job.design(), list(job.suites())
            names.append(design.name)
            pending = {item: pool.submit(play, design, suites, item, seed) for item in simulators}
            for simulator, future in pending.items():
                for played in future.result():
                    rows.append(suite_row(design, played))
                    first = played.outcome.mismatches[:MOST_TOLD]
                    mismatches += [_told(rows[-1], design, played, item) for item in first]
                watching.step(f"{design.name}: suites on {simulator}")
    return RunReport(
        title=f"Co-simulation of {', '.join(names)}",
        command=command,
        version=version("hwsim"),
        seed=seed,
        seconds=round(time.monotonic() - started, 1),
        rows=tuple(rows),
        mismatches=tuple(mismatches),
    )


def _told(row: Row, design: StreamDesign, played: Played, mismatch: PortMismatch) -> Mismatch:
    what, expected, got, case = KINDS.get(mismatch.kind, ""), mismatch.expected, mismatch.got, "?"
    if mismatch.kind in ("result", "unknown") and mismatch.index < len(played.play.owners):
        want = int(played.play.script.results[mismatch.index, 1])
        what, expected, got = first_difference(design.ports.output, got, want)
        payload = played.play.owners[mismatch.index]
        case = f"payload {payload}, {played.play.script.payloads[payload]:#x}"
    return Mismatch(
        unit=row.unit,
        suite=row.suite,
        driver=row.driver,
        case=case,
        what=what,
        expected=CodeReading(code=hex(expected), value=""),
        got=CodeReading(code="unknown (X or Z)" if got < 0 else hex(got), value=""),
        where=f"at cycle {mismatch.cycle}",
    )


def first_difference(port: StreamPort, got: int, want: int) -> tuple[str, int, int]:
    """The first element of a result that differs: its name, the expected value, and the device's; -1 if unknown."""
    for part in port.fields:
        for index in range(part.count):
            low, mask = part.offset + index * part.bits, (1 << part.bits) - 1
            expected, actual = want >> low & mask, -1 if got < 0 else got >> low & mask
            if actual != expected:
                return f"{part.name}[{index}]" if part.count > 1 else part.name, expected, actual
    return "result", want, got
