"""A study's page in a real browser: at every width charts fill their cards, nothing is cut off, all is legible."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from study.chart_samples import COMMAND, found, panels, report
from study.test_study_page import DARK, browse

from hwsim.study.overview import default_report
from hwsim.study.report import StudyReport, write_page

SCHEMES = {"light": (), "dark": (DARK,)}


def many() -> StudyReport:
    """The report of a study of 20 points of each of two sources, with a chart of panels behind."""
    made = default_report(found(bits=20), COMMAND)  # type: ignore[arg-type]
    return StudyReport(**{**vars(made), "parts": (*made.parts, panels())})


REPORTS = {"sample": report, "many": many}

# Measures the page after its scripts ran: widths, what is cut off, and the contrast of every text to what is behind it.
PROBE = """<script>
const wait = setInterval(() => {
  if (document.documentElement.dataset.drawn !== "yes") return;
  clearInterval(wait);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (one) => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4;
    const [r, g, b] = numbers(colour).map((one) => linear(one / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor, parts = numbers(colour);
      if (parts.length === 3 || parts[3] === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
  };
  const told = { wide: document.documentElement.scrollWidth, faint: [], cut: [], charts: [], small: [] };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode());) {
    const one = text.parentElement;
    const unseen = "script, style, .skip, .hidden, details:not([open]) > :not(summary)";
    if (!text.data.trim() || one.closest(unseen)) continue;
    const style = getComputedStyle(one);
    const drawn = one.closest("svg");
    // Words of a chart stand on its paper; those within heatmaps' cells are black or white by the cell's colour.
    const colour = drawn ? style.fill : style.color;
    if (drawn && (one.closest(".mark-text") || style.fill === "none")) continue;
    const seen = contrast(colour, behind(drawn ? drawn.parentElement : one));
    if (seen < 4.5) told.faint.push([text.data.trim(), colour, Math.round(seen * 10) / 10]);
    const box = document.createRange(); box.selectNodeContents(text);
    const { left, right, height } = box.getBoundingClientRect();
    const scrolled = one.closest(".scroll, pre, .chart");
    if (!scrolled && height && (left < -1 || right > innerWidth + 1)) told.cut.push(text.data.trim());
  }
  for (const place of document.querySelectorAll("div.chart")) {
    const picture = place.querySelector("svg").getBoundingClientRect();
    const letters = parseFloat(getComputedStyle(place.querySelector("svg text")).fontSize);
    const scale = picture.width / place.querySelector("svg").viewBox.baseVal.width;
    told.charts.push([picture.width / place.clientWidth, place.scrollWidth - place.clientWidth, letters * scale]);
  }
  for (const table of document.querySelectorAll("article > .scroll")) {
    told.small.push(table.scrollWidth - table.clientWidth);
  }
  document.title = JSON.stringify(told);
}, 50);
</script></body>"""


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages with the probe, and without the policy that would forbid it."""
    pages = {}
    for name, make in REPORTS.items():
        pages[name] = tmp_path_factory.mktemp(name) / "report.html"
        write_page(make(), pages[name])
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", pages[name].read_text(encoding="utf-8"))
        pages[name].write_text(text[: text.rindex("</body>")] + PROBE + "</html>", encoding="utf-8")
    return pages


def measured(chromium: str, page: Path, width: int, scheme: str) -> dict[str, Any]:
    """What the probe says of a page; a screenshot of it lies beside the page."""
    picture = page.with_name(f"{scheme}-{width}.png")
    options = (f"--window-size={width},2400", f"--screenshot={picture}", *SCHEMES[scheme])
    dom, console = browse(chromium, page, "--dump-dom", *options)
    assert console == []
    (title,) = re.findall(r"<title>({.*?})</title>", dom, re.DOTALL)
    told: dict[str, Any] = json.loads(title.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    return told


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("sample", 400, "light"),
        ("sample", 1400, "dark"),
        ("sample", 2000, "light"),
        ("many", 400, "dark"),
        ("many", 1400, "light"),
    ],
)
def test_it_fits_and_is_legible(chromium: str, probed: dict[str, Path], name: str, width: int, scheme: str) -> None:
    told = measured(chromium, probed[name], width, scheme)
    # Chromium has no window narrower than 500 pixels: then the page is that wide.
    assert told["wide"] <= max(width, 500)
    assert told["faint"] == [] and told["cut"] == []
    for filled, scrolled, letters in told["charts"]:
        assert 0.99 <= filled <= 1.01 and scrolled <= 0
        assert 8.5 <= letters <= 17
    # The first table, and the others where there is room.
    assert told["small"][0] <= 0 and (width < 1000 or max(told["small"]) <= 0)
    with Image.open(probed[name].with_name(f"{scheme}-{width}.png")) as picture:
        colours = {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 24) or []}
    paper, ink = ((0xFF,) * 3, "0072b2") if scheme == "light" else ((0x1A, 0x20, 0x26), "4aa3df")
    assert colours[paper] > 50_000 and colours[tuple(bytes.fromhex(ink))] > 50


def test_a_page_that_does_not_fit_is_caught(chromium: str, probed: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "wide.html"
    text = probed["sample"].read_text(encoding="utf-8")
    page.write_text(
        text.replace(
            "</style>", ".summary { max-width: none; width: 90rem; color: #999; } .view svg { width: 55% }</style>", 1
        ),
        encoding="utf-8",
    )
    told = measured(chromium, page, 1400, "light")
    assert (
        told["wide"] > 1400
        and told["charts"][0][0] < 0.75
        and ["How many bits?", "rgb(153, 153, 153)", 2.7] in told["faint"]
    )
