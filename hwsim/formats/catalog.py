"""Formats by name, and from a user's own YAML file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hwsim.formats import p3109
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format, parse
from hwsim.formats.yamlfile import Document, Location, RuleError, SpecError, read

MOST_NAMES = 60  # that an error lists
CATALOG = Path(__file__).with_name("formats.yaml")


def looks_like_path(name: str) -> bool:
    """Whether a user means a file: it has a folder or a YAML ending."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def nearest(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown format 'e4m4': did you mean e4m3, e3m4?`"""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    every = f"known: {', '.join(names)}" if len(names) <= MOST_NAMES else f"`hwsim {kind}s` lists all {len(names)}"
    hint = f"did you mean {', '.join(close)}?" if close else every
    return f"unknown {kind} {name!r}: {hint}"


def explain_invalid(error: ValidationError, document: Document, prefix: Location = ()) -> SpecError:
    """The first thing wrong in a file: `FILE:LINE: KEY RULE, not VALUE`."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, RuleError):
        location = tuple(first["loc"]) if len(cause.where) == 1 else ()
        location = (*(part for part in location if part not in KINDS), *cause.where)
        return SpecError(
            f"{document.where((*prefix, *location))}: {'.'.join(map(str, prefix))}{'.' if prefix else ''}{cause}"
        )
    location = tuple(part for part in first["loc"] if part not in KINDS)
    if first["type"] in {"union_tag_not_found", "union_tag_invalid"}:
        return _explain_kind(first, document, (*prefix, *location))
    # A union reports the branch that failed as a last, made-up part of the path.
    while location and (*prefix, *location) not in document.lines and first["type"] != "missing":
        location = location[:-1]
    key = ".".join(map(str, (*prefix, *location))) or "the file"
    rule = _rule(first["type"], first["msg"])
    said = first["type"] in {"missing", "extra_forbidden"} or repr(first["input"]) in rule
    value = "" if said else f", not {first['input']!r}"
    return SpecError(f"{document.where((*prefix, *location))}: {key} {rule}{value}")


def _explain_kind(error: ErrorDetails, document: Document, location: Location) -> SpecError:
    """`FILE:LINE: kind is missing: ...` or `FILE:LINE: kind must be ..., not VALUE`."""
    key = (*location, "kind")
    choices = "must be float, fixed or exponent"
    given = error["input"].get("kind") if isinstance(error["input"], dict) else None
    rule = f"{choices}, not {given!r}" if given is not None else f"is missing; it {choices}"
    return SpecError(f"{document.where(key)}: {'.'.join(map(str, key))} {rule}")


KINDS = {"float", "fixed", "exponent"}


def _rule(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not a key here"
    for said, rule in (("Input should be ", "must be "), ("Value error, ", ""), ("String should ", "must ")):
        if message.startswith(said):
            return rule + message[len(said) :]
    return message[0].lower() + message[1:]


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
    """The format of that name, or in that YAML file.

    name: a name that `hwsim formats` lists; one of IEEE P3109, as binary8p3se; a path to a YAML file with the keys of
    docs/formats.md; or a format.
    Raises SpecError (a ValueError) for an unknown name, naming the nearest, and for a file that breaks a rule;
    TypeError for what is none of the three.
    """
    if isinstance(name, (FloatFormat, FixedFormat, ExponentFormat)):
        return name
    if not isinstance(name, (str, Path)):
        raise TypeError(f"name must be a format's name, a path or a format, not {type(name).__name__}")
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
