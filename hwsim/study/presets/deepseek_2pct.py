"""Relative error of Hopper's FP8 accumulator at K = 4096, with and without promotion (DeepSeek-V3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hwsim.spec import load_unit
from hwsim.study.accuracy.bounds import bounds
from hwsim.study.plan import load_study
from hwsim.study.plan.fields import vary
from hwsim.study.presets.lookup import at, largest, percent
from hwsim.study.presets.preset import Context, Preset
from hwsim.study.presets.truncation import expected_shrink, sampled_products, share_of_signs
from hwsim.study.report.contents import Axis, Chart, Reference, Series, StudyReport, TextTable
from hwsim.study.results import Results

UNIT = "hopper-wgmma-e4m3-f32"
BITS = 13
LENGTH = 4096
INTERVALS = ("none", 512, 256, 128, 64, 32)
PUBLISHED, NEARLY = 0.02, (0.015, 0.022)
DATA: dict[str, Any] = {
    "normal": {"distribution": "normal"},
    "normal, mean 0.5": {"distribution": "normal", "mean": 0.5},
    "normal, mean 1": {"distribution": "normal", "mean": 1.0},
    "ReLU x normal": {"a": {"distribution": "non-negative"}, "b": {"distribution": "normal"}},
    "ReLU x ReLU": {"distribution": "non-negative"},
    "half-normal": {"distribution": "non-negative", "kind": "half-normal"},
    "uniform 0 to 1": {"distribution": "uniform", "low": 0.0, "high": 1.0},
}
GROWING = ("normal, mean 1", "ReLU x ReLU", "half-normal", "uniform 0 to 1")
DRAWN = ("normal", *GROWING)
LARGEST, RMS = "accumulation_relative_max", "accumulation_rms"
NORMALIZED = "accumulation_normalized_max"  # over the sum of the products' magnitudes
SOURCES = (
    "DeepSeek-AI 2024, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2 (nearly 2 %, K = 4096, promotion)",
    "Khattak and Mikaitis, results captured from H100 and H200 GPUs: the unit's 13 fraction bits, truncated",
)


def report(context: Context) -> StudyReport:
    """The report: data, promotion, length and width, each at the size that the context asks for."""
    length = context.pick(tiny=512, quick=LENGTH, full=LENGTH)
    lengths = tuple(2**n for n in context.pick(tiny=(7, 9), quick=range(7, 15), full=range(7, 17)))
    bits = context.pick(tiny=(12, 13), quick=(11, 12, 13, 14, 15, 16), full=tuple(range(10, 20)))
    promoted = context.run(_study(context, "promotion", [length], {"interval": list(INTERVALS)}, tuple(DATA)))
    by_length = context.run(_study(context, "lengths", list(lengths), {}, DRAWN))
    by_bits = context.run(_study(context, "bits", [length], {"accumulator": list(bits)}, DRAWN))
    return StudyReport(
        name="deepseek-2pct",
        title=f"Relative error of Hopper's FP8 accumulator, K = {length:,}",
        command=context.command,
        summary=(
            f"{UNIT}: {BITS} fraction bits, truncated; groups of 32 in a chain. Numbers are scaled by tensor and "
            "rounded to E4M3 first; errors are against the exact sums of the rounded numbers, so that they are the "
            f"accumulator's alone. {by_length.study.trials} trials of {by_length.study.rows} x "
            f"{by_length.study.columns} results. Largest errors are over all trials, the others are means over trials.",
            f"Data whose largest relative error is nearly 2 % (1.5 to 2.2) at K = {length:,}: {_nearly(promoted)}.",
        ),
        parts=(
            _by_length(by_length, context.command),
            _by_interval(promoted, length, context.command),
            _by_bits(by_bits, length, context.command),
            table_of_data(promoted, length, by_length.study.seed),
            table_of_promotion(promoted, LARGEST, "Largest relative error, in %, by promotion interval"),
            table_of_promotion(
                promoted, RMS, "Root mean square error over that of the sums, in %, by promotion interval"
            ),
            table_of_bounds(promoted, length),
            table_of_lengths(by_length),
            table_of_bits(by_bits),
        ),
        sources=SOURCES,
    )


def _study(context: Context, name: str, lengths: list[int], grid: dict[str, Any], data: tuple[str, ...]) -> Any:
    size = context.pick(tiny=8, quick=64, full=256)
    return load_study(
        {
            "study": f"deepseek-2pct-{name}", "trials": context.pick(tiny=1, quick=3, full=8), "rows": size,
            "columns": size, "lengths": lengths, "explained": 0,
            "units": [{"unit": UNIT, "label": "Hopper", "grid": grid, "scaling": "tensor"}],
            "data": [{**DATA[one], "name": one} for one in data],
        }
    )  # fmt: skip


def table_of_data(found: Results, length: int, seed: int) -> TextTable:
    """Without promotion: a row a kind of data, beside what the products let expect."""
    rows = []
    for name, entry in DATA.items():
        point = at(found, data=name, interval="none")
        products = sampled_products(entry, length, seed)
        rows.append(
            (
                name, percent(largest(found, point, LARGEST)),
                *(percent(point[f"accumulation_{one}"]) for one in
                  ("relative_p99", "relative_mean", "relative_p50", "rms", "shrink")),
                percent(expected_shrink(products, length, BITS)), percent(share_of_signs(products)),
            )
        )  # fmt: skip
    return TextTable(
        title=f"Error at K = {length:,} without promotion, in %",
        header=(
            "data",
            "relative: largest",
            "99th percentile",
            "mean",
            "median",
            "rms",
            "shrink",
            "expected shrink",
            "signs",
        ),
        rows=tuple(rows),
        right=tuple(range(1, 9)),
        caption="Shrink: mean error towards zero over the mean magnitude of the sums; expected: what truncation takes "
        "of the products on average, without a unit. Signs: share of positive less share of negative products.",
    )


def table_of_promotion(found: Results, measure: str, title: str) -> TextTable:
    """A row a kind of data, a column an interval."""
    rows = tuple(
        (name, *(percent(_error(found, measure, data=name, interval=str(one))) for one in INTERVALS)) for name in DATA
    )
    return TextTable(title=title, header=("data", *map(str, INTERVALS)), rows=rows, right=tuple(range(1, 7)))


def table_of_bounds(found: Results, length: int) -> TextTable:
    """A row an interval: bounds of theory, and the largest errors in their terms."""
    rows = []
    for interval in INTERVALS:
        point = at(found, data="normal", interval=str(interval))
        theory = bounds(vary(load_unit(UNIT), {"interval": interval}), length)
        largest_errors = (
            percent(_error(found, NORMALIZED, data=name, interval=point["axis.interval"])) for name in DRAWN
        )
        rows.append((str(interval), percent(theory.worst), percent(theory.probabilistic), *largest_errors))
    return TextTable(
        title=f"Bounds and largest errors over the sum of magnitudes, in %, K = {length:,}",
        header=("interval", "worst case", "probabilistic", *DRAWN),
        rows=tuple(rows),
        right=tuple(range(1, 3 + len(DRAWN))),
        caption="Probabilistic: for losses of mean zero, with probability 0.98 for one result (Higham and Mary 2019).",
    )


def table_of_lengths(found: Results) -> TextTable:
    """A row a kind of data, a column a length."""
    lengths = found.study.lengths
    rows = tuple(
        (name, *(percent(_error(found, _telling(name), data=name, length=one)) for one in lengths)) for name in DRAWN
    )
    return TextTable(
        title="Error by length K, in %, without promotion",
        header=("data", *map(str, lengths)),
        rows=rows,
        right=tuple(range(1, len(lengths) + 1)),
        caption="Largest relative error; of normal data, whose sums cancel, the rms error over the rms of the sums.",
    )


def table_of_bits(found: Results) -> TextTable:
    """A row a kind of data, a column a width."""
    widths = [str(one) for one in found.study.units[0].grid["accumulator"]]
    rows = tuple(
        (name, *(percent(_error(found, _telling(name), data=name, accumulator=one)) for one in widths))
        for name in DRAWN
    )
    return TextTable(
        title="Error by fraction bits of the accumulator, in %, without promotion",
        header=("data", *widths),
        rows=rows,
        right=tuple(range(1, len(widths) + 1)),
        caption="As above: largest relative error, of normal data rms. The window and the register have these bits.",
    )


def _nearly(found: Results) -> str:
    """The data that show what was published."""
    low, high = NEARLY
    names = [name for name in DATA if low <= _error(found, LARGEST, data=name, interval="none") <= high]
    return ", ".join(names) or "none"


def _telling(name: str) -> str:
    """What says most of data: sums that cancel have relative errors without a bound."""
    return RMS if name == "normal" else LARGEST


def _error(found: Results, measure: str, **wanted: Any) -> float:
    point = at(found, **wanted)
    return largest(found, point, measure) if measure in (LARGEST, NORMALIZED) else float(point[measure])


def _panels(found: Results, axis: str, values: Sequence[Any], x: Sequence[float] | Sequence[str]) -> tuple[Series, ...]:
    """Lines of two panels: the largest relative error, and the rms."""
    return tuple(
        Series(
            label=name, panel=panel, x=tuple(x),
            y=tuple(100 * _error(found, measure, data=name, **{axis: value}) for value in values),
        )
        for panel, measure in (("Largest relative error", LARGEST), ("rms error over rms of the sums", RMS))
        for name in DRAWN
    )  # fmt: skip


def _chart(name: str, title: str, caption: str, x: Axis, series: tuple[Series, ...], command: str) -> Chart:
    return Chart(
        name=f"deepseek-2pct-{name}", title=title, caption=caption, x=x, y=Axis(title="Error (%)", log=10),
        series=series, references=(Reference(value=100 * PUBLISHED, label="2 %"),), command=command,
    )  # fmt: skip


def _by_length(found: Results, command: str) -> Chart:
    lengths = found.study.lengths
    return _chart(
        "length", "Error of Hopper's FP8 accumulator by length",
        "Sums that grow lose a share that grows with K. Sums of zero mean cancel: only their rms error says much.",
        Axis(title="Length K (products)", log=2), _panels(found, "length", lengths, lengths), command,
    )  # fmt: skip


def _by_interval(found: Results, length: int, command: str) -> Chart:
    words = [str(one) for one in INTERVALS]
    return _chart(
        "promotion", f"Promotion to FP32, K = {length:,}",
        "Groups of 32 are summed from zero, and added in FP32 every so many products; none: one chain.",
        Axis(title="Promotion interval (products)"), _panels(found, "interval", words, words), command,
    )  # fmt: skip


def _by_bits(found: Results, length: int, command: str) -> Chart:
    widths = found.study.units[0].grid["accumulator"]
    return _chart(
        "bits", f"Fraction bits of the accumulator, K = {length:,}",
        "Hopper has 13. Each bit more about halves the error.",
        Axis(title="Fraction bits of the window and of the register"),
        _panels(found, "accumulator", [*map(str, widths)], widths), command,
    )  # fmt: skip


PRESET = Preset(
    "deepseek-2pct", "Hopper's FP8 accumulator at K = 4096", "DeepSeek-V3 Technical Report, section 3.3.2", report
)
