"""The report of any study: what varies is the axis, every point is in the table, and bounds stand beside."""

from __future__ import annotations

import math

import pytest
from study.chart_samples import COMMAND, LENGTHS, Found, StudySaid, found

from hwsim.study.overview import default_report
from hwsim.study.report import Chart


def charted(results: Found, name: str) -> Chart:
    (chart,) = [one for one in default_report(results, COMMAND).charts if one.name == name]
    return chart


def test_by_length_each_source_is_a_panel_and_each_unit_a_series() -> None:
    results = found()
    chart = charted(results, "accumulation-normalized-max")
    assert (chart.kind, chart.x.log, chart.values("panel"), chart.command) == (
        "lines",
        2,
        ["normal", "outliers"],
        COMMAND,
    )
    drawn = {(row["panel"], row["series"], row["x"]): row for row in chart.rows}
    for point in results.points:
        label = point["label"].removeprefix("Hopper ")  # what all of them begin with is not said
        row = drawn[point["data"], label, point["length"]]
        assert row["y"] == point["accumulation_normalized_max"]
        assert row["low"] == point["accumulation_normalized_max_low"]
        theory = drawn[point["data"], f"{label}: worst case", point["length"]]
        assert chart.theory[theory["series"]] == label and theory["y"] == point["bound_worst"]
    assert len(drawn) == 8 * 3 and "the band is its 90 % confidence" in chart.caption


def test_of_one_length_the_field_that_varies_is_the_axis() -> None:
    chart = charted(found(lengths=(512,), bits=5), "total-snr-db")
    assert (chart.x.title, chart.values("series")) == ("fraction_bits", ["Hopper, direct"])
    assert [row["x"] for row in chart.rows if row["panel"] == "normal"] == [9, 10, 11, 12, 13]


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
    by_interval = {p["axis.interval"]: p["total_snr_db"] for p in results.points if p["data"] == "normal"}
    assert {row["x"]: row["y"] for row in chart.rows if row["panel"] == "normal"} == by_interval
    assert "the thin line is its 90 % confidence interval" in chart.caption
    assert "Strokes: bounds from theory." in charted(results, "accumulation-normalized-max").caption


def test_where_nothing_varies_units_are_points_side_by_side_by_data() -> None:
    chart = charted(found(lengths=(512,), bits=1), "total-snr-db")
    assert (chart.kind, chart.values("series")) == ("points", ["normal", "outliers"])
    assert chart.x.categories == ("Hopper fraction_bits=9, direct",)


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
    assert best.values("series") == [f"fraction_bits={bits}, direct" for bits in range(13, 29)]
    assert any("the 16 that do best" in one for one in report.summary)


def test_one_trial_has_no_interval_and_no_error_is_said() -> None:
    results = found(data=("normal",), bits=1)
    for point in results.points:
        for name in [one for one in point if one.endswith(("_low", "_high"))]:
            point[name] = math.nan
    results.points[0]["total_snr_db"] = math.inf
    chart = charted(results, "total-snr-db")
    assert "low" not in chart.rows[0] and chart.rows[0]["y"] == math.inf and chart.values("panel") == [""]
    assert (chart.caption, chart.missing) == ("Mean over trials.", "Not drawn: 1 infinite.")


def test_measures_that_are_not_there_are_not_drawn() -> None:
    points = [{"label": "u", "unit": "u", "scaling": "direct", "data": "d", "length": one} for one in LENGTHS]
    assert default_report(Found(points, StudySaid()), COMMAND).charts == ()
    with pytest.raises(ValueError, match="a report has at least one point"):
        default_report(Found([], StudySaid()), COMMAND)
