"""IBM's 8-bit formats by bias and distribution, and sums in 1-6-9 in chunks (Sun et al. 2019; Wang et al. 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat
from hwsim.study.intervals import Interval
from hwsim.study.plan import load_study
from hwsim.study.presets.hfp8_sums import DLFLOAT, HALF, SINGLE, LongSum, adder, ratios
from hwsim.study.presets.lookup import PointSummary
from hwsim.study.presets.preset import Context
from hwsim.study.presets.rounding import by_format, float_format, lost, saturated, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import Axis, Chart, Reference, StudyReport, TextTable
from hwsim.study.report.sweeps import curves, each, grid, series_of

NAME = "hfp8"
IEEE_BIAS = 7  # of 4 exponent bits: IBM counts its bias from here
BIASES = tuple(range(-2, 9))  # as IBM counts
DATA: dict[str, Entry] = {
    "weights, deviation 0.02": {"distribution": "normal", "deviation": 0.02},
    "weights, deviation 0.1": {"distribution": "normal", "deviation": 0.1},
    "activations, normal": "normal",
    "activations, ReLU": "non-negative",
    "activations, 1 % x 20": {"distribution": "outliers", "factor": 20},
    "heavy tails, Student-t 2": {"distribution": "student-t", "freedom": 2},
    "log-normal, sigma 2": {"distribution": "log-normal", "sigma": 2},
    "errors, log-normal x 1e-4": {"distribution": "log-normal", "mu": -9.2, "sigma": 2},
}
CHUNKS = (16, 32, 64, 128, 256, 512)
FLAT, CHUNKED, EVEN = "flat", "chunks of", "RNE"
EVEN_SUM = LongSum(DLFLOAT, "rne", 64)
SOURCES = (
    "Sun et al. 2019, Hybrid 8-bit Floating Point (HFP8) Training and Inference for Deep Neural Networks, NeurIPS",
    "Wang et al. 2018, Training Deep Neural Networks with 8-bit Floating Point Numbers, NeurIPS, arXiv 1812.08011",
    "Agrawal et al. 2019, DLFloat: A 16-b Floating Point Format Designed for Deep Learning, ARITH",
)
Numbers = NDArray[np.float32]
# By way to sum and length: a ratio for each vector.
Sums = dict[LongSum, dict[int, NDArray[np.float64]]]


def forward(bias: int) -> FloatFormat:
    """1-4-3 with a bias as IBM counts it: 4 is hwsim's hfp8-e4m3, of bias 11 as IEEE 754 counts."""
    fmt = float_format("hfp8-e4m3")
    return fmt.model_copy(update={"name": f"1-4-3 bias {bias}", "bias": IEEE_BIAS + bias})


FORMATS = {"1-4-3 bias 4": forward(4), "1-4-3 bias 0": forward(0), "1-5-2": float_format("hfp8-e5m2")}


def report(context: Context) -> StudyReport:
    """The report: formats by distribution and bias, then sums by length and chunk."""
    rows, length = context.pick(tiny=(4, 1024), quick=(32, 4096), full=(256, 4096))
    numbers = {name: drawn(entry, rows, length) for name, entry in DATA.items()}
    sums = _sums(context)
    points = context.run(load_study(_products(context), context.folder)).points
    return StudyReport(
        name=NAME,
        title="Hybrid FP8: biases, and sums in chunks of 1-6-9",
        command=context.command,
        summary=(
            f"{rows} x {length:,} numbers of each distribution are rounded as they are, without a scale. A bias as IBM "
            "counts it is what is added to IEEE 754's: 1-4-3 with bias 4 has 11, with bias 0 has 7; 1-5-2 has 15.",
        ),
        parts=(
            Chart(
                name="hfp8-biases",
                title="1-4-3 by bias, without a scale",
                series=curves(DATA, BIASES, lambda _, name, bias: _noise(numbers[name], forward(bias))),
                caption="A larger bias has more small numbers and fewer large ones.",
                x=Axis(title="Bias as IBM counts (IEEE 754's less 7)"),
                y=Axis(title="Signal to quantisation noise (dB)"),
                references=(Reference(value=4.0, label="HFP8", axis="x"),),
            ),
            _chart_of_sums(sums),
            _chart_of_products(points),
            _table_of_formats(),
            grid(
                "Signal to noise in dB (% that become zero; % that saturate)", ("numbers",), numbers, FORMATS, _errors
            ),
            _table_of_sums(sums),
            _table_of_products(points),
        ),
        sources=SOURCES,
    )


def _noise(x: Numbers, fmt: FloatFormat) -> float:
    return signal_to_noise(x, by_format(x, fmt))


def _errors(x: Numbers, fmt: FloatFormat) -> str:
    return f"{_noise(x, fmt):.1f} ({100 * lost(x, by_format(x, fmt)):.2g}; {100 * saturated(x, fmt):.2g})"


def _table_of_formats() -> TextTable:
    rows = []
    for label, fmt in FORMATS.items():
        values = fmt.decode(np.arange(1, fmt.max_magnitude + 1))
        rows.append((label, str(fmt.bias), f"{values[-1]:g}", f"{values[0] * 2**fmt.bias:g} x 2^{-fmt.bias}"))
    return TextTable(
        title="The formats",
        header=("format", "bias as IEEE 754 counts", "largest", "smallest above 0"),
        rows=tuple(rows),
        right=(1, 2, 3),
        caption="None has subnormals.",
    )


# Long sums of uniform numbers.


def _sums(context: Context) -> Sums:
    """What each way to sum returns over the exact sum, by length."""
    rows = context.pick(tiny=1, quick=64, full=256)
    powers = range(6, 17)
    lengths = context.pick(tiny=[512, 8192], quick=[2**n for n in powers[2:-2]], full=[2**n for n in powers])
    chunks = context.pick(tiny=(64,), quick=CHUNKS, full=CHUNKS)
    ways = [LongSum(DLFLOAT, "rne", None), LongSum(DLFLOAT, "rna", None)]
    ways += [LongSum(DLFLOAT, "rne", chunk) for chunk in chunks]
    ways.append(LongSum(HALF, "rne", None))
    if context.size != "tiny":
        ways += [LongSum(DLFLOAT, "rna", 64), LongSum(HALF, "rne", 64), LongSum(SINGLE, "rne", None)]
    return {way: dict(zip(lengths, ratios(way, lengths, rows).T, strict=True)) for way in ways}


def _table_of_sums(sums: Sums) -> TextTable:
    lengths = next(iter(sums.values()))
    return grid(
        "Sums of uniform numbers of mean 1, over the exact sum",
        ("sum",),
        {way.label: found for way, found in sums.items()},
        each(lengths),
        lambda found, length: f"{found[length].mean():.3f}",
    )


def _chart_of_sums(sums: Sums) -> Chart:
    shown = [way for way in sums if way.chunk in (None, 64) and (way.rounding, way.chunk) != ("rna", 64)]
    return Chart(
        name="hfp8-sums",
        title="Sums of uniform numbers of mean 1 and deviation 1",
        series=tuple(
            series_of(way.label, sums[way], [Interval(x.mean(), x.min(), x.max()) for x in sums[way].values()])
            for way in shown
        ),
        caption="What is returned, over the exact sum; bands: least and most of the vectors. A flat sum of 1-6-9 "
        "stalls at 4096, where half a unit in the last place is more than any of the numbers, with RNE and RNA alike.",
        x=Axis(title="Length (numbers)", log=2),
        y=Axis(title="Returned / exact sum", zero=True),
    )


# Dot products.


def _products(context: Context) -> dict[str, Any]:
    """The study of HFP8 dot products by length and chunk."""
    rows = context.pick(tiny=2, quick=16, full=64)
    intervals = context.pick(tiny=(64,), quick=CHUNKS, full=CHUNKS)
    return {
        "study": "hfp8-products",
        "title": "HFP8 dot products in 1-6-9",
        "explained": 0,
        "rows": rows,
        "columns": rows,
        "trials": context.pick(tiny=1, quick=4, full=16),
        "lengths": context.pick(tiny=[64, 512], quick=[256, 1024, 4096, 16384], full=[2**n for n in range(6, 16)]),
        "units": [
            {"unit": "hfp8-forward-e4m3-dlfloat16", "label": "HFP8", "grid": {"interval": ["none", *intervals]}},
            {"unit": adder(EVEN_SUM, "hfp8-e4m3"), "label": EVEN, "grid": {"interval": ["none", 64]}},
        ],
        "data": [
            {"a": "normal", "b": {"distribution": "normal", "deviation": 0.1}, "name": "both signs"},
            {"a": "non-negative", "b": {"distribution": "normal", "mean": 0.05, "deviation": 0.1}, "name": "drifting"},
        ],
    }


def _by_chunk(points: list[PointSummary]) -> dict[str, dict[tuple[str, int], PointSummary]]:
    """The points by how they are summed, and by their data and length."""
    found: dict[str, dict[tuple[str, int], PointSummary]] = {}
    for point in points:
        interval = str(point["axis.interval"])
        words = FLAT if interval == "none" else f"{CHUNKED} {interval}"
        words += f", {EVEN}" if str(point["label"]).startswith(EVEN) else ""
        found.setdefault(words, {})[point["data"], point["length"]] = point
    return found


def _table_of_products(points: list[PointSummary]) -> TextTable:
    def cell(row: Mapping[tuple[str, int], PointSummary], key: tuple[str, int]) -> str:
        return f"{row[key]['accumulation_snr_db']:.1f} ({-100 * row[key]['accumulation_shrink']:+.2g} %)"

    return grid(
        "HFP8 dot products: signal to accumulation noise in dB (mean shift away from zero)",
        ("sum",),
        _by_chunk(points),
        {f"{point['data']}, {point['length']}": (point["data"], point["length"]) for point in points},
        cell,
    )


def _chart_of_products(points: list[PointSummary]) -> Chart:
    shown = {words: of for words, of in _by_chunk(points).items() if words != f"{CHUNKED} 512"}

    def value(data: str, words: str, length: int) -> Interval:
        point = shown[words][data, length]
        return Interval(*(point[f"accumulation_snr_db{end}"] for end in ("", "_low", "_high")))

    lengths, data = (dict.fromkeys(point[key] for point in points) for key in ("length", "data"))
    return Chart(
        name="hfp8-products",
        title="HFP8 dot products in 1-6-9, flat and in chunks",
        series=curves(shown, lengths, value, data),
        caption="1-4-3 x 1-4-3, every addition rounded to 1-6-9, RNA unless RNE is said; bands: confidence intervals.",
        x=Axis(title="Length K (products)", log=2),
        y=Axis(title="Signal to accumulation noise (dB)"),
    )
