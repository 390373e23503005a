"""The documentation as a site: it is built without a warning, its links hold, and it needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browsing import opened
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
COUNTED = ("li", "tr", "pre", "h2", "h3", "img")
PAGES = [
    page
    for pattern in ("*.md", "docs/*.md", "docs/studies/*.md", "examples/*.md", "capture/*.md")
    for page in sorted(ROOT.glob(pattern))
]


class Html(HTMLParser):
    """What a page links to, loads, and has as places of links. tags: how often each is in its article."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places = {""}
        self.tags: Counter[str] = Counter()
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.inside += tag == "article"
        if self.inside:
            self.tags[tag] += 1
        self.places |= {given.get("id", ""), given.get("name", "")}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in {"link", "script", "img", "iframe"} and (given.get("href") or given.get("src")):
            self.loaded.append(given.get("href") or given["src"])

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "article"


def broken(folder: Path) -> list[str]:
    """The links within a site that lead nowhere, and what it would load from elsewhere."""
    read = {path: Html(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html") if path.name != "404.html"}
    found = []
    for path, page in read.items():
        for link in [*page.links, *page.loaded]:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                if link in page.loaded:
                    found.append(f"{path.name}: loads {link}")
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (target in read and unquote(to.fragment) not in read[target].places):
                found.append(f"{path.relative_to(folder)}: {link}")
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def built(page: Path, site: Path) -> Path:
    name = str(page.relative_to(ROOT)).replace("README.md", "index.md")
    return site / f"{name.removesuffix('.md')}.html"


def test_every_link_of_the_site_holds_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > len(PAGES)
    assert broken(site) == []


def test_links_that_do_not_hold_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text("<h2 id=there>x</h2>")
    (tmp_path / "a.html").write_text(
        "<a href=b.html#there>1</a><a href=b.html#gone>2</a><a href=c.html>3</a><a href=https://x.org>4</a>"
        "<script src=https://x.org/x.js></script>"
    )
    assert sorted(broken(tmp_path)) == ["a.html: b.html#gone", "a.html: c.html", "a.html: loads https://x.org/x.js"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_the_parts_that_its_markdown_has_elsewhere(page: Path, site: Path) -> None:
    # The site's Markdown and that of others differ in lists and tables; a page must be good in both.
    wanted = Html(f"<article>{MarkdownIt('gfm-like', {'linkify': False}).render(page.read_text(encoding='utf-8'))}")
    shown = Html(built(page, site).read_text(encoding="utf-8"))
    assert {tag: shown.tags[tag] for tag in COUNTED} == {tag: wanted.tags[tag] for tag in COUNTED}


def test_notebooks_are_pages_with_their_outputs(site: Path) -> None:
    for notebook in (ROOT / "examples").glob("*.ipynb"):
        text = (site / "examples" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert (site / "examples" / notebook.name).read_bytes() == notebook.read_bytes()
        assert len(re.findall(r'class="[^"]*\boutput\b', text)) > 4 and "%%" not in re.sub(
            r"<code>%%\w+</code>", "", text
        )
    assert "lost bits floored: bits of a term below the window" in (site / "examples" / "rtl.html").read_text(
        encoding="utf-8"
    )


def test_the_page_of_python_has_every_public_name(site: Path) -> None:
    import hwsim

    text = (site / "docs" / "api.html").read_text(encoding="utf-8")
    titles = re.findall(r'<h2 id="[^"]*">(\w+)<', text)
    assert sorted(titles) == sorted(name for name in hwsim.__all__ if not name.startswith("_"))
    words = re.sub(r"<[^>]*>", "", text[text.index("<article") : text.index("</article")])
    assert "&lt;" not in words, "what Python shows of an object that has no name of its own"


def test_a_browser_shows_it_from_a_disk_and_finds_words(site: Path, chromium: str) -> None:
    page = opened(
        chromium,
        site / "examples" / "accuracy.html",
        "--virtual-time-budget=5000",
        size=(390, 900),
        query="?q=promotion",
    )
    assert (page.console, page.asked) == ([], [])
    assert page.dom.count("md-search-result__item") > 2
