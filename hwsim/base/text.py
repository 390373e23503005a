"""Counts in words, and small tables as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

HISSING = ("s", "x", "ch", "sh")  # ends of words whose plural ends in -es


def counted(count: int, noun: str, rest: str = "") -> str:
    """A count and what is counted: `1 mismatch`, `1,200 mismatches`, `0 cases`.

    noun: the last word in the singular. rest: what follows it, as in `1 beat in flight`.
    """
    plural = "" if count == 1 else "es" if noun.endswith(HISSING) else "s"
    return f"{count:,} {noun}{plural}{f' {rest}' if rest else ''}"


def titled(title: str, more: str, *parts: str) -> str:
    """HTML of a title, a quiet line beside it, and parts that are HTML already."""
    quiet = f' <span style="opacity:.7">{escape(more)}</span>' if more else ""
    return f"<div><p><b>{escape(title)}</b>{quiet}</p>{''.join(parts)}</div>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """An HTML table of words and their values; rows without a value are left out."""
    cell = '<td style="text-align:left;vertical-align:top">'
    lines = (f"<tr>{cell}{escape(word)}</td>{cell}{escape(value)}</td></tr>" for word, value in rows if value)
    return f"<table>{''.join(lines)}</table>"


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table with a header; the first column is words, the others are numbers."""
    left, right = 'style="text-align:left"', 'style="text-align:right"'
    align = [left, *[right] * (len(header) - 1)]
    head = "".join(f"<th {how}>{escape(word)}</th>" for how, word in zip(align, header, strict=True))
    body = ("".join(f"<td {how}>{escape(cell)}</td>" for how, cell in zip(align, row, strict=True)) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table>"
