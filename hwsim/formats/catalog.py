"""Formats by name, and from a user's own YAML file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hwsim.errors import InputTypeError
from hwsim.formats import p3109
from hwsim.formats.format import Format, parse
from hwsim.formats.yamlfile import Document, Location, RuleError, SpecError, read

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


def explain_invalid(error: ValidationError, document: Document, prefix: Location = ()) -> SpecError:
    """The first thing wrong in a file: `FILE:LINE: KEY RULE, not VALUE`."""
    first = error.errors()[0]
    mapping, last = _in_file(first["loc"], document, prefix)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, RuleError):
        location = (*mapping, *last, *cause.where) if (*mapping, *last) in document.lines else (*mapping, *cause.where)
        return SpecError(f"{document.where(location)}: {'.'.join(map(str, location))} {cause.rule}")
    if first["type"] in {"union_tag_not_found", "union_tag_invalid"}:
        return _explain_tag(first, document, (*mapping, *last))
    # A union reports the branch that failed as a last, made-up part of the path.
    known = (*mapping, *last) in document.lines or first["type"] == "missing"
    location = (*mapping, *last) if known else mapping
    key = ".".join(map(str, location)) or "the file"
    rule = _rule(first["type"], first["msg"])
    said = first["type"] in {"missing", "extra_forbidden"} or repr(first["input"]) in rule
    value = "" if said else f", not {first['input']!r}"
    return SpecError(f"{document.where(location)}: {key} {rule}{value}")


def _in_file(location: Location, document: Document, prefix: Location) -> tuple[Location, Location]:
    """The parts of a location that the file has, and its last part, which the file may lack.

    A union inserts the branch that it chose, which is no key of the file.
    """
    kept = prefix
    for part in location[:-1]:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept, tuple(location[-1:])


def _explain_tag(error: ErrorDetails, document: Document, location: Location) -> SpecError:
    """`FILE:LINE: kind is missing; it must be ...` or `FILE:LINE: kind must be ..., not VALUE`."""
    name = error["ctx"]["discriminator"].strip("'")
    given = error["input"].get(name) if isinstance(error["input"], dict) else None
    if name == "kind":
        rule = f"must be {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        rule = f"{rule}, not {given!r}" if given is not None else f"is missing; it {rule}"
    elif given is None:
        rule = "is missing"
    else:
        *others, last = error["ctx"]["expected_tags"].split(", ")
        rule = f"must be {', '.join(others)} or {last}, not {given!r}"
    key = (*location, name)
    return SpecError(f"{document.where(key)}: {'.'.join(map(str, key))} {rule}")


KINDS = ("float", "fixed", "exponent")


def _rule(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not a key here"
    if kind in ("model_type", "dict_type"):
        return "must be a mapping of keys to values"
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
