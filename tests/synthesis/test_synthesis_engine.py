"""Engines' figures: part by part, and as one design."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.engines import engine

from hwsim.cli import main
from hwsim.spec.engine import engine_yaml


@pytest.mark.slow
@pytest.mark.parametrize("reset", ["sync", "async-low"])
def test_an_engine_as_one_design_is_its_parts(
    reset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    file, report = tmp_path / "e.yaml", tmp_path / "figures.json"
    file.write_text(engine_yaml(engine(rows=1, columns=2, reset=reset)))
    found = {}
    for name, more in (("parts", []), ("whole", ["--whole"])):
        assert main(["synth", str(file), "--flow", "gates", "--json", str(report), *more]) == 0
        found[name] = json.loads(report.read_text())["engines"][0]["parts"]
        assert ("shared decoders" in capsys.readouterr().out) == (name == "parts")
    assert [*found["whole"]] == ["whole"]
    for figure, least in (("gates", 0.85), ("flipflops", 0.95)):
        together = sum(each["count"] * each["gates"][figure] for each in found["parts"].values())
        assert least * together < found["whole"]["whole"]["gates"][figure] <= together


def test_a_unit_has_no_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", "int8-i32", "--whole"]) == 2
    assert "--whole goes with engines' files" in capsys.readouterr().err
