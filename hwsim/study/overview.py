"""The report of any study: its measures, drawn along the axis that the study varies most, and a table of all points."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hwsim.errors import InputError
from hwsim.study.report.contents import Axis, Chart, Kind, Series, StudyReport, TextTable
from hwsim.study.report.declared import line, table
from hwsim.study.report.scales import short
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


class Along(NamedTuple):
    """The axis that charts are drawn along.

    key: of points. title: in words. kind: lines where it has numbers, points where it has words, in the study's order,
    and bars where it has units. log: of numbers. categories: the words.
    """

    key: str
    title: str
    kind: Kind = "lines"
    log: int | None = None
    categories: tuple[str, ...] | None = None


def default_report(results: Results, command: str) -> StudyReport:
    """The report of any study: each measure along what the study varies, with confidence intervals and bounds.

    command : the line that ran it.
    The x axis is the length where the study has several, else the field of its grid with most values that are numbers,
    else its units, as bars. Sources of data are panels (colours of bars), whatever
    else is varied is a series. Raises ValueError for no point.
    """
    points, study = results.points, results.study
    if not points:
        raise InputError("a report has at least one point")
    along = _along(points)
    drawn = _drawn(points, along)
    charts = [chart for measure in MEASURES if (chart := _chart(drawn, study.confidence, measure, along))]
    trials = f", {_several(study.trials, 'trial', 'trials')} of each"
    different = {key: len({point[key] for point in points}) for key in ("label", "data", "length")}
    summary = [
        f"{_several(len(points), 'point', 'points')}: {_several(different['label'], 'unit', 'units')} on"
        f" {_several(different['data'], 'source of data', 'sources of data')} at"
        f" {_several(different['length'], 'length', 'lengths')}{trials}."
    ]
    if (many := len({one["without"] for one in drawn})) > MOST_SERIES:
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
        return Along("length", "Length K (products)", log=2 if max(lengths) >= 4 * min(lengths) else None)
    fields = [key for key in points[0] if key.startswith("axis.")]
    words = {key: list(dict.fromkeys(str(point.get(key)) for point in points)) for key in fields}
    # A field that is not given counts as `none` of it, which is a word: the axis has categories, as the study has them.
    suited = [key for key in fields if all(one == "none" or _is_number(one) for one in words[key])]
    best = max(suited, key=lambda key: len(words[key]), default=None)
    if best is None or len(words[best]) < 2:
        return Along("label", "Unit", "bars")
    title = best.removeprefix("axis.")
    if "none" in words[best]:
        return Along(best, title, "points", categories=tuple(words[best]))
    values = sorted(map(float, words[best]))
    return Along(best, title, log=2 if values[0] > 0 and values[-1] >= 16 * values[0] else None)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _drawn(points: Sequence[Point], along: Along) -> list[Point]:
    """The points along the axis, with what is drawn of each.

    x: its place. without: its unit and scaling, less the field that the axis shows. series: those of lines, the data of
    bars. panel: the data of lines, where there are several.
    """
    panels = along.kind != "bars" and len({point["data"] for point in points}) > 1
    made: list[Point] = []
    for point in points:
        x = point[along.key]
        without = str(point["label"])
        if along.key.startswith("axis."):
            field = re.escape(f"{along.key.removeprefix('axis.')}={x}")
            without = re.sub(rf"(^| ){field}(?=[ ,]|$)", "", without).strip() or str(point["unit"])
        look = {
            "x": float(x) if along.kind == "lines" else str(x),
            "without": without,
            "series": str(point["data"]) if along.kind == "bars" else without,
            "panel": str(point["data"]) if panels else "",
            "note": f"{point['label']}, {point['data']}, K = {point['length']}",
        }
        made.append({**point, **look})
    return made


def _chart(drawn: Sequence[Point], confidence: float, measure: str, along: Along) -> Chart | None:
    heading, title, log = MEASURES[measure]
    values = [_value(one, measure) for one in drawn]
    if not any(map(math.isfinite, values)) or (log and not any(value > 0 for value in values)):
        return None
    by_series: dict[tuple[str, str], list[Point]] = {}
    best = _best(drawn, measure, log is None)
    for one in drawn:
        if one["without"] in best:
            by_series.setdefault((one["panel"], one["series"]), []).append(one)
    if along.kind != "bars":
        words = along.categories
        for found in by_series.values():
            found.sort(key=lambda one: words.index(one["x"]) if words else one["x"])
    series = [_series(label, found, measure, panel=panel) for (panel, label), found in by_series.items()]
    caption = "Mean over trials"
    if any(one.low for one in series):
        band = "band" if along.kind == "lines" else "thin line"
        caption += f"; the {band} is its {100 * confidence:g} % confidence interval"
    theory = [] if along.kind == "bars" else _theory(by_series, measure)
    if theory:
        caption += f". {'Strokes' if along.categories else 'Dashed'}: what theory bounds it by"
    return Chart(
        name=measure.replace("_", "-"),
        title=heading,
        caption=f"{caption}.",
        series=(*series, *theory),
        x=Axis(title=along.title, log=along.log, categories=along.categories),
        y=Axis(title=title, log=log),
        kind=along.kind,
    )


def _best(drawn: Sequence[Point], measure: str, large: bool) -> set[str]:
    """The units that are drawn: all, or the best where there are too many."""
    values: dict[str, list[float]] = {}
    for one in drawn:
        value = _value(one, measure)
        values.setdefault(one["without"], []).extend([value] if math.isfinite(value) else [])
    if len(values) <= MOST_SERIES:
        return set(values)

    def rank(unit: str) -> float:
        if not values[unit]:
            return math.inf
        mean = math.fsum(values[unit]) / len(values[unit])
        return -mean if large else abs(mean)

    return set(sorted(values, key=rank)[:MOST_SERIES])


def _series(label: str, points: Sequence[Point], measure: str, **look: Any) -> Series:
    """The means and intervals of a measure; what theory says has no note."""
    ends = {"y": measure, "low": f"{measure}_low", "high": f"{measure}_high"}
    shown = [
        {"x": one["x"], "notes": "" if look.get("dashed") else one["note"]}
        | {key: _value(one, name) for key, name in ends.items()}
        for one in points
    ]
    return line(label, shown, **look)


def _value(point: Point, name: str) -> float:
    """NaN where there is none."""
    value = point.get(name)
    return math.nan if value is None else float(value)


def _theory(by_series: Mapping[tuple[str, str], list[Point]], measure: str) -> list[Series]:
    """The bounds of a measure as dashed lines, each in its series' colour: fewer of them where series are many."""
    labels = len({label for _, label in by_series})
    shown = list(BOUNDS.items())[: 2 if labels <= 3 else 1 if labels <= 6 else 0]
    return [
        _series(f"{label}: {words}", points, bound, panel=panel, dashed=True, like=label)
        for bound, (of, words) in shown
        for (panel, label), points in by_series.items()
        if of == measure and any(math.isfinite(_value(point, bound)) for point in points)
    ]


def _table(points: Sequence[Point]) -> TextTable:
    def cell(point: Point, measure: str) -> str:
        value, low, high = (_value(point, f"{measure}{end}") for end in ("", "_low", "_high"))
        half = (high - low) / 2
        return short(value) + (f" ± {short(half)}" if math.isfinite(half) and half > 0 else "")

    shown = {key: title for key, title in TABLED if any(point.get(key) is not None for point in points)}
    declared = {
        "table": "All points",
        # A unit's label says its scaling where it has several.
        "rows": {"Unit": "{label}", "Scaling": "{scaling}", "Data": "{data}"},
        "columns": [("K", "{length}"), *((title, f"{{{key}}}") for key, title in shown.items())],
        "caption": "Means over trials, and half the width of their confidence intervals.",
    }
    return table(declared, [{**point, **{key: cell(point, key) for key in shown}} for point in points], {})
