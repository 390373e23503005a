"""Where things stand in the pictures of the page: windows of bits, bars, tables of pairs. Lengths are in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.report.bins import STATES, CoverageGroup
from hwsim.report.picture import EMPTY, BitRow, Picture
from hwsim.words import counted

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
    at = left + (shown.top - shown.max_exp) * CELL
    bars.append(Bar(at, HEAD - 4, CELL, height - HEAD, "maximum"))
    words = _axis(shown, left, edge, at, depth)
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


def _axis(shown: Picture, left: float, edge: float, at: float, depth: int) -> list[Words]:
    middle = CELL / 2
    words = [
        Words(
            f"{at + middle:g}", 12, f"max_exp {power(shown.max_exp)}", "axis", "middle" if at > left + 40 else "start"
        ),
        Words(f"{at + middle:g}", 25, "▼", "mark", "middle"),
        Words(f"{edge - middle:g}", 25, power(shown.last), "axis", "middle"),
    ]
    if shown.top - shown.max_exp > 3:
        words.append(Words(f"{left + middle:g}", 25, power(shown.top), "axis", "middle"))
    if depth:
        # Above a narrow window there is no room beside max_exp.
        words.append(Words(f"{edge + GAP:g}", 12 if edge - at > 100 else 25, "lost", "axis lost"))
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
    """How many bins are in each state: a bar in as many parts, none that is there too thin to be seen."""
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
    said = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return Drawing(
        BAR_WIDTH, BAR_HEIGHT, f"{group.name}: {said}, of {counted(len(group.bins), 'bin')}", tuple(bars), ()
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
        said = counted(bin.hits, "hit") if bin.hits else bin.state
        bars.append(Bar(x, y, SQUARE - 1, SQUARE - 1, kind, f"{bin.name}: {said}"))
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
