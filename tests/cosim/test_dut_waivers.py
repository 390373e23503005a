"""Known differences of a design: waived by name or by predicate, counted, and never more than they say."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from built_presets import others_slow
from cosim.dut_files import SEED, design, play, variant
from cosim.runs_shown import few_cases

from hwsim.cases.case import Case
from hwsim.cli import main
from hwsim.cosim.dutfile import load_dut
from hwsim.cosim.run import CosimOptions, run
from hwsim.cosim.waivers import WaivedWhen
from hwsim.explain import RunReport, read_json

WRONG = {"WRONG": 2}  # what is shifted out is floored and not truncated
SAID = {"reason": "revision A floors", "date": date(2026, 11, 1)}
FLOORED = {"reading": "lost bits floored", **SAID}


@pytest.fixture
def few(icarus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    few_cases(monkeypatch)


@pytest.fixture(scope="module")
def every(icarus: None, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many results are wrong where nothing is waived."""
    with pytest.MonkeyPatch.context() as patch:
        few_cases(patch)
        return wrong(play(tmp_path_factory.mktemp("wrong"), "comb", parameters=WRONG))


def wrong(report: RunReport) -> int:
    return sum(row.mismatches for row in report.rows)


def waived(report: RunReport) -> int:
    return sum(row.waived for row in report.rows)


@pytest.mark.simulator
def test_a_reading_waives_what_it_explains_and_every_report_counts_it(
    few: None, every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert every > 20
    path = variant(tmp_path, "comb", parameters=WRONG, waivers=[FLOORED])
    out = tmp_path / "waived"
    arguments = ["cosim", "--dut", str(path), "--sim", "icarus", "--seed", str(SEED), "--cases", "30", "-o", str(out)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    line = f"{every} results waived: lost bits floored (since 2026-11-01: revision A floors)"
    assert line in said
    assert f", {every} results waived: " in said and "all equal" not in said
    report = read_json(out / "results.json")
    assert report.passed and (wrong(report), waived(report)) == (0, every)
    assert report.summary()["waived"] == every
    assert line in (out / "report.html").read_text()
    assert "results waived</system-out>" in (out / "results.xml").read_text()


@pytest.mark.simulator
@pytest.mark.parametrize("minimize", others_slow([False, True], [False]))
def test_what_no_waiver_explains_stays_a_mismatch(few: None, every: int, tmp_path: Path, minimize: bool) -> None:
    # Floored sums are never above the truncated ones: of all distances those of one ulp below are waived.
    close = {"when": {"ulp": [-1, -1]}, **SAID}
    unneeded = {"when": {"expected": ["nan", "infinity"]}, **SAID}
    report = play(tmp_path, "comb", parameters=WRONG, waivers=[close, unneeded], minimize=minimize)
    assert 0 < waived(report) < every and wrong(report) + waived(report) == every
    assert not report.passed
    assert all(mismatch.ulp != -1 for mismatch in report.mismatches if mismatch.what == "result")
    assert [waiver.results for waiver in report.waivers] == [waived(report), 0]
    said = "waiver expected nan or infinity: waives nothing any more; take it out (revision A floors)"
    assert f"dot4_comb: {said}" in report.notes
    # What is waived is no case to make simpler: the minimal case is of another distance.
    assert bool(report.minimal) == minimize and all(case.ulp != -1 for case in report.minimal)


@pytest.mark.simulator
def test_a_waiver_ends(few: None, tmp_path: Path) -> None:
    ended = {**FLOORED, "until": date(2026, 11, 2)}
    report = play(tmp_path, "comb", parameters=WRONG, waivers=[ended])
    assert not report.passed and not waived(report)
    assert any(
        "lost bits floored: held until 2026-11-02; its results are mismatches again" in it for it in report.notes
    )


@pytest.mark.parametrize(
    ("waiver", "words"),
    [
        ({**SAID}, "must have one of reading and when"),
        ({**FLOORED, "when": {"got": "nan"}}, "must have one of reading and when"),
        ({"reading": "lost bits floored", "date": date(2026, 11, 1)}, "reason"),
        ({"reading": "lost bits floored", "reason": "known"}, "date"),
        ({**FLOORED, "until": date(2026, 10, 1)}, r"until must not be before date \(2026-11-01\), not 2026-10-01"),
        ({"when": {}, **SAID}, "must have one of expected, got, a, b, c, ulp"),
        ({"when": {"got": "odd"}, **SAID}, "got"),
        ({"when": {"ulp": [2, 1]}, **SAID}, r"ulp must be \[least, greatest\], not \[2, 1\]"),
    ],
)
def test_a_waiver_that_says_too_little_is_refused(tmp_path: Path, waiver: dict[str, Any], words: str) -> None:
    path = variant(tmp_path, "comb", waivers=[waiver])
    with pytest.raises(ValueError, match=rf"dut\.yaml:\d+: waivers\[?.*{words}"):
        load_dut(path)


def test_a_reading_that_the_unit_does_not_have_is_refused(tmp_path: Path) -> None:
    made = design(tmp_path, "comb", waivers=[{**FLOORED, "reading": "lost bits florred"}])
    with pytest.raises(
        ValueError,
        match=r"dut\.yaml:\d+: waivers must name readings: .*, not lost bits florred, did you mean lost bits floored",
    ):
        run(CosimOptions((made,), ("icarus",), folder=tmp_path / "run"))


UNIT_CASE = Case("zero", a=(0, 0x38, 0, 0), b=(0, 0x38, 0, 0), c=0x00000001)


@pytest.mark.parametrize(
    ("when", "is_waived"),
    [
        ({"expected": "normal"}, True),
        ({"expected": "zero"}, False),
        ({"got": ["zero", "normal"]}, True),
        ({"ulp": (1, 3)}, True),
        ({"ulp": (-3, 0)}, False),
        ({"a": "zero", "b": "normal"}, True),
        ({"a": "nan"}, False),
        ({"c": "subnormal"}, True),
        ({"c": "zero"}, False),
        ({"c": "subnormal", "ulp": (3, 9)}, False),
    ],
)
def test_a_predicate_is_true_where_all_of_its_keys_are(tmp_path: Path, when: dict[str, Any], is_waived: bool) -> None:
    unit = design(tmp_path, "comb").unit
    expected, step = 0x3F800000, 1 << unit.output.padding
    assert WaivedWhen.model_validate(when).waives(unit, UNIT_CASE, expected, expected + 2 * step) is is_waived
