"""Charts show the data that they are given: read back from what is drawn; a chart that shows other data is caught."""

from __future__ import annotations

import io
import json
import math
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import altair
import jsonschema
import pytest
from PIL import Image
from study.chart_samples import CHARTS, NASTY, grown, lines, panels, report

from hwsim.errors import ToolMissing
from hwsim.study.report import Axis, Chart, Reference, Series, specification, svg, write_charts
from hwsim.study.report.charts import note, of_widths, rendered
from hwsim.study.report.labels import Box, label_positions, width
from hwsim.study.report.palette import looks
from hwsim.study.report.scales import scale

SVG = "{http://www.w3.org/2000/svg}"


def layers(spec: dict[str, Any]) -> Iterator[tuple[int, str, dict[str, Any], list[dict[str, Any]]]]:
    """Each layer of a specification: its panel, its mark, its encoding and its data."""
    whole = spec["vconcat"][0] if "vconcat" in spec else spec
    for at, panel in enumerate(whole.get("concat") or whole["hconcat"]):
        for layer in panel["layer"]:
            yield at, layer["mark"]["type"], layer["encoding"], spec["datasets"][layer["data"]["name"]]


def shown(spec: dict[str, Any], marks: tuple[str, ...], *channels: str) -> list[tuple[Any, ...]]:
    """What marks of these kinds show: panel, series, and the values that channels take, through their fields."""
    found = []
    for at, mark, encoding, rows in layers(spec):
        if mark in marks and "series" in rows[0] and all(one in encoding for one in channels):
            fields = [encoding[one]["field"] for one in channels]
            found += [(at, row["series"], *(row[field] for field in fields)) for row in rows]
    return sorted(set(found), key=str)


def given(chart: Chart, *fields: str) -> list[tuple[Any, ...]]:
    """The same from the chart itself, less what has no place."""
    found = set()
    for one in chart.series:
        for at, y in enumerate(one.y):
            if math.isfinite(y) and (y > 0 or not chart.y.log):
                values = [getattr(one, field)[at] for field in fields if getattr(one, field) is not None]
                if len(values) == len(fields):
                    found.add((chart.panels.index(one.panel), one.label, *values))
    return sorted(found, key=str)


@cache
def _drawn(name: str, framed: bool) -> str:
    return json.dumps(specification(CHARTS[name](), framed))


def drawn(name: str, framed: bool = True) -> dict[str, Any]:
    """The specification of a sample, made once; each caller has its own."""
    spec: dict[str, Any] = json.loads(_drawn(name, framed))
    return spec


MARKS = {"lines": ("line",), "points": ("point", "line"), "heatmap": ("rect",)}


def check(chart: Chart, spec: dict[str, Any]) -> None:
    """A specification shows the chart's data: every value at its place, its intervals, its axes and its legend."""
    value = "color" if chart.kind == "heatmap" else "y"
    found = [one for one in shown(spec, MARKS[chart.kind], "x", value) if one[3] is not None]
    assert found == given(chart, "x", "y")
    if chart.kind == "heatmap":
        texts = shown(spec, ("text",), "x", "text")
        assert len(texts) == sum(len(one.x) for one in chart.series)
        for (at, label, x, y), text in zip(found, [one for one in texts if one[3] not in ("∞", "nan")], strict=True):
            assert text[:3] == (at, label, x)
            assert float(text[3]) == pytest.approx(y, rel=0.05)
    intervals = shown(spec, ("area", "rule"), "x", "y", "y2")
    assert intervals == given(chart, "x", "low", "high")
    whole = spec["vconcat"][0] if "vconcat" in spec else spec
    drawn = whole.get("concat") or whole["hconcat"]
    titles = {(axis, encoding[axis]["axis"]["title"]) for _, mark, encoding, _ in layers(spec) for axis in ("x", "y")
              if mark in MARKS[chart.kind] and encoding[axis]["axis"]["title"]}  # fmt: skip
    assert titles == {("x", chart.x.title), ("y", chart.y.title)}
    assert [panel.get("title", {}).get("text", "") for panel in drawn] == list(chart.panels)
    if chart.kind != "heatmap":
        domains = [encoding["color"]["scale"]["domain"] for _, mark, encoding, _ in layers(spec)
                   if mark in MARKS[chart.kind]]  # fmt: skip
        assert all(domain == list(chart.labels) for domain in domains) and domains
        scales = [encoding["y"]["scale"] for _, mark, encoding, _ in layers(spec) if mark in MARKS[chart.kind]]
        assert all(one["type"] == ("log" if chart.y.log else "linear") for one in scales)
        low, high = scales[0]["domain"]
        assert all(low <= one[3] <= high for one in found) and all(low <= one[3] <= one[4] <= high for one in intervals)
    lined = [row for _, mark, _, rows in layers(spec) if mark == "rule" for row in rows if "label" in row]
    assert {(row["label"], row.get("x", row.get("y"))) for row in lined} == {
        (one.label, one.value) for one in chart.references
    }


@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize("name", CHARTS)
def test_every_value_is_shown_at_its_place(name: str, framed: bool) -> None:
    check(CHARTS[name](), drawn(name, framed))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CHARTS)
def test_it_is_what_vega_lite_allows(name: str) -> None:
    # Altair holds it to Vega-Lite's schema.
    spec = drawn(name, framed=False)
    (altair.ConcatChart if "concat" in spec else altair.HConcatChart).from_dict(spec)


def test_what_vega_lite_does_not_allow_is_caught() -> None:
    spec = drawn("worded") | {"padding": "wide"}
    with pytest.raises(jsonschema.ValidationError, match="'wide' is not of type 'number'"):
        altair.VConcatChart.from_dict(spec)


def _rows(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return next(rows for _, kind, _, rows in layers(spec) if kind == mark)


def _swap(spec: dict[str, Any]) -> None:
    for _, _, encoding, _ in layers(spec):
        if "x" in encoding and "y" in encoding:
            encoding["x"], encoding["y"] = encoding["y"], encoding["x"]


def _clear(spec: dict[str, Any], mark: str, series: str) -> None:
    rows = _rows(spec, mark)
    rows[:] = [row for row in rows if row["series"] != series]


MUTANTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a series is dropped": lambda spec: _clear(spec, "line", "Promoted every 128"),
    "a point is dropped": lambda spec: _rows(spec, "line").pop(),
    "axes are swapped": _swap,
    "a value is another": lambda spec: _rows(spec, "line")[1].update(y=1e-3),
    "two series are swapped": lambda spec: [row.update(series="Hopper") for row in _rows(spec, "line")[3:6]],
    "the band is of another series": lambda spec: _rows(spec, "area")[0].update(low=1e-5),
    "the band is turned": lambda spec: [enc.update(y=enc["y"] | {"field": "high"}, y2={"field": "low"})
                                        for _, mark, enc, _ in layers(spec) if mark == "area"],
    "the axis is linear": lambda spec: [enc["y"]["scale"].update(type="linear") for _, mark, enc, _ in layers(spec)
                                        if mark == "line"],
    "the axis ends too soon": lambda spec: [enc["y"]["scale"].update(domain=[1e-4, 1e-3])
                                            for _, mark, enc, _ in layers(spec) if mark == "line"],
    "a title is another": lambda spec: [enc["x"]["axis"].update(title="Trials") for _, mark, enc, _ in layers(spec)
                                        if mark == "line"],
    "a reference stands elsewhere": lambda spec: [row.update(y=0.05) for _, mark, _, rows in layers(spec)
                                                  if mark == "rule" for row in rows if row.get("label") == "3 %"],
    "the legend lacks one": lambda spec: [enc["color"]["scale"]["domain"].pop() for _, mark, enc, _ in layers(spec)
                                          if mark == "line"],
}  # fmt: skip


@pytest.mark.parametrize("wrong", MUTANTS)
def test_a_chart_that_shows_something_else_is_caught(wrong: str) -> None:
    spec = drawn("lines")
    check(lines(), spec)
    MUTANTS[wrong](spec)
    with pytest.raises(AssertionError):
        check(lines(), spec)


def test_a_panel_in_the_place_of_another_is_caught() -> None:
    spec = drawn("panels")
    whole = spec["vconcat"][0].get("concat") or spec["vconcat"][0]["hconcat"]
    whole[0]["layer"], whole[1]["layer"] = whole[1]["layer"], whole[0]["layer"]
    check(panels(), drawn("panels"))
    spec["datasets"] = json.loads(json.dumps(spec["datasets"]).replace('"y": 10.0', '"y": 11.0'))
    with pytest.raises(AssertionError):
        check(panels(), spec)


def words(picture: str) -> str:
    """The text of a picture, lines joined by spaces."""
    texts = ET.fromstring(picture).iter(f"{SVG}text")
    return " ".join(" ".join(part.strip() for part in one.itertext()) for one in texts)


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_is_well_formed_and_says_everything(name: str) -> None:
    chart = CHARTS[name]()
    picture = rendered(drawn(name))
    said = words(picture)
    for text in (chart.title, chart.caption, chart.x.title, chart.y.title, *chart.panels,
                 *(one.label for one in chart.references)):  # fmt: skip
        assert " ".join(text.split()) in said
    assert len(chart.labels) == 1 or all(label in said for label in chart.labels)
    # A command is broken into lines, and maybe within a word.
    assert chart.command.replace(" ", "") in said.replace(" ", "")
    for one in chart.series:
        assert all(name in said for name in one.names or ())
        assert not chart.words_of_x or all(str(x) in said for x in one.x)
    # Nothing of a name is markup, and nothing is fetched.
    assert "<script" not in picture and "<image" not in picture and "@import" not in picture
    root = ET.fromstring(picture)
    assert not any("href" in key for one in root.iter() for key in one.attrib)


def test_the_same_chart_is_the_same_picture() -> None:
    # The heatmap has a gradient, which Vega numbers over all pictures of a process.
    first = {name: rendered(drawn(name)) for name in ("heatmap", "worded")}
    assert {name: svg(CHARTS[name]()) for name in ("worded", "heatmap")} == first
    assert specification(panels(), framed=False) == drawn("panels", framed=False)


def test_marks_stand_where_the_values_are() -> None:
    # Of the picture itself: circles' places are those of the values on a base-2 and a base-10 axis.
    chart = replace(lines(), references=(), series=(lines().series[0],))
    root = ET.fromstring(svg(chart))
    (group,) = [
        one for one in root.iter(f"{SVG}g") if "role-mark" in one.get("class", "") and "symbol" in one.get("class", "")
    ]
    at = [tuple(map(float, one.get("transform", "")[10:-1].split(","))) for one in group.iter(f"{SVG}path")]
    assert len(at) == 3
    series = chart.series[0]
    # The distance of 512 and 1024 is half of that of 1024 and 4096.
    assert (at[1][0] - at[0][0]) * 2 == pytest.approx(at[2][0] - at[1][0], abs=0.01)
    logs = [math.log10(y) for y in series.y]
    ratio = (logs[2] - logs[1]) / (logs[1] - logs[0])
    assert (at[2][1] - at[1][1]) / (at[1][1] - at[0][1]) == pytest.approx(ratio, abs=0.01)
    assert at[0][1] > at[1][1] > at[2][1]


def test_what_has_no_place_is_not_drawn_and_is_said() -> None:
    y = (1e-3, math.nan, math.inf, 0.0, -1.0, 2e-3)
    chart = Chart(name="gaps", title="Gaps", caption="One.", x=Axis(title="x"), y=Axis(title="y", log=10),
                  series=(Series(label="s", x=range(6), y=y), Series(label="t", x=(1,), y=(1e-3,))))  # type: ignore[arg-type] # fmt: skip
    assert len(shown(specification(chart), ("line",), "x", "y")) == 3
    told = "Not drawn: 1 infinite; 1 not a number; 2 not above zero, so without a place on a logarithmic axis."
    assert note(chart) == told and f"One. {told}" in words(svg(chart))
    linear = replace(chart, y=Axis(title="y"))
    assert len(shown(specification(linear), ("line",), "x", "y")) == 5
    nothing = replace(chart, series=(Series(label="s", x=(1, 2), y=(math.inf, math.nan)),))
    assert "1 infinite; 1 not a number" in words(svg(nothing))


def test_an_interval_below_zero_is_cut_at_the_end_of_a_logarithmic_axis() -> None:
    series = Series(label="s", x=(1, 2), y=(1e-3, 1e-2), low=(-1e-3, 1e-3), high=(1e-2, 1e-1))
    spec = specification(Chart(name="c", title="t", x=Axis(title="x"), y=Axis(title="y", log=10), series=(series,)))
    (first, second) = shown(spec, ("area",), "x", "y", "y2")
    assert 0 < first[3] < 1e-3 and second[3:] == (1e-3, 1e-1)


@pytest.mark.parametrize(
    ("axis", "values", "ticks"),
    [
        (Axis(title="x", log=2), (512, 1024, 4096), [512, 1024, 4096]),
        (Axis(title="x", log=10), (1e-7, 1e-2), [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]),
        (Axis(title="x", zero=True), (40.0,), [0, 10, 20, 30, 40]),
        (Axis(title="x"), (9, 11, 13), [9, 11, 13]),
        (Axis(title="x", log=10), (0.03, 0.4), [0.05, 0.1, 0.2, 0.5]),
    ],
)
def test_ticks_are_round_and_inside(axis: Axis, values: tuple[float, ...], ticks: list[float]) -> None:
    few = values if axis.log != 10 and not axis.zero else ()
    made = scale(axis, values, few=few)
    inside = [one for one in ticks if made.low <= one <= made.high]
    assert made.ticks == pytest.approx(inside) and len(inside) >= len(ticks) - 1
    assert all(made.low <= value <= made.high for value in values)


def test_names_beside_points_cover_nothing() -> None:
    # Forty points in a cluster: those that find a place have it for themselves.
    at = [(150 + 40 * math.sin(7 * n) * n / 20, 120 + 40 * math.cos(5 * n) * n / 20) for n in range(40)]
    names = [f"unit {n}" for n in range(40)]
    wall = Box(0, 118, 400, 122)
    found = label_positions(at, names, (400, 300), [wall])
    boxes = [Box(one.x, one.y - 5, one.x + width(name, 11), one.y + 5)
             for one, name in zip(found, names, strict=True) if one]  # fmt: skip
    assert len(boxes) >= 20
    for number, box in enumerate(boxes):
        assert not box.meets(wall) and box.left >= 0 and box.right <= 400
        assert not any(box.meets(other) for other in boxes[:number])
        assert not any(box.meets(Box(x - 4, y - 4, x + 4, y + 4)) for x, y in at)


def test_a_front_is_a_step_line_through_points_of_others() -> None:
    spec = drawn("points")
    (front,) = [(encoding, rows) for _, mark, encoding, rows in layers(spec) if mark == "line"]
    assert [row["series"] for row in front[1]] == ["Front"] * 3
    # Its points are those of other series, which have the markers.
    (dots,) = [rows for _, mark, _, rows in layers(spec) if mark == "point"]
    assert [row["series"] for row in dots] == ["Others"] * 5
    assert looks(CHARTS["points"]())["Front"].shape == "stroke"
    assert [layer["mark"]["interpolate"] for layer in spec["vconcat"][0]["hconcat"][0]["layer"]
            if layer["mark"]["type"] == "line"] == ["step-after"]  # fmt: skip


def test_files_are_written_with_their_sizes(tmp_path: Path) -> None:
    paths = write_charts(report(), tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"figures/{name}.{ending}" for name in ("lines", "worded", "heatmap") for ending in ("svg", "png")
    ]
    for one, picture in zip(paths[::2], paths[1::2], strict=True):
        root = ET.fromstring(one.read_text(encoding="utf-8"))
        with Image.open(io.BytesIO(picture.read_bytes())) as image:
            # Two pixels a unit.
            assert image.size == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
            assert len(image.convert("RGB").getcolors(1 << 24) or []) > 50
    lined = (tmp_path / "figures" / "lines.svg").read_text(encoding="utf-8")
    assert lined == rendered(drawn("lines"))


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ToolMissing, match=r"vl_convert is missing; install it with: pip install 'hwsim\[study\]'"):
        svg(lines())


def test_a_long_reference_at_the_right_end_stays_inside() -> None:
    chart = replace(lines(), references=(Reference(value=4000, label="a rather long name of a unit", axis="x"),))
    panel = specification(chart)["vconcat"][0]["hconcat"][0]
    (text,) = {(layer["mark"]["align"], layer["mark"]["dx"] < 0) for layer in panel["layer"]
               if layer["mark"]["type"] == "text"}  # fmt: skip
    assert text == ("right", True)
    assert NASTY in words(rendered(drawn("nasty")))


def straight(label: str, *y: float, **more: Any) -> Series:
    return Series(label=label, x=tuple(range(1, len(y) + 1)), y=y, **more)


def test_series_drawn_on_one_another_are_wider_below_and_named() -> None:
    series = (straight("a", 1, 2, 3), straight("b", 1, 2, 3.001), straight("c", 1, 2, 9), straight("d", 1, 2, 3))
    chart = Chart(name="c", title="t", x=Axis(title="x"), y=Axis(title="y"), series=series)
    assert note(chart) == "Drawn on one another: a, b and d."
    spec = specification(chart)
    wide = {row["series"]: row["wide"] for _, mark, _, rows in layers(spec) if mark == "line" for row in rows}
    assert wide == {"a": 8, "b": 5, "d": 2, "c": 2}
    assert all(encoding["strokeWidth"]["field"] == "wide" for _, mark, encoding, _ in layers(spec) if mark == "line")
    # Panels that show the same are named together; what is apart is not said.
    two = replace(chart, series=tuple(replace(one, panel=panel) for panel in ("p", "q") for one in series[:2]))
    assert note(two) == "Drawn on one another: a and b (p, q)."
    assert note(replace(chart, series=(straight("a", 1, 2), straight("b", 2, 1)))) == ""


def test_many_intervals_are_thin_lines_beside_one_another() -> None:
    few = tuple(grown(f"s{at}", 1e-4 * 2**at) for at in range(3))
    many = (*few, grown("s3", 1e-3))
    chart = Chart(name="c", title="t", x=Axis(title="x", log=2), y=Axis(title="y", log=10), series=few)
    assert {mark for _, mark, _, _ in layers(specification(chart))} == {"area", "line", "point"}
    spec = specification(replace(chart, series=many))
    (rules,) = [(encoding, rows) for _, mark, encoding, rows in layers(spec) if mark == "rule"]
    places = [row["aside"] for row in rules[1] if row["x"] == 1024]
    assert rules[0]["x"]["field"] == "aside" and len(set(places)) == 4
    assert all(0.95 < place / 1024 < 1.05 for place in places)


def test_an_interval_that_reaches_zero_leaves_a_logarithmic_axis_to_the_values() -> None:
    series = straight("a", 1e-3, 2e-3, low=(-1.0, 1e-9), high=(1e-2, 5.0))
    chart = Chart(name="c", title="t", x=Axis(title="x"), y=Axis(title="y", log=10), series=(series,))
    (low, high) = next(
        enc["y"]["scale"]["domain"] for _, mark, enc, _ in layers(specification(chart)) if mark == "line"
    )
    assert 5e-5 < low < 1e-3 and 2e-3 < high < 4e-2
    assert "Intervals that leave the axis are cut." in note(chart)


@pytest.mark.parametrize("name", CHARTS)
def test_of_a_page_every_width_shows_the_same(name: str) -> None:
    made = of_widths(CHARTS[name]())
    assert list(made["views"]) == [320, 480, 720, 1120]
    for spec in made["views"].values():
        check(CHARTS[name](), spec | {"datasets": made["data"]})
    widths = [
        ET.fromstring(rendered(made["views"][wide] | {"datasets": made["data"]})).attrib["width"]
        for wide in (320, 1120)
    ]
    assert float(widths[0]) < 520 and 1000 < float(widths[1]) < 1250
