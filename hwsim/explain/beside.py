"""Two explanations of one dot product beside each other, the same places on the same lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from hwsim.explain.stages import (
    CellTable,
    Picture,
    columns,
    group_blocks,
    group_title,
    picture_lines,
    result_text,
    title,
)
from hwsim.model.record import Explanation


class BesideLine(NamedTuple):
    """A line of each explanation, empty where it has none there."""

    first: str
    second: str

    @property
    def alike(self) -> bool:
        """True if both lines say the same."""
        return self.first.split() == self.second.split()


def beside(first: Explanation, second: Explanation) -> list[BesideLine]:
    """The lines of two explanations: the tables, pictures and results of a group each beside the other's."""
    lines = [BesideLine(title(first), title(second))]
    for index in range(max(len(first.groups), len(second.groups))):
        left, right = _sections(first, index), _sections(second, index)
        for name in dict.fromkeys([*left, *right]):
            pairs = zip_longest(left.get(name, ()), right.get(name, ()), fillvalue="")
            lines += [BesideLine(*pair) for pair in pairs]
    return [*lines, BesideLine("", ""), BesideLine(result_text(first), result_text(second))]


def _sections(record: Explanation, index: int) -> dict[tuple[str, int], list[str]]:
    """The lines of a group's title, of each table and picture, and of what follows."""
    if index >= len(record.groups):
        return {}
    group, seen = record.groups[index], Counter[str]()
    sections: dict[tuple[str, int], list[str]] = {("title", 0): ["", group_title(group)]}
    for block in group_blocks(record, group):
        match block:
            case CellTable(header, rows):
                kind, lines = "table", ["", *columns([header, *rows])]
            case Picture():
                kind, lines = "picture", ["", *picture_lines(block)]
            case _:
                kind, lines = "line", [block]
        sections[kind, seen[kind]] = lines
        seen[kind] += 1
    return sections


def beside_text(lines: Sequence[BesideLine], width: int) -> list[str]:
    """The lines as text, with `≠` between those that differ.

    In fewer columns than both need, what is alike stands once; else the first's lines begin with A, and below them the
    second's with B.
    """
    left, right = max(len(line.first) for line in lines), max(len(line.second) for line in lines)
    if left + right + 3 <= width:
        return [f"{one:{left}} {'|' if one.split() == other.split() else '≠'} {other}".rstrip() for one, other in lines]
    return list(_below(lines))


def _below(lines: Sequence[BesideLine]) -> Iterator[str]:
    waiting: list[BesideLine] = []
    for line in [*lines, BesideLine("", "")]:
        if not line.alike:
            waiting.append(line)
            continue
        yield from (f"A {one.first}" for one in waiting if one.first)
        yield from (f"B {one.second}" for one in waiting if one.second)
        waiting.clear()
        yield f"  {line.first}".rstrip()
