"""The report of any study: what its points say, drawn along the axis that the study varies most."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hwsim.study.report.contents import Axis, Chart, Series, StudyReport, TextTable
from hwsim.study.report.scales import short

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


class StudySummary(Protocol):
    """What of a study's results is read here: hwsim.study.results.Results has it."""

    @property
    def study(self) -> Any:
        """The study: its name, title and trials, and its confidence."""

    @property
    def points(self) -> list[dict[str, Any]]:
        """A mapping for each point: label, unit, scaling, data, length, `axis.FIELD`, and of a measure m also m_low."""


@dataclass(frozen=True)
class Along:
    """The axis that charts are drawn along.

    key: of points. title: in words. numbers: whether it has numbers. words: its categories, where `none` is one.
    """

    key: str
    title: str
    numbers: bool
    log: int | None
    words: tuple[str, ...] = ()

    def place(self, point: Mapping[str, Any]) -> float:
        """Where a point stands."""
        return self.words.index(str(point[self.key])) if self.words else float(point[self.key])

    def value(self, point: Mapping[str, Any]) -> float | str:
        """What is written there."""
        return float(point[self.key]) if self.numbers and not self.words else str(point[self.key])


def default_report(results: StudySummary, command: str) -> StudyReport:
    """The report of any study: each measure along what the study varies, with confidence intervals and bounds.

    results : of a study; `results.points` are its points as mappings. command : the line that ran it.
    The x axis is the length where the study has several, else the field of its grid with most values that are numbers,
    else its units, as bars. Sources of data are panels (colours of bars), whatever
    else is varied is a series. Raises ValueError for no point.
    """
    points, study = results.points, results.study
    if not points:
        raise ValueError("a report has at least one point")
    name = str(getattr(study, "name", None) or getattr(study, "study", "study"))
    title = str(getattr(study, "title", "") or name)
    along = _along(points)
    charts = [chart for measure in MEASURES if (chart := _chart(points, study, measure, along, command))]
    labels = dict.fromkeys(_series(point, along) if along.numbers else point["label"] for point in points)
    summary = [_said(points, study)]
    if len(labels) > MOST_SERIES:
        summary.append(
            f"Of {len(labels)} units and scalings each chart shows the {MOST_SERIES} that do best in it;"
            " the table has all."
        )
    return StudyReport(
        name=_file_name(name), title=title, command=command, summary=tuple(summary), parts=(*charts, _table(points)),
    )  # fmt: skip


def _file_name(name: str) -> str:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)
    return plain.lstrip("._-") or "study"


def _said(points: Sequence[Mapping[str, Any]], study: Any) -> str:
    def several(key: str, one: str, many: str) -> str:
        count = len({point.get(key) for point in points})
        return f"{count} {one if count == 1 else many}"

    trials = getattr(study, "trials", None)
    size = "" if trials is None else f", {trials} {'trial' if trials == 1 else 'trials'} of each"
    return (
        f"{len(points)} {'point' if len(points) == 1 else 'points'}: {several('label', 'unit', 'units')} on"
        f" {several('data', 'source of data', 'sources of data')} at {several('length', 'length', 'lengths')}{size}."
    )


def _along(points: Sequence[Mapping[str, Any]]) -> Along:
    lengths = {point["length"] for point in points}
    if len(lengths) > 1:
        return Along("length", "Length K (products)", True, 2 if max(lengths) >= 4 * min(lengths) else None)
    fields = [key for key in points[0] if key.startswith("axis.")]
    said = {key: {str(point.get(key)) for point in points} for key in fields}
    numbered = {key: sorted({value for one in said[key] if (value := _numbered(one)) is not None}) for key in fields}
    # A field that is not given counts as `none` of it, which is a word: the axis has categories, as the study has them.
    suited = [key for key in fields if len(said[key] - {"none"}) == len(numbered[key])]
    best = max(suited, key=lambda key: len(said[key]), default=None)
    if best is not None and len(said[best]) > 1:
        values, title = numbered[best], best.removeprefix("axis.")
        if "none" in said[best]:
            return Along(best, title, True, None, tuple(dict.fromkeys(str(point[best]) for point in points)))
        wide = values[0] > 0 and values[-1] >= 16 * values[0]
        return Along(best, title, True, 2 if wide else None)
    return Along("label", "Unit", False, None)


def _numbered(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _series(point: Mapping[str, Any], along: Along) -> str:
    """What tells a point's series from others of its panel: bars of each source of data, else lines of each unit."""
    if not along.numbers:
        return str(point["data"])
    if along.key == "length":
        return str(point["label"])
    # The label holds the field that the axis has: what is left of it names the series.
    field = re.escape(f"{along.key.removeprefix('axis.')}={point[along.key]}")
    return re.sub(rf"(^| ){field}(?=[ ,]|$)", "", str(point["label"])).strip() or str(point["unit"])


def _chart(points: Sequence[Mapping[str, Any]], study: Any, measure: str, along: Along, command: str) -> Chart | None:
    if not any(_finite(point.get(measure)) for point in points):
        return None
    heading, title, log = MEASURES[measure]
    if log and all((value := point.get(measure)) is None or not value > 0 for point in points):
        return None
    kept = _kept(points, measure, along, log is None)
    several = along.numbers and len({point["data"] for point in kept}) > 1
    by_series: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for point in kept:
        panel = str(point["data"]) if several else ""
        by_series.setdefault((panel, _series(point, along)), []).append(point)
    series = [_drawn(found, measure, label, panel, along) for (panel, label), found in by_series.items()]
    if along.numbers:
        series += _theory(by_series, measure, along)
    confidence = getattr(study, "confidence", 0.95)
    band = "band" if along.numbers and not along.words else "thin line"
    has_band = any(one.low for one in series)
    caption = "Mean over trials" + (
        f"; the {band} is its {100 * confidence:g} % confidence interval." if has_band else "."
    )
    if any(one.dashed for one in series):
        caption += f" {'Strokes' if along.words else 'Dashed'}: what theory bounds it by."
    return Chart(
        name=measure.replace("_", "-"), title=heading, caption=caption, command=command, series=tuple(series),
        x=Axis(title=along.title, log=along.log, categories=along.words or None), y=Axis(title=title, log=log),
        kind="points" if along.words else "lines" if along.numbers else "bars",
    )  # fmt: skip


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _kept(points: Sequence[Mapping[str, Any]], measure: str, along: Along, large: bool) -> list[Mapping[str, Any]]:
    """The points of the series that are drawn: all, or the best where there are too many."""
    values: dict[str, list[float]] = {}
    for point in points:
        key = _series(point, along) if along.numbers else str(point["label"])
        values.setdefault(key, []).extend([point[measure]] if _finite(point.get(measure)) else [])
    if len(values) <= MOST_SERIES:
        return list(points)

    def rank(key: str) -> float:
        mean = math.fsum(values[key]) / len(values[key]) if values[key] else (-math.inf if large else math.inf)
        return -mean if large else abs(mean)

    best = set(sorted(values, key=rank)[:MOST_SERIES])
    return [point for point in points if (_series(point, along) if along.numbers else str(point["label"])) in best]


def _drawn(found: Iterable[Mapping[str, Any]], measure: str, label: str, panel: str, along: Along) -> Series:
    ordered = sorted(found, key=along.place) if along.numbers else list(found)
    x = tuple(along.value(point) for point in ordered)
    y = [_value(point.get(measure)) for point in ordered]
    ends = [[_value(point.get(f"{measure}_{end}")) for point in ordered] for end in ("low", "high")]
    known = any(math.isfinite(value) for value in ends[0])
    notes = tuple(f"{point['label']}, {point['data']}, K = {point['length']}" for point in ordered)
    low, high = (tuple(end) for end in ends) if known else (None, None)
    return Series(label=label, x=x, y=tuple(y), low=low, high=high, panel=panel, notes=notes)


def _value(value: Any) -> float:
    return math.nan if value is None else float(value)


def _theory(by_series: Mapping[tuple[str, str], list[Mapping[str, Any]]], measure: str, along: Along) -> list[Series]:
    """The bounds of a measure as dashed lines, each in its series' colour: fewer of them where series are many."""
    labels = {label for _, label in by_series}
    found = []
    for key, (of, words) in list(BOUNDS.items())[: 2 if len(labels) <= 3 else 1 if len(labels) <= 6 else 0]:
        for (panel, label), points in by_series.items():
            if of == measure and any(_finite(point.get(key)) for point in points):
                line = _drawn(points, key, f"{label}: {words}", panel, along)
                found.append(Series(label=line.label, x=line.x, y=line.y, panel=panel, dashed=True, like=label))
    return found


def _table(points: Sequence[Mapping[str, Any]]) -> TextTable:
    measures = [(key, title) for key, title in TABLED if any(point.get(key) is not None for point in points)]
    # A unit's label says its scaling where it has several.
    said = [("label", "Unit"), ("scaling", "Scaling"), ("data", "Data"), ("length", "K")]
    rows = []
    for point in points:
        cells = [str(point.get(key, "")) for key, _ in said]
        for key, _ in measures:
            value, low, high = (_value(point.get(name)) for name in (key, f"{key}_low", f"{key}_high"))
            half = (high - low) / 2
            cells.append(short(value) + (f" ± {short(half)}" if math.isfinite(half) and half > 0 else ""))
        rows.append(tuple(cells))
    header = tuple(title for _, title in (*said, *measures))
    return TextTable(
        title="All points", header=header, rows=tuple(rows), right=tuple(range(3, len(header))),
        caption="Means over trials, and half the width of their confidence intervals.",
    )  # fmt: skip
