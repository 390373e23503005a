"""The page, its pictures, and what notebooks show: valid, escaped, asking for nothing, legible; and true."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import html5lib
import numpy as np
import pytest
from browsing import SPACE, in_line, parsed
from documents import ROOT
from explain.report_samples import NASTY, coverage, good, mismatch, nasty, report

import hwsim
from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.explain import CountedBin, CoverageGroup, write_html
from hwsim.explain import drawing as rules
from hwsim.explain import reports as page
from hwsim.explain.drawing import (
    CELL,
    GAP,
    HEAD,
    MOST,
    ROW,
    Drawing,
    coverage_bar,
    histogram,
    pair_table,
    window_drawing,
)
from hwsim.explain.frozen import fit
from hwsim.explain.reports import html
from hwsim.explain.stages import Picture, picture
from hwsim.formats import Class
from hwsim.formats.catalog import formats
from hwsim.model.record import Group
from hwsim.spec import load_unit

REPORTS = {"good": good, "failed": report, "nasty": nasty}
SVG = "{http://www.w3.org/2000/svg}"


def check_page(text: str, told: Any) -> None:
    """What the page says is what the report says."""
    tree = parsed(text)
    said = in_line(tree)
    (verdict,) = [one for one in tree.iter(f"{SPACE}div") if one.get("role") == "status"]
    assert verdict.get("class") == f"verdict {'passed' if told.passed else 'failed'}"
    assert told.verdict.lower() in in_line(verdict).lower()
    (table,) = [one for one in tree.iter(f"{SPACE}table") if one.get("class") == "filtered stacks"]
    lines = [[in_line(cell) for cell in row] for row in table.find(f"{SPACE}tbody")]
    assert [(line[0], line[1], line[2], line[3], line[5]) for line in lines] == [
        ("✓ ok" if row.passed else "✗ failed", *(in_line(one) for one in (row.unit, row.suite, row.driver)),
         f"{row.mismatches:,}") for row in told.rows
    ]  # fmt: skip
    articles = [one for one in tree.iter(f"{SPACE}article") if one.get("class") == "mismatch"]
    assert len(articles) == len(told.mismatches)
    for article, one in zip(articles, told.mismatches, strict=True):
        inside = in_line(article)
        for part in (one.case, one.stage, one.got.code, one.expected.value, one.distance, one.again, one.explain):
            assert in_line(part) in inside
        drawn = [svg for svg in article.iter(f"{SVG}svg") if svg.get("class") == "picture"]
        assert len(drawn) == sum(group.window is not None for group in one.explanation.groups)
        assert in_line(one.explanation.groups[0].lines[-1]) in inside
    for fact in [fact for kind in told.kinds for fact in kind.facts]:
        assert in_line(fact) in said
    for wrong, cause in [(kind.wrong, cause) for kind in told.kinds for cause in kind.causes]:
        assert in_line(cause.description) in said and f"agrees with {cause.of - wrong:,} result" in said
        assert said.count(in_line(cause.description)) == 1 or cause.description == cause.name
    for group in told.coverage:
        for bin in group.bins:
            assert (in_line(bin.name) in said) or bin.state == "hit"
            assert in_line(bin.reason) in said
        assert any(svg.get("aria-label", "").startswith(f"{group.name}: ") for svg in tree.iter(f"{SVG}svg"))
    assert in_line(told.command) in in_line(tree.findall(f".//{SPACE}section")[-1])


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
    assert in_line(parsed(text)).count(" ".join(fit(NASTY).split())) > 20


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
        assert in_line(table.find(f"{SPACE}caption"))
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
    from explain.report_samples import coverage

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


def read(drawn: Drawing, shown: Picture) -> list[tuple[Fraction, Fraction]]:
    """Of every row, what its digits are worth by where they stand: in the window, and below it."""
    (window,) = [bar for bar in drawn.bars if bar.kind == "window"]
    left, edge = window.x, window.x + window.width
    values = [[Fraction(0), Fraction(0)] for _ in shown.rows]
    for words in drawn.words:
        if "one" not in words.kind.split():
            continue
        places = [float(x) for x in words.x.split()]
        assert len(places) == len(words.text) and set(words.text) == {"1"}
        row = int((words.y - HEAD) // ROW)
        for x in places:
            lost = x > edge
            column = round((x - left - CELL / 2 - (GAP if lost else 0)) / CELL)
            # What is red is what is lost: below the window, and not the result.
            assert ("lost" in words.kind.split()) == (lost and shown.rows[row].label != "result")
            values[row][lost] += Fraction(2) ** (shown.top - column)
    return [(kept, lost) for kept, lost in values]


def groups() -> list[Group]:
    """Groups of units with windows of many kinds, with random operands."""
    made, source = [], random.Random(5)
    for name in (
        "hopper-wgmma-e4m3-f32",
        "ada-mma-e5m2-f32",
        "rvbna-e4m3-f32-n8",
        "mxfp8-e4m3-f32",
        "volta-mma-f16-f32",
    ):
        unit = load_unit(name)
        codes = range(1, 1 << (unit.operands.a.bits - 1))
        decoded = unit.operands.a.decode(list(codes))
        finite = [code for code, number in zip(codes, decoded, strict=True) if abs(number) < 1e9]
        for _ in range(3):
            k = unit.instruction.k
            a, b = ([source.choice(finite) for _ in range(k)] for _ in "ab")
            scales = ([127] * (k // 32), [126] * (k // 32)) if unit.scale else (None, None)
            made += hwsim.explain(unit, a, b, None, *scales).groups
    return made


@pytest.mark.parametrize("group", groups(), ids=lambda group: f"{group.unit.name}-{group.index}")
def test_a_drawn_window_is_worth_what_the_terms_are(group: Group) -> None:
    shown = picture(group)
    assert shown is not None
    drawn = window_drawing(shown)
    values = read(drawn, shown)
    digits = sum(row.kept.count(digit) + row.lost.count(digit) for row in shown.rows for digit in "01")
    assert sum(len(words.text) for words in drawn.words if words.kind.startswith("bit ")) == digits
    terms = [pair for pair in zip(group.terms, group.aligned, strict=True) if pair[0].cls is Class.NORMAL]
    unit = Fraction(2) ** shown.last
    for (term, kept), (inside, below), row in zip(terms, values, shown.rows, strict=False):
        # The exact term, from its significand; no more of it is missing than stands further down.
        exact = term.sig * Fraction(2) ** (term.exp - term.fraction_bits)
        rest = exact - inside - below
        assert 0 <= rest < Fraction(2) ** (shown.last - len(row.lost)) and (rest == 0 or "further down" in row.note)
        if group.unit.sum.lost == "truncate":
            assert inside == abs(kept) * unit
    assert values[len(terms)][0] == abs(group.total) * unit
    # The result, decoded by its format, where the sum is not zero.
    if group.total:
        result = Fraction(float(group.unit.result.format.decode([group.result])[0]))
        assert sum(values[len(terms) + 1]) == abs(result)


@pytest.mark.parametrize("fault", ["a column", "a digit", "a row", "the edge"])
def test_a_drawing_that_is_wrong_is_caught(fault: str) -> None:
    group = groups()[0]
    shown = picture(group)
    assert shown is not None
    right = window_drawing(shown)
    words = list(right.words)
    at, first = next((at, one) for at, one in enumerate(words) if "one" in one.kind.split() and len(one.text) > 1)
    if fault == "a column":
        words[at] = replace(first, x=" ".join(f"{float(x) + CELL:g}" for x in first.x.split()))
    elif fault == "a digit":
        words[at] = replace(first, x=" ".join(first.x.split()[1:]), text=first.text[1:])
    elif fault == "a row":
        words[at] = replace(first, y=first.y + ROW)
    wrong = replace(right, words=tuple(words))
    if fault == "the edge":
        bars = [replace(bar, width=bar.width - CELL) if bar.kind == "window" else bar for bar in right.bars]
        wrong = replace(right, bars=tuple(bars))
    if fault == "the edge":
        with pytest.raises(AssertionError):
            read(wrong, shown)
    else:
        assert read(wrong, shown) != read(right, shown)


def test_a_window_is_a_picture_of_its_own() -> None:
    """The one of README.md is what the unit returns."""
    shown = hwsim.explain("hopper-wgmma-e4m3-f32", [0x7E, 0xB9, 0x05], [0x3C, 0x39, 0x4D], 0x3F8CCCCD)
    assert (ROOT / "docs/figures/window.svg").read_text(encoding="utf-8") == shown.svg()
    drawn = ElementTree.fromstring(shown.svg())
    assert "".join(list(drawn.iter(f"{SVG}text"))[-1].itertext()) == "rz to e8m13"
    with pytest.raises(InputError, match=r"^group 0 of exact-e4m3-f32: no window to draw$"):
        hwsim.explain("exact-e4m3-f32", [0x38] * 32, [0x38] * 32, None, [127], [127]).svg()


def test_a_bar_is_divided_as_the_bins_are() -> None:
    (group, _) = coverage()
    drawn = coverage_bar(group)
    assert [bar.title for bar in drawn.bars] == ["hit: 2", "missed: 2", "open: 1", "unreachable: 8"]
    assert drawn.label == "G2: 2 hit, 2 missed, 1 open, 8 unreachable, of 13 bins"
    widths = [bar.width for bar in drawn.bars]
    assert abs(sum(widths) - drawn.width) < 0.1 and widths[0] == widths[1] > widths[2] > 2 and widths[3] == max(widths)
    # One missed bin of very many is still to be seen.
    bins = [CountedBin(name=str(index), hits=1, state="hit") for index in range(9999)]
    many = CoverageGroup(name="many", bins=(*bins, CountedBin(name="none", state="missed")))
    assert coverage_bar(many).bars[1].width >= 2


def test_pairs_stand_in_their_rows_and_columns() -> None:
    first, pairs = coverage()
    assert pair_table(first) is None
    drawn = pair_table(pairs)
    assert drawn is not None
    assert drawn.label == "G3: 29 of 30 pairs of lane of max_exp and straddling lane hit"
    assert len(drawn.bars) == len({(bar.x, bar.y) for bar in drawn.bars}) == 30
    rows, columns = (sorted({getattr(bar, axis) for bar in drawn.bars}) for axis in "yx")
    (missed,) = [bar for bar in drawn.bars if bar.kind == "cell missed"]
    assert (rows.index(missed.y), columns.index(missed.x)) == (3, 5)
    # 3 i + 1 hits of row i: from 1, 4 and 16 hits another colour.
    for bar in drawn.bars:
        if bar is not missed:
            level = {0: 1, 1: 2, 2: 2, 3: 2, 4: 2, 5: 3}[rows.index(bar.y)]
            assert bar.kind == f"cell hit{level}"
            assert bar.title.endswith(f": {counted(3 * rows.index(bar.y) + 1, 'hit')}")


NORMAL = np.random.default_rng(1).normal(size=(2, 40, 64)).astype(np.float32)
EXPLAINED = ([0x7E, 0xB9, 0x05], [0x3C, 0x39, 0x4D], 0x3F8CCCCD)


def shown(value: Any) -> str:
    """The text of what a notebook shows, which is whole HTML without scripts."""
    html: str = value._repr_html_()
    tree = html5lib.HTMLParser(strict=True).parseFragment(html)
    assert not tree.findall(".//{http://www.w3.org/1999/xhtml}script")
    return " ".join(" ".join(tree.itertext()).split())


def test_a_unit() -> None:
    text = shown(hwsim.load_unit("mxfp8-e4m3-f32"))
    assert text.startswith("mxfp8-e4m3-f32 MX dot product of e4m3 blocks")
    for words in ("operands a e4m3, b e4m3, addend f32", "block 1 x 32, b format e8m0", "fraction_bits 25"):
        assert words in text


def test_a_name_never_becomes_markup() -> None:
    unit = hwsim.load_unit("hopper-wgmma-e4m3-f32").model_copy(update={"summary": "<script>alert(1)</script> & more"})
    assert "<script>alert(1)</script> & more" in shown(unit)


def test_every_format() -> None:
    for name, fmt in formats().items():
        text = shown(fmt)
        assert text.startswith(name) and f"largest {fmt.largest:g} " in text
    assert "NaN 0x7f" in shown(hwsim.get_format("e4m3")) and "infinities none" in shown(hwsim.get_format("e4m3"))


@pytest.mark.parametrize("shape", [(40, 64), (2, 3, 64), (64,), (0, 64), (1, 1)])
def test_a_quantised_array(shape: tuple[int, ...]) -> None:
    quantized = hwsim.quantize(np.resize(NORMAL, shape), "tensor-e4m3")
    text = shown(quantized)
    assert f"shape {' x '.join(map(str, shape))} codes e4m3" in text
    if len(shape) > 1 and quantized.codes.size:
        assert f"{quantized.dequantize().reshape(-1, shape[-1])[0, 0]:.4g}" in text


def test_an_explanation_has_its_window_drawn_and_a_short_name() -> None:
    explained = hwsim.explain("hopper-wgmma-e4m3-f32", *EXPLAINED)
    text = shown(explained)
    assert (
        "max_exp 2⁸" in text
        and "21504" in text
        and "0x4427f800 = 671.875" in text
        and "<svg" in explained._repr_html_()
    )
    assert repr(explained).startswith("<Explained hopper-wgmma-e4m3-f32: 3 products") and len(repr(explained)) < 200
    many = hwsim.explain("hopper-wgmma-e4m3-f32", [0x38] * 512, [0x38] * 512)
    assert "12 more groups" in shown(many)
    # Units without a window are explained in words.
    assert "<svg" not in hwsim.explain("int8-i32", [1], [1])._repr_html_()


def test_an_error_has_its_histogram() -> None:
    error = hwsim.error("hopper-wgmma-e4m3-f32", NORMAL[0], NORMAL[1].T)
    text = shown(error)
    assert text.startswith("hopper-wgmma-e4m3-f32, scaling direct: 40 x 64 by 64 x 40 the product's rms is ")
    assert f"quantisation {error.quantization.snr_db:.1f} {error.quantization.largest:.3g}" in text


def test_a_histogram_counts_every_magnitude_once() -> None:
    drawn = histogram({"one": np.array([0, 1, 1.5, 2, 3.9, 4, 1e-30]), "none": np.zeros(3)})
    titles = [bar.title for bar in drawn.bars if bar.title]
    assert sum(int(title.split(": ")[1].split()[0]) for title in titles if title.startswith("one")) == 7
    assert "one: 2 from 2¹" in titles and "none: 3 0" in titles and len(titles) == 2 * (MOST + 1)
    assert histogram({}).bars == () and histogram({"empty": np.empty(0)}).width > 0
