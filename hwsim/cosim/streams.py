"""Playing streams: what enters a converter or a quantiser, and what it must do in every cycle, on both simulators.

A suite's payloads and results are words. The cycle-level model turns the suite into a trace once; Verilator's library
and a bench in Verilog on Icarus play the same trace, and each holds every cycle and every result against it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwsim import processes
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PortMap, stream_ports
from hwsim.cosim.build import HdlSources, bulk_build, icarus_build
from hwsim.cosim.design import FULL, Traffic, draws
from hwsim.cosim.play import BulkUnit
from hwsim.cosim.streambench import BENCH, MOST_CYCLES, most_rows, stream_bench
from hwsim.errors import InputError
from hwsim.leftovers import scratch_folder
from hwsim.model.clock import PipelinedStream
from hwsim.rtl import StreamedDatapath, module_name, stream_verilog
from hwsim.tb.job import READY, RESET, SEEN_READY, SEEN_VALID, VALID

Words = NDArray[np.uint32]
RESET_CYCLES = 2
MOST_LISTED = 64


@dataclass(frozen=True)
class StreamDesign:
    """Verilog with a stream in and a stream out. latency: cycles from a payload to its result."""

    name: str
    verilog: str
    ports: PortMap
    latency: int


def stream_design(component: StreamedDatapath, *, by_modules: bool = False) -> StreamDesign:
    """The Verilog of a component that nothing else uses. by_modules: as several modules."""
    text = stream_verilog(component, by_modules=by_modules)
    ports = stream_ports(module_name(component.name), component)
    return StreamDesign(component.name, text, ports, component.latency)


@dataclass(frozen=True)
class StreamSuite:
    """Payloads and their results, a row each: uint32[rows, words], the low word first.

    inputs: what a payload is, in words, where that is more than its row. traffic: how busy the ports are.
    resets: whether resets come in flight, which lose what is under way.
    """

    name: str
    payloads: Words
    results: Words
    traffic: Traffic = FULL
    resets: bool = False


@dataclass(frozen=True)
class StreamTrace:
    """A suite in cycles: bits of `drive` and of `seen` as hwsim.tb.job has them, and the row that stands at the input.

    leaving: the rows whose results leave, in order.
    """

    drive: NDArray[np.uint8]
    offered: NDArray[np.int32]
    seen: NDArray[np.uint8]
    leaving: NDArray[np.int64]


@dataclass(frozen=True)
class StreamMismatch:
    """Something that was not as promised. kind: `ready`, `valid`, `result`. row: of the payload; -1 of other kinds."""

    kind: str
    cycle: int
    row: int
    got: int
    expected: int


@dataclass
class StreamOutcome:
    """What came of a suite on a simulator. compared: results. count: all mismatches; the first ones are listed."""

    suite: str
    simulator: str
    planned: int
    cycles: int
    compared: int = 0
    seconds: float = 0.0
    count: int = 0
    mismatches: list[StreamMismatch] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every result was compared, and everything was as promised."""
        return self.planned > 0 and self.compared == self.planned and self.count == 0


def packed(*columns: tuple[int, NDArray[np.integer]]) -> Words:
    """Fields side by side, the first in the low bits, as words: uint32[rows, words].

    columns: bits of an element, and the elements, [rows] or [rows, count], the first in the low bits.
    """
    parts = []
    for bits, values in columns:
        elements = values.reshape(len(values), -1, 1).astype(np.uint64)
        parts.append((elements >> np.arange(bits, dtype=np.uint64) & np.uint64(1)).reshape(len(values), -1))
    row = np.concatenate(parts, axis=1).astype(np.uint8)
    row = np.pad(row, ((0, 0), (0, -row.shape[1] % 32)))
    return np.packbits(row, axis=1, bitorder="little").view("<u4")


def record(suite: StreamSuite, latency: int, stream: Stream) -> StreamTrace:
    """What the cycle-level model does with a suite, in every cycle. stream: when ports stop, and when resets come."""
    count = len(suite.payloads)
    model: PipelinedStream[int, int] = PipelinedStream(int, latency)
    cycles: list[tuple[int, int, int]] = [(RESET, -1, 0)] * RESET_CYCLES
    leaving, at = [], 0
    offers, takes = _chances(stream, suite.traffic)
    resets = set(stream.integers(0, max(count, 1), (3,)).tolist()) if suite.resets else set()
    while at < count or any(one is not None for one in model._registers):
        if at in resets:
            resets.remove(at)
            model.reset()
            cycles += [(RESET, -1, 0)] * RESET_CYCLES
        offer, take = at < count and offers[len(cycles) % len(offers)], takes[len(cycles) % len(takes)]
        seen = SEEN_READY * model.ready(take) | SEEN_VALID * model.valid
        cycles.append((VALID * offer | READY * take, at if offer else -1, seen))
        if take and model.result is not None:
            leaving.append(model.result)
        at += model.tick(at if offer else None, take)
    drive, offered, flags = (np.array(column) for column in zip(*cycles, strict=True))
    return StreamTrace(
        drive.astype(np.uint8), offered.astype(np.int32), flags.astype(np.uint8), np.array(leaving, np.int64)
    )


def _chances(stream: Stream, traffic: Traffic) -> tuple[list[bool], list[bool]]:
    """In which cycles the input offers and the output takes; a prime number of each, again from the start."""
    offers, takes = draws(stream, traffic.offer, 4099), draws(stream, traffic.take, 4093)
    if traffic.bursts:
        for start in stream.integers(0, 4000, (20,)).tolist():
            takes[start : start + 12] = False
    return offers.tolist(), takes.tolist()


def play(design: StreamDesign, suites: Sequence[StreamSuite], simulator: str, seed: int) -> list[StreamOutcome]:
    """Every suite on a simulator. Raises ToolMissing or BuildFailed; ValueError for a suite of other widths."""
    outcomes = []
    for suite in suites:
        ports = design.ports
        for what, words, port in (("payloads", suite.payloads, ports.input), ("results", suite.results, ports.output)):
            if words.shape[1:] != (port.words,):
                raise InputError(f"{what} must have {port.words} words, not {words.shape[1:]}")
        trace = record(suite, design.latency, Stream(seed, "traffic", suite.name))
        outcome = StreamOutcome(suite.name, simulator, len(trace.leaving), len(trace.drive))
        started = time.perf_counter()
        if simulator == "verilator":
            _verilated(design, suite, trace, outcome)
        else:
            _interpreted(design, suite, trace, outcome)
        outcome.seconds = time.perf_counter() - started
        outcomes.append(outcome)
    return outcomes


def _verilated(design: StreamDesign, suite: StreamSuite, trace: StreamTrace, outcome: StreamOutcome) -> None:
    with BulkUnit(bulk_build(design.verilog, design.ports), design.ports) as device:
        answers = device.run(trace.drive, trace.offered, suite.payloads)
    promised = np.where(trace.drive & VALID, SEEN_READY | SEEN_VALID, SEEN_VALID)
    promised[trace.drive & RESET != 0] = 0
    wrong = (answers.flags ^ trace.seen) & promised
    leaves = np.flatnonzero((trace.seen & SEEN_VALID != 0) & (trace.drive & (READY | RESET) == READY))
    for cycle in np.flatnonzero(wrong).tolist():
        kind, bit = ("ready", SEEN_READY) if wrong[cycle] & SEEN_READY else ("valid", SEEN_VALID)
        _note(
            outcome,
            StreamMismatch(kind, cycle, -1, *(int(one[cycle] & bit > 0) for one in (answers.flags, trace.seen))),
        )
    outcome.compared = min(len(answers.results), outcome.planned)
    got, want = answers.results[: outcome.compared], suite.results[trace.leaving[: outcome.compared]]
    for at in np.flatnonzero((got != want).any(axis=1)).tolist():
        _note(
            outcome,
            StreamMismatch("result", int(leaves[at]), int(trace.leaving[at]), _number(got[at]), _number(want[at])),
        )


def _note(outcome: StreamOutcome, mismatch: StreamMismatch) -> None:
    outcome.count += 1
    if len(outcome.mismatches) < MOST_LISTED:
        outcome.mismatches.append(mismatch)


def _number(words: Words) -> int:
    return int.from_bytes(words.astype("<u4").tobytes(), "little")


def _interpreted(design: StreamDesign, suite: StreamSuite, trace: StreamTrace, outcome: StreamOutcome) -> None:
    """On Icarus, whose bench compares and says what differs."""
    i, o = design.ports.input, design.ports.output
    if len(suite.payloads) > most_rows(design.ports) or len(trace.drive) > MOST_CYCLES:
        raise InputError(
            f"{suite.name} must have at most {most_rows(design.ports):,} payloads, not {len(suite.payloads):,}"
        )
    sources = HdlSources(BENCH, stream_bench(design.ports, MOST_LISTED) + design.verilog, ())
    program = icarus_build(sources)
    with scratch_folder() as folder:
        flags = trace.drive.astype(np.int64) | trace.seen.astype(np.int64) << 3
        cycles = flags | np.maximum(trace.offered, 0).astype(np.int64) << 8
        (folder / "cycles.hex").write_text("".join(f"{word:x}\n" for word in cycles.tolist()))
        _write(folder / "payloads.hex", suite.payloads, i.width)
        _write(folder / "results.hex", suite.results[trace.leaving], o.width)
        counts = {"cycles": len(cycles), "payloads": len(suite.payloads), "results": len(trace.leaving)}
        arguments = [f"+{name}={count}" for name, count in counts.items()]
        log = folder / "log"
        processes.run(["vvp", "-n", str(program), *arguments], log, dict(os.environ), cwd=folder)
        said = log.read_text(errors="replace").splitlines()
    for line in said:
        kind, *numbers = line.split()
        if kind == "end":
            outcome.compared, outcome.count = int(numbers[0]), int(numbers[1])
        elif kind in ("ready", "valid", "result"):
            cycle, index = map(int, numbers[:2])
            got, want = (_hexadecimal(number) for number in numbers[2:])
            row = int(trace.leaving[index]) if kind == "result" and index < len(trace.leaving) else -1
            outcome.mismatches.append(StreamMismatch(kind, cycle, row, got, want))


def _hexadecimal(text: str) -> int:
    """A number, or -1 for one with an unknown bit."""
    return int(text, 16) if not set("xz") & set(text.lower()) else -1


def _write(file: Path, words: Words, width: int) -> None:
    """Rows as lines of hexadecimal digits, as many as `width` bits have."""
    digits = -(-width // 4)
    flipped = np.ascontiguousarray(words[:, ::-1].astype(">u4"))
    file.write_text("".join(f"{row.tobytes().hex()[-digits:]}\n" for row in flipped))
