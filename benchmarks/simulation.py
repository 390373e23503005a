"""Beats a second on every driver, measured side by side in one run.

    python benchmarks/simulation.py [UNIT] [--rounds N] [--cases N]

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

from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import random_cases
from hwsim.cosim.bench import words_of
from hwsim.cosim.design import Play, Suite
from hwsim.cosim.play import BulkUnit, command, compared, play_simulated
from hwsim.cosim.unitdesign import UnitDesign, unit_design
from hwsim.spec import load_unit, pipeline
from hwsim.tb.job import Trace

SEED = 1
TARGETS = {"bulk": 2_000_000, "bulk, compared": 0, "cocotb on verilator": 40_000, "cocotb on icarus": 1_000}
ICARUS_PART = 13  # of the cases, one in so many
BULK_REPEATS = 40  # the same beats again, so that one call takes long enough to time


def full_rate(design: UnitDesign, cases: int) -> tuple[Play, Trace]:
    """Random cases at full rate, and the trace of them."""
    suite = Suite("rate", tuple(random_cases(design.unit, cases, SEED)))
    play = design.play(suite, Stream(SEED, "rate"))
    assert isinstance(play.script.promise, Trace)
    return play, play.script.promise


def bulk(play: Play, trace: Trace, design: UnitDesign, library: Path, *, judged: bool) -> float:
    """Beats a second of the shared library; one call plays the trace many times over."""
    ports, beats = design.ports, len(play.beats)
    words = words_of(play.script.payloads, ports.input.words)
    drive, offered = np.tile(trace.drive, BULK_REPEATS), np.tile(trace.offered, BULK_REPEATS)
    with BulkUnit(library, ports) as device:
        if judged:
            started = time.perf_counter()
            outcome = compared(play.script, trace, device.run(trace.drive, trace.offered, words))
            seconds = time.perf_counter() - started
            assert outcome.count == 0
            return beats / seconds
        started = time.perf_counter()
        device.run(drive, offered, words)
        return BULK_REPEATS * beats / (time.perf_counter() - started)


def cocotb(simulator: str, play: Play, design: UnitDesign, program: list[str]) -> float:
    """Beats a second of a simulator under cocotb, every cycle compared; the simulator's start is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        (played,) = play_simulated(
            simulator, program, design, [play], Path(folder) / simulator, SEED, design.stuck_after
        )
    assert (played.outcome.count, played.outcome.results) == (0, play.script.planned)
    return len(play.beats) / played.outcome.seconds


def measured(design: UnitDesign, rounds: int, cases: int) -> dict[str, float]:
    """The best rate of each driver; the drivers take turns, so that all meet the same noise."""
    library = design.library()
    (long, trace), (short, _) = full_rate(design, cases), full_rate(design, max(cases // ICARUS_PART, 1))
    programs = {
        simulator: command(simulator, design.sources(simulator), trace=False) for simulator in ("verilator", "icarus")
    }
    drivers: dict[str, Callable[[], float]] = {
        "bulk": lambda: bulk(long, trace, design, library, judged=False),
        "bulk, compared": lambda: bulk(long, trace, design, library, judged=True),
        "cocotb on verilator": lambda: cocotb("verilator", long, design, programs["verilator"]),
        "cocotb on icarus": lambda: cocotb("icarus", short, design, programs["icarus"]),
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
    parser.add_argument("--cases", type=int, default=8000)
    arguments = parser.parse_args()
    unit = load_unit(arguments.unit)
    best = measured(unit_design(unit, pipeline(unit)), arguments.rounds, arguments.cases)
    table = Table(
        "driver", "beats/s", "to cocotb on icarus", "aim", title=f"{unit.name}, {unit.instruction.lanes} lanes"
    )
    for name, rate in best.items():
        aim = f"{TARGETS[name]:,}" if TARGETS[name] else ""
        table.add_row(name, f"{rate:,.0f}", f"{rate / best['cocotb on icarus']:,.0f}x", aim)
    Console().print(table)


if __name__ == "__main__":
    main()
