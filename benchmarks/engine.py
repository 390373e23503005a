"""Products a second of a matrix engine's RTL, from C++ and under cocotb, measured side by side in one run.

    python benchmarks/engine.py [ENGINE.yaml] [--rounds N] [--tiles N] [--products K]

Streams go at full rate, and all ports are compared in every cycle, which is timed too; what is built, packed and
expected is not. The fastest of some rounds counts, because other work on a machine only ever slows one down.
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

from hwsim.cases.case import block_lengths
from hwsim.cosim.engine.bulk import EngineBulk
from hwsim.cosim.engine.record import MacroOperands, Segment, record
from hwsim.cosim.engine.run import play
from hwsim.formats.blocks import one_code
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, load_engine
from hwsim.tb.engine import EngineScript

SEED = 1
AIMS = {"C++": 10_000_000, "cocotb on verilator": 2_000_000}
HERE = Path(__file__).parents[1] / "examples" / "engines" / "hopper8.yaml"


def full_rate(engine: Engine, tiles: int, products: int) -> EngineScript:
    """Macro tiles of random codes, each a sum of so many products, with scales of one."""
    rng, unit = np.random.default_rng(SEED), modes_of(engine.unit)[0]

    def codes(side: str, count: int) -> np.ndarray:
        return rng.integers(1 << unit.operands.factor(side).container_bits, size=(count, products)).astype(np.uint64)

    def scales(side: str, count: int) -> np.ndarray | None:
        if unit.scale is None:
            return None
        blocks = -(-products // block_lengths(unit)["ab".index(side)])
        return np.full((count, blocks), one_code(unit.scale.of(side).format), np.uint64)

    m, n = engine.macro
    every = [MacroOperands(codes("a", m), codes("b", n), None, scales("a", m), scales("b", n)) for _ in range(tiles)]
    return record(engine, "rate", [Segment(every)])


def from_cpp(engine: Engine, script: EngineScript) -> float:
    """Seconds of the RTL driven from C++."""
    with EngineBulk(engine) as bench:
        started = time.perf_counter()
        outcome, _ = bench.play(script)
        assert (outcome.count, outcome.results) == (0, len(script.results))
        return time.perf_counter() - started


def under_cocotb(engine: Engine, script: EngineScript) -> float:
    """Seconds of a simulation under cocotb; its start is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        (outcome,) = play(engine, [script], Path(folder))
    assert (outcome.count, outcome.results) == (0, len(script.results))
    return outcome.seconds


def main() -> None:
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="?", default=str(HERE), help="hopper8.yaml of the examples unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tiles", type=int, default=8, help="macro tiles of a round")
    parser.add_argument("--products", type=int, default=4096, help="of each sum")
    arguments = parser.parse_args()
    engine = load_engine(arguments.engine)
    script = full_rate(engine, arguments.tiles, arguments.products)
    drivers: dict[str, Callable[[Engine, EngineScript], float]] = {
        "C++": from_cpp, "cocotb on verilator": under_cocotb,
    }  # fmt: skip
    best = dict.fromkeys(drivers, np.inf)
    for _ in range(arguments.rounds):
        for name, driver in drivers.items():
            best[name] = min(best[name], driver(engine, script))
    count = arguments.tiles * engine.macro[0] * engine.macro[1] * arguments.products
    elements = f"{engine.rows} x {engine.columns} of {engine.unit.name}"
    table = Table("driver", "products/s", "cycles/s", "to cocotb", "aim", title=f"{engine.name}: {elements}")
    for name, seconds in best.items():
        ratio = best["cocotb on verilator"] / seconds
        table.add_row(name, f"{count / seconds:,.0f}", f"{script.cycles / seconds:,.0f}", f"{ratio:.1f}x",
                      f"{AIMS[name]:,}")  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
