"""The page as a document: valid, escaped, asking for nothing, legible."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import html5lib
import pytest
from report.report_samples import NASTY, good, mismatch, nasty, report

from hwsim.explain import drawing as rules
from hwsim.explain import reports as page
from hwsim.explain import write_html
from hwsim.explain.frozen import fit
from hwsim.explain.reports import html

REPORTS = {"good": good, "failed": report, "nasty": nasty}
SPACE = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> Any:
    """The page's tree; any error of its markup is an exception."""
    return html5lib.HTMLParser(strict=True).parse(text)


def words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def check_page(text: str, told: Any) -> None:
    """What the page says is what the report says."""
    tree = parsed(text)
    said = words(tree)
    (verdict,) = [one for one in tree.iter(f"{SPACE}div") if one.get("role") == "status"]
    assert verdict.get("class") == f"verdict {'passed' if told.passed else 'failed'}"
    assert told.verdict.lower() in words(verdict).lower()
    (table,) = [one for one in tree.iter(f"{SPACE}table") if one.get("class") == "filtered stacks"]
    lines = [[words(cell) for cell in row] for row in table.find(f"{SPACE}tbody")]
    assert [(line[0], line[1], line[2], line[3], line[5]) for line in lines] == [
        ("✓ ok" if row.passed else "✗ failed", *(" ".join(one.split()) for one in (row.unit, row.suite, row.driver)),
         f"{row.mismatches:,}") for row in told.rows
    ]  # fmt: skip
    articles = [one for one in tree.iter(f"{SPACE}article") if one.get("class") == "mismatch"]
    assert len(articles) == len(told.mismatches)
    for article, one in zip(articles, told.mismatches, strict=True):
        inside = words(article)
        for part in (one.case, one.stage, one.got.code, one.expected.value, one.distance, one.again, one.explain):
            assert " ".join(part.split()) in inside
        drawn = [svg for svg in article.iter(f"{SVG}svg") if svg.get("class") == "picture"]
        assert len(drawn) == sum(group.window is not None for group in one.explanation.groups)
        assert " ".join(one.explanation.groups[0].lines[-1].split()) in inside
    for fact in [fact for kind in told.kinds for fact in kind.facts]:
        assert " ".join(fact.split()) in said
    for wrong, cause in [(kind.wrong, cause) for kind in told.kinds for cause in kind.causes]:
        assert " ".join(cause.description.split()) in said and f"agrees with {cause.of - wrong:,} result" in said
        assert said.count(" ".join(cause.description.split())) == 1 or cause.description == cause.name
    for group in told.coverage:
        for bin in group.bins:
            assert (" ".join(bin.name.split()) in said) or bin.state == "hit"
            assert " ".join(bin.reason.split()) in said
        assert any(svg.get("aria-label", "").startswith(f"{group.name}: ") for svg in tree.iter(f"{SVG}svg"))
    assert " ".join(told.command.split()) in words(tree.findall(f".//{SPACE}section")[-1])


@pytest.mark.quick
@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_valid_and_says_what_the_report_says(name: str, tmp_path: Path) -> None:
    told = REPORTS[name]()
    write_html(tmp_path / "report.html", told)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text == html(told)
    check_page(text, told)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2 of 3 suites failed", "All equal"),
        ('class="verdict failed"', 'class="verdict passed"'),
        ("✗ failed", "✓ ok"),
        ('<article class="mismatch">', '<article class="other">'),
        ("align, beat 0, lane 1", "sum, beat 0"),
        ("+2 ulp", "-2 ulp"),
        ("distance 10, bits lost", "distance"),
        ("at distances up to 7 no bit is lost", ""),
        ('<svg class="picture"', '<svg class="none"'),
        ("</article>", "", ),
        ("hwsim cosim hopper-wgmma-e4m3-f32 --seed 1", "hwsim cosim"),
    ],
)  # fmt: skip
def test_a_page_that_lies_is_caught(before: str, after: str) -> None:
    text = html(report())
    assert before in text
    with pytest.raises((AssertionError, html5lib.html5parser.ParseError)):
        check_page(text.replace(before, after), report())


def test_no_name_becomes_markup() -> None:
    text, plain = html(nasty()), html(report())
    for tag in ("script", "img", "style"):
        assert text.count(f"<{tag}") == plain.count(f"<{tag}") == (0 if tag == "img" else 1)
    assert (
        "{{ 7*7 }}" in text and "49" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).split("7*7")[1][:9]
    )
    # Everywhere the name is whole again to a reader.
    assert words(parsed(text)).count(" ".join(fit(NASTY).split())) > 20


def test_without_escaping_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rules.Environment
    monkeypatch.setattr(rules, "Environment", lambda **options: made(**(options | {"autoescape": False})))
    monkeypatch.setattr(page, "_page", page._page.__wrapped__)
    with pytest.raises(AssertionError):
        test_no_name_becomes_markup()


def test_the_page_asks_for_nothing_and_allows_itself_nothing() -> None:
    text = html(report())
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|<iframe|<img|\bsrc=", text)
    assert set(re.findall(r'href="([^"]*)"', text)) <= {
        "#causes", "#minimal", "#suites", "#mismatches", "#coverage", "#units", "#again", "#group-1", "#group-2"
    }  # fmt: skip
    (policy,) = [one.get("content") for one in parsed(text).iter(f"{SPACE}meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    # No style or handler in an attribute, which the policy would refuse.
    assert not re.search(r'<[^>]+\s(style|on\w+)="', text)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for label in re.findall(r'aria-labelledby="([^"]+)"', text) + re.findall(r'href="#([^"]+)"', text):
        assert label in ids


def test_headings_and_tables_and_pictures_are_named() -> None:
    tree = parsed(html(report()))
    levels = [int(one.tag[-1]) for one in tree.iter() if re.fullmatch(rf"{SPACE}h[1-6]", str(one.tag))]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    tables = list(tree.iter(f"{SPACE}table"))
    assert len(tables) > 3
    for table in tables:
        assert words(table.find(f"{SPACE}caption"))
    for head in tree.iter(f"{SPACE}th"):
        assert head.get("scope") in ("row", "col")
    for svg in tree.iter(f"{SVG}svg"):
        assert svg.get("role") == "img" and svg.get("aria-label")
    assert tree.get("lang") == "en"


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(scheme: str) -> None:
    assert round(contrast("#ffffff", "#000000")) == 21
    style = (page.TEMPLATES / "colours.css").read_text()
    found = re.findall(r":root \{([^}]*)\}", style)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found[0 if scheme == "light" else 1]))
    backs = "page card code window below maximum kept negative sum result"
    pairs = [
        *((text, back) for text in ("text", "quiet") for back in backs.split()),
        ("text", "good-back"), ("text", "bad-back"), ("good", "good-back"), ("bad", "bad-back"), ("good", "card"),
        ("bad", "card"), ("link", "page"), ("link", "card"), ("lost-text", "lost"), ("lost-text", "card"),
    ]  # fmt: skip
    weak = {pair: round(contrast(*(colours[name] for name in pair)), 2) for pair in pairs}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}
    # What is only a coloured area, against what it stands on: 3 to 1, or it is outlined or named beside.
    for name in ("hit", "missed"):
        assert contrast(colours[name], colours["card"]) >= 3


def test_a_long_list_is_folded_and_a_short_one_is_not() -> None:
    from report.report_samples import coverage

    few, (group, pairs) = html(report()), coverage()
    bins = [bin.model_copy(update={"name": f"{bin.name} {at}"}) for at in range(40) for bin in group.bins]
    many = html(report(coverage=(group.model_copy(update={"bins": tuple(bins)}), pairs)))
    assert '<details class="bins" open>\n<summary>2 missed' in few
    assert '<details class="bins">\n<summary>80 missed' in many
    assert few.count("<summary>8 unreachable") == 1 and many.count("at distances up to 7") == 1


def test_a_mismatch_without_a_case_or_a_picture_is_told_too() -> None:
    bare = mismatch(explanation=None, operands=(), case="", format="", ulp=None, files=(), notes=())
    text = html(report(mismatches=(bare,), kinds=()))
    assert "no case" in text and '<svg class="picture"' not in text
    parsed(text)
