"""FP8 dot products of small numbers by length: E4M3 chains, flat and in chunks, scales, and Hopper's accumulator.

Wang et al. 2018, Training Deep Neural Networks with 8-bit Floating Point Numbers, arXiv 1812.08011: chunks. A chain of
E4M3 adds each exact product to a sum in E4M3; in chunks, every so many products are summed so from zero, and the chunks
in FP32. Prints the tables of docs/studies/snr-vector-length.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paper import Options, Record, figure, options, pivot, study

from hwsim.study import load_study

CHUNK = 16  # the best of the plan's intervals, on the data and the scale that E4M3 holds best
DATA, SCALING = "deviation 0.01", "scale 1/64"
FLAT, ALONE, CHUNKED = "E4M3 flat", "quantisation alone", f"E4M3 in chunks of {CHUNK}"
COMPARED = (FLAT, CHUNKED, "Hopper")
FP32 = {"format": "f32", "rounding": "rne"}


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    plan = load_study("snr-vector-length").written
    size = args.pick(12, 32, 64)
    sizes: dict[str, Any] = {"trials": args.pick(1, 3, 8), "rows": size, "columns": size}
    lengths = args.pick([16, 1024], plan["lengths"], [*plan["lengths"], 65536])
    tensors = described(study(plan, args, **sizes, lengths=lengths))
    units = with_scales_of_blocks(plan["units"][0]["unit"])
    lengths = args.pick([128], [128, 1024, 8192], [128, 1024, 8192])
    blocks = described(study(plan, args, **sizes, lengths=lengths, units=units))

    fitting = [point for point in tensors if (point["data"], point["scaling"]) == (DATA, SCALING)]
    alone = [
        point | {"curve": ALONE, "snr": point["quantization_snr_db"]} for point in fitting if point["curve"] == FLAT
    ]
    rows: list[Record] = [point | {"cell": cell(point)} for point in fitting]
    rows += [{"sum": ALONE, "length": point["length"], "cell": f"{point['snr']:.1f}"} for point in alone]
    gained = gain(fitting)
    label = f"gain of chunks of {CHUNK} over flat"
    rows += [{"sum": label, "length": length, "cell": f"{value:.1f}"} for length, value in gained.items()]
    title = f"SNR in dB by length, {DATA}, {SCALING}"
    pivot(title, rows, {"sum": "sum"}, "length", lambda row: str(row["cell"]), "K = {}")
    compared = [point for point in tensors if point["curve"] in COMPARED]
    of_curve = {"numbers": "data", "scale": "scaling", "sum": "curve"}
    pivot("SNR in dB by data and scale", compared, of_curve, "length", cell, "K = {}")
    of_entry = {"numbers": "data", "sum": "entry"}
    pivot("SNR in dB with scales of blocks", blocks, of_entry, "length", cell, "K = {}")
    curves = [point for point in fitting if "promoted" not in point["curve"]]
    figures(args, [*curves, *alone], compared)


def with_scales_of_blocks(chain: dict[str, Any]) -> list[dict[str, Any]]:
    """Chains and Hopper's accumulator whose factors have a scale for each block."""

    def scaled(name: str, fmt: str, block: int, scaled_at: str) -> dict[str, Any]:
        sides = {"a": {"format": fmt, "block": [1, block]}, "b": {"format": fmt, "block": [block, 1]}}
        return {**chain, "unit": name, "scale": {**sides, "at": scaled_at}}

    mx = scaled("e4m3-chain-mx", "e8m0", 32, "product")
    chunked = {**mx, "promotion": {"interval": 128, "operation": "add", **FP32}}
    blocked = scaled("e4m3-chain-f32-blocks", "f32", 128, "promotion")
    blocked["promotion"] = {"interval": 128, "operation": "fma", **FP32}
    hopper = {"unit": "blackwell-mxf8f6f4-e4m3-f32", "grid": {"accumulator": [13]}}
    return [
        {"unit": mx, "label": "E4M3 flat, MX blocks", "scaling": "block"},
        {"unit": chunked, "label": "E4M3 in chunks of 128, MX blocks", "scaling": "block"},
        {"unit": blocked, "label": "E4M3 in chunks of 128, FP32 blocks", "scaling": "block"},
        {**hopper, "label": "Hopper's 13 bits, MX blocks", "scaling": "block"},
        {"unit": "deepseek-v3-e4m3-f32-scaled", "label": "Hopper, promoted, FP32 blocks", "scaling": "block"},
    ]


def described(points: list[Record]) -> list[Record]:
    """Points by data and scale, with the name of their sum in figures (`curve`) and in tables, and their SNR."""
    order = {key: list(dict.fromkeys(point[key] for point in points)) for key in ("data", "scaling")}
    snrs = [math.nan if point["nonfinite"] else point["total_snr_db"] for point in points]
    labelled = [point | named(point) | {"snr": snr} for point, snr in zip(points, snrs, strict=True)]
    return sorted(labelled, key=lambda point: tuple(order[key].index(point[key]) for key in order))


def named(point: Record) -> dict[str, str]:
    interval = point.get("interval") or "none"
    if point["entry"] != "Hopper":
        return dict.fromkeys(("curve", "sum"), FLAT if interval == "none" else f"E4M3 in chunks of {interval}")
    if interval == "none":
        return {"curve": "Hopper", "sum": "Hopper, no promotion"}
    return dict.fromkeys(("curve", "sum"), f"Hopper, promoted every {interval}")


def cell(point: Record) -> str:
    """The SNR; or how many of the results are NaN."""
    if point["nonfinite"]:
        return f"{100 * point['nonfinite'] / point['results']:.3g} % NaN"
    return f"{round(point['total_snr_db'], 1) + 0.0:.1f}"  # never -0.0


def gain(points: Sequence[Record]) -> dict[int, float]:
    """By length, how many dB chunks are better than the flat chain. points: of one scale and data."""
    flat, chunked = (
        {point["length"]: point["total_snr_db"] for point in points if point["curve"] == curve}
        for curve in (FLAT, CHUNKED)
    )
    return {length: chunked[length] - flat[length] for length in flat}


def figures(args: Options, curves: list[Record], compared: list[Record]) -> None:
    axes = ("Length K (products)", "SNR (dB)")
    title = "Chunks keep what a flat E4M3 chain loses"
    look: dict[str, Any] = {"titles": axes, "log_x": 2}
    figure(args, "snr-vector-length-chunks", title, curves, "length", "snr", "curve", dashed=[ALONE], **look)
    each = [point | {"panel": f"{point['data']}, {point['scaling']}"} for point in compared]
    title = "A scale lifts small products and overflows long sums"
    figure(args, "snr-vector-length-scales", title, each, "length", "snr", "curve", panel="panel", **look)


if __name__ == "__main__":
    main()
