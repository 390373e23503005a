"""C identifiers for units and formats; equal names give equal identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hwsim.formats import Format

# Headers that the files of an export include.
INCLUDED = {"stdint", "stdio", "string", "svdpi"}


def identifier(name: str) -> str:
    """A name as an identifier of C and C++: each run of other characters is an underscore, removed at either end.

    `unit_` is put before a name that begins with a digit or with `u_`, which templates use, and before the name of a
    header that the files include.
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return f"unit_{plain}" if re.match(r"\d|[uU]_", plain) or plain.lower() in INCLUDED else plain


def format_names(formats: Iterable[Format]) -> dict[Format, str]:
    """An identifier for each format; equal identifiers are numbered from the second on."""
    names: dict[Format, str] = {}
    for fmt in formats:
        if fmt in names:
            continue
        plain, count = identifier(fmt.name), 1
        name = plain
        while name in names.values():
            count += 1
            name = f"{plain}_{count}"
        names[fmt] = name
    return names
