"""Breaks lines that long names make too long, where a reader would break them."""

from __future__ import annotations

import re

WIDTH = 120
STEP = 4  # of indentation
FARTHEST_INDENT = 48  # beyond which a line goes on under its own beginning instead of its parenthesis
ONE_LINE_FUNCTION = re.compile(r"(\S.*\)) \{ (.*) \}")
COMMENT = re.compile(r" \* *|/\* | *// ")
TRAILING = re.compile(r"( +)(\S.*;) (/\* .* \*/)")
# Where a line may end, or else begin.
BREAK = re.compile(r"(?<=,) | (?=(?:&&|\|\||[?:|+-]) )")


def short(line: str, again: bool = False) -> list[str]:
    """A line of C, C++ or SystemVerilog as lines of at most `WIDTH` characters, where it can be broken.

    again: whether the line is the rest of another, and indented as such.
    """
    if len(line) <= WIDTH:
        return [line]
    if comment := COMMENT.match(line):
        return _filled(line, comment[0].replace("/*", " *"))
    if trailing := TRAILING.fullmatch(line):
        indent, code, remark = trailing.groups()
        return [*short(indent + remark), *short(indent + code)]
    if function := ONE_LINE_FUNCTION.fullmatch(line):
        head, body = function.groups()
        return [*short(head), "{", *short(" " * STEP + body), "}"]
    return _broken(line, again)


def _filled(line: str, lead: str) -> list[str]:
    """A comment's line, broken between words; indented lines are code, broken after a comma and indented further."""
    code = lead.startswith(" *  ")
    end = max(line.rfind(" ", len(lead), WIDTH + 1), 0)
    if code:
        lead, end = lead + " " * STEP, line.rfind(", ", WIDTH // 2, WIDTH) + 1 or end
    return [line[:end], *_again(lead + line[end + 1 :], line)] if end else [line]


def _broken(line: str, again: bool) -> list[str]:
    """A line of code, broken inside as few parentheses as possible, preferably after a comma, as late as possible."""
    indent = len(line) - len(line.lstrip())
    depths = _depths(line)
    places = [match.start() for match in BREAK.finditer(line, indent) if indent + STEP < match.start() <= WIDTH]
    if not places:
        return [line]
    at = min(places, key=lambda place: (len(depths[place]), line[place - 1] != ",", -place))
    under = depths[at][-1] + 1 if depths[at] else FARTHEST_INDENT
    under = under if under < FARTHEST_INDENT else indent + 2 * STEP * (not again)
    return [line[:at], *_again(" " * under + line[at + 1 :], line)]


def _again(rest: str, before: str) -> list[str]:
    return short(rest, again=True) if len(rest) < len(before) else [rest]


def _depths(line: str) -> list[tuple[int, ...]]:
    """The positions of the parentheses that are open at each character."""
    depths: list[tuple[int, ...]] = []
    opened: tuple[int, ...] = ()
    for place, character in enumerate(line):
        if character in ")]}":
            opened = opened[:-1]
        depths.append(opened)
        if character in "([{":
            opened = (*opened, place)
    return depths
