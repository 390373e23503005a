"""Writes a study's report as figures and a page, and prints its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hwsim.cli.output import print_table, say
from hwsim.cli.progress import Progress

if TYPE_CHECKING:
    from hwsim.study.report import StudyReport

PAGE = "report.html"


def draw(report: StudyReport, folder: Path) -> None:
    """Write a report's figures and page, and print their names. Raises ToolMissing without the drawing library."""
    from hwsim.study.report import write_charts, write_page

    with Progress("drawing"):
        figures = write_charts(report, folder)
        write_page(report, folder / PAGE)
    svg = sum(path.suffix == ".svg" for path in figures)
    say(f"{folder / PAGE}: with figures that answer to the pointer; {svg} figures in {folder / 'figures'}, SVG and PNG")


def show(report: StudyReport) -> None:
    """Print a report's text and tables."""
    from hwsim.study.report import TextTable

    say(report.title, style="bold")
    for paragraph in filter(None, (report.verdict, *report.summary)):
        say(paragraph)
    for part in report.parts:
        if isinstance(part, TextTable):
            say()
            say(part.title, style="bold")
            print_table(part.header, part.rows, right=part.right)
            if part.caption:
                say(part.caption)
    say()
