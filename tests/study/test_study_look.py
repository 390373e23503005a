"""A study's page in a real browser: at every width charts fill their cards, nothing is cut off, all is legible."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import LOOK, Browser, browser
from patience import LIMIT
from study.chart_samples import COMMAND, found, panels, report

from hwsim.study.overview import default_report
from hwsim.study.report import StudyReport, write_page

PAPER = {"light": (0xFF, 0xFF, 0xFF), "dark": (0x1A, 0x20, 0x26)}
INK = {"light": "0072b2", "dark": "4aa3df"}  # of the first series

# How charts lie in their cards: the share that they fill, what is scrolled, and how large their letters are; and how
# much wider tables are than their places.
CHARTS = """
(() => {
  const charts = [...document.querySelectorAll("div.chart")].map((place) => {
    const picture = place.querySelector("svg"), box = picture.getBoundingClientRect();
    const letters = parseFloat(getComputedStyle(picture.querySelector("svg text")).fontSize);
    const scale = box.width / picture.viewBox.baseVal.width;
    return [box.width / place.clientWidth, place.scrollWidth - place.clientWidth, letters * scale];
  });
  const tables = [...document.querySelectorAll("article > .scroll")].map((one) => one.scrollWidth - one.clientWidth);
  return { charts, tables };
})()
"""
# Words in heatmaps' cells: black or white by the colour of the cell.
UNSEEN = 'document.querySelectorAll(".chart .mark-text").forEach((one) => one.remove())'


def many() -> StudyReport:
    """The report of a study of 20 units on two sources of data, with a chart of panels behind."""
    made = default_report(found(bits=20), COMMAND)  # type: ignore[arg-type]
    return StudyReport(**{**vars(made), "parts": (*made.parts, panels())})


REPORTS = {"sample": report, "many": many}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp(name) / "report.html" for name in REPORTS}
    for name, path in made.items():
        write_page(REPORTS[name](), path)
    return made


@pytest.fixture(scope="module")
def window(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(chromium, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def shown(window: Browser, page: Path, width: int, scheme: str) -> dict[str, Any]:
    """A page in a window of that width, its charts drawn: how they lie in it."""
    window.view(width, scheme)
    window.open(page)
    end = time.monotonic() + LIMIT
    while window.run("document.documentElement.dataset.drawn") != "yes":
        assert time.monotonic() < end, "the charts are not drawn"
        time.sleep(0.02)
    told: dict[str, Any] = window.run(CHARTS)
    return told


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        *(("sample", width, scheme) for width in (400, 1400, 2000) for scheme in PAPER),
        ("many", 400, "dark"),
        ("many", 1400, "light"),
    ],
)
def test_it_fits_and_is_legible(window: Browser, pages: dict[str, Path], name: str, width: int, scheme: str) -> None:
    told = shown(window, pages[name], width, scheme)
    for filled, scrolled, letters in told["charts"]:
        assert 0.99 <= filled <= 1.01 and scrolled <= 0
        assert 8.5 <= letters <= 17
    # The first table, and the others where there is room.
    assert told["tables"][0] <= 0 and (width < 1000 or max(told["tables"]) <= 0)
    picture = window.picture(height=2400)
    colours = {colour: count for count, colour in picture.getcolors(1 << 24) or []}
    assert colours[PAPER[scheme]] > 50_000 and colours[tuple(bytes.fromhex(INK[scheme]))] > 50
    window.run(UNSEEN)
    assert window.run(LOOK)["wrong"] == []


def test_charts_are_drawn_again_where_the_window_becomes_another(window: Browser, pages: dict[str, Path]) -> None:
    wide = shown(window, pages["many"], 1400, "light")
    layout = "document.querySelector('div.chart').width"
    assert window.run(layout) == 1120
    window.view(400, "light")
    end = time.monotonic() + LIMIT
    while window.run(layout) != 320:
        assert time.monotonic() < end, "the chart is not laid out again"
        time.sleep(0.02)
    assert all(0.99 <= filled <= 1.01 for filled, _, _ in (*window.run(CHARTS)["charts"], *wide["charts"]))


def test_a_page_that_does_not_fit_is_caught(window: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    told = shown(window, pages["sample"], 1400, "light")
    assert told["charts"][0][0] > 0.99
    window.run(
        "const wrong = document.createElement('style');"
        "wrong.textContent = '.summary { max-width: none; width: 90rem; color: #999 } .view svg { width: 75% }';"
        "document.adoptedStyleSheets = [Object.assign(new CSSStyleSheet(), {})];"
        "document.adoptedStyleSheets[0].replaceSync(wrong.textContent)"
    )
    assert window.run(CHARTS)["charts"][0][0] < 0.8
    window.run(UNSEEN)
    wrong = window.run(LOOK)["wrong"]
    assert any(one.startswith("the page is") for one in wrong) and "contrast 2.66: How many bits?" in wrong
