"""The notebooks in examples/ show what is computed, and say nothing of the machine that computed it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from execute import FOLDER, executed, outputs, texts

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CHEAPEST = "scales"  # the others take longer, and run in the same way
OF_A_MACHINE = re.compile(r"/(?:tmp|home|root|work|usr|opt)/|\bin [\d.,]+ s\b|\d\d:\d\d:\d\d|0x[0-9a-f]{12}|\x1b")


def slow(path: Path) -> object:
    marks = [] if path.stem == CHEAPEST else [pytest.mark.slow]
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", [*map(slow, NOTEBOOKS)])
def test_a_notebook_shows_what_is_computed(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    assert texts(executed(path)) == texts(kept)


@pytest.mark.quick(cases=9)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_all_there_and_of_no_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output.output_type for output in outputs(notebook)}
    assert kinds <= {"stream", "execute_result"} and "execute_result" in kinds
    for text in texts(notebook):
        assert not OF_A_MACHINE.search(text), text


def test_what_is_of_a_machine_is_recognised() -> None:
    for text in ("wrote /tmp/x", "computed in 0.31 s", "\x1b[31mred", "at 12:30:01", "<object at 0x7f00deadbeef>"):
        assert OF_A_MACHINE.search(text)


@pytest.mark.quick
def test_charts_are_drawn_and_every_notebook_is_listed() -> None:
    shown = [(path.stem, one.get("data", {})) for path in NOTEBOOKS for one in outputs(nbformat.read(path, 4))]
    assert {name for name, data in shown if "image/svg+xml" in data} == {"accuracy", "scales"}
    assert set(re.findall(r"\((\S+\.ipynb)\)", (FOLDER / "README.md").read_text())) == {path.name for path in NOTEBOOKS}
