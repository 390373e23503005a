"""Elements a second of the codecs and the block quantisers, side by side with ml_dtypes and with copying, in one run.

    python benchmarks/codecs.py [--rounds N] [--large ELEMENTS] [--only WORD]

All take turns, and the best round counts, because other work on a machine only ever slows one down. Arrays are
float32 of normal numbers: one that stays in the second cache, and one that does not, whose results are new memory.
Casts to and from a type are ml_dtypes' (NumPy's of float16). A quantiser is set against the cast to its element type,
which finds no scales. `small to large`: of one thread, what a call costs beside its elements.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numba
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import hwsim
from hwsim.formats import get_format
from hwsim.quantize import get_rule

SMALL = 1 << 17
PIECE = 1 << 21  # elements between two looks at the clock, at least
DTYPES: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e3m4": ml_dtypes.float8_e3m4, "e3m2": ml_dtypes.float6_e3m2fn, "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "e8m0": ml_dtypes.float8_e8m0fnu, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
}  # fmt: skip
ENCODED = [*DTYPES, "hfp8-e4m3", "mxint8", "int8", "ue4m3"]
DECODED = ["e4m3", "e5m2", "e2m1", "mxint8"]
POWERS = ["mxfp8-e5m2", "mxfp6-e3m2", "mxfp6-e2m3", "mxfp4-e2m1", "mxint8", "mx-algorithm-1-e4m3"]
DIVIDED = ["nvfp4", "nvfp4-block", "deepseek-v3-1x128", "deepseek-v3-128x128", "tensor-e4m3", "int8-channel"]
WORDS: dict[str, Any] = {"random_bits": 8, "seed": 1}

Run = Callable[[], Any]


class Case(NamedTuple):
    """One line: what runs, what it is set against, and the aim in millions of elements a second and thread."""

    run: Run
    rival: str
    aim: int = 0


def cast(x: NDArray[Any], dtype: Any) -> Run:
    """A cast; what it warns of is no matter here."""

    def run() -> None:
        with np.errstate(all="ignore"):
            x.astype(dtype)

    return run


def rivals(x: NDArray[np.float32]) -> dict[str, Run]:
    """Copying, and casts."""
    place, positive = np.empty_like(x), np.abs(x) + np.float32(2.0**-20)
    runs: dict[str, Run] = {"copy": lambda: np.copyto(place, x)}
    for name, dtype in DTYPES.items():
        runs[f"to {name}"] = cast(positive if name == "e8m0" else x, dtype)
    for name in set(DECODED) & set(DTYPES):
        codes = x.astype(DTYPES[name])
        runs |= {f"{name} to {kind}": cast(codes, kind) for kind in ("float32", "float64")}
    return runs


def encodes(name: str, x: NDArray[Any], *given: str, **named: Any) -> Run:
    fmt = get_format(name)
    return lambda: fmt.encode(x, *given, **named)


def decodes(name: str, codes: NDArray[Any], dtype: str) -> Run:
    fmt = get_format(name)
    return lambda: fmt.decode(codes, dtype)


def quantizes(x: NDArray[np.float32], rule: str, axis: int = -1, **changes: Any) -> Case:
    aim = 600 if axis == -1 and rule not in DIVIDED else 0
    return Case(lambda: hwsim.quantize(x, rule, axis, **changes), f"to {get_rule(rule).element.name}", aim)


def cases(x: NDArray[np.float32]) -> dict[str, Case]:
    """Every line but the rivals."""
    matrix, positive = x.reshape(256, -1), np.abs(x) + np.float32(2.0**-20)
    lines = {}
    for name in ENCODED:
        numbers = positive if name in ("e8m0", "ue4m3") else x
        lines[f"encode {name}"] = Case(encodes(name, numbers), f"to {name}", 1500)
    for mode in ("rna", "rz", "ru", "rto"):
        lines[f"encode e4m3, {mode}"] = Case(encodes("e4m3", x, mode), "to e4m3", 1500)
    lines["encode e4m3, overflow nan"] = Case(encodes("e4m3", x, "rne", "nan"), "to e4m3", 1500)
    lines["encode e4m3, stochastic"] = Case(encodes("e4m3", x, "stochastic", **WORDS), "to e4m3", 300)
    lines["encode e4m3 from float64"] = Case(encodes("e4m3", x.astype(np.float64)), "to e4m3", 300)
    lines["encode e4m3 from float16"] = Case(encodes("e4m3", x.astype(np.float16)), "to e4m3")
    for name in DECODED:
        codes = get_format(name).encode(x)
        for kind in ("float32", "float64"):
            lines[f"decode {name} to {kind}"] = Case(decodes(name, codes, kind), f"{name} to {kind}", 2000)
    for select in ("floor", "ceil", "even", "rceil"):
        lines[f"quantise mxfp8-e4m3, {select}"] = quantizes(matrix, "mxfp8-e4m3", select=select)
    lines |= {f"quantise {rule}": quantizes(matrix, rule) for rule in POWERS}
    lines["quantise mxfp8-e4m3, axis 0"] = quantizes(matrix, "mxfp8-e4m3", 0)
    lines["quantise mxfp8-e4m3, stochastic"] = quantizes(matrix, "mxfp8-e4m3", rounding="stochastic", **WORDS)._replace(
        aim=300
    )
    return lines | {f"quantise {rule}": quantizes(matrix, rule) for rule in DIVIDED}


def measured(runs: dict[str, Run], elements: int, rounds: int, threads: int) -> dict[str, float]:
    """Millions of elements a second, the best of some rounds in which all take turns."""
    numba.config.NUMBA_NUM_THREADS = threads
    repeats = max(1, PIECE // elements)
    best = dict.fromkeys(runs, 0.0)
    for _ in range(rounds):
        for name, run in runs.items():
            run()  # brings its arrays into the cache, where they fit
            started = time.perf_counter()
            for _ in range(repeats):
                run()
            best[name] = max(best[name], repeats * elements / (time.perf_counter() - started) / 1e6)
    return best


def main() -> None:
    """Measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--large", type=int, default=1 << 23, help="elements of the large array, a multiple of 2^15")
    parser.add_argument("--only", default="", help="lines with this word in them")
    arguments = parser.parse_args()
    every, random = numba.config.NUMBA_NUM_THREADS, np.random.default_rng(1)
    columns = [(SMALL, 1), (arguments.large, 1), *[(arguments.large, every)] * (every > 1)]
    rates, lines = [], {}
    for elements, threads in columns:
        x = random.standard_normal(elements, dtype=np.float32)
        lines = {name: case for name, case in cases(x).items() if arguments.only in name}
        wanted = {case.rival for case in lines.values()} | {"copy"}
        runs = {name: run for name, run in rivals(x).items() if name in wanted}
        rates.append(
            measured(runs | {name: case.run for name, case in lines.items()}, elements, arguments.rounds, threads)
        )
    table = Table(title="codecs and quantisers, millions of elements a second")
    table.add_column("", no_wrap=True)
    for elements, threads in columns:
        head = f"{elements:,} elements\n{threads} thread{'s' * (threads > 1)}"
        for title in (head, "to\nml_dtypes", "to\ncopying"):
            table.add_column(title, justify="right", no_wrap=True)
    table.add_column("small to\nlarge", justify="right", no_wrap=True)
    table.add_column("aim", justify="right")
    for name, case in lines.items():
        row = [name]
        for rate in rates:
            rival = f"{rate[name] / rate[case.rival]:.1f}x" if case.rival in rate else ""
            row += [f"{rate[name]:,.0f}", rival, f"{rate[name] / rate['copy']:.2f}x"]
        row.append(f"{rates[0][name] / rates[1][name]:.2f}x")
        table.add_row(*row, f"{case.aim:,}" if case.aim else "")
    for name in ("copy", *sorted(name for name in rates[0] if name != "copy" and name not in lines)):
        table.add_row(f"({name})", *[part for rate in rates for part in (f"{rate[name]:,.0f}", "", "")], "", "")
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
