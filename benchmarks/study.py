"""Cost of a study beside its matrix products, measured side by side in one run.

    python benchmarks/study.py [UNIT] [--rounds N]

Each line is one trial of a size: the bare `hwsim.gemm`, and what a study does to it, step by step: data drawn, numbers
rounded to codes, exact products of both, measures, and the definition's stages of one result. Times are CPU seconds of
this process, the least of the rounds; `times gemm` is their ratio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hwsim.compute.gemm import gemm
from hwsim.study.accuracy.exact import exact_product
from hwsim.study.data import draw, parse_data
from hwsim.study.plan import load_study, points
from hwsim.study.plan.scaling import apply
from hwsim.study.task import execute, tasks

SIZES = ((32, 512), (32, 4096), (128, 4096), (256, 4096))


def least(work: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def steps(unit: str, rows: int, length: int, rounds: int) -> dict[str, float]:
    """CPU seconds of each step of a trial of rows x length x rows products."""
    data = parse_data("normal", Path())
    sizes = {"rows": rows, "columns": rows, "lengths": [length], "trials": 1, "seed": 1}
    study = load_study({"study": "cost", "units": [{"unit": unit, "scaling": ["tensor"]}], "data": ["normal"], **sizes})
    point, drawn = points(study)[0], draw(data, 1, 0, length, rows, rows)
    a, b = (apply(getattr(point.scaling, side), side, point.unit, getattr(drawn, side)) for side in ("a", "b"))
    numbers = drawn.a.astype(np.float64), drawn.b.astype(np.float64)
    task = tasks(study)[0]
    return {
        "gemm": least(lambda: gemm(point.unit, a.codes, b.codes), rounds),
        "draw": least(lambda: draw(data, 1, 0, length, rows, rows), rounds),
        "round": least(lambda: apply(point.scaling.a, "a", point.unit, drawn.a), rounds),
        "exact, numbers": least(lambda: exact_product(*numbers), rounds),
        "exact, codes": least(lambda: exact_product(a.values, b.values), rounds),
        "all": least(lambda: execute(task), rounds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unit", nargs="?", default="hopper-wgmma-e4m3-f32")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    # Kernels are loaded, and compiled, before anything is timed.
    big = np.full((64, 4096), 0x38, np.uint8)
    gemm(args.unit, big, big.T.copy())
    table = Table(title=f"{args.unit}: milliseconds of CPU, and times gemm")
    table.add_column("rows x K x columns")
    for rows, length in SIZES:
        seconds = steps(args.unit, rows, length, args.rounds)
        if len(table.columns) == 1:
            for name in (*seconds, "products/s"):
                table.add_column(name, justify="right")
        bare = seconds["gemm"]
        cells = [f"{1e3 * taken:,.1f} ({taken / bare:,.1f})" for taken in seconds.values()]
        table.add_row(f"{rows} x {length} x {rows}", *cells, f"{rows * rows * length / seconds['all']:.2g}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
