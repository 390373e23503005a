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
    given = options(__doc__, arguments)
    plan = load_study("deepseek-2pct").written
    length, size = given.pick(512, 4096, 4096), given.pick(8, 64, 256)
    sizes: dict[str, Any] = {"trials": given.pick(1, 3, 8), "rows": size, "columns": size}
    entries = {one["name"]: one for one in plan["data"]}
    shown = [one for one in plan["data"] if one["name"] in SHOWN]
    promotion = study(plan, given, **sizes, lengths=[length])
    lengths = given.pick((128, 512), tuple(2**n for n in range(7, 15)), tuple(2**n for n in range(7, 17)))
    unit: dict[str, Any] = {"unit": UNIT, "label": "Hopper", "scaling": "tensor"}
    by_length = study(plan, given, **sizes, lengths=list(lengths), data=shown, units=[unit])
    widths = given.pick((12, 13), tuple(range(11, 17)), tuple(range(10, 20)))
    grid = {**unit, "grid": {"accumulator": list(widths)}}
    by_bits = study(plan, given, **sizes, lengths=[length], data=shown, units=[grid])

    rows, flat = {"data": "data"}, [one for one in promotion if one["interval"] == "none"]
    title = "Largest relative error, in %, by promotion interval"
    pivot(title, promotion, rows, "interval", lambda one: percent(one[LARGEST]))
    errors_of_data(flat, entries, length, given.seed)
    title = "Root mean square error over that of the sums, in %, by promotion interval"
    pivot(title, promotion, rows, "interval", lambda one: percent(one["accumulation_rms"]))
    bounds(promotion, length)
    caption = "Largest relative error; of normal data, whose sums cancel, the rms error over the rms of the sums."
    pivot("Error by length K, in %, without promotion", by_length, rows, "length", telling, caption=caption)
    caption = "As above: largest relative error, of normal data rms. The window and the register have these bits."
    title = "Error by fraction bits of the accumulator, in %, without promotion"
    pivot(title, by_bits, rows, "accumulator", telling, caption=caption)
    figures(given, promotion, by_length, by_bits)


def telling(one: Record) -> str:
    return percent(one["accumulation_rms" if one["data"] == "normal" else LARGEST])


def errors_of_data(flat: Sequence[Record], entries: dict[str, Any], length: int, seed: int) -> None:
    """Errors without promotion, beside what the products let expect."""
    measures = [LARGEST, *(f"accumulation_{one}" for one in ("relative_p99", "relative_mean", "relative_p50"))]
    rows = []
    for one in flat:
        products = sampled_products(entries[one["data"]], length, seed)
        values = [one[name] for name in (*measures, "accumulation_rms", "accumulation_shrink")]
        values += [expected_shrink(products, length), float(np.mean(np.sign(products)))]
        rows.append([one["data"], *map(percent, values)])
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
    kept: dict[int, float] = {}
    total = 0.0
    for start in range(0, length, GROUP):
        exponent = math.frexp(max(total, mean))[1] - 1
        if exponent not in kept:
            u = 2.0 ** (exponent - BITS)
            kept[exponent] = float(np.mean(np.sign(products) * np.floor(np.abs(products) / u) * u))
        grown = total + min(GROUP, length - start) * kept[exponent]
        crossed = math.frexp(max(grown, mean))[1] - 1 > exponent
        total = grown - (2.0 ** (exponent - BITS - 1) if crossed else 0.0)
    return 1 - total / (length * mean)


def bounds(promotion: Sequence[Record], length: int) -> None:
    """The bounds of theory, and the largest errors of the data that figures show."""
    rows: dict[str, list[str]] = {}
    for one in promotion:
        if one["data"] in SHOWN:
            theory = [percent(one[name]) for name in ("bound_worst", "bound_probabilistic")]
            row = rows.setdefault(one["interval"], [one["interval"], *theory])
            row.append(percent(one["accumulation_normalized_max_most"]))
    caption = "Probabilistic: for losses of mean zero, with probability 0.98 for one result (Higham and Mary 2019)."
    title = f"Bounds and largest errors over the sum of magnitudes, in %, K = {length:,}"
    table(title, ["interval", "worst case", "probabilistic", *SHOWN], rows.values(), caption=caption)


def figures(given: Options, promotion: list[Record], by_length: list[Record], by_bits: list[Record]) -> None:
    def percents(records: Sequence[Record], **more: Any) -> list[Record]:
        both = {"Largest relative error": LARGEST, "rms error over rms of the sums": "accumulation_rms"}
        return [
            {**one, "percent": 100 * one[measure], "panel": panel, "bits": float(one.get("accumulator", 0))}
            for panel, measure in both.items()
            for one in records
            if one["data"] in SHOWN
        ]

    look: dict[str, Any] = {"y": "percent", "series": "data", "panel": "panel", "log_y": 10, "reference": 2.0}
    name, title = "deepseek-2pct-length", "Error of Hopper's FP8 accumulator by length"
    axes = ("Length K (products)", "Error (%)")
    figure(given, name, title, percents(by_length), "length", titles=axes, log_x=2, **look)
    axes = ("Promotion interval (products)", "Error (%)")
    name, title = "deepseek-2pct-promotion", "Promotion to FP32"
    figure(given, name, title, percents(promotion), "interval", titles=axes, kind="points", **look)
    axes = ("Fraction bits of the window and of the register", "Error (%)")
    figure(
        given, "deepseek-2pct-bits", "Fraction bits of the accumulator", percents(by_bits), "bits", titles=axes, **look
    )


if __name__ == "__main__":
    main()
