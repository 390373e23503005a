"""Converters and quantisers as designs between two streams: built, played against expected results, and reported."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwsim import processes
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PortMap, StreamPort, stream_ports
from hwsim.cosim.build import HdlSources, bulk_build, icarus_build, require
from hwsim.cosim.design import FULL, Traffic, draws
from hwsim.cosim.play import BulkUnit
from hwsim.cosim.run import WORKERS, Silence, Watcher
from hwsim.errors import InputError
from hwsim.explain import CodeReading, Mismatch, Row, RunReport
from hwsim.leftovers import scratch_folder
from hwsim.model.clock import PipelinedStream
from hwsim.rtl import StreamedDatapath, module_name, stream_verilog
from hwsim.tb.job import READY, RESET, SEEN_READY, SEEN_VALID, VALID

BENCH = "hwsim_stream_bench"
MOST_CYCLES = 1 << 20  # that one run can hold
MEMORY = 25  # log2 of the bits that its payloads, or its results, can have

# A word of `cycles`: bit 0 the input is valid, 1 the output is ready, 2 reset; 3 the input is to be ready, 4 the output
# is to be valid; from 8 on: which payload.
TEMPLATE = """// Plays payloads into {top}, and holds every cycle against what is promised of it.
`timescale 1ns/1ps
module {bench};
  reg clk = 0;
  reg [31:0] word = 4;
  reg [31:0] cycles [0:{last}];
  reg [{input_high}:0] payloads [0:{last_row}];
  reg [{output_high}:0] results [0:{last_row}];
  integer count, rows, planned, cycle, index, wrong;
  wire input_ready, output_valid;
  wire [{output_high}:0] out;
  {top} dut (
    .{clock}(clk),
    .{reset}(word[2]),
    .{i.payload}(payloads[word[31:8]]),
    .{i.valid}(word[0]),
    .{i.ready}(input_ready),
    .{o.payload}(out),
    .{o.valid}(output_valid),
    .{o.ready}(word[1])
  );
  task differs(input [63:0] kind, input integer at, input [{output_high}:0] got, input [{output_high}:0] want);
    begin
      wrong = wrong + 1;
      if (wrong <= {most}) $display("%0s %0d %0d %h %h", kind, cycle, at, got, want);
    end
  endtask
  initial begin
    if (!$value$plusargs("cycles=%d", count)) $finish;
    if (!$value$plusargs("payloads=%d", rows)) $finish;
    if (!$value$plusargs("results=%d", planned)) $finish;
    $readmemh("cycles.hex", cycles, 0, count - 1);
    $readmemh("payloads.hex", payloads, 0, rows - 1);
    if (planned > 0) $readmemh("results.hex", results, 0, planned - 1);
    index = 0;
    wrong = 0;
    for (cycle = 0; cycle < count; cycle = cycle + 1) begin
      word = cycles[cycle];
      #4;
      if (!word[2]) begin
        if (word[0] && input_ready !== word[3]) differs("ready", 0, input_ready, word[3]);
        if (output_valid !== word[4]) differs("valid", 0, output_valid, word[4]);
        if (output_valid === 1'b1 && index < planned && out !== results[index])
          differs("result", index, out, results[index]);
        if (output_valid === 1'b1 && word[1]) index = index + 1;
      end
      clk = 1;
      #5 clk = 0;
      #1;
    end
    $display("end %0d %0d", index < planned ? index : planned, wrong);
    $finish;
  end
endmodule
"""


def most_rows(ports: PortMap) -> int:
    """Payloads, and results, that one run can hold: fewer where they are wider."""
    return 1 << min(20, MEMORY - (max(ports.input.width, ports.output.width) - 1).bit_length())


def stream_bench(ports: PortMap, most: int) -> str:
    """The bench's Verilog. most: mismatches that it prints."""
    return TEMPLATE.format(
        bench=BENCH,
        top=ports.top,
        clock=ports.clock,
        reset=ports.reset,
        i=ports.input,
        o=ports.output,
        last=MOST_CYCLES - 1,
        last_row=most_rows(ports) - 1,
        input_high=ports.input.width - 1,
        output_high=ports.output.width - 1,
        most=most,
    )


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


MOST_TOLD = 3  # mismatches of a suite that are reported
KINDS = {"ready": "input ready", "valid": "output valid"}


@dataclass(frozen=True)
class StreamJob:
    """A design and its suites, made when they are asked for."""

    design: Callable[[], StreamDesign]
    suites: Callable[[], Iterable[StreamSuite]]


def run_streams(
    jobs: Sequence[StreamJob], simulators: Sequence[str], seed: int, command: str, watcher: Watcher | None = None
) -> RunReport:
    """Every suite of every job on every simulator. seed: of when ports stop. command: what runs it again.

    Raises ToolMissing for a simulator that is missing, and BuildFailed for a design that one refuses.
    """
    for simulator in simulators:
        require(simulator)
    started, watching = time.monotonic(), watcher or Silence()
    watching.plan(len(jobs) * len(simulators))
    rows, mismatches, names = list[Row](), list[Mismatch](), list[str]()
    with processes.threads(WORKERS) as pool:
        for job in jobs:
            design, suites = job.design(), list(job.suites())
            names.append(design.name)
            pending = {one: pool.submit(play, design, suites, one, seed) for one in simulators}
            for simulator, future in pending.items():
                for outcome, suite in zip(future.result(), suites, strict=True):
                    row, told = judged(design, suite, outcome)
                    rows.append(row)
                    mismatches += told
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


def judged(design: StreamDesign, suite: StreamSuite, outcome: StreamOutcome) -> tuple[Row, list[Mismatch]]:
    """A suite's row, and its first mismatches."""
    row = Row(
        unit=design.name,
        suite=suite.name,
        driver=outcome.simulator,
        planned=outcome.planned,
        compared=outcome.compared,
        mismatches=outcome.count,
        cycles=outcome.cycles,
        seconds=outcome.seconds,
    )
    return row, [_told(row, design, suite, one) for one in outcome.mismatches[:MOST_TOLD]]


def _told(row: Row, design: StreamDesign, suite: StreamSuite, mismatch: StreamMismatch) -> Mismatch:
    what, expected, got, case = KINDS.get(mismatch.kind, ""), mismatch.expected, mismatch.got, "?"
    if mismatch.kind == "result":
        what, expected, got = first_difference(design.ports.output, mismatch)
        payload = int.from_bytes(suite.payloads[mismatch.row].tobytes(), "little")
        case = f"payload {mismatch.row}, {payload:#x}"
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


def first_difference(port: StreamPort, mismatch: StreamMismatch) -> tuple[str, int, int]:
    """The first element of a result that differs: its name, what it must be, and what it is; -1 if nobody knows."""
    for part in port.fields:
        for at in range(part.count):
            low, mask = part.offset + at * part.bits, (1 << part.bits) - 1
            expected = mismatch.expected >> low & mask
            got = -1 if mismatch.got < 0 else mismatch.got >> low & mask
            if got != expected:
                return f"{part.name}[{at}]" if part.count > 1 else part.name, expected, got
    return "result", mismatch.expected, mismatch.got
