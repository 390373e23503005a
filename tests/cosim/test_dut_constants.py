"""Operands that a design has no port for: a converter, whose other factor is 1, and a subtractor of two factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from built_presets import others_slow
from cosim.dut_files import design, play
from cosim.runs_shown import few_cases

from hwsim.cases.bins.covering import covered
from hwsim.cases.case import Case
from hwsim.cosim import suites
from hwsim.cosim.casefile import load_case, write_case
from hwsim.cosim.coverage import reached
from hwsim.cosim.heldoperands import code_of_number
from hwsim.cosim.suites import Filter
from hwsim.cosim.vectors.check import stored
from hwsim.cosim.vectors.make import make
from hwsim.cosim.vectors.plan import Wanted
from hwsim.explain import Mismatch
from hwsim.formats import get_format
from hwsim.formats.yamlfile import SpecError
from hwsim.prove.dut import DutProofOptions, prove_dut
from hwsim.prove.qualify.dut import cases_of

CONVERTER, SUBTRACTOR = "to-e5m2", "differs"


FAULTS = [*((CONVERTER, fault) for fault in range(6)), *((SUBTRACTOR, fault) for fault in range(5))]


@pytest.mark.parametrize(("name", "fault"), others_slow(FAULTS, [FAULTS[0]]))
@pytest.mark.simulator
def test_what_is_constant_is_so_in_every_case(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: int
) -> None:
    covering = suites.covering_or_directed
    few_cases(monkeypatch)
    monkeypatch.setattr(suites, "covering_or_directed", covering)
    report = play(tmp_path, name, parameters={"FAULT": fault})
    assert report.passed == (fault == 0)
    said = {CONVERTER: "b = 1", SUBTRACTOR: "b = [1, -1], c = 8"}[name]
    assert f"in every case {said}: nothing is said of other operands" in " ".join(report.notes)
    for mismatch in report.mismatches:
        assert constants(name, mismatch)


def constants(name: str, mismatch: Mismatch) -> bool:
    """Whether a case has what its design is."""
    shown = {one.name: [element.code for element in one.elements] for one in mismatch.operands}
    held = {CONVERTER: {"b": ["0x2"]}, SUBTRACTOR: {"b": ["0x01", "0xff"], "c": ["0x00000008"]}}[name]
    return {key: shown[key] for key in held} == held


@pytest.mark.slow
@pytest.mark.simulator
def test_so_it_is_in_the_simplest_case(icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_cases(monkeypatch)
    report = play(tmp_path, SUBTRACTOR, parameters={"FAULT": 1}, minimize=True)
    assert report.kinds[0].minimal is not None and constants(SUBTRACTOR, report.kinds[0].minimal)


def test_cases_are_drawn_for_the_number(tmp_path: Path) -> None:
    """Ties of f16 to e5m2, one in 256 of random codes, are among those that are solved for."""
    made = design(tmp_path, CONVERTER)
    cases = [case for _, case in Filter(made).take(made.held.drawn(covered(made.drawn_for, 1).cases, solved=True))]
    assert {case.b for case in cases} == {(2,)}
    assert {case.a[0] & 0x1FF for case in cases} >= {0x080, 0x180}
    assert len({(case.a, case.b) for case in cases}) == len(cases)


def test_factors_take_the_signs_of_the_constants(tmp_path: Path) -> None:
    made = design(tmp_path, SUBTRACTOR)
    one = made.held.by_name["b"].stand_in
    assert one is not None and one.codes == (1, 1 | one.sign)
    # 3 * 1 + 5 * 1, 3 * -1 + 0 * 1: as products with 1 and -1.
    drawn = [Case("x", (3, 5), (1, 1)), Case("y", (3, 5), (1 | one.sign, 0))]
    assert [case.a for case in made.held.drawn(drawn, solved=True)] == [(3, 0xFB), (0xFD, 0)]
    assert [(case.a, case.b, case.c) for case in made.held.drawn(drawn)] == [((3, 5), (1, 0xFF), 8)]


def test_bins_of_other_operands_are_not_among_the_reachable(tmp_path: Path) -> None:
    made = design(tmp_path, CONVERTER)
    known = covered(made.drawn_for, 1)
    hit = {name for name, count in known.counter.counts.items() if count}
    assert hit - reached(made, known) and all("zero" in name or "x -" in name for name in hit - reached(made, known))
    assert {"result ties, to the smaller", "result ties, to the larger"} <= reached(made, known)


def test_a_case_of_another_operand_is_no_case_of_the_design(tmp_path: Path) -> None:
    made = design(tmp_path, CONVERTER)
    path = write_case(tmp_path, made, Case("x", (0x3C80,), (2,)), None)
    assert load_case(path, made).a == (0x3C80,)
    path = write_case(tmp_path, made, Case("x", (0x3C80,), (4,)), None)
    with pytest.raises(SpecError, match="to_e5m2 does not take b other than 1"):
        load_case(path, made)
    make(Wanted(made.unit, "random", cases=200), tmp_path / "set")
    assert all(case.b == (2,) for case in cases_of(made, stored(tmp_path / "set"))[1])


@pytest.mark.slow
@pytest.mark.parametrize("fault", [0, 3])
def test_a_converter_is_proved_or_refuted(tmp_path: Path, fault: int) -> None:
    report = prove_dut(design(tmp_path, CONVERTER, parameters={"FAULT": fault}), DutProofOptions(seconds=120))
    assert [row.word for row in report.rows][-1] == ("refuted" if fault else "proved")
    assert report.conclusion.endswith("where b = 1")
    if report.example is not None:
        assert constants(CONVERTER, report.example)


@pytest.mark.parametrize("fault", others_slow([0, 3], [3]))
def test_a_subtractor_is_proved_or_refuted(tmp_path: Path, fault: int) -> None:
    report = prove_dut(design(tmp_path, SUBTRACTOR, parameters={"FAULT": fault}), DutProofOptions(seconds=120))
    assert [row.word for row in report.rows][-1] == ("refuted" if fault else "proved")


@pytest.mark.parametrize(
    ("ports", "said"),
    [
        ({"b": 0.1}, r"dut\.yaml:\d+: ports\.b must be a number that e2m1 has, not 0\.1"),
        ({"b": -0.0}, r"ports\.b must not be constant 0"),
        ({"b": [1.0, 2.0]}, r"ports\.b must be one number, or 1, one for each element, not 2"),
        ({"b": float("inf")}, r"ports\.b must be a finite number, not inf"),
        ({"a": 1.0, "b": 1.0}, r"ports\.b must be at a port where a is constant"),
        ({"b": {"constant": 1.0, "lane0": "high"}}, r"ports\.b must have nothing beside constant"),
        ({"b": {"constant": 1.0, "port": "a"}}, r"ports\.b must have one of port, ports, each, pieces and constant"),
        ({"result": 1.0}, r"ports\.result must be at a port, not constant"),
        ({"c": 1.0}, r"ports\.c must not be given: to-e5m2 has operands\.addend none"),
        ({"b": {"constant": "1"}}, r"ports\.b\.constant must be"),
    ],
)
def test_constants_that_are_wrong_are_refused(tmp_path: Path, ports: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        design(tmp_path, CONVERTER, ports={"a": "a", "b": 1.0, "result": "y", **ports})


@pytest.mark.parametrize(
    ("fmt", "number", "code"),
    [("e2m1", 1.0, 2), ("f32", -0.0, 1 << 31), ("i32", -1.0, 0xFFFFFFFF), ("e8m0", 2.0, 128), ("e4m3", 449.0, None)],
)
def test_a_number_is_a_code_or_none(fmt: str, number: float, code: int | None) -> None:
    assert code_of_number(get_format(fmt), number) == code
