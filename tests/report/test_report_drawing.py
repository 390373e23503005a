"""The pictures: read back from where their digits stand, they are the numbers that they show."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from report.report_samples import coverage

import hwsim
from hwsim.explain import CountedBin, CoverageGroup
from hwsim.explain.drawing import CELL, GAP, HEAD, ROW, Drawing, coverage_bar, pair_table, window_drawing
from hwsim.explain.stages import Picture, picture
from hwsim.formats import Class
from hwsim.model.record import Group
from hwsim.spec import load_unit
from hwsim.words import counted


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


def test_nothing_stands_outside_of_a_drawing() -> None:
    for group in groups():
        shown = picture(group)
        assert shown is not None
        drawn = window_drawing(shown)
        for bar in drawn.bars:
            assert bar.x >= 0 and bar.x + bar.width <= drawn.width and bar.y + bar.height <= drawn.height
        for words in drawn.words:
            assert all(0 <= float(x) <= drawn.width for x in words.x.split()) and words.y <= drawn.height


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
