from __future__ import annotations

import sys
from functools import partial

import pytest
from patience import wait_until

from hwsim.cli import progress
from hwsim.cli.output import print_error, print_table
from hwsim.cli.progress import Progress, StillAt


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)


def test_nothing_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("work", 4) as bar:
        bar.advance()
        bar.update(3, 4, "more")
        bar.step("a step")
    assert capsys.readouterr() == ("", "")


def test_colours_that_are_asked_for_make_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A notebook's cells have FORCE_COLOR, and keep whatever is written.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    with Progress("work", 4) as bar:
        bar.advance()
    print_table(["", ""], [["x", "a long line " * 20]])
    assert capsys.readouterr() == ("x  " + ("a long line " * 20).rstrip() + "\n", "")


@pytest.mark.parametrize("columns", ["0", "00", ""])
def test_a_width_that_is_not_known_hides_nothing(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    print_table(["", ""], [["x", "a long line " * 20]])
    print_error("wrong")
    assert capsys.readouterr() == ("x  " + ("a long line " * 20).rstrip() + "\n", "error: wrong\n")


def test_steps_are_lines_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("work", lines=True) as bar:
        bar.plan(2)
        bar.step("built [x]")
        bar.step("run")
    assert capsys.readouterr().err == "[1/2] built [x]\n[2/2] run\n"


def test_long_work_says_what_it_is_at_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "note", lines.append)
    monkeypatch.setattr(progress, "StillAt", partial(StillAt, soon=0.01, later=0.01))
    for products, count in ((False, "3 of 2,000"), (True, "0%")):
        with Progress(products=products) as bar:
            bar.update(0, 0, "solving")
            wait_until(lambda: any(line.startswith("solving: ") for line in lines))
            bar.update(3, 2_000, "writing")
            wait_until(lambda count=count: any(line.startswith(f"writing, {count}: ") for line in lines))
        lines.clear()


@pytest.mark.parametrize("products", [False, True])
def test_a_terminal_shows_what_is_done_of_how_much(
    products: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("reading", products=products) as bar:
        bar.plan(8, "multiplying")
        bar.advance(2)
        bar.bar.refresh()
        drawn = bar.bar.tasks[0]
        assert (drawn.description, drawn.completed, drawn.total) == ("multiplying", 2, 8)
        bar.update(6, 8, "writing")
        bar.bar.refresh()
    shown = capsys.readouterr()
    assert shown.out == "" and "multiplying" in shown.err and "writing" in shown.err
    assert ("75%" if products else "6/8") in shown.err


def test_what_takes_long_is_named_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "note", lines.append)
    with StillAt(soon=0.01, later=0.01) as heart:
        for what in ("one thing", "another"):
            heart.at(what)
            wait_until(lambda what=what: sum(line.startswith(f"{what}: ") for line in lines) > 1)
    assert not heart.thread.is_alive()
    assert all(line.endswith(" s so far") for line in lines)
