"""What notebooks show: small tables and numbers as HTML, without colours of their own, for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def titled(title: str, more: str, *parts: str) -> str:
    """A title, a quiet line beside it, and parts that are HTML already."""
    quiet = f' <span style="opacity:.7">{escape(more)}</span>' if more else ""
    return f"<div><p><b>{escape(title)}</b>{quiet}</p>{''.join(parts)}</div>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Words and what they are; rows without the latter are left out."""
    cell = '<td style="text-align:left;vertical-align:top">'
    lines = (f"<tr>{cell}{escape(word)}</td>{cell}{escape(value)}</td></tr>" for word, value in rows if value)
    return f"<table>{''.join(lines)}</table>"


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a header; the first column is words, the others are numbers."""
    left, right = 'style="text-align:left"', 'style="text-align:right"'
    align = [left, *[right] * (len(header) - 1)]
    head = "".join(f"<th {how}>{escape(word)}</th>" for how, word in zip(align, header, strict=True))
    body = ("".join(f"<td {how}>{escape(cell)}</td>" for how, cell in zip(align, row, strict=True)) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table>"
