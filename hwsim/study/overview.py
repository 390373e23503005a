"""The report of any study: its measures, drawn along the axis that the study varies most, and a table of all points."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.study.findings import MEASURE_TITLES, Point, findings, measured, number, short_labels
from hwsim.study.report.charts import MOST_BANDS
from hwsim.study.report.contents import Axis, Chart, Kind, Row, StudyReport, TextTable
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
# Two charts that show the same curves, within so many dB: one of them is enough, and says so.
SAME = 0.1
TWINS = {"quantization_snr_db": "total_snr_db", "accumulation_snr_db": "total_snr_db"}
MOST_SERIES = 16  # in a panel: with more of them a chart says nothing
UNNAMED = "study"  # of a study that the command line alone says
TITLES = {"length": "Length K (products)"}
# The largest value over the least from which an axis is logarithmic: of a field, unless it is said.
STEEP = {"length": 4}
STEEP_FIELD = 16
KINDS = (
    "Quantisation: the exact product of the codes against that of the numbers. Accumulation: what the unit returned"
    " against the exact product of the codes. Total: both."
)


class Along(NamedTuple):
    """The axis that charts are drawn along.

    key: of points. title: in words. kind: lines where it has numbers, points where it has words, in the study's order.
    log: of numbers. categories: the words.
    """

    key: str
    title: str
    kind: Kind = "lines"
    log: int | None = None
    categories: tuple[str, ...] | None = None


def default_report(results: Results, command: str) -> StudyReport:
    """The report of any study: each measure along what the study varies, with confidence intervals and bounds.

    command : the line that ran it.
    The x axis is what has most values: the length, a field of the grid, or the units; what has numbers goes before
    what has words. Sources of data are panels, whatever else is varied is a series. Raises ValueError for no point.
    """
    points, study = results.points, results.study
    if not points:
        raise InputError("a report has at least one point")
    along = _along(points)
    drawn = _drawn(points, along)
    charts = [chart for measure in MEASURES if (chart := _chart(drawn, study.confidence, measure, along))]
    trials = f", {counted(study.trials, 'trial')} of each"
    different = {key: len({point[key] for point in points}) for key in ("label", "data", "length")}
    summary = [
        f"{counted(len(points), 'point')}: {counted(different['label'], 'unit')} on"
        f" {counted(different['data'], 'source', 'of data')} at"
        f" {counted(different['length'], 'length')}{trials}. {KINDS}"
    ]
    if (many := len({point["without"] for point in drawn})) > MOST_SERIES:
        summary.append(
            f"Of {many} units and scalings each chart shows the {MOST_SERIES} that do best in it; the table has all."
        )
    summary_ = findings(points)
    return StudyReport(
        name=study.name,
        title=study.title or (study.name if study.name != UNNAMED else _title(points)),
        command=command,
        verdict=summary_.verdict,
        key=summary_.key,
        summary=tuple(summary),
        parts=(summary_.table, *charts, _table(points)),
    )


def _title(points: Sequence[Point]) -> str:
    units = list(dict.fromkeys(str(point.get("axis.unit", point["unit"])) for point in points))
    lengths = sorted({point["length"] for point in points})
    fields = [key for key in points[0] if key.startswith("axis.") and key != "axis.unit"]
    varied = [key.removeprefix("axis.") for key in fields if len({str(point.get(key)) for point in points}) > 1]
    of = units[0] if len(units) == 1 else counted(len(units), "unit")
    lengths_title = f"K = {lengths[0]:,}" + (f" to {lengths[-1]:,}" if len(lengths) > 1 else "")
    return f"Error of {of}{' by ' + ' and '.join(varied) if varied else ''}, {lengths_title}"


def _along(points: Sequence[Point]) -> Along:
    fields = [key for key in points[0] if key.startswith("axis.") and key != "axis.unit"]
    words = {key: list(dict.fromkeys(str(point.get(key)) for point in points)) for key in ("length", *fields)}
    # A field that is not given counts as `none` of it, which is a word: the axis has categories, as the study has them.
    suited = [key for key in words if all(word == "none" or _is_number(word) for word in words[key])]
    best = max(suited, key=lambda key: len(words[key]))
    if len(words[best]) < 2:
        best = max(words, key=lambda key: len(words[key]))
    if len(words[best]) < 2:
        return Along("label", "Unit", "points", categories=tuple(dict.fromkeys(str(item["label"]) for item in points)))
    title = TITLES.get(best, best.removeprefix("axis."))
    if best not in suited or "none" in words[best]:
        return Along(best, title, "points", categories=tuple(words[best]))
    values = sorted(map(float, words[best]))
    steep = values[0] > 0 and values[-1] >= STEEP.get(best, STEEP_FIELD) * values[0]
    return Along(best, title, log=2 if steep else None)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _drawn(points: Sequence[Point], along: Along) -> list[Point]:
    """The points along the axis, with what is drawn of each.

    x: its place. without: its unit, scaling and length, less what the axis shows. series: that, and where units are the
    axis the data. panel: the data, where there are several and units are not the axis.
    """
    of_units = along.key == "label"
    panels = not of_units and len({point["data"] for point in points}) > 1
    length = along.key != "length" and len({point["length"] for point in points}) > 1
    names = [_without(point, along) for point in points]
    label = short_labels([{"label": name} for name in names])
    drawn: list[Point] = []
    for point, name in zip(points, names, strict=True):
        parts = [label({"label": name})] if len(set(names)) > 1 or not length else []
        without = ", ".join([*parts, *([f"K = {point['length']:,}"] if length else [])])
        x = point[along.key]
        look = {
            "x": float(x) if along.kind == "lines" else str(x),
            "without": without,
            "series": str(point["data"]) if of_units else without,
            "panel": str(point["data"]) if panels else "",
            "note": f"{point['label']}, {point['data']}, K = {point['length']}",
        }
        drawn.append({**point, **look})
    return drawn


def _without(point: Point, along: Along) -> str:
    """A point's unit and scaling, less the field that the axis shows."""
    label = str(point["label"])
    if not along.key.startswith("axis."):
        return label
    field = re.escape(f"{along.key.removeprefix('axis.')}={point[along.key]}")
    return re.sub(rf"(^| ){field}(?=[ ,]|$)", "", label).strip() or str(point["unit"])


def _chart(drawn: Sequence[Point], confidence: float, measure: str, along: Along) -> Chart | None:
    heading, title, log = MEASURES[measure]
    values = [number(point, measure) for point in drawn]
    if not any(map(math.isfinite, values)) or (log and not any(value > 0 for value in values)):
        return None
    if (twin := TWINS.get(measure)) and _same(drawn, measure, twin):
        return None
    best = _best(drawn, measure, log is None)
    shown = [point for point in drawn if point["without"] in best]
    if along.kind == "lines":
        shown.sort(key=lambda point: float(point["x"]))
    rows: list[Row] = [_row(point, measure) | {"note": point["note"]} for point in shown]
    caption = "Mean over trials"
    series = {point["series"] for point in shown}
    if any(math.isfinite(row.get("low", math.nan)) for row in rows):
        band = "band" if along.kind == "lines" and len(series) <= MOST_BANDS else "thin line"
        caption += f"; the {band} is its {100 * confidence:g} % confidence interval"
    theory, bounds = ({}, []) if along.key == "label" else _theory(shown, measure, len(series))
    if theory:
        caption += f". {'Strokes' if along.categories else 'Dashed'}: bounds from theory"
    alike = [MEASURES[name][0].lower() for name, twin in TWINS.items() if twin == measure and _same(drawn, name, twin)]
    if alike:
        caption += f". The {' and the '.join(alike)} is the same within {SAME} dB, and is not drawn"
    return Chart(
        name=measure.replace("_", "-"),
        title=heading,
        caption=f"{caption}.",
        rows=(*rows, *bounds),
        theory=theory,
        x=Axis(title=along.title, log=along.log, categories=along.categories),
        y=Axis(title=title, log=log),
        kind=along.kind,
    )


def _row(point: Point, measure: str) -> dict[str, Any]:
    """A point of a chart: the mean of a measure, and its interval where there is one."""
    ends = {end: number(point, f"{measure}_{end}") for end in ("low", "high")}
    known = {end: value for end, value in ends.items() if not math.isnan(value)}
    return {"series": point["series"], "panel": point["panel"], "x": point["x"], "y": number(point, measure), **known}


def _theory(shown: Sequence[Point], measure: str, many: int) -> tuple[dict[str, str], list[Row]]:
    """The bounds of a measure, in the colour of their series: fewer of them where series are many."""
    theory: dict[str, str] = {}
    rows: list[Row] = []
    for bound, (of, words) in list(BOUNDS.items())[: 2 if many <= 3 else 1 if many <= 6 else 0]:
        for point in shown if of == measure else ():
            if math.isfinite(number(point, bound)):
                theory[f"{point['series']}: {words}"] = point["series"]
                place = {key: point[key] for key in ("panel", "x")}
                rows.append({"series": f"{point['series']}: {words}", **place, "y": number(point, bound)})
    return theory, rows


def _same(drawn: Sequence[Point], measure: str, twin: str) -> bool:
    """True if two measures, in dB, are the same at every point."""
    pairs = [(number(point, measure), number(point, twin)) for point in drawn]
    return all(a == b or abs(a - b) < SAME or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


def _best(drawn: Sequence[Point], measure: str, large: bool) -> set[str]:
    """The units that are drawn: all, or the best where there are too many."""
    values: dict[str, list[float]] = {}
    for point in drawn:
        value = number(point, measure)
        values.setdefault(point["without"], []).extend([value] if math.isfinite(value) else [])
    if len(values) <= MOST_SERIES:
        return set(values)

    def rank(unit: str) -> float:
        if not values[unit]:
            return math.inf
        mean = math.fsum(values[unit]) / len(values[unit])
        return -mean if large else abs(mean)

    return set(sorted(values, key=rank)[:MOST_SERIES])


def _table(points: Sequence[Point]) -> TextTable:
    """All points. What is the same for all of them is said in the caption and has no column."""
    shown = {key: title for key, title in MEASURE_TITLES.items() if any(point.get(key) is not None for point in points)}
    label = short_labels(points)
    # A unit's label says its scaling where it has several.
    words = {"Scaling": "scaling", "Data": "data", "K": "length"}
    values_by_head = {head: list(dict.fromkeys(_word(point[key]) for point in points)) for head, key in words.items()}
    same = [f"{head}: {values[0]}" for head, values in values_by_head.items() if len(values) == 1]
    varied = [head for head, values in values_by_head.items() if len(values) > 1]
    header = ("Unit", *varied, *shown.values())
    rows = tuple(
        (label(point), *(_word(point[words[head]]) for head in varied), *(measured(point, key) for key in shown))
        for point in points
    )
    right = tuple(column for column, head in enumerate(header) if head not in ("Unit", "Scaling", "Data"))
    caption = ". ".join([*same, "Means over trials, and half the width of their confidence intervals."])
    return TextTable(title="All points", header=header, rows=rows, right=right, caption=caption)


def _word(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
