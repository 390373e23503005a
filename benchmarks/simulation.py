"""Beats a second on every driver, measured side by side in one run.

    python benchmarks/simulation.py [UNIT] [--rounds N]

Each driver plays full-rate traffic (a beat in every cycle, contexts interleaved); the fastest of some rounds counts,
because other work on a machine only ever slows one down. cocotb compares every cycle; the bulk driver's answers are
compared afterwards, and that is timed too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import TOP
from hwsim.cosim.build import bulk_build, unit_design
from hwsim.cosim.bulk import BulkUnit
from hwsim.cosim.compare import compare
from hwsim.cosim.ports import PortMap, port_map
from hwsim.cosim.simulate import command, simulate
from hwsim.cosim.trace import FULL, Trace, interleave, record, words_of
from hwsim.rtl import verilog
from hwsim.spec import Pipeline, Unit, load_unit, pipeline
from hwsim.tb.job import Script, read_outcome, write_job

SEED = 1
TARGETS = {"bulk": 2_000_000, "bulk, compared": 0, "cocotb on verilator": 40_000, "cocotb on icarus": 1_000}
BULK_REPEATS = 40  # the same beats again, so that one call takes long enough to time


def made(unit: Unit, built: Pipeline, ports: PortMap, cases: int) -> Trace:
    """A trace at full rate."""
    drawn = random_cases(unit, cases, SEED)
    order = interleave(unit, drawn, built.contexts, None)
    return record("rate", unit, built, ports, drawn, order, FULL, np.random.default_rng(SEED))


def bulk(trace: Trace, ports: PortMap, library: Path, *, compared: bool) -> float:
    """Beats a second of the shared library; one call plays the trace many times over."""
    words = words_of([ports.pack(item.beat) for item in trace.beats], ports.input.words)
    drive, offered = np.tile(trace.drive, BULK_REPEATS), np.tile(trace.offered, BULK_REPEATS)
    with BulkUnit(library, ports) as device:
        if compared:
            started = time.perf_counter()
            outcome = compare(trace, device.run(trace.drive, trace.offered, words), ports)
            seconds = time.perf_counter() - started
            assert outcome.count == 0
            return len(trace.beats) / seconds
        started = time.perf_counter()
        device.run(drive, offered, words)
        return BULK_REPEATS * len(trace.beats) / (time.perf_counter() - started)


def cocotb(simulator: str, trace: Trace, ports: PortMap, program: list[str]) -> float:
    """Beats a second of a simulator under cocotb, every cycle compared; the simulator's start is not counted."""
    results = [ports.unpack(payload) for _, payload in trace.results]
    script = Script(
        trace.suite,
        trace.drive,
        trace.offered,
        trace.expect,
        [ports.pack(item.beat) for item in trace.beats],
        [(result.context, result.code) for result in results],
    )
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder)
        arguments = write_job(job, [script], ports.input.width)
        simulate(simulator, [*program, *arguments], TOP, "hwsim.tb.dot_unit", job, SEED)
        outcome = read_outcome(job, 0)
    assert outcome is not None
    assert (outcome.count, outcome.results) == (0, len(script.results))
    return len(script.payloads) / outcome.seconds


def measured(unit: Unit, rounds: int) -> dict[str, float]:
    """The best rate of each driver; the drivers take turns, so that all meet the same noise."""
    built = pipeline(unit)
    ports = port_map(unit, built)
    text = verilog(unit, built)
    library = bulk_build(text, ports)
    long, short = made(unit, built, ports, 8000), made(unit, built, ports, 600)
    programs = {
        simulator: command(simulator, unit_design(text, ports), trace=False) for simulator in ("verilator", "icarus")
    }
    drivers: dict[str, Callable[[], float]] = {
        "bulk": lambda: bulk(long, ports, library, compared=False),
        "bulk, compared": lambda: bulk(long, ports, library, compared=True),
        "cocotb on verilator": lambda: cocotb("verilator", long, ports, programs["verilator"]),
        "cocotb on icarus": lambda: cocotb("icarus", short, ports, programs["icarus"]),
    }
    best = dict.fromkeys(drivers, 0.0)
    for _ in range(rounds):
        for name, driver in drivers.items():
            best[name] = max(best[name], driver())
    return best


def main() -> None:
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unit", nargs="?", default="hopper-wgmma-e4m3-f32")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    unit = load_unit(arguments.unit)
    best = measured(unit, arguments.rounds)
    table = Table(
        "driver", "beats/s", "to cocotb on icarus", "aim", title=f"{unit.name}, {unit.instruction.lanes} lanes"
    )
    for name, rate in best.items():
        aim = f"{TARGETS[name]:,}" if TARGETS[name] else ""
        table.add_row(name, f"{rate:,.0f}", f"{rate / best['cocotb on icarus']:,.0f}x", aim)
    Console().print(table)


if __name__ == "__main__":
    main()
