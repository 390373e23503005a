"""Relative error of Hopper's FP8 accumulator at K = 4096, with and without promotion.

DeepSeek-AI 2024, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2: nearly 2 %, and promotion every 128
products. Prints the tables of docs/studies/deepseek-2pct.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper import Options, Record, figure, options, percent, pivot, study, table

import hwsim
from hwsim.quantize import quantize
from hwsim.study import draw, load_study, parse_data

UNIT, BITS, GROUP = "hopper-wgmma-e4m3-f32", 13, 32
SHOWN = ("normal", "normal, mean 1", "ReLU x ReLU", "half-normal", "uniform 0 to 1")
LARGEST = "accumulation_relative_max_most"
EVERY = 32  # of the k, one is sampled
LEAST_MEAN = 0.02  # over the root mean square: below it, a sum wanders and does not grow


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    plan = load_study("deepseek-2pct").written
    length, size = args.pick(512, 4096, 4096), args.pick(8, 64, 256)
    sizes: dict[str, Any] = {"trials": args.pick(1, 3, 8), "rows": size, "columns": size}
    entries = {entry["name"]: entry for entry in plan["data"]}
    shown = [entry for entry in plan["data"] if entry["name"] in SHOWN]
    promotion = study(plan, args, **sizes, lengths=[length])
    lengths = args.pick((128, 512), tuple(2**n for n in range(7, 15)), tuple(2**n for n in range(7, 17)))
    unit: dict[str, Any] = {"unit": UNIT, "label": "Hopper", "scaling": "tensor"}
    by_length = study(plan, args, **sizes, lengths=list(lengths), data=shown, units=[unit])
    widths = args.pick((12, 13), tuple(range(11, 17)), tuple(range(10, 20)))
    grid = {**unit, "grid": {"accumulator": list(widths)}}
    by_bits = study(plan, args, **sizes, lengths=[length], data=shown, units=[grid])

    rows, flat = {"data": "data"}, [point for point in promotion if point["interval"] == "none"]
    title = "Largest relative error, in %, by promotion interval"
    pivot(title, promotion, rows, "interval", lambda point: percent(point[LARGEST]))
    errors_of_data(flat, entries, length, args.seed)
    title = "Root mean square error over that of the sums, in %, by promotion interval"
    pivot(title, promotion, rows, "interval", lambda point: percent(point["accumulation_rms"]))
    bounds(promotion, length)
    caption = "Largest relative error; of normal data, whose sums cancel, the rms error over the rms of the sums."
    pivot("Error by length K, in %, without promotion", by_length, rows, "length", telling, caption=caption)
    caption = "As above: largest relative error, of normal data rms. The window and the register have these bits."
    title = "Error by fraction bits of the accumulator, in %, without promotion"
    pivot(title, by_bits, rows, "accumulator", telling, caption=caption)
    figures(args, promotion, by_length)


def telling(point: Record) -> str:
    return percent(point["accumulation_rms" if point["data"] == "normal" else LARGEST])


def errors_of_data(flat: Sequence[Record], entries: dict[str, Any], length: int, seed: int) -> None:
    """Errors without promotion, beside what the products let expect."""
    measures = [LARGEST, *(f"accumulation_{measure}" for measure in ("relative_p99", "relative_mean", "relative_p50"))]
    rows = []
    for point in flat:
        products = sampled_products(entries[point["data"]], length, seed)
        values = [point[name] for name in (*measures, "accumulation_rms", "accumulation_shrink")]
        values += [expected_shrink(products, length), float(np.mean(np.sign(products)))]
        rows.append([point["data"], *map(percent, values)])
    heads = ["relative: largest", "99th percentile", "mean", "median", "rms", "shrink", "expected shrink", "signs"]
    caption = """Shrink: mean error towards zero over the mean magnitude of the sums; expected: what truncation takes of
        the products on average, without a unit. Signs: share of positive less share of negative products."""
    table(f"Error at K = {length:,} without promotion, in %", ["data", *heads], rows, caption=caption)


def sampled_products(entry: Any, length: int, seed: int) -> NDArray[np.float64]:
    """Products of sums of such a length, of numbers scaled by tensor and rounded to E4M3."""
    drawn = draw(parse_data(entry, Path()), seed, 0, length, 64, 64)
    e4m3 = hwsim.get_format("e4m3")
    a, b = (e4m3.decode(quantize(side, "tensor-e4m3").codes) for side in (drawn.a, drawn.b))
    return np.asarray(a.T[::EVERY, :, None] * b[::EVERY, None, :]).ravel()


def expected_shrink(products: NDArray[np.float64], length: int) -> float:
    """The share of a sum of `length` such products that truncation takes away, where the sum outgrows each of them.

    At a sum of S, 2^E <= S < 2^(E+1), every product is cut, towards zero, to a multiple of u = 2^(E - fraction bits):
    it loses sign(p) (|p| mod u). Cut and uncut products are added up on average, a group at a time; a step into the
    next binade is cut to that one's multiple too, half a u on average. NaN where the mean is nearly zero, or negative.
    """
    mean = float(products.mean())
    if mean <= LEAST_MEAN * float(np.sqrt(np.mean(products**2))):
        return math.nan
    truncated: dict[int, float] = {}
    total = 0.0
    for start in range(0, length, GROUP):
        exponent = math.frexp(max(total, mean))[1] - 1
        if exponent not in truncated:
            u = 2.0 ** (exponent - BITS)
            truncated[exponent] = float(np.mean(np.sign(products) * np.floor(np.abs(products) / u) * u))
        grown = total + min(GROUP, length - start) * truncated[exponent]
        crossed = math.frexp(max(grown, mean))[1] - 1 > exponent
        total = grown - (2.0 ** (exponent - BITS - 1) if crossed else 0.0)
    return 1 - total / (length * mean)


def bounds(promotion: Sequence[Record], length: int) -> None:
    """The bounds of theory, and the largest errors of the data that figures show."""
    rows: dict[str, list[str]] = {}
    for point in promotion:
        if point["data"] in SHOWN:
            theory = [percent(point[name]) for name in ("bound_worst", "bound_probabilistic")]
            row = rows.setdefault(point["interval"], [point["interval"], *theory])
            row.append(percent(point["accumulation_normalized_max_most"]))
    caption = "Probabilistic: for losses of mean zero, with probability 0.98 for one result (Higham and Mary 2019)."
    title = f"Bounds and largest errors over the sum of magnitudes, in %, K = {length:,}"
    table(title, ["interval", "worst case", "probabilistic", *SHOWN], rows.values(), caption=caption)


def figures(args: Options, promotion: list[Record], by_length: list[Record]) -> None:
    def percents(records: Sequence[Record]) -> list[Record]:
        both = {"Largest relative error": LARGEST, "rms error over rms of the sums": "accumulation_rms"}
        return [
            {**record, "percent": 100 * record[measure], "panel": panel}
            for panel, measure in both.items()
            for record in records
            if record["data"] in SHOWN
        ]

    look: dict[str, Any] = {"y": "percent", "series": "data", "panel": "panel", "log_y": 10, "reference": 2.0}
    name, title = "deepseek-2pct-length", "Error of Hopper's FP8 accumulator by length"
    axes = ("Length K (products)", "Error (%)")
    figure(args, name, title, percents(by_length), "length", titles=axes, log_x=2, **look)
    axes = ("Promotion interval (products)", "Error (%)")
    name, title = "deepseek-2pct-promotion", "Promotion to FP32"
    figure(args, name, title, percents(promotion), "interval", titles=axes, kind="points", **look)


if __name__ == "__main__":
    main()
