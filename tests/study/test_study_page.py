"""A study's page: one file, valid, escaped, whole without scripts, and alive in a browser with them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import browsing
import html5lib
import pytest
from browsing import SPACE, in_line, parsed
from study.chart_samples import NASTY, nasty_report, report

from hwsim.explain import drawing as rules
from hwsim.study.report import Chart, StudyReport, TextTable, write_page
from hwsim.study.report.page import html

DARK = "--blink-settings=preferredColorScheme=0"
REPORTS = {"sample": report, "nasty": nasty_report}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, each in a folder of its own."""
    found = {}
    for name, make in REPORTS.items():
        found[name] = tmp_path_factory.mktemp(name) / "report.html"
        write_page(make(), found[name])
    return found


def check_page(text: str, told: StudyReport) -> None:
    """The page says what the report says: its words, every table's cells, and every number of every chart."""
    tree = parsed(text)
    assert in_line(tree.find(f".//{SPACE}h1")) == in_line(told.title) == in_line(tree.find(f".//{SPACE}title"))
    assert [in_line(one) for one in tree.iter(f"{SPACE}p") if one.get("class") == "found"] == [in_line(told.verdict)]
    (cards,) = (one for one in tree.iter(f"{SPACE}dl") if one.get("class") == "cards")
    shown = [[in_line(part) for part in card] for card in cards]
    assert shown == [[in_line(part) for part in (one.what, one.value, one.of) if part] for one in told.key]
    summary = [in_line(one) for one in tree.iter(f"{SPACE}p") if one.get("class") == "summary"]
    assert summary == [in_line(one) for one in told.summary]
    articles = list(tree.iter(f"{SPACE}article"))
    assert len(articles) == len(told.parts)
    for article, part in zip(articles, told.parts, strict=True):
        assert in_line(article.find(f"{SPACE}h3")) == in_line(part.title)
        expected = part if isinstance(part, TextTable) else part.numbers
        (table,) = article.iter(f"{SPACE}table")
        rows = [tuple(in_line(cell) for cell in row) for row in table.iter(f"{SPACE}tr")]
        assert rows == [tuple(map(in_line, row)) for row in (expected.header, *expected.rows)]
        if isinstance(part, Chart):
            assert len(expected.rows) == len(part.rows)
            assert in_line(f"{part.caption} {part.missing}") in in_line(article)
            # The page's own command stands once, at its end.
            own = [in_line(one) for one in article.findall(f"{SPACE}pre")]
            assert own == ([in_line(part.command)] if part.command != told.command else [])
            (image,) = article.iter(f"{SPACE}img")
            assert image.get("src").startswith("data:image/svg+xml;base64,")
    sources = [in_line(one) for one in tree.iter(f"{SPACE}li")]
    assert sources == [in_line(one) for one in told.sources]
    assert in_line(told.command) in in_line(tree.findall(f".//{SPACE}section")[-1])
    (data,) = [one for one in tree.iter(f"{SPACE}script") if one.get("id") == "charts"]
    assert list(json.loads("".join(data.itertext()))) == [one.name for one in told.charts]


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_valid_and_says_what_the_report_says(name: str, pages: dict[str, Path]) -> None:
    check_page(pages[name].read_text(encoding="utf-8"), REPORTS[name]())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("Thirteen.", "Twelve.", marks=pytest.mark.slow),
        ("Thirteen bits are enough.", "Twelve bits are enough."),
        pytest.param(">FP32</dd>", ">FP16</dd>", marks=pytest.mark.slow),
        pytest.param("hwsim study others.yaml", "hwsim study other.yaml", marks=pytest.mark.slow),
        (">101.25<", ">101.5<"),
        pytest.param(">Ada</td>", ">Eda</td>", marks=pytest.mark.slow),
        ("8.48528e-05", "8.48528e-06"),
        pytest.param("1 not above zero", "2 not above zero", marks=pytest.mark.slow),
        pytest.param("<li>DeepSeek", "<li>DeepSea", marks=pytest.mark.slow),
        (" --grid interval=none,128", ""),
        ('"worded":{', '"word":{'),
        pytest.param("</article>", "", marks=pytest.mark.slow),
    ],
)
def test_a_page_that_lies_is_caught(before: str, after: str, pages: dict[str, Path]) -> None:
    text = pages["sample"].read_text(encoding="utf-8")
    assert before in text
    with pytest.raises((AssertionError, html5lib.html5parser.ParseError)):
        check_page(text.replace(before, after), report())


def test_it_is_one_file_that_asks_for_nothing(pages: dict[str, Path]) -> None:
    text = pages["sample"].read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    outside = text.replace(script, "")
    # Names of languages and schemas, which nobody fetches.
    known = r"https://vega\.github\.io/schema/vega-lite/v[\d.]+json"
    assert not re.search(r"https?:", re.sub(known, "", outside))
    assert not re.search(r"@import|url\(|<link|<iframe|<object", outside)
    assert all(one.startswith("data:") for one in re.findall(r'\bsrc="([^"]*)"', outside))
    (policy,) = [one.get("content") for one in parsed(text).iter(f"{SPACE}meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-") and "unsafe" not in policy
    assert sorted(one.name for one in pages["sample"].parent.iterdir()) == [".hwsim-files", "report.html"]


def test_no_name_becomes_markup(pages: dict[str, Path]) -> None:
    text = pages["nasty"].read_text(encoding="utf-8")
    assert text.count("<script") == 2 + text.count("<script", text.rindex("<script>") + 1)
    outside = text[: text.rindex("<script>")]
    assert outside.count("alert(1)") > 10 and "<script>alert" not in outside and outside.count("</style>") == 1
    # Without escaping, it would.
    assert in_line(parsed(text)).count(in_line(NASTY)) > 10


def test_without_escaping_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rules.Environment
    monkeypatch.setattr(rules, "Environment", lambda **options: made(**(options | {"autoescape": False})))
    with pytest.raises((AssertionError, html5lib.html5parser.ParseError)):
        check_page(html(nasty_report()), nasty_report())


def browse(chromium: str, page: Path, *options: str) -> tuple[str, list[str]]:
    """What a browser makes of a page, its charts drawn: what it prints, and its console's lines."""
    shown, log = browsing.browse(chromium, page, "--virtual-time-budget=10000", *options)
    return shown, re.findall(r":CONSOLE[^\]]*\] (.*)", log)


# What a reader does, in the page's own policy's place: picks a series, points at a value, sorts a table.
PROBE = """<script>
const wait = setInterval(() => {
  if (document.documentElement.dataset.drawn !== "yes") return;
  clearInterval(wait);
  const place = document.querySelector("div.chart"), told = {};
  const faint = () => [...place.querySelectorAll(".mark-line path")].map((one) => one.getAttribute("opacity")).join();
  const send = (one, kinds) => {
    const box = one.getBoundingClientRect();
    const at = { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, view: window };
    for (const kind of kinds) one.dispatchEvent(new (kind[0] === "p" ? PointerEvent : MouseEvent)(kind, at));
  };
  told.before = faint();
  send(place.querySelector(".role-legend-label text"), ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]);
  setTimeout(() => {
    told.after = faint();
    send(place.querySelectorAll(".mark-symbol path")[1], ["pointerover", "pointermove", "mousemove"]);
    setTimeout(() => {
      told.tip = document.querySelector("#vg-tooltip-element")?.innerText.replace(/\\s+/g, " ");
      const tables = [...document.querySelectorAll("table.sorted")];
      const table = tables.find((one) => one.caption.innerText === "Of 8 trials.");
      const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].textContent).join();
      const button = table.tHead.querySelectorAll("button")[1];
      button.click(); told.up = column(); button.click(); told.down = column();
      document.title = JSON.stringify(told);
    }, 300);
  }, 300);
}, 50);
</script></body>"""


def test_a_browser_draws_it_and_answers(chromium: str, pages: dict[str, Path], tmp_path: Path) -> None:
    dom, console = browse(chromium, pages["sample"], "--dump-dom", DARK)
    assert console == []
    assert (
        dom.count('class="chart drawn"') == 3
        and 'data-drawn="yes"' in dom
        and "<img" not in dom[: dom.rindex("<script")]
    )
    assert "Promoted every 128" in dom and dom.count('role="graphics-document"') == 3
    probed = tmp_path / "probed.html"
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", pages["sample"].read_text(encoding="utf-8"))
    probed.write_text(free[: free.rindex("</body>")] + PROBE + "</html>", encoding="utf-8")
    dom, console = browse(chromium, probed, "--dump-dom")
    (title,) = re.findall(r"<title>({.*?})</title>", dom)
    told = json.loads(title.replace("&amp;", "&"))
    # The picked series stays, the others fade; the tooltip says the value; the table sorts as numbers do.
    assert told["before"] == "1,1,1" and told["after"] == "1,0.12,0.12"
    assert told["tip"].startswith("Series Hopper Length K (products) 1024 Relative error (max) 0.00028284")
    assert (told["up"], told["down"]) == ("9,81.2,101.25", "101.25,81.2,9")


def test_a_browser_opens_wild_names_without_a_complaint(chromium: str, pages: dict[str, Path]) -> None:
    dom, console = browse(chromium, pages["nasty"], "--dump-dom")
    assert console == [] and dom.count('class="chart drawn"') == 1
