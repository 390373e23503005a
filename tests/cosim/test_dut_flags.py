"""Status flags beside a result: a sum of two products and an addend, right, with two published faults, and with three
of its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, SEED, design, play
from cosim.small_runs import small_suites

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import random_cases
from hwsim.cosim import suites as planning
from hwsim.cosim.design import Suite
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.play import command, play_simulated
from hwsim.explain.reports import failure_lines
from hwsim.tb.job import PortMismatch

pytestmark = pytest.mark.simulator

Rounding = Literal["rne", "rz", "rd", "ru"]
CODES: dict[Rounding, int] = {"rne": 0, "rz": 1, "rd": 2, "ru": 3}  # of the design's input
OPPOSITE = Case("opposite", (0x41, 0x41), (0x3D, 0xBD), 0x7400)  # 2.5 * 1.25 - 2.5 * 1.25 + 16384
FAULTS: list[tuple[int, Rounding, set[tuple[str, str]]]] = [
    (1, "rz", {("result", ""), ("flag", "inexact"), ("flag", "underflow")}),
    (2, "rne", {("result", "")}),
    (3, "rne", {("flag", "inexact")}),
    (4, "rne", {("flag", "underflow")}),
    (5, "rne", {("flag", "invalid")}),
    (6, "rne", {("flag", "invalid")}),
]


def sdotp(folder: Path, rounding: Rounding, wrong: int = 0, **changes: Any) -> DutDesign:
    unit = yaml.safe_load((DESIGNS / "sdotp-unit.yaml").read_text())
    unit["result"]["rounding"] = rounding
    (folder / "unit.yaml").write_text(yaml.safe_dump(unit))
    held = {"constants": {"req_i.rounding": CODES[rounding]}, "parameters": {"WRONG": wrong}}
    return design(folder, "sdotp", unit=str(folder / "unit.yaml"), **held, **changes)


def mismatches(made: DutDesign, folder: Path, simulator: str, cases: tuple[Case, ...]) -> list[PortMismatch]:
    """What is wrong with some cases."""
    play = made.play(Suite("cases", cases), Stream(SEED, "cases"))
    program = command(simulator, made.sources(simulator), trace=False)
    (played,) = play_simulated(simulator, program, made, [play], folder / "job", SEED, 60.0)
    assert played.outcome.results == len(cases)
    return played.outcome.mismatches


def drawn(made: DutDesign) -> tuple[Case, ...]:
    """Some directed cases and some random ones."""
    unit = made.drawn_for
    return (*directed(unit, SEED)[::4], *(case for case in random_cases(unit, 160, SEED) if len(case.a) == 2))


@pytest.mark.parametrize("rounding", others_slow(CODES, ["rz"]))
def test_the_right_design_has_the_results_and_the_flags_of_the_model(
    icarus: None, tmp_path: Path, rounding: Rounding
) -> None:
    made = sdotp(tmp_path, rounding)
    assert not mismatches(made, tmp_path, "icarus", drawn(made))


@pytest.mark.parametrize("fault", others_slow(range(6), [0]))
def test_a_fault_is_found_and_a_flag_named(icarus: None, tmp_path: Path, fault: int) -> None:
    wrong, rounding, found = FAULTS[fault]
    made = sdotp(tmp_path, rounding, wrong)
    assert {(one.kind, one.name) for one in mismatches(made, tmp_path, "icarus", drawn(made))} == found


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "rounding", "found"), FAULTS)
def test_a_fault_is_found_on_verilator_too(
    verilator: None, tmp_path: Path, wrong: int, rounding: Rounding, found: set[tuple[str, str]]
) -> None:
    made = sdotp(tmp_path, rounding, wrong)
    assert {(one.kind, one.name) for one in mismatches(made, tmp_path, "verilator", drawn(made))} == found


def test_opposite_products_below_the_last_place_leave_nothing(icarus: None, tmp_path: Path) -> None:
    made = sdotp(tmp_path, "rz", 1)
    result, flag = mismatches(made, tmp_path, "icarus", (OPPOSITE,))
    assert (result.expected, result.got) == (0x7400, 0x73FF)
    assert (flag.name, flag.expected, flag.got) == ("inexact", 0, 1)


@pytest.mark.slow
def test_a_report_names_the_flag(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_suites(monkeypatch)
    monkeypatch.setattr(planning, "PAIR_STEP", dict.fromkeys(planning.PAIR_STEP, 256))
    report = play(tmp_path, "sdotp", parameters={"WRONG": 3}, minimize=True)
    row = next(row for row in report.rows if row.suite == "dot directed")
    assert not row.passed
    told = "\n".join(failure_lines(row, report.of(row)))
    assert "flag inexact: expected 1, got 0" in told
    assert report.coverage
    # What is wrong beside a result says nothing of cases that would be simpler.
    assert not report.minimal


# What IEEE 754 leaves open: designs that are wrong by one choice are right by another.
CHOICES: list[tuple[int, dict[str, str], set[tuple[str, str]]]] = [
    (4, {"underflow": "resp_o.status.uf", "inexact": "resp_o.status.nx", "tininess": "before"}, set()),
    (5, {"invalid": "resp_o.status.nv", "signaling": "quiet"}, set()),
    (6, {"invalid": "resp_o.status.nv", "signaling": "all"}, set()),
    (0, {"invalid": "resp_o.status.nv", "signaling": "all"}, {("flag", "invalid")}),
]


@pytest.mark.parametrize("choice", others_slow(range(4), [0]))
def test_a_flag_is_judged_by_the_choice_of_the_file(icarus: None, tmp_path: Path, choice: int) -> None:
    wrong, flags, found = CHOICES[choice]
    made = sdotp(tmp_path, "rne", wrong, flags=flags)
    assert {(one.kind, one.name) for one in mismatches(made, tmp_path, "icarus", drawn(made))} == found
