"""Places labels beside points without overlaps, and breaks text into lines of a width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LETTERS = 11  # of words inside the frame
# Widths of Arial's letters in thousandths of the size; those that are not named are about as wide as a figure.
WIDTHS = {
    **dict.fromkeys("ijl'|", 225), **dict.fromkeys(" .,:;/\\!tfI[]()-·", 305), **dict.fromkeys("rt", 335),
    **dict.fromkeys("ckszvxyJ", 500), **dict.fromkeys("ABEKPSVXY&", 675), **dict.fromkeys("CDHNRUw", 725),
    **dict.fromkeys("GOQ", 785), **dict.fromkeys("mMW%@", 890),
}  # fmt: skip


def width(text: str, size: float) -> float:
    """How wide a line is in Arial, in pixels, within about 5 %."""
    return sum(WIDTHS.get(letter, 560) for letter in text) * size / 1000


def wrapped(text: str, pixels: float, size: float, mono: bool = False) -> list[str]:
    """Text in lines of at most so many pixels; a word that is longer is broken."""
    most = max(10, int(pixels / (0.602 * size if mono else 0.5 * size)))
    lines: list[str] = []
    for paragraph in text.splitlines():
        lines += textwrap.wrap(paragraph, most, break_long_words=True, break_on_hyphens=not mono)
    return lines


def broken(text: str, pixels: float, size: float) -> list[str]:
    """Text in at most three lines of so many pixels, broken at spaces; in one line where it does not fit in these."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(f"{lines[-1]} {word}", size) <= pixels:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines if len(lines) <= 3 and all(width(line, size) <= pixels for line in lines) else [text]


class Box(NamedTuple):
    """A rectangle in pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two rectangles have a pixel in common."""
        return not (
            self.right <= other.left
            or other.right <= self.left
            or self.bottom <= other.top
            or other.bottom <= self.top
        )  # fmt: skip


class LabelPosition(NamedTuple):
    """The position of a label.

    x, y: its left end and middle, in pixels. far: whether a leader joins it to its point.
    """

    x: float
    y: float
    far: bool


def label_positions(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    size: tuple[float, float],
    obstacles: Sequence[Box] = (),
) -> list[LabelPosition | None]:
    """A position for each point's name where it covers no other name, no point and not the frame.

    points, size, obstacles : pixels, y downwards. None where there is no name, or no room within 60 pixels.
    """
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in points] + list(obstacles)
    found: list[LabelPosition | None] = []
    for (x, y), name in zip(points, names, strict=True):
        wide = width(name, LETTERS)
        found.append(None)
        for one in _around(x, y, wide) if name else ():
            box = Box(one.x - 1, one.y - LETTERS * 0.6, one.x + wide + 1, one.y + LETTERS * 0.6)
            if _is_free(box, size, taken):
                taken.append(box)
                found[-1] = one
                break
    return found


def _is_free(box: Box, size: tuple[float, float], taken: Sequence[Box]) -> bool:
    inside = box.left >= 2 and box.right <= size[0] - 2 and box.top >= 2 and box.bottom <= size[1] - 2
    return inside and not any(box.meets(other) for other in taken)


def _around(x: float, y: float, wide: float) -> Iterator[LabelPosition]:
    """Places near a point, the best first: right, left, above, below, then further off."""
    up = LETTERS * 0.6 + 6
    yield from (LabelPosition(x + 8, y, False), LabelPosition(x - 8 - wide, y, False))
    for at in (x - wide / 2, x + 2, x - 2 - wide):
        yield from (LabelPosition(at, y - up, False), LabelPosition(at, y + up, False))
    for far in (14, 22, 30, 40, 50, 60):
        for at in (x + 8, x - 8 - wide, x - wide / 2):
            yield from (LabelPosition(at, y - far - 4, True), LabelPosition(at, y + far + 4, True))
        yield from (LabelPosition(x + far, y, True), LabelPosition(x - far - wide, y, True))
