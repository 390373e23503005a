"""Reports: nothing that contradicts itself or that documents cannot hold; and XML and JSON say what they say."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from explain.report_samples import (
    CAUSE,
    FAILED,
    NAMED,
    NASTY,
    PART,
    PASSED,
    SHORT,
    WHOLE,
    explained,
    good,
    mismatch,
    nasty,
    report,
)
from junitparser import JUnitXml, Skipped
from pydantic import ValidationError

import hwsim
from hwsim.base.text import counted
from hwsim.explain import (
    CountedBin,
    CoverageGroup,
    Row,
    RunReport,
    coverage_groups,
    explanation,
    failure_lines,
    read_json,
    write_json,
    write_junit,
    write_reports,
)
from hwsim.explain.frozen import fit
from hwsim.explain.mismatches import reading, ulps
from hwsim.explain.record import SCHEMA
from hwsim.explain.reports import MOST_LINES, _percent, all_fault_lines, kinds_lines
from hwsim.explain.stages import text
from hwsim.formats import get_format
from hwsim.spec import load_unit


@pytest.mark.parametrize(
    ("planned", "compared", "mismatches", "passed"),
    [(2, 2, 0, True), (0, 0, 0, False), (2, 1, 0, False), (2, 2, 1, False)],
)
def test_a_row_passes_only_where_all_was_compared_and_equal(
    planned: int, compared: int, mismatches: int, passed: bool
) -> None:
    row = Row(unit="u", suite="s", driver="d", planned=planned, compared=compared, mismatches=mismatches)
    assert row.passed is passed


def test_a_count_agrees_with_its_noun() -> None:
    said = [counted(1, "mismatch"), counted(0, "mismatch"), counted(1200, "case"), counted(1, "bin"), counted(2, "box")]
    assert said == ["1 mismatch", "0 mismatches", "1,200 cases", "1 bin", "2 boxes"]
    row = Row(unit="u", suite="s", driver="d", planned=1, compared=1, mismatches=1)
    assert row.verdict == "1 mismatch; 1 of 1 compared"
    assert "1 mismatch in this suite" in failure_lines(row, [mismatch()])[-3]
    assert failure_lines(row.changed(planned=1, compared=0), [])[1] == "  0 of 1 result compared"


def test_the_figures_are_those_of_the_rows_and_bins() -> None:
    figures, summary = report().figures, report().summary()
    assert (figures.suites, figures.suites_passed, figures.suites_left_out) == (3, 1, 1)
    assert (figures.planned, figures.compared, figures.not_compared) == (16 + 3074 + 56, 16 + 3074 + 12, 44)
    assert (figures.mismatches, figures.cases_left_out) == (341, 1)
    # By hand: 31 bins hit of 34 that are known to be reachable, one open, eight proved unreachable.
    assert tuple(figures.bins) == (31, 3, 1, 8) and figures.bins.reachable == 34
    assert str(figures.bins) == "31 of 34 reachable bins hit, 1 open, 8 unreachable"
    assert summary["bins_reachable"] == 34 and summary["not_compared"] == 44


def test_a_report_passes_only_where_every_row_does() -> None:
    assert good().passed and good().verdict == "all equal"
    assert not report().passed and report().verdict == "2 of 3 suites failed"
    empty = good().changed(rows=())
    assert not empty.passed and empty.verdict == "nothing was compared"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"mismatches": ()}, "counts 341 mismatches, of which 0 are told"),
        ({"rows": (PASSED, FAILED.model_copy(update={"mismatches": 0}))}, "counts 0 mismatches, of which 1 are told"),
        ({"rows": (PASSED,)}, "a mismatch belongs to .*, which is no row"),
        ({"rows": (PASSED, FAILED, PASSED)}, "rows must have names of their own"),
        ({"mismatches": (mismatch(), mismatch(driver="verilator"))}, "verilator / dot directed, which is no row"),
        ({"coverage": report().coverage * 2}, "coverage groups must have names of their own, not G2"),
        ({"rows": ({**PASSED.model_dump(), "seconds": float("nan")},)}, "finite"),
        ({"rows": ({**PASSED.model_dump(), "compared": -1},)}, "greater than or equal to 0"),
        ({"verdict": "all equal"}, "Extra inputs"),
        (
            {"kinds": (NAMED.changed(minimal=mismatch(driver="verilator")),)},
            "the minimal case is of .* on verilator, where nothing failed",
        ),
        (
            {"kinds": (NAMED.changed(minimal=mismatch(unit=PASSED.unit)),)},
            "the minimal case is of all formats on icarus, where nothing failed",
        ),
        ({"left_out": (WHOLE.changed(suite="dot directed"),)}, "dot directed ran, so that .* must be left out, not 0"),
        ({"left_out": (PART.changed(suite="GEMM"),)}, "GEMM did not run at all, not 1"),
        ({"rows": (PASSED,), "mismatches": (), "kinds": (NAMED,), "left_out": ()}, "has 300 wrong results, but every"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        report(**changes)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: PASSED.changed(planned=1, compared=2), "compared 2 results of 1"),
        (lambda: CAUSE.changed(right=901), "lost bits floored explains 901 results of 900"),
        (lambda: NAMED.changed(wrong=342), "a kind has 342 wrong results of 341"),
    ],
)
def test_more_than_there_was_is_refused(make: Callable[[], Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        make()


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "hit"},
        {"state": "missed", "hits": 1},
        {"state": "unreachable", "hits": 1, "reason": "a proof"},
        {"state": "unreachable"},
        {"state": "passed"},
    ],
)
def test_a_bin_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CountedBin(name="bin", **wrong)


def test_a_plan_and_its_hits_become_groups() -> None:
    planned = [
        ("G1", "zero", True, ""),
        ("G2", "far", False, "never"),
        ("G1", "one", True, ""),
        ("G1", "inf", None, ""),
    ]
    made = coverage_groups(planned, {"one": 3, "zero": 0}, unit="u", titles={"G1": "operands"})
    assert [group.name for group in made] == ["G1", "G2"]
    assert [(bin.name, bin.hits, bin.state) for bin in made[0].bins] == [
        ("zero", 0, "missed"), ("one", 3, "hit"), ("inf", 0, "open")
    ]  # fmt: skip
    assert (made[0].title, made[0].unit, made[1].bins[0].reason) == ("operands", "u", "never")
    with pytest.raises(ValueError, match="hits must be of bins that were planned, not of two"):
        coverage_groups(planned, {"two": 1})
    with pytest.raises(ValueError, match="bin far was hit 1 times, so that it must not be unreachable"):
        coverage_groups(planned, {"far": 1})
    with pytest.raises(ValueError, match="bins of G1 must have names of their own"):
        coverage_groups([planned[0], planned[0]], {})
    with pytest.raises(ValidationError, match="at least 1"):
        CoverageGroup(name="G1", bins=())


def test_texts_are_fit_for_every_document() -> None:
    assert fit("a\x00b\x1b[1;31mred\x1b[0m\r\n\tc\ud800\ufffe\x85é𝟘") == "a\ufffdbred\n\tc\ufffd\ufffd\ufffdé𝟘"
    assert "\ufffd" in mismatch(case=NASTY).case and "\x00" not in mismatch(case=NASTY).case


def test_a_failure_fits_its_lines() -> None:
    lines = failure_lines(FAILED, [mismatch()])
    assert lines == [
        "hopper-wgmma-e4m3-f32 · icarus · dot directed · case distance/d08-exact-sub",
        "  this case: directed: two products that many places apart (d), with or without lost bits",
        "  a  [0] 0x7e (448), [1] 0xb9 (-1.125), [2] 0x05 (0.009765625); 32 elements",
        "  b  [0] 0x3c (1.5), [1] 0x39 (1.125), [2] 0x4d (6.5); 32 elements",
        "  c  0x3f8ccccd (1.10000002)",
        "  expected 0x4427f800 (671.875), got 0x44280000 (672), +2 ulp of e8m13",
        "  first differing stage: align, beat 0, lane 1: expected -40, got -41",
        "  at cycle 27, result 21 of 3074; 341 mismatches in this suite",
        "  seed 1; waveform: build/cosim/x-icarus/dump.vcd",
        "  again: hwsim cosim hopper-wgmma-e4m3-f32 --sim icarus --seed 1",
    ]
    assert failure_lines(SHORT, [])[1:] == [
        "  12 of 56 results compared", "  the end of the simulation's log:", "  out of luck", "  again: hwsim cosim"
    ]  # fmt: skip
    # However much there is to say, the command at the end stays.
    long = failure_lines(FAILED, [mismatch(operands=mismatch().operands * 9)])
    assert len(long) == MOST_LINES
    assert long[-1].startswith("  again: hwsim cosim")


def test_an_explanation_is_what_the_model_says() -> None:
    assert "\n".join(explanation(explained()).lines) == text(explained())
    # Of a long one, some groups: the first, and the one asked for.
    long = explained([0x38] * 256, [0x40] * 256)
    assert len(long.groups) == 8
    kept = explanation(long, 6)
    assert [group.index for group in kept.groups] == [0, 1, 2, 6] and kept.left_out == 4
    assert "4 more groups left out" in kept.lines
    assert [group.index for group in explanation(long).groups] == [0, 1, 2, 3]
    assert [group.index for group in explanation(long, 1).groups] == [0, 1, 2]
    # A sum without a window has its stages as text.
    for name in ("hfp8-forward-e4m3-dlfloat16", "exact-e4m3-f32"):
        unit = load_unit(name)
        scales = ([127], [127]) if unit.scale else (None, None)
        (group, *_) = explanation(hwsim.explain(unit, [0x38] * 32, [0x38] * 32, None, *scales)).groups
        assert group.window is None and len(group.lines) > 4


def test_codes_are_read_as_the_format_says() -> None:
    # 1 10001000 0101... by hand: 671.875 = 1.312255859375 * 2^9, exponent field 9 + 127 = 136.
    assert reading(get_format("e8m13"), 0x4427F800).fields == ("0", "10001000", "0100111111110", "0000000000")
    assert reading(get_format("e2m1"), 0xF).fields == ("1", "11", "1")
    assert str(reading(get_format("f16"), 0x3C00)) == "0x3c00 (1)"
    assert reading(get_format("f16"), -1).code == "unknown" and not reading(get_format("f16"), -1).fields
    fmt = get_format("f16")
    for code in range(0, 1 << 16, 257):
        sign, exponent, fraction = reading(fmt, code).fields
        if exponent != "11111":
            exp = max(int(exponent, 2), 1) - 15
            significand = Fraction(int(fraction, 2), 1024) + (int(exponent, 2) > 0)
            assert (-1) ** int(sign) * significand * Fraction(2) ** exp == Fraction(float(fmt.decode([code])[0]))


def test_a_distance_is_in_ulp_of_the_result() -> None:
    f16, e8m13 = get_format("f16"), get_format("e8m13")
    assert ulps(f16, 0x3C01, 0x3C00) == 1
    assert ulps(f16, 0x8001, 0x0001) == -2
    assert ulps(e8m13, 0x3F800000, 0x3F800400) == -1
    for got, expected in ((0x7C00, 0x3C00), (0x7E00, 0x3C00), (-1, 0x3C00)):
        assert ulps(f16, got, expected) is None
    assert ulps(e8m13, 0x3F800001, 0x3F800000) is None
    assert mismatch().distance == "+2 ulp of e8m13" and mismatch(ulp=None).distance == ""


def test_per_cent_never_rounds_to_all_or_nothing() -> None:
    assert [_percent(*pair) for pair in ((0, 0), (0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (1, 3))] == [
        "0 %", "0 %", "100 %", "0.1 %", "99.9 %", "33.3 %"
    ]  # fmt: skip


def test_a_report_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        report().rows[0].mismatches = 3  # type: ignore[misc]
    # A changed copy is checked as the first was.
    assert report().rows[0].changed(suite="a\x00b").suite == "a\ufffdb"
    with pytest.raises(ValidationError, match="of which 0 are told"):
        report().changed(mismatches=())


REPORTS = {"good": good, "failed": report, "nasty": nasty}


def check_junit(path: Path, told: RunReport) -> None:
    """What a CI system reads is what the report says."""
    read = JUnitXml.fromfile(str(path))
    assert read.name == told.title
    whole = [one for one in told.left_out if not one.cases]
    figures = len(told.rows) + len(whole), len(told.failed), 0, len(whole)
    assert (read.tests, read.failures, read.errors, read.skipped) == figures
    assert math.isclose(read.time, sum(row.seconds for row in told.rows), abs_tol=1e-3)
    rows = {(f"{row.unit}.{row.driver}", row.suite): row for row in told.rows}
    every = [(suite, case) for suite in read for case in suite]
    cases = [(suite, case) for suite, case in every if not any(isinstance(one, Skipped) for one in case.result)]
    assert [(case.classname, case.name) for _, case in cases] == list(rows)
    left = [(case.name, case.result[0].message) for pair in every if pair not in cases for case in pair[1:]]
    assert left == [(one.suite, one.what) for one in whole]
    for suite in read:
        members = [row for (name, _), row in rows.items() if name == suite.name]
        skipped = sum(f"{one.unit}.{one.driver}" == suite.name for one in whole)
        assert (suite.tests - skipped, suite.skipped) == (len(members), skipped)
        assert suite.failures == sum(not row.passed for row in members)
        of_minimal = any(suite.name == f"{one.unit}.{one.driver}" for one in told.minimal)
        out = suite._elem.findtext("system-out") or ""
        assert out == ("\n".join(kinds_lines(told.kinds)) if of_minimal else "")
        properties = {one.name: one.value for one in suite.properties()}
        assert properties == {"hwsim": told.version, "again": told.command} | (
            {} if told.seed is None else {"seed": str(told.seed)}
        )
    for _, case in cases:
        row = rows[case.classname, case.name]
        assert len(case.result) == (not row.passed)
        for failure in case.result:
            assert failure.message == f"{row.mismatches:,} mismatches; {row.compared:,} of {row.planned:,} compared"
            assert failure.type == ("mismatch" if row.mismatches else "incomplete")
            causes = all_fault_lines(told.kinds) if row.mismatches else []
            assert failure.text == "\n".join([*failure_lines(row, told.of(row)), *causes])
        of = told.of(row)
        out = [
            *(one.what for one in told.not_given(row)),
            *(of[0].explanation.lines if of and of[0].explanation else []),
        ]
        assert (case.system_out or "") == "\n".join(out)


@pytest.mark.quick
@pytest.mark.parametrize("name", REPORTS)
def test_junit_xml_says_what_the_report_says(name: str, tmp_path: Path) -> None:
    told = REPORTS[name]()
    write_junit(tmp_path / "results.xml", told)
    check_junit(tmp_path / "results.xml", told)


def dropped_failure(text: str) -> str:
    start, end = text.index("<failure"), text.index("</failure>") + len("</failure>")
    return text[:start] + text[end:]


@pytest.mark.parametrize(
    "lie",
    [
        dropped_failure,
        lambda text: 'failures="1"'.join(text.rsplit('failures="2"', 1)),
        lambda text: text.replace('failures="2"', 'failures="1"', 1),
        lambda text: text.replace("341 mismatches; 3,074 of", "340 mismatches; 3,074 of"),
        lambda text: text.replace("got 0x44280000", "got 0x4427f800"),
        lambda text: text.replace('name="dot directed"', 'name="dot random"'),
        lambda text: text.replace('type="incomplete"', 'type="mismatch"'),
        lambda text: text.replace("<system-out>", "<system-out>-"),
        lambda text: text.replace('skipped="1"', 'skipped="0"', 1),
        lambda text: text.replace("MINIMAL CASE", "A CASE"),
    ],
)
def test_junit_xml_that_lies_is_caught(lie: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    write_junit(path, report())
    text = path.read_text()
    assert lie(text) != text
    path.write_text(lie(text))
    with pytest.raises(AssertionError):
        check_junit(path, report())


@pytest.mark.quick
@pytest.mark.parametrize("name", REPORTS)
def test_json_is_read_back_as_it_was(name: str, tmp_path: Path) -> None:
    told, path = REPORTS[name](), tmp_path / "results.json"
    write_json(path, told)
    assert read_json(path) == told
    data = json.loads(path.read_text())
    assert data["schema"] == SCHEMA == "hwsim-report/3"
    # The figures, counted here by hand.
    figures = data["summary"]
    assert figures["passed"] is (name == "good")
    assert figures["mismatches"] == sum(row["mismatches"] for row in data["rows"])
    states = [bin["state"] for group in data["coverage"] for bin in group["bins"]]
    assert figures["bins_reachable"] == states.count("hit") + states.count("missed")
    assert figures["not_compared"] == sum(row["planned"] - row["compared"] for row in data["rows"])
    for state in ("hit", "missed", "open", "unreachable"):
        assert figures[f"bins_{state}"] == states.count(state)
    # Twice the same bytes.
    write_json(tmp_path / "again.json", read_json(path))
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def changed(change: Callable[[Any], Any], path: Path) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["mismatches"].clear(), "counts 341 mismatches, of which 0 are told"),
        (lambda data: data["rows"].pop(1), "a mismatch belongs to"),
        (
            lambda data: data["rows"][1].update(compared=3073),
            r"summary\.compared must be 3101, as the rows say, not 3102",
        ),
        (lambda data: data["rows"].pop(2), r"summary\.verdict must be '1 of 2 suites failed'"),
        (lambda data: data["summary"].update(passed=True), r"summary\.passed must be False, as the rows say, not True"),
        (lambda data: data.pop("summary"), r"summary\.passed must be False, as the rows say, not None"),
        (lambda data: data["coverage"][0]["bins"][0].update(state="missed"), r"summary\.bins_reachable"),
        (lambda data: data["coverage"][0]["bins"][8].update(hits=0), "was hit 0 times, so that it must not be hit"),
        (lambda data: data.update(schema="hwsim-report/2"), "schema must be hwsim-report/3, not 'hwsim-report/2'"),
        (lambda data: data.update(extra=1), "extra is not a key here"),
        (lambda data: data["rows"][0].pop("planned"), r"rows\.0\.planned is missing"),
    ],
)
def test_json_that_contradicts_itself_is_refused(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_json(path, report())
    changed(change, path)
    with pytest.raises(ValueError, match=rf"results\.json: .*{message}") as error:
        read_json(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[1]", "3", '{"schema": 1}', "\xff"])
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"other\.json: (is no JSON|schema must be)"):
        read_json(tmp_path / "other.json")


def test_all_three_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    write_reports(folder, nasty())
    assert sorted(path.name for path in folder.iterdir()) == [
        ".hwsim-files", "report.html", "results.json", "results.xml",
    ]  # fmt: skip
    before = {path: path.read_bytes() for path in folder.iterdir()}
    write_reports(folder, nasty())
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_importing_hwsim_loads_nothing_that_writes_reports() -> None:
    writers = {"jinja2", "hwsim.explain.record", "hwsim.explain.reports"}
    program = f"import sys, hwsim; print(*({writers} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
