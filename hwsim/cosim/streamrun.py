"""A run of streams: converters and quantisers on simulators, from their Verilog to a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from hwsim import processes
from hwsim.cosim.bench import StreamPort
from hwsim.cosim.build import require
from hwsim.cosim.run import WORKERS, Silence, Watcher
from hwsim.cosim.streams import StreamDesign, StreamMismatch, StreamOutcome, StreamSuite, play
from hwsim.report import CodeReading, Mismatch, Row, RunReport

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
    for field in port.fields:
        for at in range(field.count):
            low, mask = field.offset + at * field.bits, (1 << field.bits) - 1
            expected = mismatch.expected >> low & mask
            got = -1 if mismatch.got < 0 else mismatch.got >> low & mask
            if got != expected:
                return f"{field.name}[{at}]" if field.count > 1 else field.name, expected, got
    return "result", mismatch.expected, mismatch.got
