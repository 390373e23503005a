"""The page in a real browser: it renders, in light, dark and narrow; nothing is logged and nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from browsing import Seen, opened
from built_presets import others_slow
from explain.report_samples import good, nasty, report
from PIL import Image

import hwsim
from hwsim.explain import write_html
from hwsim.explain.reports import html

DARK = "--blink-settings=preferredColorScheme=0"
BAD = (0xA8, 0x1C, 0x12)  # --bad of report.css
GOOD = (0x12, 0x69, 0x3D)


def counted(image: Image.Image) -> dict[tuple[int, ...], int]:
    """How many pixels each colour has."""
    return {colour: count for count, colour in image.getcolors(1 << 24)}  # type: ignore[union-attr, misc]


def colours_of_text(image: Image.Image) -> int:
    """Colours of which there are some pixels: a blank page has one, one with words many, from their edges."""
    return sum(count > 5 for count in counted(image).values())


@pytest.fixture
def page(tmp_path: Path) -> Path:
    write_html(tmp_path / "report.html", report())
    return tmp_path / "report.html"


REPORTS = {"failed": report, "good": good, "nasty": nasty}


@pytest.fixture(scope="module")
def seen(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What a browser makes of a report's page, by the report's name; each is opened once."""

    @cache
    def seen_of(name: str) -> Seen:
        path = tmp_path_factory.mktemp(name) / "report.html"
        write_html(path, REPORTS[name]())
        return opened(chromium, path)

    return seen_of


@pytest.mark.parametrize("name", others_slow(REPORTS, ["nasty"]))
def test_a_browser_opens_it_without_a_complaint_or_a_request(name: str, seen: Callable[[str], Seen]) -> None:
    told, page = REPORTS[name](), seen(name)
    assert (page.console, page.asked) == ([], [])
    # Whatever the names are, the title is theirs and nothing ran; our own script did.
    assert re.search(r"<title>(Passed|Failed): ", page.dom)
    assert ('type="search"' in page.dom) == (len(told.rows) > 1)
    assert f"{len(told.rows)} of {len(told.rows)} suites" in page.dom or len(told.rows) < 2
    assert page.dom.count('class="picture"') == len(told.mismatches) + len(told.minimal)


def test_what_slips_into_the_page_is_stopped_by_its_policy(chromium: str, page: Path) -> None:
    added = '<img src="http://example.invalid/x.png" alt=""><script>alert(1)</script><p style="color: red">'
    page.write_text(html(report()).replace("<main>", f"<main>{added}"))
    stopped = opened(chromium, page)
    for kind in ("image", "inline script", "inline style"):
        assert any(kind in line and "violates" in line for line in stopped.console), kind
    assert stopped.asked == []


def test_a_request_and_an_error_would_be_seen(chromium: str, page: Path) -> None:
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html(report()))
    wrong = '<img src="http://example.invalid/x.png" alt=""><script>nothing.at.all()</script>'
    page.write_text(free.replace("<main>", f"<main>{wrong}"))
    spoiled = opened(chromium, page)
    assert spoiled.asked == ["http://example.invalid/x.png"]
    assert any("nothing is not defined" in line for line in spoiled.console)


def test_it_looks_like_something_in_light_and_in_dark(chromium: str, page: Path, seen: Callable[[str], Seen]) -> None:
    light, dark = seen("failed").image, opened(chromium, page, DARK).image
    assert light.size == dark.size == (1200, 1600)
    assert sum(light.getpixel((2, 2))) > 600 > 200 > sum(dark.getpixel((2, 2)))  # type: ignore[arg-type]
    for image in (light, dark):
        assert colours_of_text(image) > 100
        # No stretch of it is blank, at the top, in the middle or at the end.
        for top in range(0, 1600, 400):
            assert colours_of_text(image.crop((0, top, 1200, top + 400))) > 20, top
    # The verdict is red, and of a run that is all equal, green.
    assert counted(light).get(BAD, 0) > 200
    equal = counted(seen("good").image)
    assert equal.get(BAD, 0) == 0 and equal.get(GOOD, 0) > 100


def test_what_a_notebook_shows_can_be_read_in_the_dark(chromium: str, page: Path) -> None:
    shown = hwsim.explain("hopper-wgmma-e4m3-f32", [0x7E, 0xB9, 0x05], [0x3C, 0x39, 0x4D], 0x3F8CCCCD)._repr_html_()
    page.write_text(f"<!doctype html><meta charset=utf-8>{shown}")
    assert sum(opened(chromium, page, DARK, size=(900, 400)).image.getpixel((60, 20))) < 200  # type: ignore[arg-type]


def test_it_fits_a_phone(chromium: str, page: Path) -> None:
    # Wide tables scroll in themselves: the page is as wide as the screen, asked of the browser itself.
    probe = (
        "<script>addEventListener('load', () => { document.title ="
        " `width ${document.documentElement.scrollWidth} of ${innerWidth}` })</script>"
    )
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html(nasty()))
    page.write_text(free.replace("</body>", f"{probe}</body>"))
    small = opened(chromium, page, size=(360, 800))
    width, screen = map(int, re.findall(r"<title>width (\d+) of (\d+)", small.dom)[0])
    assert width <= screen <= 500
    assert colours_of_text(small.image) > 100


def test_without_javascript_everything_is_there_but_the_conveniences(
    chromium: str, page: Path, seen: Callable[[str], Seen]
) -> None:
    # Headless Chromium needs scripts of its own: so it is the page that must not run any.
    text, found = re.subn(r"script-src .*?; base", "script-src &#39;none&#39;; base", html(report()))
    assert found == 1
    page.write_text(text)
    full, bare = seen("failed"), opened(chromium, page)
    assert [line for line in bare.console if "Executing inline script violates" in line] == bare.console != []
    for words in ("2 of 3 suites failed", "align, beat 0, lane 1", "hwsim cosim hopper-wgmma-e4m3-f32 --seed 1"):
        assert words in bare.dom
    assert ["<button" in one.dom or 'type="search"' in one.dom for one in (full, bare)] == [True, False]
    # The header is the same to the pixel; only the form above the table is gone.
    header = (0, 0, 1200, 300)
    assert bare.image.crop(header).tobytes() == full.image.crop(header).tobytes()
    assert bare.image.tobytes() != full.image.tobytes() and colours_of_text(bare.image) > 100


def test_it_prints(seen: Callable[[str], Seen]) -> None:
    pdf = seen("failed").pdf
    assert pdf.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2
