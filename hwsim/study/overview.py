"""The report of any study: its measures, drawn along the axis that the study varies most, and a table of all points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hwsim.study.intervals import Interval
from hwsim.study.report.contents import Axis, Chart, Kind, Series, StudyReport, TextTable
from hwsim.study.report.scales import short
from hwsim.study.report.sweeps import grid, series_of
from hwsim.study.results import Results

# Measures that are drawn, if the study has them: the axis's title, its logarithm, and what is said of it.
MEASURES: dict[str, tuple[str, str, int | None]] = {
    "total_snr_db": ("Signal-to-noise ratio, quantisation and accumulation", "SNR (dB)", None),
    "accumulation_snr_db": ("Signal-to-noise ratio of accumulation", "SNR (dB)", None),
    "quantization_snr_db": ("Signal-to-noise ratio of quantisation", "SNR (dB)", None),
    "accumulation_relative_mean": ("Mean relative error of accumulation", "Relative error (mean)", 10),
    "accumulation_relative_max": ("Largest relative error of accumulation", "Relative error (max)", 10),
    "accumulation_normalized_max": ("Largest error of accumulation over sum |a||b|", "Error / sum |a||b|", 10),
    "accumulation_bias": ("Bias of accumulation", "Mean signed error / mean |result|", None),
}
# What theory allows: of which measure, in words.
BOUNDS = {
    "bound_worst": ("accumulation_normalized_max", "worst case"),
    "bound_probabilistic": ("accumulation_normalized_max", "probabilistic"),
}
TABLED = (
    ("total_snr_db", "Total SNR (dB)"),
    ("quantization_snr_db", "Quantisation SNR (dB)"),
    ("accumulation_snr_db", "Accumulation SNR (dB)"),
    ("accumulation_relative_max", "Accumulation, relative error (max)"),
    ("accumulation_relative_mean", "Accumulation, relative error (mean)"),
    ("accumulation_bias", "Accumulation, bias"),
    ("swamped", "Swamped terms"),
    ("nonfinite", "Results not finite"),
)
MOST_SERIES = 16  # in a panel: with more of them a chart says nothing
Point = Mapping[str, Any]


@dataclass(frozen=True)
class Along:
    """The axis that charts are drawn along.

    key: of points. title: in words. log: its logarithm. categories: its values as words, in the study's order; without
    any it has numbers. units: whether it has units, which are drawn as bars.
    """

    key: str
    title: str
    log: int | None = None
    categories: tuple[str, ...] = ()
    units: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of chart that is drawn along it."""
        return "bars" if self.units else "points" if self.categories else "lines"

    def value(self, point: Point) -> float | str:
        """The x of a point."""
        return str(point[self.key]) if self.units or self.categories else float(point[self.key])

    def order(self, point: Point) -> float:
        """The key by which the points of a series are sorted; units keep their order."""
        if self.units:
            return 0.0
        return self.categories.index(str(point[self.key])) if self.categories else float(point[self.key])

    def unit(self, point: Point) -> str:
        """The label of a point's unit and scaling, without the field that the axis shows."""
        label = str(point["label"])
        if self.units or self.key == "length":
            return label
        field = re.escape(f"{self.key.removeprefix('axis.')}={point[self.key]}")
        return re.sub(rf"(^| ){field}(?=[ ,]|$)", "", label).strip() or str(point["unit"])

    def series(self, point: Point) -> str:
        """A point's series: the bars of its source of data, else the line of its unit."""
        return str(point["data"]) if self.units else self.unit(point)


def default_report(results: Results, command: str) -> StudyReport:
    """The report of any study: each measure along what the study varies, with confidence intervals and bounds.

    command : the line that ran it.
    The x axis is the length where the study has several, else the field of its grid with most values that are numbers,
    else its units, as bars. Sources of data are panels (colours of bars), whatever
    else is varied is a series. Raises ValueError for no point.
    """
    points, study = results.points, results.study
    if not points:
        raise ValueError("a report has at least one point")
    along = _along(points)
    charts = [chart for measure in MEASURES if (chart := _chart(points, study.confidence, measure, along))]
    trials = f", {_several(study.trials, 'trial', 'trials')} of each"
    different = {key: len({point[key] for point in points}) for key in ("label", "data", "length")}
    summary = [
        f"{_several(len(points), 'point', 'points')}: {_several(different['label'], 'unit', 'units')} on"
        f" {_several(different['data'], 'source of data', 'sources of data')} at"
        f" {_several(different['length'], 'length', 'lengths')}{trials}."
    ]
    if (many := len({along.unit(point) for point in points})) > MOST_SERIES:
        summary.append(
            f"Of {many} units and scalings each chart shows the {MOST_SERIES} that do best in it; the table has all."
        )
    return StudyReport(
        name=study.name,
        title=study.title or study.name,
        command=command,
        summary=tuple(summary),
        parts=(*charts, _table(points)),
    )


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _along(points: Sequence[Point]) -> Along:
    lengths = {point["length"] for point in points}
    if len(lengths) > 1:
        return Along("length", "Length K (products)", 2 if max(lengths) >= 4 * min(lengths) else None)
    fields = [key for key in points[0] if key.startswith("axis.")]
    words = {key: list(dict.fromkeys(str(point.get(key)) for point in points)) for key in fields}
    # A field that is not given counts as `none` of it, which is a word: the axis has categories, as the study has them.
    suited = [key for key in fields if all(one == "none" or _is_number(one) for one in words[key])]
    best = max(suited, key=lambda key: len(words[key]), default=None)
    if best is None or len(words[best]) < 2:
        return Along("label", "Unit", units=True)
    title = best.removeprefix("axis.")
    if "none" in words[best]:
        return Along(best, title, categories=tuple(words[best]))
    values = sorted(map(float, words[best]))
    return Along(best, title, 2 if values[0] > 0 and values[-1] >= 16 * values[0] else None)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _chart(points: Sequence[Point], confidence: float, measure: str, along: Along) -> Chart | None:
    heading, title, log = MEASURES[measure]
    values = [_value(point, measure) for point in points]
    if not any(map(math.isfinite, values)) or (log and not any(value > 0 for value in values)):
        return None
    kept = _best(points, measure, along, log is None)
    panels = not along.units and len({point["data"] for point in kept}) > 1
    by_series: dict[tuple[str, str], list[Point]] = {}
    for point in kept:
        by_series.setdefault((str(point["data"]) if panels else "", along.series(point)), []).append(point)
    series = [_drawn(found, measure, label, panel, along, notes=True) for (panel, label), found in by_series.items()]
    caption = "Mean over trials"
    if any(one.low for one in series):
        band = "band" if along.kind == "lines" else "thin line"
        caption += f"; the {band} is its {100 * confidence:g} % confidence interval"
    theory = [] if along.units else _theory(by_series, measure, along)
    if theory:
        caption += f". {'Strokes' if along.categories else 'Dashed'}: what theory bounds it by"
    return Chart(
        name=measure.replace("_", "-"),
        title=heading,
        caption=f"{caption}.",
        series=(*series, *theory),
        x=Axis(title=along.title, log=along.log, categories=along.categories or None),
        y=Axis(title=title, log=log),
        kind=along.kind,
    )


def _best(points: Sequence[Point], measure: str, along: Along, large: bool) -> Sequence[Point]:
    """The points that are drawn: all, or those of the best units where there are too many."""
    values: dict[str, list[float]] = {}
    for point in points:
        value = _value(point, measure)
        values.setdefault(along.unit(point), []).extend([value] if math.isfinite(value) else [])
    if len(values) <= MOST_SERIES:
        return points

    def rank(unit: str) -> float:
        if not values[unit]:
            return math.inf
        mean = math.fsum(values[unit]) / len(values[unit])
        return -mean if large else abs(mean)

    best = set(sorted(values, key=rank)[:MOST_SERIES])
    return [point for point in points if along.unit(point) in best]


def _drawn(
    found: Iterable[Point], measure: str, label: str, panel: str, along: Along, notes: bool = False, **look: Any
) -> Series:
    ordered = sorted(found, key=along.order)
    if notes:
        look["notes"] = tuple(f"{point['label']}, {point['data']}, K = {point['length']}" for point in ordered)
    x = (along.value(point) for point in ordered)
    values = (Interval(*(_value(point, f"{measure}{end}") for end in ("", "_low", "_high"))) for point in ordered)
    return series_of(label, x, values, panel=panel, **look)


def _value(point: Point, name: str) -> float:
    """NaN where there is none."""
    value = point.get(name)
    return math.nan if value is None else float(value)


def _theory(by_series: Mapping[tuple[str, str], list[Point]], measure: str, along: Along) -> list[Series]:
    """The bounds of a measure as dashed lines, each in its series' colour: fewer of them where series are many."""
    labels = len({label for _, label in by_series})
    shown = list(BOUNDS.items())[: 2 if labels <= 3 else 1 if labels <= 6 else 0]
    return [
        _drawn(points, bound, f"{label}: {words}", panel, along, dashed=True, like=label)
        for bound, (of, words) in shown
        for (panel, label), points in by_series.items()
        if of == measure and any(math.isfinite(_value(point, bound)) for point in points)
    ]


def _table(points: Sequence[Point]) -> TextTable:
    def cell(point: Point, measure: str) -> str:
        value, low, high = (_value(point, f"{measure}{end}") for end in ("", "_low", "_high"))
        half = (high - low) / 2
        return short(value) + (f" ± {short(half)}" if math.isfinite(half) and half > 0 else "")

    # A unit's label says its scaling where it has several.
    words = {"Unit": "label", "Scaling": "scaling", "Data": "data", "K": "length"}
    made = grid(
        "All points",
        tuple(words),
        {tuple(str(point[key]) for key in words.values()): point for point in points},
        {title: key for key, title in TABLED if any(point.get(key) is not None for point in points)},
        cell,
        caption="Means over trials, and half the width of their confidence intervals.",
    )
    return replace(made, right=(3, *made.right))
