"""FP8 dot products of small numbers by length: E4M3 chains, flat and in chunks, scales, and Hopper's accumulator."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from hwsim.study.plan import load_study
from hwsim.study.presets.lookup import PointSummary, at
from hwsim.study.presets.preset import Context
from hwsim.study.report.contents import Axis, Chart, StudyReport, TextTable
from hwsim.study.report.sweeps import curves, grid
from hwsim.study.results import Results

NAME = "snr-vector-length"
CHUNKS = (16, 32, 64, 128, 256)
CHAIN: dict[str, Any] = {
    "unit": "e4m3-chain",
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "e4m3"},
    "instruction": {"k": 1, "lanes": 1},
    "sum": {"method": "sequential", "product": "fused", "format": "e4m3", "rounding": "rne"},
    "result": {"format": "e4m3", "rounding": "rne", "overflow": "saturate"},
}
BLOCKS = {"a": {"format": "e8m0", "block": [1, 32]}, "b": {"format": "e8m0", "block": [32, 1]}, "at": "product"}
REAL = {"a": {"format": "f32", "block": [1, 128]}, "b": {"format": "f32", "block": [128, 1]}, "at": "promotion"}
FMA = {"interval": 128, "format": "f32", "operation": "fma", "rounding": "rne"}
MX_CHAIN = {**CHAIN, "unit": "e4m3-chain-mx", "scale": BLOCKS}
REAL_CHAIN = {**CHAIN, "unit": "e4m3-chain-f32-blocks", "scale": REAL, "promotion": FMA}
HOPPER = "hopper-wgmma-e4m3-f32"
DATA = {
    "variance 0.01": {"distribution": "normal", "deviation": 0.1, "name": "variance 0.01"},
    "deviation 0.01": {"distribution": "normal", "deviation": 0.01, "name": "deviation 0.01"},
}
SCALES: dict[str, Any] = {
    "no scale": {"rule": "direct", "name": "no scale"},
    "scale 1/64": {"rule": "tensor", "scale": 1 / 64, "name": "scale 1/64"},
    "scale 1/128": {"rule": "tensor", "scale": 1 / 128, "name": "scale 1/128"},
}
# The data and the scale on which chunks are compared: numbers of about 1, which E4M3 holds best.
NARROW, FITTING = "deviation 0.01", "scale 1/64"
# Sums that are compared, by what tables call them: the label of a unit, and its interval.
FLAT, HOPPERS = {"E4M3 flat": ("E4M3", "none")}, {"Hopper": ("Hopper", "none")}
CHUNKED = {f"E4M3 in chunks of {chunk}": ("E4M3", str(chunk)) for chunk in CHUNKS}
SUMS = {**FLAT, "E4M3 in chunks of 16": CHUNKED["E4M3 in chunks of 16"], **HOPPERS}
ALONE = "quantisation alone"
SNR = "total_snr_db"
LENGTH = Axis(title="Length K (products)", log=2)
DECIBELS = Axis(title="SNR (dB)")
SOURCES = (
    "Wang et al. 2018, Training Deep Neural Networks with 8-bit Floating Point Numbers, arXiv 1812.08011: chunks",
    "OCP 8-bit Floating Point Specification, version 1.0: E4M3 has no infinity",
)


def report(context: Context) -> StudyReport:
    """The report: chains and Hopper under tensor scales, and blocks with scales of their own."""
    tensors, blocks = _run_tensors(context), _run_blocks(context)
    study = tensors.study
    return StudyReport(
        name=NAME,
        title="FP8 dot products by length: flat, chunked and scaled",
        command=context.command,
        summary=(
            "A chain of E4M3 adds each exact product to a sum in E4M3, rounded to nearest. In chunks, every so many "
            "products are summed so from zero, and the chunks in FP32. Scale 1/64: numbers are 64 times larger in "
            "E4M3. SNR: of the exact dot products of the numbers over the error, quantisation included. "
            f" {study.trials} trials of {study.rows} x {study.columns} dot products.",
            "E4M3 has no infinity: a chain that leaves +-448 is NaN, and stays it; `result.overflow: saturate` is "
            "about the last rounding alone. Where results are NaN there is no SNR, and tables give their share.",
        ),
        parts=(*_charts(tensors), *_tables(tensors), _table_of_blocks(blocks)),
        sources=SOURCES,
    )


def _run_tensors(context: Context) -> Results:
    """Chains, flat and in chunks, and Hopper's accumulator, under one scale for the tensor."""
    units = [
        {"unit": CHAIN, "label": "E4M3", "grid": {"interval": ["none", *CHUNKS]}, "scaling": list(SCALES.values())},
        {"unit": HOPPER, "label": "Hopper", "grid": {"interval": ["none", 128]}, "scaling": list(SCALES.values())},
    ]
    powers = [4**n for n in range(2, 9)]
    return _run(context, "tensors", units, context.pick(tiny=[16, 1024], quick=powers[:-1], full=powers))


def _run_blocks(context: Context) -> Results:
    """Chains and Hopper's accumulator with scales of blocks."""
    units: list[dict[str, Any]] = [
        {"unit": MX_CHAIN, "label": "E4M3 flat, MX blocks"},
        {"unit": {**MX_CHAIN, "promotion": {**FMA, "operation": "add"}}, "label": "E4M3 in chunks of 128, MX blocks"},
        {"unit": REAL_CHAIN, "label": "E4M3 in chunks of 128, FP32 blocks"},
        {
            "unit": "blackwell-mxf8f6f4-e4m3-f32",
            "label": "Hopper's 13 bits, MX blocks",
            "grid": {"accumulator": [13]},
        },
        {"unit": "deepseek-v3-e4m3-f32-scaled", "label": "Hopper, promoted, FP32 blocks"},
    ]
    lengths = context.pick(tiny=[128], quick=[128, 1024, 8192], full=[128, 1024, 8192])
    return _run(context, "blocks", [{**unit, "scaling": "block"} for unit in units], lengths)


def _run(context: Context, name: str, units: list[dict[str, Any]], lengths: list[int]) -> Results:
    size = context.pick(tiny=12, quick=32, full=64)
    study = {
        "study": f"{NAME}-{name}",
        "trials": context.pick(tiny=1, quick=3, full=8),
        "rows": size,
        "columns": size,
        "explained": 0,
        "units": units,
        "data": list(DATA.values()),
        "lengths": lengths,
    }
    return context.run(load_study(study))


def _point(
    results: Results, of: tuple[str, str], length: int, scaling: str = FITTING, data: str = NARROW
) -> PointSummary:
    """The point of a unit's label and interval."""
    return at(results, entry=of[0], interval=of[1], scaling=scaling, data=data, length=length)


def gain(results: Results, chunk: int, length: int) -> float:
    """By how many dB chunks are better than the flat chain, where E4M3 fits best."""
    flat, chunked = (_point(results, ("E4M3", interval), length) for interval in ("none", str(chunk)))
    return float(chunked[SNR] - flat[SNR])


def _tables(results: Results) -> tuple[TextTable, TextTable]:
    """SNR by length of chunks, with the gain of the best over the flat chain; and by data and scale."""
    flat, best, lengths = ("E4M3", "none"), CHUNKS[0], _by_length(results)

    def of_chunks(row: str | tuple[str, str], length: int) -> str:
        if row == ALONE:
            return f"{_point(results, flat, length)['quantization_snr_db']:.1f}"
        return f"{gain(results, best, length):.1f}" if isinstance(row, str) else _cell(_point(results, row, length))

    rows: dict[str, str | tuple[str, str]] = {**FLAT, **CHUNKED}
    rows |= {"Hopper, no promotion": ("Hopper", "none"), "Hopper, promoted every 128": ("Hopper", "128")}
    rows |= {ALONE: ALONE, f"gain of chunks of {best} over flat": "gain"}
    scaled = {
        (data, scale, label): (of, scale, data) for data in DATA for scale in SCALES for label, of in SUMS.items()
    }
    return (
        grid(f"SNR in dB by length, {NARROW}, {FITTING}", ("sum",), rows, lengths, of_chunks),
        grid(
            "SNR in dB by data and scale",
            ("numbers", "scale", "sum"),
            scaled,
            lengths,
            lambda row, length: _cell(_point(results, row[0], length, *row[1:])),
        ),
    )


def _table_of_blocks(results: Results) -> TextTable:
    labels = dict.fromkeys(point["label"] for point in results.points)
    return grid(
        "SNR in dB with scales of blocks",
        ("numbers", "sum"),
        {(data, label.removesuffix(" accumulator=13")): (data, label) for data in DATA for label in labels},
        _by_length(results),
        lambda row, length: _cell(at(results, label=row[1], data=row[0], length=length)),
    )


def _by_length(results: Results) -> dict[str, int]:
    return {f"K = {length}": length for length in results.study.lengths}


def _cell(point: PointSummary) -> str:
    """An SNR; or how many of the results are NaN."""
    if point["nonfinite"]:
        return f"{100 * point['nonfinite'] / point['results']:.3g} % NaN"
    return f"{round(point[SNR], 1) + 0.0:.1f}"  # never -0.0


def _decibels(point: PointSummary) -> float:
    return math.nan if point["nonfinite"] else float(point[SNR])


def _charts(results: Results) -> tuple[Chart, Chart]:
    lengths, point = results.study.lengths, partial(_point, results)
    chains = {**FLAT, **CHUNKED, **HOPPERS}
    best = max(gain(results, CHUNKS[0], length) for length in lengths)
    by_data = {f"{data}, {scale}": (scale, data) for data in DATA for scale in SCALES}
    alone = curves(
        [ALONE], lengths, lambda *at: float(point(SUMS["Hopper"], at[2])["quantization_snr_db"]), dashed=True
    )
    return (
        Chart(
            name=f"{NAME}-chunks",
            title="Chunks keep what a flat E4M3 chain loses",
            x=LENGTH,
            y=DECIBELS,
            series=(*curves(chains, lengths, lambda _, label, length: _decibels(point(chains[label], length))), *alone),
            caption=f"{NARROW}, {FITTING}. Chunks of {CHUNKS[0]} are up to {best:.1f} dB better than the flat chain.",
        ),
        Chart(
            name=f"{NAME}-scales",
            title="A scale lifts small products and overflows long sums",
            x=LENGTH,
            y=DECIBELS,
            series=curves(
                SUMS,
                lengths,
                lambda panel, label, length: _decibels(point(SUMS[label], length, *by_data[panel])),
                by_data,
            ),
            columns=3,
            caption="No point: some results are NaN, as the chain left E4M3's range. 0 dB: every product rounds to "
            "zero.",
        ),
    )
