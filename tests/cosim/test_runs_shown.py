"""What runs put out: terminal, page, JSON and JUnit XML have the same numbers, and pages look well in a browser."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import html5lib
import pytest
from browser import LOOK, Browser, browser
from built_presets import others_slow
from cosim.runs_shown import FAULT, RIGHT, WRONG, Shown, called, few_pairs, shown
from cosim.small_runs import mutant, shrink
from junitparser import JUnitXml, Skipped

pytestmark = pytest.mark.simulator
SPACE = "{http://www.w3.org/1999/xhtml}"
RUNS = (*RIGHT, *WRONG)


@pytest.fixture(scope="module")
def folder(icarus: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What a run was given and what it left, by the run's name."""
    return cache(lambda name: shown(name).put(tmp_path_factory.mktemp(name)))


class Line(NamedTuple):
    """A suite in numbers. compared, planned, cycles: None where an output does not have them."""

    unit: str
    suite: str
    driver: str
    passed: bool
    mismatches: int
    compared: int | None = None
    planned: int | None = None
    cycles: int | None = None


def number(text: str) -> int:
    return int(text.replace(",", ""))


def of(text: str) -> tuple[int, int]:
    """`12 of 56`, or `56` alone."""
    done, _, planned = text.partition(" of ")
    return number(done), number(planned or done)


def found(pattern: str, text: str) -> list[int]:
    """The numbers that a pattern finds once in a text."""
    (match,) = re.findall(pattern, text)
    return [number(one) for one in ((match,) if isinstance(match, str) else match)]


def words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


# Each output, read as what a stranger sees of it.


def terminal_lines(text: str) -> list[Line]:
    lines = []
    for row in text.split("\n\n")[0].splitlines()[1:]:
        unit, suite, driver, cases, mismatches, cycles, _, verdict = re.split(r"\s{2,}", row.strip())
        lines.append(Line(unit, suite, driver, verdict == "ok", number(mismatches), *of(cases), number(cycles)))
    return lines


def page_of(run: Shown) -> Any:
    return html5lib.parse(run.files[f"{run.name}/report.html"])


def page_lines(page: Any) -> list[Line]:
    (table,) = [one for one in page.iter(f"{SPACE}table") if one.get("class") == "filtered stacks"]
    lines = []
    for row in table.find(f"{SPACE}tbody"):
        verdict, unit, suite, driver, compared, mismatches, cycles, _ = map(words, row)
        clock = 0 if cycles == "–" else number(cycles)
        lines.append(Line(unit, suite, driver, verdict == "✓ ok", number(mismatches), *of(compared), clock))
    return lines


def cards_of(page: Any) -> dict[str, str]:
    (cards,) = [one for one in page.iter(f"{SPACE}dl") if one.get("class") == "cards"]
    return {words(card[0]): words(card[1]) for card in cards}


def junit_lines(text: bytes) -> tuple[list[Line], list[tuple[str, str]]]:
    """The suites that ran, and those that were left out with their reasons."""
    lines, left = [], []
    for suite in JUnitXml.fromstring(text):
        for case in suite:
            if case.result and isinstance(case.result[0], Skipped):
                left.append((case.name, case.result[0].message))
                continue
            unit, driver = case.classname.split(".", 1)
            counts: list[Any] = [0, None, None]
            for failure in case.result:
                counts = found(r"^([\d,]+) mismatch(?:es)?; ([\d,]+) of ([\d,]+) compared$", failure.message)
            lines.append(Line(unit, case.name, driver, not case.result, *counts))
    return lines, left


def results(text: str) -> list[tuple[str, str]]:
    """Expected and got of every result that a text tells."""
    return re.findall(r"expected (0x\w+) .*?, got (0x\w+) ", text)


def page_results(page: Any, kind: str) -> list[tuple[str, str]]:
    articles = [one for one in page.iter(f"{SPACE}article") if one.get("class") == kind]
    tables = [next(one for one in article.iter(f"{SPACE}table")) for article in articles]
    codes = [[words(code) for code in table.iter(f"{SPACE}code")] for table in tables]
    return [(expected, got) for expected, got in codes if expected.startswith("0x")]


def json_results(mismatches: list[Any]) -> list[tuple[str, str]]:
    return [(one["expected"]["code"], one["got"]["code"]) for one in mismatches if one["what"] == "result"]


@pytest.mark.parametrize("name", others_slow(RUNS, ["cosim"]))
def test_every_number_is_the_same_in_every_output(name: str, icarus: None) -> None:
    run = shown(name)
    data = json.loads(run.files[f"{run.name}/results.json"])
    page, (junit, left) = page_of(run), junit_lines(run.files[f"{run.name}/results.xml"])
    summary, cards, said = data["summary"], cards_of(page), words(page)
    assert run.status == (1 if name in WRONG else 0)
    assert summary["passed"] == (name not in WRONG)
    # Suites, one by one.
    rows = [
        Line(
            *(row[key] for key in ("unit", "suite", "driver")),
            row["planned"] == row["compared"] and not row["mismatches"],
            *(row[key] for key in ("mismatches", "compared", "planned", "cycles")),
        )
        for row in data["rows"]
    ]
    assert page_lines(page) == rows
    assert [line[:5] for line in junit] == [line[:5] for line in rows]
    assert all(line.compared in (None, row.compared) for line, row in zip(junit, rows, strict=True))
    # Sums of the suites are the totals, in each output.
    compared, planned, wrong = (sum(row[at] or 0 for row in rows) for at in (5, 6, 4))
    failed = sum(not row.passed for row in rows)
    assert [summary[key] for key in ("compared", "planned", "mismatches")] == [compared, planned, wrong]
    assert (summary["suites"], summary["suites_passed"]) == (len(rows), len(rows) - failed)
    assert [of(cards["Suites passed"].split(";")[0])[at] for at in (0, 1)] == [len(rows) - failed, len(rows)]
    assert (number(cards["Compared"]), number(cards["Mismatches"])) == (compared, wrong)
    assert found(r"([\d,]+) of ([\d,]+) planned comparisons? made, ([\d,]+) mismatch", said) == [
        compared,
        planned,
        wrong,
    ]
    tree = JUnitXml.fromstring(run.files[f"{run.name}/results.xml"])
    assert (tree.tests - tree.skipped, tree.failures, tree.skipped) == (len(rows), failed, len(left))
    # What was left out is counted, and named with its reason.
    whole = [one for one in data["left_out"] if not one["cases"]]
    assert left == [(one["suite"], f"left out: {one['reason']}") for one in whole]
    assert summary["suites_left_out"] == len(whole) and summary["not_compared"] == planned - compared == 0
    assert all(f"{one['suite']} on {one['driver']}" in said and one["reason"] in said for one in data["left_out"])
    assert ("left out" in cards["Suites passed"]) == bool(whole)
    # Bins: hit, of those that can be reached, open.
    states = [bin["state"] for group in data["coverage"] for bin in group["bins"]]
    hit, missed, still = (states.count(state) for state in ("hit", "missed", "open"))
    assert [summary[f"bins_{key}"] for key in ("hit", "reachable", "open")] == [hit, hit + missed, still]
    assert found(r"^([\d,]+) of ([\d,]+) reachable", cards["Bins hit"]) == [hit, hit + missed]
    assert f"; {still:,} open" in cards["Bins hit"] or not still
    (table,) = [one for one in page.iter(f"{SPACE}table") if words(one[0]).startswith("Bins of every group")]
    totals = [[number(words(cell)) for cell in row[2:6]] for row in table.find(f"{SPACE}tbody")]
    assert [sum(column) for column in zip(*totals, strict=True)][:3] == [hit, missed, still]
    # Mismatches that are told, the minimal case, and what would explain them.
    told = json_results(data["mismatches"])
    assert page_results(page, "mismatch") == told
    texts = "\n".join(case.result[0].text for suite in tree for case in suite if case.result and case.result[0].text)
    assert set(results(texts)) <= set(told) and bool(results(texts)) == bool(told)
    assert page_results(page, "mismatch minimal") == json_results(minimal_cases(data))
    # Of a design more is looked at than suites have: cases near wrong ones are played alone, and are none of a suite.
    near = name == "dut-wrong"
    for kind in data["kinds"]:
        assert 0 < kind["wrong"] <= kind["of"] and (kind["of"] <= wrong or near)
        for cause in kind["causes"]:
            assert cause["right"] == cause["of"] and (cause["of"] <= compared or near)
            assert said.count(cause["description"][1:]) == 1
    assert all(kinds_are_told(data, output) for output in (said, texts, run.terminal))
    check = check_terminal if name.startswith("check") else run_terminal
    check(run, data, rows)


def minimal_cases(data: Any) -> list[Any]:
    """The simplest cases of all kinds of wrong results."""
    return [kind["minimal"] for kind in data["kinds"] if kind["minimal"]]


def kinds_are_told(data: Any, output: str) -> bool:
    """Whether an output has each kind of wrong results: how many, what would explain them, what they have in common."""
    told = []
    for kind in data["kinds"]:
        head = f"xplains {kind['wrong']:,} of {kind['of']:,} wrong result"
        agrees = (f"looked at and agrees with {cause['of'] - kind['wrong']:,} result" for cause in kind["causes"][:1])
        told += [head, *agrees, *(f"{cause['name']}: " for cause in kind["causes"]), *kind["facts"]]
    return all(words in output for words in told)


def run_terminal(run: Shown, data: Any, rows: list[Line]) -> None:
    """What a terminal shows of `cosim`."""
    out, summary = run.terminal, data["summary"]
    assert terminal_lines(out) == rows
    verdict = re.escape(summary["verdict"])
    last = rf"^{verdict}: ([\d,]+) comparisons? in (\d+) s, seed (\d+)(?:; not compared: (.*))?$"
    ((*said, without),) = re.findall(last, out, re.MULTILINE)
    assert [number(one) for one in said] == [summary["compared"], round(data["seconds"]), data["seed"]]
    assert without == ", ".join(f"{one['suite']} on {one['driver']}" for one in data["left_out"])
    unit = data["coverage"][0]["unit"]
    hit, reachable = found(rf"(?m)^{unit}: coverage: ([\d,]+) of ([\d,]+) reachable bins hit", out)
    assert [hit, reachable] == [summary["bins_hit"], summary["bins_reachable"]]
    assert f", {summary['bins_open']:,} open" in out or not summary["bins_open"]
    minimal = out.partition("MINIMAL CASE")[2]
    assert results(minimal) == json_results(minimal_cases(data))
    assert set(results(out.partition("MINIMAL CASE")[0])) <= set(json_results(data["mismatches"]))
    for one in data["left_out"]:
        assert f"{one['unit']}: {one['suite']} on {one['driver']}: " in out and one["reason"] in out
    for row in [row for row in rows if not row.passed][:3]:
        assert re.search(rf"; {row.mismatches:,} mismatch(es)? in this suite", out)


def check_terminal(run: Shown, data: Any, rows: list[Line]) -> None:
    """What a terminal shows of `check`."""
    (row,) = rows
    lead = "all equal" if row.passed else f"{row.mismatches:,} wrong"
    head = f"{lead}: {row.compared:,} of {row.planned:,} results compared, {row.suite} of {row.unit}"
    assert run.terminal.splitlines()[0] == head
    assert results(run.terminal) == json_results(data["mismatches"])[: len(results(run.terminal))]
    assert len(results(run.terminal)) == min(3, len(data["mismatches"]))


@pytest.mark.slow
def test_the_minimal_case_is_no_suite(icarus: None) -> None:
    # It was counted on the page and not on the terminal: "4 of 5 suites failed" beside "5 of 6".
    data = json.loads(shown("dut-wrong").files["dut-wrong/results.json"])
    (minimal,) = minimal_cases(data)
    assert minimal["suite"] == "minimal case" not in {row["suite"] for row in data["rows"]}
    assert f"{data['summary']['verdict']}: " in shown("dut-wrong").terminal


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_the_commands_of_a_page_can_be_copied_and_run(
    name: str, icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, page = shown(name), page_of(shown(name))
    commands = [words(one) for one in page.iter(f"{SPACE}pre") if one.get("class") == "command"]
    assert len(commands) > 2
    shrink(monkeypatch)
    few_pairs(monkeypatch)
    monkeypatch.chdir(run.put(tmp_path))
    data = json.loads(run.files[f"{name}/results.json"])
    told = [*data["mismatches"], *minimal_cases(data)]
    # One of each kind.
    kinds = {(typed[1], "--case" in typed): typed for command in commands if (typed := shlex.split(command))}
    assert len(kinds) == (3 if name == "dut-wrong" else 2)
    for (kind, alone), typed in kinds.items():
        assert typed[0] == "hwsim"
        with mutant(FAULT).applied():
            status, out = called(*typed[1:])
        if kind == "explain":
            assert status == 0 and any(one["expected"]["code"] in out for one in told)
        else:
            assert status == 1 and results(out)[0] in json_results(told[-1:] if alone else told)


# In a browser.

WIDTHS, SCHEMES = (400, 1400, 2000), ("light", "dark")


@pytest.fixture(scope="module")
def window(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(chromium, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cosim", "check", *WRONG])
def test_a_page_looks_well_in_both_schemes_at_every_width(
    name: str, folder: Callable[[str], Path], window: Browser
) -> None:
    window.open(folder(name) / name / "report.html")
    for scheme in SCHEMES:
        for width in WIDTHS if scheme == "light" else WIDTHS[:1]:
            window.view(width, scheme)
            looked = window.run(LOOK)
            assert looked["wrong"] == [], (scheme, width)
            assert looked["seen"] > 60
        picture = window.picture()
        assert len(picture.getcolors(1 << 24) or []) > 50
        corner = picture.getpixel((2, 2))
        assert isinstance(corner, tuple) and (sum(corner) > 600) == (scheme == "light")


BROKEN = {
    "the page is": "main { min-width: 2100px; }",
    "cut off: What was planned": ".scroll { overflow: hidden; width: 3rem; } caption { white-space: nowrap; }",
    "cut off: sum": "svg.picture text { font-size: 80px; }",
    "contrast": ".quiet, .facts dt { color: #999; }",
    "letters of": "small { font-size: 9px; }",
}


@pytest.mark.parametrize("wrong", others_slow(BROKEN, ["contrast"]))
def test_a_page_that_looks_wrong_is_seen(wrong: str, folder: Callable[[str], Path], window: Browser) -> None:
    window.open(folder("check-wrong") / "check-wrong" / "report.html")
    window.view(1400, "light")
    style = json.dumps(BROKEN[wrong])
    window.run(
        f"const sheet = new CSSStyleSheet(); sheet.replaceSync({style}); document.adoptedStyleSheets = [sheet]; 0"
    )
    assert any(one.startswith(wrong) for one in window.run(LOOK)["wrong"])
