"""Cases a second of `hwsim vectors`, and the memory it takes, measured side by side in one run.

    python benchmarks/vectors.py [UNIT] [--cases N]

Sets of N and of 4 N random cases are written, each in a process of its own; the difference is what a case costs once a
run has begun. Beside them: the same cases one by one, drawn and computed by the model in Python.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hwsim.cases.case import term_scales
from hwsim.cases.random_cases import random_cases
from hwsim.compute.kernels.tiles import threads
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.model.definition import Definition
from hwsim.spec import load_unit

SEED, FEW, TIMES = 1, 2000, 4


def write(unit: str, cases: int) -> None:
    """Write one set and print what it took."""
    with tempfile.TemporaryDirectory() as folder:
        make(Wanted(load_unit(unit), "random", SEED, 2000, ("hex",)), Path(folder) / "warm")
        started, busy = time.perf_counter(), time.process_time()
        vectors = make(Wanted(load_unit(unit), "random", SEED, cases, ("hex",)), Path(folder) / "set")
        seconds, cpu = time.perf_counter() - started, time.process_time() - busy
        size = sum(path.stat().st_size for path in vectors.folder.iterdir() if path.is_file())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": size, "memory": memory * 1024}))


def measured(unit: str, cases: int) -> dict[str, float]:
    words = [sys.executable, __file__, unit, "--write", str(cases)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def one_by_one(unit: str) -> float:
    """Cases a second of the model."""
    specified = load_unit(unit)
    definition, started = Definition(specified), time.perf_counter()
    for case in islice(random_cases(specified, FEW, SEED), FEW):
        definition.dot(case.a, case.b, case.c, *term_scales(specified, case))
    return FEW / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unit", nargs="?", default="hopper-wgmma-e4m3-f32")
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        write(args.unit, args.write)
        return
    table = Table(title=f"{args.unit}, {threads()} threads")
    for head in ("cases", "seconds", "CPU seconds", "MB written", "peak MiB"):
        table.add_column(head, justify="right")
    runs = []
    for cases in (args.cases, TIMES * args.cases):
        run = measured(args.unit, cases)
        runs.append((cases, run))
        cells = (
            f"{run['seconds']:.2f}",
            f"{run['cpu']:.2f}",
            f"{run['bytes'] / 1e6:,.0f}",
            f"{run['memory'] / 2**20:,.0f}",
        )
        table.add_row(f"{cases:,}", *cells)
    Console().print(table)
    (few, run_few), (many, run_many) = runs
    rate, model = (many - few) / (run_many["seconds"] - run_few["seconds"]), one_by_one(args.unit)
    print(f"{rate / 1e6:.2f} million cases a second once begun; {rate / model:,.0f} times the model's {model:,.0f}")
    print(f"{(many - few) / (run_many['cpu'] - run_few['cpu']) / 1e6:.2f} million cases a second of one core's time")
    print(f"memory: {run_many['memory'] / run_few['memory']:.2f} times for {TIMES} times the cases")


if __name__ == "__main__":
    main()
