"""FP8 dot products of small numbers by length: E4M3 chains, flat and in chunks, scales, and Hopper's accumulator."""

from __future__ import annotations

import math
from typing import Any

from hwsim.study.plan import Study, load_study
from hwsim.study.presets.lookup import Point, at
from hwsim.study.presets.preset import Context, Preset
from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable
from hwsim.study.results import Results

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
SNR = "total_snr_db"
LENGTH = Axis(title="Length K (products)", log=2)
DECIBELS = Axis(title="SNR (dB)")
SOURCES = (
    "Wang et al. 2018, Training Deep Neural Networks with 8-bit Floating Point Numbers, arXiv 1812.08011: chunks",
    "OCP 8-bit Floating Point Specification, version 1.0: E4M3 has no infinity",
)


def report(context: Context) -> StudyReport:
    """The report: chains and Hopper under tensor scales, and blocks with scales of their own."""
    tensors, blocks = context.run(tensor_study(context)), context.run(block_study(context))
    one = tensors.study
    return StudyReport(
        name="snr-vector-length",
        title="FP8 dot products by length: flat, chunked and scaled",
        command=context.command,
        summary=(
            "A chain of E4M3 adds each exact product to a sum in E4M3, rounded to nearest. In chunks, every so many "
            "products are summed so from zero, and the chunks in FP32. Scale 1/64: numbers are 64 times larger in "
            "E4M3. SNR: of the exact dot products of the numbers over the error, quantisation included. "
            f" {one.trials} trials of {one.rows} x {one.columns} dot products.",
            "E4M3 has no infinity: a chain that leaves +-448 is NaN, and stays it; `result.overflow: saturate` is "
            "about the last rounding alone. Where results are NaN there is no SNR, and tables give their share.",
        ),
        parts=(
            _chunks(tensors, context.command),
            _scales(tensors, context.command),
            table_of_chunks(tensors),
            table_of_scales(tensors),
            table_of_blocks(blocks),
        ),
        sources=SOURCES,
    )


def tensor_study(context: Context) -> Study:
    """Chains, flat and in chunks, and Hopper's accumulator, under one scale for the tensor."""
    units = [
        {"unit": CHAIN, "label": "E4M3", "grid": {"interval": ["none", *CHUNKS]}, "scaling": list(SCALES.values())},
        {"unit": HOPPER, "label": "Hopper", "grid": {"interval": ["none", 128]}, "scaling": list(SCALES.values())},
    ]
    return _study(context, "tensors", units, context.pick(tiny=(16, 1024), quick=_powers(2, 8), full=_powers(2, 9)))


def block_study(context: Context) -> Study:
    """The same with scales of blocks."""
    units: list[dict[str, Any]] = [
        {"unit": MX_CHAIN, "label": "E4M3 flat, MX blocks", "scaling": "block"},
        {"unit": {**MX_CHAIN, "promotion": {**FMA, "operation": "add"}}, "label": "E4M3 in chunks of 128, MX blocks",
         "scaling": "block"},
        {"unit": REAL_CHAIN, "label": "E4M3 in chunks of 128, FP32 blocks", "scaling": "block"},
        {"unit": "blackwell-mxf8f6f4-e4m3-f32", "label": "Hopper's 13 bits, MX blocks", "scaling": "block",
         "grid": {"accumulator": [13]}},
        {"unit": "deepseek-v3-e4m3-f32-scaled", "label": "Hopper, promoted, FP32 blocks", "scaling": "block"},
    ]  # fmt: skip
    return _study(context, "blocks", units, context.pick(tiny=(128,), quick=(128, 1024, 8192), full=(128, 1024, 8192)))


def _powers(first: int, end: int) -> tuple[int, ...]:
    return tuple(4**n for n in range(first, end))


def _study(context: Context, name: str, units: list[dict[str, Any]], lengths: tuple[int, ...]) -> Study:
    size = context.pick(tiny=12, quick=32, full=64)
    return load_study(
        {
            "study": f"snr-vector-length-{name}", "trials": context.pick(tiny=1, quick=3, full=8), "rows": size,
            "columns": size, "explained": 0, "units": units, "data": list(DATA.values()),
            "lengths": list(lengths),
        }
    )  # fmt: skip


def gain(found: Results, chunk: int, length: int) -> float:
    """By how many dB chunks are better than the flat chain, where E4M3 fits best."""
    flat, chunked = (at(found, **_chain(interval), length=length) for interval in ("none", str(chunk)))
    return float(chunked[SNR] - flat[SNR])


def _chain(interval: str) -> dict[str, str]:
    return {"entry": "E4M3", "interval": interval, "scaling": FITTING, "data": NARROW}


def table_of_chunks(found: Results) -> TextTable:
    """A row a chunk, a column a length: SNR; and the gain of the best over the flat chain."""
    lengths = found.study.lengths
    points = {interval: [at(found, **_chain(interval), length=one) for one in lengths] for interval in _intervals()}
    rows = [(_said(interval), *map(_cell, row)) for interval, row in points.items()]
    for interval in ("none", "128"):
        row = [
            at(found, entry="Hopper", interval=interval, scaling=FITTING, data=NARROW, length=one) for one in lengths
        ]
        rows.append((f"Hopper, {'no promotion' if interval == 'none' else 'promoted every 128'}", *map(_cell, row)))
    alone = [f"{point['quantization_snr_db']:.1f}" for point in points["none"]]
    gains = [f"{gain(found, CHUNKS[0], one):.1f}" for one in lengths]
    rows += [("quantisation alone", *alone), (f"gain of chunks of {CHUNKS[0]} over flat", *gains)]
    return _table(f"SNR in dB by length, {NARROW}, {FITTING}", ("sum",), lengths, rows)


def table_of_scales(found: Results) -> TextTable:
    """A row a kind of data, a scale and a sum; a column a length."""
    lengths = found.study.lengths
    sums = (("E4M3", "none", "E4M3 flat"), ("E4M3", "16", "E4M3 in chunks of 16"), ("Hopper", "none", "Hopper"))
    rows = [
        (data, scale, said,
         *(_cell(at(found, entry=unit, interval=interval, scaling=scale, data=data, length=one)) for one in lengths))
        for data in DATA for scale in SCALES for unit, interval, said in sums
    ]  # fmt: skip
    return _table("SNR in dB by data and scale", ("numbers", "scale", "sum"), lengths, rows)


def table_of_blocks(found: Results) -> TextTable:
    """A row a unit and a kind of data, a column a length."""
    lengths = found.study.lengths
    labels = dict.fromkeys(point["label"] for point in found.points)
    rows = [
        (data, label.removesuffix(" accumulator=13"),
         *(_cell(at(found, label=label, data=data, length=one)) for one in lengths))
        for data in DATA for label in labels
    ]  # fmt: skip
    return _table("SNR in dB with scales of blocks", ("numbers", "sum"), lengths, rows)


def _table(title: str, heads: tuple[str, ...], lengths: tuple[int, ...], rows: list[tuple[str, ...]]) -> TextTable:
    return TextTable(
        title=title, header=(*heads, *(f"K = {one}" for one in lengths)), rows=tuple(rows),
        right=tuple(range(len(heads), len(heads) + len(lengths))),
    )  # fmt: skip


def _cell(point: Point) -> str:
    """An SNR; or how many of the results are NaN."""
    if point["nonfinite"]:
        return f"{100 * point['nonfinite'] / point['results']:.3g} % NaN"
    return f"{round(point[SNR], 1) + 0.0:.1f}"  # never -0.0


def _decibels(point: Point) -> float:
    return math.nan if point["nonfinite"] else float(point[SNR])


def _intervals() -> tuple[str, ...]:
    return ("none", *map(str, CHUNKS))


def _said(interval: str) -> str:
    return "E4M3 flat" if interval == "none" else f"E4M3 in chunks of {interval}"


def _chunks(found: Results, command: str) -> Chart:
    lengths = found.study.lengths
    series = [
        Series(
            label=_said(interval),
            x=lengths,
            y=tuple(_decibels(at(found, **_chain(interval), length=one)) for one in lengths),
        )
        for interval in _intervals()
    ]
    hopper = [at(found, entry="Hopper", interval="none", scaling=FITTING, data=NARROW, length=one) for one in lengths]
    series.append(Series(label="Hopper", x=lengths, y=tuple(map(_decibels, hopper))))
    alone = tuple(float(point["quantization_snr_db"]) for point in hopper)
    series.append(Series(label="quantisation alone", x=lengths, y=alone, dashed=True))
    best = max(gain(found, CHUNKS[0], one) for one in lengths)
    return Chart(
        name="snr-vector-length-chunks", title="Chunks keep what a flat E4M3 chain loses", x=LENGTH, y=DECIBELS,
        series=tuple(series), command=command,
        caption=f"{NARROW}, {FITTING}. Chunks of {CHUNKS[0]} are up to {best:.1f} dB better than the flat chain.",
    )  # fmt: skip


def _scales(found: Results, command: str) -> Chart:
    lengths = found.study.lengths
    sums = (("E4M3", "none", "E4M3 flat"), ("E4M3", "16", "E4M3 in chunks of 16"), ("Hopper", "none", "Hopper"))
    series = tuple(
        Series(
            label=said, panel=f"{data}, {scale}", x=lengths,
            y=tuple(
                _decibels(at(found, entry=unit, interval=interval, scaling=scale, data=data, length=one))
                for one in lengths
            ),
        )
        for data in DATA for scale in SCALES for unit, interval, said in sums
    )  # fmt: skip
    return Chart(
        name="snr-vector-length-scales", title="A scale lifts small products and overflows long sums",
        x=LENGTH, y=DECIBELS, series=series, command=command, columns=3,
        caption="No point: some results are NaN, as the chain left E4M3's range. 0 dB: every product rounds to zero.",
    )  # fmt: skip


PRESET = Preset(
    "snr-vector-length", "FP8 dot products by length", "the claim that chunks gain up to 20 dB on long vectors", report
)
