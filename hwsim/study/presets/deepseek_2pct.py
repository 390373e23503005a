"""Relative error of Hopper's FP8 accumulator at K = 4096, with and without promotion (DeepSeek-V3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from hwsim.spec import load_unit
from hwsim.study.accuracy.bounds import bounds
from hwsim.study.plan import load_study
from hwsim.study.plan.fields import vary
from hwsim.study.presets.lookup import at, largest, percent
from hwsim.study.presets.preset import Context
from hwsim.study.presets.truncation import expected_shrink, sampled_products, share_of_signs
from hwsim.study.report.contents import Axis, Chart, Reference, StudyReport, TextTable
from hwsim.study.report.sweeps import X, curves, each, grid
from hwsim.study.results import Results

NAME, UNIT = "deepseek-2pct", "hopper-wgmma-e4m3-f32"
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
    promoted = _run(context, "promotion", [length], {"interval": list(INTERVALS)}, tuple(DATA))
    by_length = _run(context, "lengths", list(lengths), {}, DRAWN)
    by_bits = _run(context, "bits", [length], {"accumulator": list(bits)}, DRAWN)
    study = by_length.study
    return StudyReport(
        name=NAME,
        title=f"Relative error of Hopper's FP8 accumulator, K = {length:,}",
        command=context.command,
        summary=(
            f"{UNIT}: {BITS} fraction bits, truncated; groups of 32 in a chain. Numbers are scaled by tensor and "
            "rounded to E4M3 first; errors are against the exact sums of the rounded numbers, so that they are the "
            f"accumulator's alone. {study.trials} trials of {study.rows} x {study.columns} results. Largest errors are "
            "over all trials, the others are means over trials.",
            f"Data whose largest relative error is nearly 2 % (1.5 to 2.2) at K = {length:,}: {_nearly(promoted)}.",
        ),
        parts=(
            _chart(
                "length",
                "Error of Hopper's FP8 accumulator by length",
                "Sums that grow lose a share that grows with K. Sums of zero mean cancel: only their rms error says "
                "much.",
                Axis(title="Length K (products)", log=2),
                lengths,
                lambda measure, name, x: _error(by_length, measure, data=name, length=x),
            ),
            _chart(
                "promotion",
                f"Promotion to FP32, K = {length:,}",
                "Groups of 32 are summed from zero, and added in FP32 every so many products; none: one chain.",
                Axis(title="Promotion interval (products)"),
                map(str, INTERVALS),
                lambda measure, name, x: _error(promoted, measure, data=name, interval=x),
            ),
            _chart(
                "bits",
                f"Fraction bits of the accumulator, K = {length:,}",
                "Hopper has 13. Each bit more about halves the error.",
                Axis(title="Fraction bits of the window and of the register"),
                bits,
                lambda measure, name, x: _error(by_bits, measure, data=name, accumulator=str(x)),
            ),
            _table_of_data(promoted, length, study.seed),
            *_tables_of_promotion(promoted, length),
            grid(
                "Error by length K, in %, without promotion",
                ("data",),
                each(DRAWN),
                each(lengths),
                lambda name, x: percent(_error(by_length, _telling(name), data=name, length=x)),
                caption="Largest relative error; of normal data, whose sums cancel, the rms error over the rms of the "
                "sums.",
            ),
            grid(
                "Error by fraction bits of the accumulator, in %, without promotion",
                ("data",),
                each(DRAWN),
                each(bits),
                lambda name, x: percent(_error(by_bits, _telling(name), data=name, accumulator=str(x))),
                caption="As above: largest relative error, of normal data rms. The window and the register have these "
                "bits.",
            ),
        ),
        sources=SOURCES,
    )


def _run(context: Context, name: str, lengths: list[int], grid: dict[str, Any], data: tuple[str, ...]) -> Results:
    size = context.pick(tiny=8, quick=64, full=256)
    study = {
        "study": f"{NAME}-{name}",
        "trials": context.pick(tiny=1, quick=3, full=8),
        "rows": size,
        "columns": size,
        "lengths": lengths,
        "explained": 0,
        "units": [{"unit": UNIT, "label": "Hopper", "grid": grid, "scaling": "tensor"}],
        "data": [{**DATA[one], "name": one} for one in data],
    }
    return context.run(load_study(study))


def _table_of_data(results: Results, length: int, seed: int) -> TextTable:
    """Errors without promotion by kind of data, beside what the products let expect."""
    columns = {
        "relative: largest": LARGEST,
        "99th percentile": "accumulation_relative_p99",
        "mean": "accumulation_relative_mean",
        "median": "accumulation_relative_p50",
        "rms": RMS,
        "shrink": "accumulation_shrink",
        "expected shrink": "expected",
        "signs": "signs",
    }
    products = {name: sampled_products(entry, length, seed) for name, entry in DATA.items()}

    def cell(name: str, measure: str) -> str:
        if measure == "expected":
            return percent(expected_shrink(products[name], length, BITS))
        if measure == "signs":
            return percent(share_of_signs(products[name]))
        return percent(_error(results, measure, data=name, interval="none"))

    return grid(
        f"Error at K = {length:,} without promotion, in %",
        ("data",),
        each(DATA),
        columns,
        cell,
        caption="Shrink: mean error towards zero over the mean magnitude of the sums; expected: what truncation takes "
        "of the products on average, without a unit. Signs: share of positive less share of negative products.",
    )


def _tables_of_promotion(results: Results, length: int) -> Iterable[TextTable]:
    """Two measures by data and interval, and the bounds of theory by interval."""
    for measure, title in (
        (LARGEST, "Largest relative error, in %, by promotion interval"),
        (RMS, "Root mean square error over that of the sums, in %, by promotion interval"),
    ):
        cell = partial(_by_interval, results, measure)
        yield grid(title, ("data",), each(DATA), each(INTERVALS), cell)
    theory = {one: bounds(vary(load_unit(UNIT), {"interval": one}), length) for one in INTERVALS}
    yield TextTable(
        title=f"Bounds and largest errors over the sum of magnitudes, in %, K = {length:,}",
        header=("interval", "worst case", "probabilistic", *DRAWN),
        rows=tuple(
            (
                str(interval),
                percent(bound.worst),
                percent(bound.probabilistic),
                *(_by_interval(results, NORMALIZED, name, interval) for name in DRAWN),
            )
            for interval, bound in theory.items()
        ),
        right=tuple(range(1, 3 + len(DRAWN))),
        caption="Probabilistic: for losses of mean zero, with probability 0.98 for one result (Higham and Mary 2019).",
    )


def _by_interval(results: Results, measure: str, name: str, interval: int | str) -> str:
    return percent(_error(results, measure, data=name, interval=str(interval)))


def _nearly(results: Results) -> str:
    """The data that show what was published."""
    low, high = NEARLY
    names = [name for name in DATA if low <= _error(results, LARGEST, data=name, interval="none") <= high]
    return ", ".join(names) or "none"


def _telling(name: str) -> str:
    """What says most of data: sums that cancel have relative errors without a bound."""
    return RMS if name == "normal" else LARGEST


def _error(results: Results, measure: str, **wanted: Any) -> float:
    point = at(results, **wanted)
    return largest(results, point, measure) if measure in (LARGEST, NORMALIZED) else float(point[measure])


def _chart(
    name: str, title: str, caption: str, x: Axis, values: Iterable[X], error: Callable[[str, str, X], float]
) -> Chart:
    """The largest relative error and the rms, a panel each, of every kind of data."""
    panels = {"Largest relative error": LARGEST, "rms error over rms of the sums": RMS}
    return Chart(
        name=f"{NAME}-{name}",
        title=title,
        caption=caption,
        x=x,
        y=Axis(title="Error (%)", log=10),
        series=curves(DRAWN, values, lambda panel, label, at: 100 * error(panels[panel], label, at), panels),
        references=(Reference(value=100 * PUBLISHED, label="2 %"),),
    )
