"""Counts in words."""

from __future__ import annotations

HISSING = ("s", "x", "ch", "sh")  # ends of words whose plural ends in -es


def counted(count: int, one: str, rest: str = "") -> str:
    """A count and what is counted: `1 mismatch`, `1,200 mismatches`, `0 cases`.

    one: the last word in the singular. rest: what follows it, as in `1 beat in flight`.
    """
    plural = "" if count == 1 else "es" if one.endswith(HISSING) else "s"
    return f"{count:,} {one}{plural}{f' {rest}' if rest else ''}"
