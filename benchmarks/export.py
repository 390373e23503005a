"""Dot products a second of exported headers, compiled by gcc, beside `hwsim.dot`, measured in one run.

    python benchmarks/export.py [UNIT ...] [--rounds N] [--seconds S] [--compiler gcc]

Random finite codes, one instruction a dot product (a multiple of the scales' blocks), one core. All take turns; the
fastest of some rounds counts, because other work on a machine only ever slows one down. Results are compared first.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import hwsim
from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.formats import ExponentFormat, codes_of
from hwsim.spec import Unit, load_unit

SEED = 1
PRODUCTS = 1 << 20  # of one call: so many that hwsim.dot takes compiled kernels
FLAGS = {"-O2": ["-O2"], "-O3": ["-O3"], "-O3 -march=native": ["-O3", "-march=native"]}
UNITS = (
    "hopper-wgmma-e4m3-f32", "ada-mma-e4m3-f16", "blackwell-tcgen05-e4m3-f32", "deepseek-v3-e4m3-f32",
    "mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "blackwell-mxf4nvf4-e2m1-f32", "blackwell-mma-e4m3-f32", "hopper-mma-f16-f32",
    "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-f16-f32", "hfp8-forward-e4m3-dlfloat16", "exact-e4m3-f32", "int8-i32",
)  # fmt: skip


class Work:
    """Operands of one unit, and its header as a library for each set of flags."""

    def __init__(self, unit: Unit, folder: Path, compiler: str):
        self.unit, self.plan = unit, UnitInC(unit, hwsim.__version__)
        self.k = lcm(unit.instruction.k, *(self.plan.scale_blocks if unit.scale else (1,)))
        self.count = PRODUCTS // self.k
        rng = np.random.default_rng(SEED)
        self.a, self.b = (self._codes(fmt, rng, self.k) for fmt in (unit.operands.a, unit.operands.b))
        self.c = None if unit.operands.addend is None else self._codes(unit.operands.addend, rng, 1)[:, 0]
        self.scales: list[np.ndarray] = []
        if unit.scale is not None:
            sides = zip((unit.scale.a, unit.scale.b), self.plan.scale_blocks, strict=True)
            self.scales = [self._scales(side.format, rng, self.k // length) for side, length in sides]
        folder.mkdir()
        (folder / f"{self.plan.prefix}.h").write_text(render(HEADER, self.plan))
        (folder / "dots.c").write_text(self._source())
        self.out = np.zeros(self.count, np.uint32)
        addends = np.zeros(self.count) if self.c is None else self.c
        self._arrays = [*map(np.ascontiguousarray, (self.a, self.b, *self.scales)), addends.astype(np.uint32)]
        self.built = {name: self._build(folder, compiler, name) for name in FLAGS}

    def _codes(self, fmt: Any, rng: np.random.Generator, columns: int) -> np.ndarray:
        spread = 40 if fmt.kind == "fixed" else 1
        return codes_of(fmt, fmt.encode(spread * rng.normal(size=(self.count, columns))))

    def _scales(self, fmt: Any, rng: np.random.Generator, columns: int) -> np.ndarray:
        if isinstance(fmt, ExponentFormat):
            return rng.integers(fmt.bias - 3, fmt.bias + 4, (self.count, columns)).astype(np.uint8)
        return codes_of(fmt, fmt.encode(rng.uniform(0.5, 2, (self.count, columns))))

    def _source(self) -> str:
        name, kinds = self.plan.prefix, self.plan.code_types
        arrays = ", ".join(f"const {kind} *{side}" for side, kind in kinds.items())
        columns = {"a": self.k, "b": self.k}
        if self.scales:
            lengths = zip("ab", self.plan.scale_blocks, strict=True)
            columns |= {f"scale_{side}": self.k // length for side, length in lengths}
        rows = [f"{side} + i * {columns[side]}" for side in kinds]
        c = ["c[i]"] if self.c is not None else []
        return f"""#include "{name}.h"
void dots({arrays}, const uint32_t *c, uint64_t n, uint32_t *out)
{{
    (void)c;
    for (uint64_t i = 0; i < n; ++i)
        out[i] = {name}_dot({", ".join([*rows[:2], *c, *rows[2:]])}, {self.k});
}}
"""

    def _build(self, folder: Path, compiler: str, name: str) -> Callable[[], None]:
        library = folder / f"{name.replace(' ', '')}.so"
        command = [compiler, "-std=c99", *FLAGS[name], "-shared", "-fPIC", "-o", str(library), str(folder / "dots.c")]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(str(library)).dots
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*self._arrays, self.out)]
        return lambda: function(*pointers[:-1], ctypes.c_uint64(self.count), pointers[-1])

    def dot(self) -> np.ndarray:
        """The results' codes, by hwsim.dot."""
        out = hwsim.dot(self.unit, self.a, self.b, self.c, *(self.scales or (None, None)))
        return out.view(f"uint{8 * out.itemsize}").astype(np.uint32)

    def check(self) -> None:
        """All ways return the same."""
        want = self.dot()
        for name, run in self.built.items():
            run()
            assert np.array_equal(self.out, want), f"{self.unit.name} {name}"


def rates(tasks: dict[tuple[str, str], Callable[[], Any]], rounds: int, seconds: float) -> dict[tuple[str, str], float]:
    """Calls a second: the best of some rounds in which all take turns."""
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for name, task in tasks.items():
            until = time.perf_counter() + seconds / rounds
            while (started := time.perf_counter()) < until:
                task()
                best[name] = max(best.get(name, 0), 1 / (time.perf_counter() - started))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("units", nargs="*", default=list(UNITS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each unit and each way")
    parser.add_argument("--compiler", default="gcc")
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        works = [Work(load_unit(name), Path(folder) / name, args.compiler) for name in args.units]
        tasks: dict[tuple[str, str], Callable[[], Any]] = {}
        for work in works:
            work.check()
            tasks |= {(work.unit.name, name): run for name, run in work.built.items()}
            tasks[work.unit.name, "hwsim.dot"] = work.dot
        measured = rates(tasks, args.rounds, args.seconds)
    table = Table(title=f"millions of dot products a second on one core, best of {args.rounds} rounds, {args.compiler}")
    for column in ("unit", "products", *FLAGS, "hwsim.dot", "-O3 / hwsim.dot"):
        table.add_column(column, justify="left" if column == "unit" else "right")
    for work in works:
        name = work.unit.name
        each = [f"{measured[name, way] * work.count / 1e6:.3g}" for way in (*FLAGS, "hwsim.dot")]
        table.add_row(name, str(work.k), *each, f"{measured[name, '-O3'] / measured[name, 'hwsim.dot']:.3g}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
