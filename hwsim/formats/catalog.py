"""Formats by name, and from a user's own YAML file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hwsim.errors import InputTypeError
from hwsim.formats import p3109
from hwsim.formats.format import Format, parse
from hwsim.formats.invalid import explain_invalid
from hwsim.formats.yamlfile import Document, Location, SpecError, read

LISTED = ("unit", "format")  # by commands of their own
MOST_NAMES = 60  # of those, that an error lists
CATALOG = Path(__file__).with_name("formats.yaml")


def looks_like_path(name: str) -> bool:
    """Whether a name is a file's: it has a folder or ends as YAML files do."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown format 'e4m4': did you mean e4m3, e3m4?`"""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    listed = f"`hwsim {kind}s` lists all {len(names)}" if kind in LISTED and len(names) > MOST_NAMES else ""
    every = listed or f"known: {', '.join(names)}"
    hint = f"did you mean {', '.join(close)}?" if close else every
    return f"unknown {kind} {name!r}: {hint}"


@cache
def formats() -> dict[str, Format]:
    """Every format that ships with hwsim, by name."""
    document = read(CATALOG)
    return {name: _parse(document, name, fields, (name,)) for name, fields in document.data.items()}


def _parse(document: Document, name: str, fields: Any, prefix: Location) -> Format:
    if not isinstance(fields, dict):
        raise SpecError(f"{document.where(prefix)}: {name} must be a mapping of keys to values")
    try:
        return parse({"name": name, **fields})
    except ValidationError as error:
        raise explain_invalid(error, document, prefix) from None


def get_format(name: str | Path | Format) -> Format:
    """The format of a name, or in a YAML file.

    name: a name that `hwsim formats` lists; one of IEEE P3109, as binary8p3se; a path to a YAML file with the keys of
    `hwsim docs formats`; or a format.
    Raises SpecError (a ValueError) for an unknown name, naming the nearest, and for a file that breaks a rule;
    TypeError for what is none of the three.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, (str, Path)):
        raise InputTypeError(f"name must be a format's name, a path or a format, not {type(name).__name__}")
    if isinstance(name, Path) or looks_like_path(name):
        path = Path(name)
        document = read(path)
        return _parse(document, path.stem.lower(), document.data, ())
    known = formats()
    parametric = p3109.named(name)
    if parametric is not None:
        return parametric
    if name not in known:
        raise SpecError(nearest("format", name, known))
    return known[name]
