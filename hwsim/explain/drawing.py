"""Pictures on pages and in notebooks, and what pages of HTML have in common. Lengths are in pixels."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from numpy.typing import NDArray

from hwsim.base.text import counted
from hwsim.explain.record import STATES, CoverageGroup
from hwsim.explain.stages import EMPTY, BitRow, ExplanationJson, Picture

TEMPLATES = Path(__file__).with_name("templates")


def environment(folder: Path) -> Environment:
    """The templates of a folder. Whatever names are, they are shown, and never become markup."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def policy(style: str, script: str, *more: str) -> str:
    """A page's Content-Security-Policy: its own style and script, by their hashes, and nothing of a network."""
    return "; ".join(
        ["default-src 'none'", *more, f"style-src {_hash(style)}", f"script-src {_hash(script)}", "base-uri 'none'"]
    )


def page_style() -> str:
    """The style of every page: colours, for light and dark, the page, and pictures of windows."""
    return read("colours.css") + read("report.css") + read("picture.css")


def read(name: str) -> str:
    """A file beside the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


CELL, ROW, HEAD = 12, 20, 34
GLYPH = 7.3  # a character of the labels, which are 12 pixels high
GAP = 8  # between the window and what is lost
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Bar:
    """A rectangle. kind: its class in the style sheet."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str = ""


@dataclass(frozen=True)
class Words:
    """A text. x: one place, or one for each character. anchor: start, middle or end."""

    x: str
    y: float
    text: str
    kind: str
    anchor: str = "start"


@dataclass(frozen=True)
class Drawing:
    """A picture, its bars below its words. label: what it shows, for those who do not see it."""

    width: float
    height: float
    label: str
    bars: tuple[Bar, ...]
    words: tuple[Words, ...]


def power(exp: int) -> str:
    """A power of two with its exponent raised."""
    return f"2{str(exp).translate(RAISED)}"


def window_drawing(shown: Picture) -> Drawing:
    """The aligned terms under the window: a row each, a column for each place, what is lost at the right of a gap."""
    kept, depth = shown.top - shown.last + 1, len(shown.rows[0].lost)
    left = max(len(row.label) for row in shown.rows) * GLYPH + 30
    edge = left + kept * CELL
    ends = edge + (GAP + depth * CELL if depth else 0)
    numbers = ends + 14 + max(len(row.aligned) for row in shown.rows) * GLYPH
    width = numbers + 12 + max(len(row.note) for row in shown.rows) * GLYPH + 4
    height = HEAD + len(shown.rows) * ROW + 12
    bars = [Bar(left, HEAD - 4, edge - left, height - HEAD, "window")]
    if depth:
        bars.append(Bar(edge + GAP, HEAD - 4, depth * CELL, height - HEAD, "below"))
    top_x = left + (shown.top - shown.max_exp) * CELL
    bars.append(Bar(top_x, HEAD - 4, CELL, height - HEAD, "maximum"))
    words = _axis(shown, left, edge, top_x, depth)
    for index, row in enumerate(shown.rows):
        y = HEAD + index * ROW + (6 if row.label in ("sum", "result") else 0)
        row_bars, row_words = _row(row, left, edge, y)
        bars += row_bars
        words += [
            Words(f"{left - 22:g}", y + 13, row.label, _kind(row), "end"),
            Words(f"{left - 12:g}", y + 13, row.sign.replace("-", "−"), "sign", "middle"),
            *row_words,
            Words(f"{numbers:g}", y + 13, row.aligned.replace("-", "−"), "number", "end"),
            Words(f"{numbers + 10:g}", y + 13, row.note, "note"),
        ]
        if row.label == "sum":
            bars.append(Bar(left - 30, y - 4, numbers - left + 30, 1, "rule"))
    return Drawing(width, height, _window_label(shown), tuple(bars), tuple(words))


def _kind(row: BitRow) -> str:
    return row.label if row.label in ("sum", "result") else "label"


def _axis(shown: Picture, left: float, edge: float, top_x: float, depth: int) -> list[Words]:
    middle = CELL / 2
    words = [
        Words(
            f"{top_x + middle:g}",
            12,
            f"max_exp {power(shown.max_exp)}",
            "axis",
            "middle" if top_x > left + 40 else "start",
        ),
        Words(f"{top_x + middle:g}", 25, "▼", "mark", "middle"),
        Words(f"{edge - middle:g}", 25, power(shown.last), "axis", "middle"),
    ]
    if shown.top - shown.max_exp > 3:
        words.append(Words(f"{left + middle:g}", 25, power(shown.top), "axis", "middle"))
    if depth:
        # Above a narrow window there is no room beside max_exp.
        words.append(Words(f"{edge + GAP:g}", 12 if edge - top_x > 100 else 25, "lost", "axis lost"))
    return words


def _row(row: BitRow, left: float, edge: float, y: float) -> tuple[list[Bar], list[Words]]:
    """The bits of a row, a bar under each stretch of them."""
    bars, words = [], []
    kind = row.label if row.label in ("sum", "result") else "kept"
    # A result may reach below the window: its places there are not lost.
    sides = ((row.kept, left, kind), (row.lost, edge + GAP, "result" if kind == "result" else "lost"))
    for bits, start, kind in sides:
        places = [index for index, bit in enumerate(bits) if bit not in (EMPTY, " ")]
        if not places:
            continue
        x, length = start + places[0] * CELL, (places[-1] - places[0] + 1) * CELL
        sign = " negative" if row.sign == "-" and kind == "kept" else ""
        bars.append(Bar(x, y + 1, length, ROW - 4, f"{kind}{sign}"))
        for digit, style in (("1", "one"), ("0", "zero")):
            here = [start + index * CELL + CELL / 2 for index in places if bits[index] == digit]
            if here:
                text = digit * len(here)
                words.append(Words(" ".join(f"{x:g}" for x in here), y + 13, text, f"bit {style} {kind}", "middle"))
    return bars, words


def _window_label(shown: Picture) -> str:
    terms = sum(row.label not in ("sum", "result") for row in shown.rows)
    losing = sum("1" in row.lost for row in shown.rows)
    return (
        f"{terms} aligned terms, their sum and the result as bits, in a window from {power(shown.top)} to "
        f"{power(shown.last)}; max_exp is {shown.max_exp}; {losing} of them lose ones below the window. "
        "The same stands below as text."
    )


BAR_WIDTH, BAR_HEIGHT = 240.0, 14.0


def coverage_bar(group: CoverageGroup) -> Drawing:
    """A bar with a part for each state that has bins, as long as their number; none is too thin to be seen."""
    counts = dict(zip(STATES, group.counts, strict=True))
    least = 2.0
    there = sum(count > 0 for count in counts.values())
    scale = (BAR_WIDTH - least * there) / len(group.bins)
    bars, x = [], 0.0
    for state, count in counts.items():
        if count:
            length = least + count * scale
            bars.append(Bar(round(x, 2), 0, round(length, 2), BAR_HEIGHT, state, f"{state}: {count}"))
            x += length
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return Drawing(
        BAR_WIDTH, BAR_HEIGHT, f"{group.name}: {states}, of {counted(len(group.bins), 'bin')}", tuple(bars), ()
    )


SQUARE, EVERY = 12, 4
LEVELS = (1, 4, 16, 64)  # hits from which a cell has the next colour


def pair_table(group: CoverageGroup) -> Drawing | None:
    """The bins that have a place, as cells coloured by their hits; None where there are none."""
    placed = [(bin.place, bin) for bin in group.bins if bin.place is not None]
    if not placed:
        return None
    down = _labels([place[0] for place, _ in placed])
    across = _labels([place[1] for place, _ in placed])
    left, top = max(len(label) for label in down) * GLYPH + 12, 36
    bars = []
    for place, bin in placed:
        level = sum(bin.hits >= least for least in LEVELS)
        kind = f"cell {f'hit{level}' if bin.state == 'hit' else bin.state}"
        x, y = left + across[place[1]] * SQUARE, top + down[place[0]] * SQUARE
        hits = counted(bin.hits, "hit") if bin.hits else bin.state
        bars.append(Bar(x, y, SQUARE - 1, SQUARE - 1, kind, f"{bin.name}: {hits}"))
    words = [Words(f"{left - 6:g}", top + row * SQUARE + 9.5, label, "tick", "end") for label, row in _ticks(down)]
    words += [
        Words(f"{left + column * SQUARE + SQUARE / 2:g}", top - 5, label, "tick", "middle")
        for label, column in _ticks(across)
    ]
    words.append(Words(f"{left:g}", 12, f"{group.axes[1]} →   {group.axes[0]} ↓", "axis"))
    width = max(left + len(across) * SQUARE + 12, left + (sum(map(len, group.axes)) + 8) * GLYPH)
    met = sum(bin.state == "hit" for _, bin in placed)
    label = f"{group.name}: {met} of {len(placed)} pairs of {group.axes[0]} and {group.axes[1]} hit"
    return Drawing(width, top + len(down) * SQUARE + 4, label, tuple(bars), tuple(words))


def _labels(labels: Sequence[str]) -> dict[str, int]:
    """Labels in order, numbers first, and the place of each."""
    order = sorted(
        set(labels), key=lambda label: (not label.isdecimal(), int(label) if label.isdecimal() else 0, label)
    )
    return {label: place for place, label in enumerate(order)}


def _ticks(labels: dict[str, int]) -> list[tuple[str, int]]:
    """Labels that have room: every fourth, and those that are no numbers."""
    few = len(labels) <= 2 * EVERY
    return [(label, place) for label, place in labels.items() if few or place % EVERY == 0 or not label.isdecimal()]


WIDE, HIGH, ROWS_GAP, FOOT = 22, 44, 12, 20
MOST = 28  # columns; what is smaller is in the first


def histogram(series: Mapping[str, NDArray[Any]]) -> Drawing:
    """A histogram of magnitudes by series: a column of zeros, and for each e one of those from 2^e to below 2^(e+1)."""
    exponents = {name: np.frexp(np.ravel(sizes)[np.ravel(sizes) > 0])[1] - 1 for name, sizes in series.items()}
    every = np.concatenate([*exponents.values(), np.empty(0, int)])
    last = int(every.max()) if every.size else 0
    first = max(int(every.min()) if every.size else 0, last - MOST + 1)
    left = max(map(len, series), default=0) * GLYPH + 12
    bars, words = list[Bar](), list[Words]()
    for row, (name, sizes) in enumerate(series.items()):
        foot = (row + 1) * (HIGH + ROWS_GAP)
        counts = [int(np.count_nonzero(np.ravel(sizes) == 0)), *_counts(exponents[name], first, last)]
        words.append(Words(f"{left - 10:g}", foot - 4, name, "label", "end"))
        bars.append(Bar(left, foot, (len(counts) + 0.5) * WIDE, 1, "rule"))
        for column, count in enumerate(counts):
            high = HIGH * count / max(*counts, 1)
            binade = "0" if column == 0 else f"from {power(first + column - 1)}"
            bars.append(Bar(_place(left, column), foot - high, WIDE - 2, high, "kept", f"{name}: {count:,} {binade}"))
    end = len(series) * (HIGH + ROWS_GAP) + FOOT
    words += [Words(f"{_place(left, 0) + 10:g}", end - 4, "0", "axis", "middle")]
    for column in range(0, last - first + 1, 4):
        words.append(Words(f"{_place(left, column + 1) + 10:g}", end - 4, power(first + column), "axis", "middle"))
    label = f"Histogram of {', '.join(series)}, by powers of two"
    return Drawing(left + (last - first + 3) * WIDE, end + 4, label, tuple(bars), tuple(words))


def _place(left: float, column: int) -> float:
    """The left edge of a column; the column of zeros stands apart."""
    return left + (column + 0.5 * (column > 0)) * WIDE


def _counts(exponents: NDArray[Any], first: int, last: int) -> list[int]:
    counts = np.bincount(np.maximum(exponents, first) - first, minlength=last - first + 1)
    return [int(count) for count in counts]


def notebook_html(shown: ExplanationJson) -> str:
    """An explanation as HTML for a part of another page."""
    return _template("explained.html.j2").render(shown=shown, style=_style())


def drawing_html(drawing: Drawing) -> str:
    """A drawing as HTML for a part of another page."""
    return _template("drawn.html.j2").render(drawing=drawing, style=_style())


def drawing_svg(drawing: Drawing) -> str:
    """A drawing as a file of its own, in the colours that its reader prefers."""
    svg = drawing_html(drawing).partition("<svg ")[2].partition("</svg>")[0]
    style = read("colours.css") + read("picture.css")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {svg}<style>\n{style}</style>\n</svg>\n'


def _style() -> Markup:
    return Markup(
        read("colours.css").replace(":root", ".hwsim")
        + read("picture.css").replace("svg", ".hwsim svg")
        + read("notebook.css")
    )


@cache
def _template(name: str) -> Template:
    page = environment(TEMPLATES)
    page.globals["window"] = window_drawing
    page.filters["counted"] = counted
    return page.get_template(name)
