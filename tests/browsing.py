"""A page in a browser that runs headless."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import html5lib
from patience import LIMIT
from PIL import Image

SPACE = "{http://www.w3.org/1999/xhtml}"


def parsed(text: str) -> Any:
    """A page's tree; any error of its markup is an exception."""
    return html5lib.HTMLParser(strict=True).parse(text)


def in_line(told: Any) -> str:
    """What an element says, or a text, in one line."""
    return " ".join((told if isinstance(told, str) else "".join(told.itertext())).split())


class Seen(NamedTuple):
    """What a browser made of a page.

    dom: after scripts ran. console: its messages. asked: addresses on a network. image: a screenshot. pdf: printed.
    """

    dom: str
    console: list[str]
    asked: list[str]
    image: Image.Image
    pdf: bytes


STARTS = 3


def browse(chromium: str, page: Path, *options: str, query: str = "") -> tuple[str, str]:
    """Run a browser on a page: what it prints and what it logs. Every name but this page's leads nowhere.

    On a busy machine Chromium now and then stands still, with all its threads waiting: it is started again then.
    """
    for start in range(1, STARTS + 1):
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
            f"--user-data-dir={page.parent / f'profile{start}'}", *options, f"{page.as_uri()}{query}",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT / 3)
            break
        except subprocess.TimeoutExpired:
            if start == STARTS:
                raise
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def opened(chromium: str, page: Path, *options: str, size: tuple[int, int] = (1200, 1600), query: str = "") -> Seen:
    """All that one start of a browser tells, in a window of that size. query: what follows the page's address."""
    net, shot, pdf = (page.parent / name for name in ("net.json", "shot.png", "page.pdf"))
    dom, log = browse(
        chromium, page, "--dump-dom", f"--log-net-log={net}", f"--screenshot={shot}", f"--print-to-pdf={pdf}",
        "--no-pdf-header-footer", f"--window-size={size[0]},{size[1]}", *options, query=query,
    )  # fmt: skip
    # Only what the page asks for: Chromium asks its makers for the time and the like.
    addresses = re.findall(r'"url":\s*"(\w+://[^"]+)"', net.read_text())
    asked = {url for url in addresses if not url.startswith(("file:", "data:", "chrome"))}
    own = {url for url in asked if re.match(r"https?://[\w.-]+\.(google|googleapis|gstatic|gvt1)\.com/", url)}
    with Image.open(shot) as image:
        picture = image.convert("RGB")
    return Seen(dom, re.findall(r":CONSOLE[^\]]*\] (.*)", log), sorted(asked - own), picture, pdf.read_bytes())
