"""IBM's 8-bit formats by bias and distribution, and sums in 1-6-9 in chunks (Sun et al. 2019; Wang et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.formats import FloatFormat, get_format
from hwsim.study.plan import load_study
from hwsim.study.presets.hfp8_sums import DLFLOAT, HALF, SINGLE, LongSum, adder, ratios
from hwsim.study.presets.preset import Context, Preset
from hwsim.study.presets.rounding import by_format, lost, saturated, signal_to_noise
from hwsim.study.presets.samples import Entry, drawn
from hwsim.study.report.contents import Axis, Chart, Reference, Series, StudyReport, TextTable

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


def forward(bias: int) -> FloatFormat:
    """1-4-3 with a bias as IBM counts it: 4 is hwsim's hfp8-e4m3, of bias 11 as IEEE 754 counts."""
    fmt = get_format("hfp8-e4m3")
    assert isinstance(fmt, FloatFormat)
    return fmt.model_copy(update={"name": f"1-4-3 bias {bias}", "bias": IEEE_BIAS + bias})


def report(context: Context) -> StudyReport:
    """The report: formats by distribution and bias, then sums by length and chunk."""
    rows, length = context.pick(tiny=(4, 1024), quick=(32, 4096), full=(256, 4096))
    numbers = {name: drawn(entry, rows, length) for name, entry in DATA.items()}
    sums = _sums(context)
    points = context.run(load_study(study_of(context), context.folder)).points
    return StudyReport(
        name=PRESET.name, title=PRESET.title, command=context.command,
        summary=(
            f"{rows} x {length:,} numbers of each distribution are rounded as they are, without a scale. A bias as IBM "
            "counts it is what is added to IEEE 754's: 1-4-3 with bias 4 has 11, with bias 0 has 7; 1-5-2 has 15.",
        ),
        parts=(
            _biases(numbers, context.command), _lengths(sums, context.command), _products(points, context.command),
            table_of_formats(), table_of_errors(numbers), table_of_sums(sums), table_of_products(points),
        ),
        sources=SOURCES,
    )  # fmt: skip


def table_of_formats() -> TextTable:
    """The three formats that are compared."""
    rows = []
    for label, fmt in _formats().items():
        codes = fmt.decode(np.arange(1, fmt.max_magnitude + 1))
        rows.append((label, str(fmt.bias), f"{codes[-1]:g}", f"{codes[0] * 2**fmt.bias:g} x 2^{-fmt.bias}"))
    return TextTable(
        title="The formats", header=("format", "bias as IEEE 754 counts", "largest", "smallest above 0"),
        rows=tuple(rows), right=(1, 2, 3), caption="None has subnormals.",
    )  # fmt: skip


def table_of_errors(numbers: dict[str, Any]) -> TextTable:
    """A row a distribution: dB, and the shares that become zero or saturate."""
    rows = []
    for name, x in numbers.items():
        cells = []
        for fmt in _formats().values():
            y = by_format(x, fmt)
            cells.append(f"{signal_to_noise(x, y):.1f} ({100 * lost(x, y):.2g}; {100 * saturated(x, fmt):.2g})")
        rows.append((name, *cells))
    return TextTable(
        title="Signal to noise in dB (% that become zero; % that saturate)", header=("numbers", *_formats()),
        rows=tuple(rows), right=(1, 2, 3),
    )  # fmt: skip


def table_of_sums(sums: dict[LongSum, tuple[tuple[int, ...], Any]]) -> TextTable:
    """A row a way to sum, a column a length: the mean of what it returns, over the exact sum."""
    lengths = max((lengths for lengths, _ in sums.values()), key=len)
    rows = tuple((way.label, *(f"{value:.3f}" for value in found.mean(axis=0))) for way, (_, found) in sums.items())
    return TextTable(
        title="Sums of uniform numbers of mean 1, over the exact sum", header=("sum", *map(str, lengths)), rows=rows,
        right=tuple(range(1, 1 + len(lengths))),
    )  # fmt: skip


def table_of_products(points: list[dict[str, Any]]) -> TextTable:
    """A row a chunk, a column a distribution and K: dB of the sum."""
    keys = list(dict.fromkeys((point["data"], point["length"]) for point in points))
    rows = []
    for chunk in dict.fromkeys(_chunk(point) for point in points):
        found = {(p["data"], p["length"]): p for p in points if _chunk(p) == chunk}
        cells = (
            f"{p['accumulation_snr_db']:.1f} ({_percent(p['accumulation_shrink'])})" for p in map(found.get, keys) if p
        )
        rows.append((chunk, *cells))
    return TextTable(
        title="HFP8 dot products: signal to accumulation noise in dB (mean shift away from zero)", rows=tuple(rows),
        header=("sum", *(f"{data}, {length}" for data, length in keys)), right=tuple(range(1, 1 + len(keys))),
    )  # fmt: skip


def study_of(context: Context) -> dict[str, Any]:
    """HFP8 dot products by length and chunk, as a mapping."""
    rows = context.pick(tiny=2, quick=16, full=64)
    intervals = context.pick(tiny=(64,), quick=CHUNKS, full=CHUNKS)
    return {
        "study": "hfp8-products", "title": "HFP8 dot products in 1-6-9", "explained": 0,
        "rows": rows, "columns": rows, "trials": context.pick(tiny=1, quick=4, full=16),
        "lengths": context.pick(tiny=[64, 512], quick=[256, 1024, 4096, 16384], full=[2**n for n in range(6, 16)]),
        "units": [
            {"unit": "hfp8-forward-e4m3-dlfloat16", "label": "HFP8", "grid": {"interval": ["none", *intervals]}},
            {"unit": adder(EVEN_SUM, "hfp8-e4m3"), "label": EVEN, "grid": {"interval": ["none", 64]}},
        ],
        "data": [
            {"a": "normal", "b": {"distribution": "normal", "deviation": 0.1}, "name": "both signs"},
            {"a": "non-negative", "b": {"distribution": "normal", "mean": 0.05, "deviation": 0.1}, "name": "drifting"},
        ],
    }  # fmt: skip


def _percent(shrink: float) -> str:
    return f"{-100 * shrink:+.2g} %"


def _formats() -> dict[str, FloatFormat]:
    backward = get_format("hfp8-e5m2")
    assert isinstance(backward, FloatFormat)
    return {"1-4-3 bias 4": forward(4), "1-4-3 bias 0": forward(0), "1-5-2": backward}


def _sums(context: Context) -> dict[LongSum, tuple[tuple[int, ...], Any]]:
    rows = context.pick(tiny=1, quick=64, full=256)
    lengths = context.pick(
        tiny=(512, 8192), quick=tuple(2**n for n in range(8, 15)), full=tuple(2**n for n in range(6, 17))
    )
    chunks = context.pick(tiny=(64,), quick=CHUNKS, full=CHUNKS)
    ways = [LongSum(DLFLOAT, "rne", None), LongSum(DLFLOAT, "rna", None)]
    ways += [LongSum(DLFLOAT, "rne", chunk) for chunk in chunks]
    ways.append(LongSum(HALF, "rne", None))
    if context.size != "tiny":
        ways += [LongSum(DLFLOAT, "rna", 64), LongSum(HALF, "rne", 64), LongSum(SINGLE, "rne", None)]
    return {way: (lengths, ratios(way, lengths, rows)) for way in ways}


def _biases(numbers: dict[str, Any], command: str) -> Chart:
    series = []
    for name, x in numbers.items():
        decibels = [signal_to_noise(x, by_format(x, forward(bias))) for bias in BIASES]
        series.append(Series(label=name, x=tuple(map(float, BIASES)), y=tuple(decibels)))
    return Chart(
        name="hfp8-biases", title="1-4-3 by bias, without a scale", series=tuple(series), command=command,
        caption="A larger bias has more small numbers and fewer large ones.",
        x=Axis(title="Bias as IBM counts (IEEE 754's less 7)"), y=Axis(title="Signal to quantisation noise (dB)"),
        references=(Reference(value=4.0, label="HFP8", axis="x"),),
    )  # fmt: skip


def _lengths(sums: dict[LongSum, tuple[tuple[int, ...], Any]], command: str) -> Chart:
    shown = [way for way in sums if way.chunk in (None, 64) and (way.rounding, way.chunk) != ("rna", 64)]
    series = tuple(
        Series(
            label=way.label, x=tuple(map(float, lengths)), y=tuple(found.mean(axis=0)),
            low=tuple(found.min(axis=0)), high=tuple(found.max(axis=0)),
        )
        for way, (lengths, found) in sums.items() if way in shown
    )  # fmt: skip
    return Chart(
        name="hfp8-sums", title="Sums of uniform numbers of mean 1 and deviation 1", series=series, command=command,
        caption="What is returned, over the exact sum; bands: least and most of the vectors. A flat sum of 1-6-9 "
        "stalls at 4096, where half a unit in the last place is more than any of the numbers, with RNE and RNA alike.",
        x=Axis(title="Length (numbers)", log=2), y=Axis(title="Returned / exact sum", zero=True),
    )  # fmt: skip


def _chunk(point: dict[str, Any]) -> str:
    interval = str(point["axis.interval"])
    chunk = FLAT if interval == "none" else f"{CHUNKED} {interval}"
    return f"{chunk}, {EVEN}" if str(point["label"]).startswith(EVEN) else chunk


def _products(points: list[dict[str, Any]], command: str) -> Chart:
    series = []
    for data in dict.fromkeys(point["data"] for point in points):
        for label in dict.fromkeys(_chunk(point) for point in points if _chunk(point) != f"{CHUNKED} 512"):
            of = [p for p in points if p["data"] == data and _chunk(p) == label]
            columns = [tuple(p[key] for p in of) for key in ("accumulation_snr_db", "accumulation_snr_db_low")]
            high = tuple(p["accumulation_snr_db_high"] for p in of)
            x = tuple(float(p["length"]) for p in of)
            series.append(Series(label=label, x=x, y=columns[0], low=columns[1], high=high, panel=data))
    return Chart(
        name="hfp8-products", title="HFP8 dot products in 1-6-9, flat and in chunks", series=tuple(series),
        caption="1-4-3 x 1-4-3, every addition rounded to 1-6-9, RNA unless RNE is said; bands: confidence intervals.",
        x=Axis(title="Length K (products)", log=2), y=Axis(title="Signal to accumulation noise (dB)"), command=command,
    )  # fmt: skip


PRESET = Preset(
    "hfp8",
    "Hybrid FP8: biases, and sums in chunks of 1-6-9",
    "Sun et al., NeurIPS 2019; Wang et al. 2018, arXiv 1812.08011",
    report,
)
