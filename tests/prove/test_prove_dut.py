"""A user's own RTL is proved as far as it goes; what is wrong with it becomes a case that a simulator plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cosim.dut_files import variant

from hwsim.cli import main
from hwsim.cosim.casefile import load_case
from hwsim.cosim.dut.dutfile import load_dut
from hwsim.cosim.dutdesign import dut_design

# A design's file, its mistake, what is said of it, and how it is named.
WRONG = {
    "lost bits floored": ("comb", 2, "-8193 * 2^-13, where the model has -8192"),
    "leading-one exponents": ("latency", 1, "where the model has"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.soak] * at) for at, one in enumerate(WRONG)])
def test_a_mistake_is_refuted_with_one_product(
    icarus: None, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design, wrong, said = WRONG[name]
    path, case, page = (
        variant(tmp_path, design, parameters={"WRONG": wrong}),
        tmp_path / "case.yaml",
        tmp_path / "p.html",
    )
    arguments = ["--products", "1", "--case", str(case), "--html", str(page)]
    assert main(["prove", "--dut", str(path), *arguments]) == 1
    printed = capsys.readouterr().out
    assert said in printed
    assert "played on icarus: it returns the same" in printed
    assert f"  {name}: " in printed
    found = load_case(case, dut_design(load_dut(path)))
    assert sum(bool(a and b) for a, b in zip(found.a, found.b, strict=True)) <= 1
    assert "<svg" in page.read_text()


@pytest.mark.quick(cases=1)
@pytest.mark.parametrize("cycles", [2, 4])
def test_a_latency_that_is_not_the_designs_is_refuted(
    cycles: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = variant(tmp_path, "latency", protocol={"kind": "latency", "cycles": cycles})
    assert main(["prove", "--dut", str(path), "--products", "1", "--case", str(tmp_path / "case.yaml")]) == 1
    assert "its latency seems to be 3 cycles" in capsys.readouterr().out


@pytest.mark.soak
@pytest.mark.parametrize("name", ["comb", "latency"])
def test_a_right_design_is_proved_and_says_up_to_where(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = variant(tmp_path, name), tmp_path / "proof.json"
    assert main(["prove", "--dut", str(path), "--products", "1", "--json", str(table)]) == 0
    assert {row["word"] for row in json.loads(table.read_text())["rows"]} == {"proved"}
    printed = capsys.readouterr().out
    assert "not shown: beats with more than 1 product other than zero" in printed
    assert printed.endswith("equal for every beat with at most 1 product other than zero\n")


def test_what_goes_with_a_unit_does_not_go_with_a_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = variant(tmp_path, "comb")
    assert main(["prove", "--dut", str(path), "--cuts", "sum"]) == 2
    assert main(["prove", "hopper-wgmma-e4m3-f32", "--products", "2"]) == 2
    assert main(["prove"]) == 2
    assert capsys.readouterr().err.count("error:") == 3
