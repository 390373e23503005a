"""Charts as Altair draws them: every point, interval and line that the chart has, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from built_presets import others_slow
from study.chart_samples import CHARTS, lines, many, points, report, table, worded

from hwsim.base.errors import ToolMissing
from hwsim.study.report import Axis, Chart, TextTable, charts, markdown, specification, svg, write_charts


def layers(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """The mark, the encoding and the rows of every layer of every panel."""
    found = []
    for view in spec.get("concat", [spec]):
        for layer in view["layer"]:
            mark = layer["mark"]
            data = layer["data"]
            rows = data.get("values") or spec.get("datasets", {}).get(data.get("name"), [])
            found.append((mark if isinstance(mark, str) else mark["type"], layer["encoding"], rows))
    return found


def drawn(spec: dict[str, Any], mark: str) -> list[tuple[Any, ...]]:
    """Series, x and y of what a mark draws."""
    return sorted(
        (str(row["series"]), str(row["x"]), row["y"])
        for kind, encoding, rows in layers(spec)
        if kind == mark and "series" in json.dumps(encoding.get("color", {}))
        for row in rows
    )


def check(chart: Chart, spec: dict[str, Any]) -> None:
    """Markers of what was measured, lines of all series, intervals, references and title are those of the chart."""
    measured = [row for row in chart.placed if row["series"] not in chart.theory and row["series"] != chart.front]
    assert drawn(spec, "point") == sorted((str(row["series"]), str(row["x"]), row["y"]) for row in measured)
    if chart.kind == "lines":
        assert drawn(spec, "line") == sorted((str(row["series"]), str(row["x"]), row["y"]) for row in chart.placed)
    ends = [row for row in measured if "low" in row]
    shown = [row for kind, encoding, rows in layers(spec) if "y2" in encoding for row in rows]
    assert sorted((row["low"], row["high"]) for row in shown) == sorted((row["low"], row["high"]) for row in ends)
    words = [row["label"] for kind, _, rows in layers(spec) if kind == "text" for row in rows if "label" in row]
    assert words == [one.label for one in chart.references] * len(chart.values("panel"))
    said = " ".join(spec["title"]["subtitle"])
    assert " ".join(chart.caption.split()) in said and chart.missing in said


@pytest.mark.parametrize("name", others_slow(CHARTS, ["lines", "nasty", "points"]))
def test_a_chart_is_drawn_whole(name: str) -> None:
    chart = CHARTS[name]()
    check(chart, specification(chart))
    picture = svg(specification(chart))
    assert ElementTree.fromstring(picture).tag.endswith("svg") and "NaN" not in picture
    assert picture == svg(specification(chart))


def test_a_chart_that_lies_is_caught() -> None:
    spec = specification(lines())
    for before, after in (
        ('"y": 0.0001', '"y": 0.0002'),
        ('"low": 7.5', '"low": 7.4'),
        ("3 %", "4 %"),
        ("Mean over", "Sum over"),
    ):
        text = json.dumps(spec)
        assert before in text
        with pytest.raises(AssertionError):
            check(lines(), json.loads(text.replace(before, after)))


def test_theory_is_dashed_in_the_colour_of_its_series_and_has_no_markers() -> None:
    (encoding,) = [encoding for kind, encoding, _ in layers(specification(lines())) if kind == "line"]
    colours, dashes = (dict(zip(*(encoding[channel]["scale"][key] for key in ("domain", "range")), strict=True))
                       for channel in ("color", "strokeDash"))  # fmt: skip
    assert colours["Worst case"] == colours["Hopper"] != colours["Promoted every 128"]
    assert dashes["Worst case"] != dashes["Hopper"] == [1, 0]


def test_series_of_one_colour_have_shapes_of_their_own() -> None:
    (encoding,) = [encoding for kind, encoding, _ in layers(specification(many())) if kind == "point"]
    pairs = list(zip(*(encoding[one]["scale"]["range"] for one in ("color", "shape")), strict=True))
    assert len(set(pairs)) == len(pairs) == 20


def test_a_front_is_steps_and_what_has_no_place_is_told() -> None:
    chart = points()
    marks = [kind for kind, _, _ in layers(specification(chart))]
    assert marks.count("line") == 1 and chart.missing == (
        "Not drawn: 1 not above zero, so without a place on a logarithmic axis."
    )  # fmt: skip
    assert ("Others", "500", "0", "e", "of e") in chart.numbers.rows


def test_words_stand_in_their_order_and_series_side_by_side() -> None:
    (encoding,) = [encoding for kind, encoding, _ in layers(specification(worded())) if kind == "point"]
    assert encoding["x"]["sort"] == list(worded().x.categories or ()) and encoding["xOffset"]["field"] == "slot"


def test_figures_are_written_as_svg_and_png(tmp_path: Path) -> None:
    paths = write_charts(report(), tmp_path)
    assert [path.name for path in paths] == [
        f"{name}.{end}" for name in ("lines", "worded", "points") for end in ("svg", "png")
    ]
    assert all(path.read_bytes()[:4] in (b"<svg", b"\x89PNG") for path in paths)


def test_without_altair_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(ToolMissing, match=re.escape("altair is missing; install it with: pip install 'hwsim[study]'")):
        specification(lines())


def test_without_room_for_addresses_the_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "_has_room", lambda: False)
    with pytest.raises(ToolMissing, match="more address space than `ulimit -v` leaves"):
        svg(specification(lines()))


def test_names_of_files_and_shapes_of_tables_are_checked() -> None:
    x = Axis(title="x")
    for name, rows in (("a/b", [{"series": "s", "x": 1, "y": 1}]), ("a", [])):
        with pytest.raises(ValueError, match="chart"):
            Chart(name=name, title="t", x=x, y=x, rows=rows)
    with pytest.raises(ValueError, match="row 0 has 1 cells, the header 2"):
        TextTable(title="t", header=("a", "b"), rows=(("1",),))


def test_a_table_in_markdown_escapes_what_means_something() -> None:
    assert markdown(table()).splitlines()[:3] == [
        "| Unit | SNR (dB) | Error |", "| --- | ---: | ---: |", "| Hopper | 81.2 | 1.2e-4 |",
    ]  # fmt: skip
    assert "| a\\|b\\*c |" in markdown(TextTable(title="t", header=("h",), rows=(("a|b*c",),)))
