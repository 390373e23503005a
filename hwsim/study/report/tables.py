"""A table as Markdown, for pages in docs."""

from __future__ import annotations

import re

from hwsim.study.report.contents import TextTable

# What means something in Markdown: shown as it is, it is preceded by a backslash.
MEANT = re.compile(r"([\\`*_{}\[\]<>|~])")


def markdown(table: TextTable) -> str:
    """A table as GitHub's Markdown, ending in a newline: rows of cells, numbers to the right, the caption below.

    The title is not in it: it is the page's heading. Cells are plain text, whatever characters they hold.
    """
    dashes = [" ---: " if at in table.right else " --- " for at in range(len(table.header))]
    lines = [_line(table.header), f"|{'|'.join(dashes)}|", *map(_line, table.rows)]
    below = ["", _plain(table.caption)] if table.caption else []
    return "\n".join([*lines, *below]) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    return MEANT.sub(r"\\\1", " ".join(text.split()))
