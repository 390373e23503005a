"""JUnit XML and JSON: read back by others' readers, they say what the report says; and reports that lie are caught."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml, Skipped
from report.report_samples import FAILED, NASTY, good, mismatch, nasty, report

import hwsim.explain as reports
from hwsim.explain import RunReport, failure_lines, read_json, write_json, write_junit, write_reports
from hwsim.explain import reports as junit
from hwsim.explain.frozen import fit
from hwsim.explain.record import SCHEMA
from hwsim.explain.reports import all_fault_lines, kinds_lines

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


def test_a_writer_that_counts_wrongly_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = junit._counts
    monkeypatch.setattr(junit, "_counts", lambda rows, left_out: right(rows, left_out) | {"failures": "0"})
    write_junit(tmp_path / "results.xml", report())
    with pytest.raises(AssertionError):
        check_junit(tmp_path / "results.xml", report())


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


def test_a_name_stays_what_it_is_in_xml(tmp_path: Path) -> None:
    write_junit(
        tmp_path / "results.xml", report(rows=(FAILED,), mismatches=(mismatch(case=NASTY),), kinds=(), left_out=())
    )
    (suite,) = JUnitXml.fromfile(str(tmp_path / "results.xml"))
    (case,) = suite
    assert f"case {fit(NASTY)}" in case.result[0].text.splitlines()[0]


def test_importing_hwsim_loads_nothing_that_writes_reports() -> None:
    writers = {"jinja2", "hwsim.explain.record", "hwsim.explain.reports"}
    program = f"import sys, hwsim; print(*({writers} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_name_of_the_package_is_there() -> None:
    assert all(getattr(reports, name) is not None for name in reports.__all__)
    assert sorted(reports.__all__) == sorted(name for names in reports._MODULES.values() for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(reports, "nothing")  # noqa: B009
