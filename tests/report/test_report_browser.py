"""The page in a real browser: it renders, in light, dark and narrow; nothing is logged and nothing fetched."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from patience import LIMIT
from PIL import Image
from report.report_samples import good, nasty, report

from hwsim.report import write_html
from hwsim.report.page import html

DARK = "--blink-settings=preferredColorScheme=0"
BAD = (0xA8, 0x1C, 0x12)  # --bad of report.css
GOOD = (0x12, 0x69, 0x3D)


class Seen(NamedTuple):
    """What a browser made of a page. dom: after scripts ran. console: its messages. asked: addresses on a network."""

    dom: str
    console: list[str]
    asked: list[str]


def browse(chromium: str, page: Path, *options: str) -> tuple[str, str]:
    """Run a browser on a page: what it prints and what it logs. Every name but this page's leads nowhere."""
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
         f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def opened(chromium: str, page: Path, *options: str) -> Seen:
    net = page.parent / "net.json"
    dom, log = browse(chromium, page, "--dump-dom", f"--log-net-log={net}", *options)
    # Only what the page asks for: Chromium asks its makers for the time and the like.
    addresses = re.findall(r'"url":\s*"(\w+://[^"]+)"', net.read_text())
    asked = {url for url in addresses if not url.startswith(("file:", "data:", "chrome"))}
    own = {url for url in asked if re.match(r"https?://[\w.-]+\.(google|googleapis|gstatic|gvt1)\.com/", url)}
    return Seen(dom, re.findall(r":CONSOLE[^\]]*\] (.*)", log), sorted(asked - own))


def shot(chromium: str, page: Path, width: int, height: int, *options: str) -> Image.Image:
    path = page.parent / "shot.png"
    browse(chromium, page, f"--screenshot={path}", f"--window-size={width},{height}", *options)
    with Image.open(path) as image:
        return image.convert("RGB")


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


@pytest.mark.parametrize("name", ["failed", "good", "nasty"])
def test_a_browser_opens_it_without_a_complaint_or_a_request(name: str, chromium: str, page: Path) -> None:
    told = {"failed": report, "good": good, "nasty": nasty}[name]()
    write_html(page, told)
    seen = opened(chromium, page)
    assert (seen.console, seen.asked) == ([], [])
    # Whatever the names are, the title is theirs and nothing ran; our own script did.
    assert re.search(r"<title>(Passed|Failed): ", seen.dom)
    assert ('type="search"' in seen.dom) == (len(told.rows) > 1)
    assert f"{len(told.rows)} of {len(told.rows)} suites" in seen.dom or len(told.rows) < 2
    assert seen.dom.count('class="picture"') == len(told.mismatches)


@pytest.mark.parametrize(
    ("added", "complaint"),
    [
        ('<img src="http://example.invalid/x.png" alt="">', "violates"),
        ("<script>alert(1)</script>", "violates"),
        ('<p style="color: red">', "violates"),
    ],
)
def test_what_slips_into_the_page_is_stopped_by_its_policy(
    added: str, complaint: str, chromium: str, page: Path
) -> None:
    page.write_text(html(report()).replace("<main>", f"<main>{added}"))
    seen = opened(chromium, page)
    assert any(complaint in line for line in seen.console)
    assert seen.asked == []


def test_a_request_and_an_error_would_be_seen(chromium: str, page: Path) -> None:
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html(report()))
    wrong = '<img src="http://example.invalid/x.png" alt=""><script>nothing.at.all()</script>'
    page.write_text(free.replace("<main>", f"<main>{wrong}"))
    seen = opened(chromium, page)
    assert seen.asked == ["http://example.invalid/x.png"]
    assert any("nothing is not defined" in line for line in seen.console)


def test_it_looks_like_something_in_light_and_in_dark(chromium: str, page: Path) -> None:
    light, dark = shot(chromium, page, 1200, 1600), shot(chromium, page, 1200, 1600, DARK)
    assert light.size == dark.size == (1200, 1600)
    assert sum(light.getpixel((2, 2))) > 600 > 200 > sum(dark.getpixel((2, 2)))  # type: ignore[arg-type]
    for image in (light, dark):
        assert colours_of_text(image) > 100
        # No stretch of it is blank, at the top, in the middle or at the end.
        for top in range(0, 1600, 400):
            assert colours_of_text(image.crop((0, top, 1200, top + 400))) > 20, top
    # The verdict is red, and of a run that is all equal, green.
    assert counted(light).get(BAD, 0) > 200
    write_html(page, good())
    equal = counted(shot(chromium, page, 1200, 1600))
    assert equal.get(BAD, 0) == 0 and equal.get(GOOD, 0) > 100


def test_a_blank_page_is_seen_to_be_blank(chromium: str, page: Path) -> None:
    page.write_text("<!DOCTYPE html><title>blank</title>")
    assert colours_of_text(shot(chromium, page, 600, 400)) == 1


def test_it_fits_a_phone(chromium: str, page: Path) -> None:
    # Wide tables scroll in themselves: the page is as wide as the screen, asked of the browser itself.
    probe = (
        "<script>addEventListener('load', () => { document.title ="
        " `width ${document.documentElement.scrollWidth} of ${innerWidth}` })</script>"
    )
    for told in (report(), nasty()):
        free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html(told))
        page.write_text(free.replace("</body>", f"{probe}</body>"))
        dom, _ = browse(chromium, page, "--dump-dom", "--window-size=360,800")
        width, screen = map(int, re.findall(r"<title>width (\d+) of (\d+)", dom)[0])
        assert width <= screen <= 500
    assert colours_of_text(shot(chromium, page, 360, 800)) > 100


def test_without_javascript_everything_is_there_but_the_conveniences(chromium: str, page: Path) -> None:
    full, full_dom = shot(chromium, page, 1200, 1600), opened(chromium, page).dom
    # Headless Chromium needs scripts of its own: so it is the page that must not run any.
    text, found = re.subn(r"script-src .*?; base", "script-src &#39;none&#39;; base", html(report()))
    assert found == 1
    page.write_text(text)
    seen, bare = opened(chromium, page), shot(chromium, page, 1200, 1600)
    assert [line for line in seen.console if "Executing inline script violates" in line] == seen.console != []
    for words in ("2 of 3 suites failed", "align, beat 0, lane 1", "hwsim cosim hopper-wgmma-e4m3-f32 --seed 1"):
        assert words in seen.dom
    assert ["<button" in dom or 'type="search"' in dom for dom in (full_dom, seen.dom)] == [True, False]
    # The header is the same to the pixel; only the form above the table is gone.
    assert bare.crop((0, 0, 1200, 300)).tobytes() == full.crop((0, 0, 1200, 300)).tobytes()
    assert bare.tobytes() != full.tobytes() and colours_of_text(bare) > 100


def test_it_prints(chromium: str, page: Path) -> None:
    path = page.parent / "report.pdf"
    browse(chromium, page, f"--print-to-pdf={path}", "--no-pdf-header-footer")
    data = path.read_bytes()
    assert data.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", data)) >= 2
