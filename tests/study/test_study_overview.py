"""The report of any study: what varies is the axis, every point is in the table, and bounds stand beside."""

from __future__ import annotations

import math
from typing import Any

import pytest
from study.chart_samples import COMMAND, LENGTHS, Found, StudySaid, found
from study.test_study_charts import check, layers

from hwsim.study.overview import default_report
from hwsim.study.report import Chart, specification


def charted(results: Found, name: str) -> Chart:
    (chart,) = [one for one in default_report(results, COMMAND).charts if one.name == name]
    return chart


def test_by_length_each_source_is_a_panel_and_each_unit_a_series() -> None:
    results = found()
    chart = charted(results, "accumulation-normalized-max")
    assert (chart.kind, chart.x.log, chart.panels, chart.command) == ("lines", 2, ("normal", "outliers"), COMMAND)
    drawn = {(one.panel, one.label): one for one in chart.series}
    for point in results.points:
        label = point["label"].removeprefix("Hopper ")  # what all of them begin with is not said
        series = drawn[point["data"], label]
        at = series.x.index(point["length"])
        assert series.y[at] == point["accumulation_normalized_max"] and series.low is not None
        assert series.low[at] == point["accumulation_normalized_max_low"]
        theory = drawn[point["data"], f"{label}: worst case"]
        assert theory.dashed and theory.like == label and theory.y[at] == point["bound_worst"]
    assert len(drawn) == 8 and "90 % confidence" in chart.caption


def test_of_one_length_the_field_that_varies_is_the_axis() -> None:
    chart = charted(found(lengths=(512,), bits=5), "total-snr-db")
    assert (chart.x.title, chart.labels, chart.panels) == ("fraction_bits", ("Hopper, direct",), ("normal", "outliers"))
    assert chart.series[0].x == (9, 10, 11, 12, 13)


def test_a_field_that_is_none_somewhere_has_points_in_the_order_of_the_study_and_nothing_joins_them() -> None:
    results = found(lengths=(512,), bits=3)
    for point in results.points:
        bits = point["axis.fraction_bits"]
        kept = {"9": "none", "10": "128", "11": "32"}[str(bits)]
        point["axis.interval"] = kept
        point["label"] = point["label"].replace(f"fraction_bits={bits}", f"interval={kept}")
        del point["axis.fraction_bits"]
    chart = charted(results, "total-snr-db")
    assert (chart.kind, chart.x.title, chart.x.categories) == ("points", "interval", ("none", "128", "32"))
    (line,) = (one for one in chart.series if one.panel == "normal")
    by_interval = {p["axis.interval"]: p["total_snr_db"] for p in results.points if p["data"] == "normal"}
    assert line.x == ("none", "128", "32") and line.y == tuple(by_interval[x] for x in line.x)
    assert "the thin line is its 90 % confidence interval" in chart.caption
    bounded = charted(results, "accumulation-normalized-max")
    assert "Strokes: what theory bounds it by." in bounded.caption
    for one in (chart, bounded):
        check(one, specification(one))
        assert {mark for _, mark, _, _ in layers(specification(one))} == {"point", "rule"}


def test_where_nothing_varies_units_are_points_side_by_side_by_data() -> None:
    chart = charted(found(lengths=(512,), bits=1), "total-snr-db")
    assert (chart.kind, chart.labels, chart.words_of_x) == (
        "points", ("normal", "outliers"), ("Hopper fraction_bits=9, direct",)
    )  # fmt: skip
    encodings = [encoding for _, mark, encoding, _ in layers(specification(chart)) if mark == "point"]
    assert [one["xOffset"]["scale"]["domain"] for one in encodings] == [["normal", "outliers"]]


def test_the_table_has_every_point() -> None:
    results = found(bits=20)
    report = default_report(results, COMMAND)
    first, table = report.tables
    # What is the same everywhere is said once.
    assert table.header[:3] == ("Unit", "Data", "K") and table.caption.startswith("Scaling: direct. ")
    assert [row[:3] for row in table.rows] == [
        (one["label"].removeprefix("Hopper "), one["data"], f"{one['length']:,}") for one in results.points
    ]
    assert table.rows[0][3:] == ("60 ± 8", "(3.0 ± 0.4)e-3", "0")
    assert len(first.rows) == 12 and first.title == "At K = 4,096"
    assert first.rows[0][0] == "fraction_bits=28, direct on normal" and "12 of 40" in first.caption
    # Twenty units are too many for a chart: the best are drawn, and it is said.
    for point in results.points:
        del point["axis.fraction_bits"]
    report = default_report(results, COMMAND)
    best = charted(results, "accumulation-normalized-max")
    assert best.labels == tuple(f"fraction_bits={bits}, direct" for bits in range(13, 29))
    assert any("the 16 that do best" in one for one in report.summary)


def test_one_trial_has_no_interval_and_no_error_is_said() -> None:
    results = found(data=("normal",), bits=1)
    for point in results.points:
        for name in [one for one in point if one.endswith(("_low", "_high"))]:
            point[name] = math.nan
    results.points[0]["total_snr_db"] = math.inf
    chart = charted(results, "total-snr-db")
    assert chart.series[0].low is None and chart.series[0].y[0] == math.inf and chart.panels == ("",)
    told: Any = specification(chart)["title"]["subtitle"]
    assert told == ["Mean over trials. Not drawn: 1 infinite."]


def test_measures_that_are_not_there_are_not_drawn() -> None:
    points = [{"label": "u", "unit": "u", "scaling": "direct", "data": "d", "length": one} for one in LENGTHS]
    assert default_report(Found(points, StudySaid()), COMMAND).charts == ()
    with pytest.raises(ValueError, match="a report has at least one point"):
        default_report(Found([], StudySaid()), COMMAND)
