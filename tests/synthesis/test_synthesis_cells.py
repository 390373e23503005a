"""Standard cells: areas added up by hand, a delay that a deeper design has more of, and what is missing."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest
from computed_once import computed_once
from conftest import at_hand
from odd_units import unit

from hwsim.base.errors import InputError, ToolMissing
from hwsim.rtl import top_name, verilog
from hwsim.rtl.synthesis import FlowFailed, Mapped, cells, mapped, require_cells
from hwsim.spec import pipeline

SECONDS = 240
TINY = unit("tiny-5-bits")


@pytest.fixture(scope="module")
def tools() -> None:
    with at_hand():
        require_cells()


def areas(liberty: str) -> dict[str, float]:
    """The cells' areas, as their file has them; read here anew."""
    return {name: float(area) for name, area in re.findall(r"cell \((\w+)\) \{[^{}]*?\barea : ([\d.]+);", liberty)}


@computed_once("rtl")
def tiny_in_cells() -> tuple[str, str, Mapped]:
    """The netlist of a tiny unit, the cells' file, and the figures."""
    text, top = verilog(TINY, pipeline(TINY)), top_name(TINY)
    with tempfile.TemporaryDirectory() as folder:
        cells.map_to_cells(text, top, Path(folder), SECONDS)
        netlist = (Path(folder) / "netlist.v").read_text()
    return netlist, cells.liberty().read_text(), mapped(text, top, SECONDS)


@pytest.mark.usefixtures("tools")
def test_the_area_is_that_of_all_cells_as_their_file_has_it() -> None:
    netlist, liberty, figures = tiny_in_cells()
    each = areas(liberty)
    placed = [name for name in re.findall(r"^ {2}(\w+) \S.* \($", netlist, re.MULTILINE) if name in each]
    assert len(placed) == figures.cells > 500
    assert sum(each[name] for name in placed) == pytest.approx(figures.area)
    registers = [name for name in placed if name.startswith("DFF")]
    assert sum(each[name] for name in registers) == pytest.approx(figures.register_area)
    # A register's set-up and delay alone take half a nanosecond; 33 gates in a row take no more than 0.5 each.
    assert 0.5 < figures.delay < 16
    assert 0.1 < figures.power < 100


@pytest.mark.usefixtures("tools")
def test_an_enable_is_buffered() -> None:
    netlist, _, _ = tiny_in_cells()
    readers: dict[str, int] = {}
    for pin, net in re.findall(r"\.(\w+)\((.+?)\)[,\n]", netlist):
        if pin not in ("Y", "Q", "CLK"):
            readers[net] = readers.get(net, 0) + 1
    # One enable serves most of 171 registers; ABC's limit holds for each of its passes, and so about.
    assert cells.FANOUT <= max(readers.values()) <= 4 * cells.FANOUT


def test_figures_are_read_from_what_the_tools_print() -> None:
    stat = " 12   340 cells\n Chip area for module '\\t': 340.5\n  of which used for sequential elements: 96.0 (28 %)\n"
    timing = "   7.25 slack (MET)\nTotal  1.0e-03 1.0e-03 1.0e-09 2.0e-03 100.0%\n"
    assert cells._figures(stat, timing) == Mapped(340.5, 96.0, 12, 2.75, 2.0)
    with pytest.raises(FlowFailed, match="printed no figures"):
        cells._figures(stat, "nothing")


def test_what_is_missing_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cells, "PLACES", (tmp_path / "none.lib",))
    monkeypatch.delenv(cells.VARIABLE, raising=False)
    with pytest.raises(ToolMissing, match=r"cells are missing .*apt-get install qflow-tech-osu018.*HWSIM_CELLS"):
        cells.liberty()
    monkeypatch.setenv(cells.VARIABLE, str(tmp_path / "other.lib"))
    with pytest.raises(InputError, match=r"HWSIM_CELLS must be a liberty file .*other\.lib"):
        cells.liberty()
    (tmp_path / "other.lib").touch()
    assert cells.liberty() == tmp_path / "other.lib"
    monkeypatch.setattr(cells, "require", lambda *_: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolMissing, match=r"OpenSTA \(sta\) is missing; install with: apt-get install opensta"):
        require_cells()
