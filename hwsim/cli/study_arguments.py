"""The options of `hwsim study` that describe a study, as a mapping for `load_study`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from hwsim.base.errors import InputError

RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")
MOST_VALUES = 10_000  # of a range


def as_mapping(
    units: Sequence[str] | None,
    grid: Sequence[str] | None,
    scaling: Sequence[str] | None,
    data: Sequence[str] | None,
    length: str | None,
    skip_invalid: bool,
) -> dict[str, Any]:
    """The keys of a study from options; all units have the same grid and scaling. Raises ValueError."""
    keys: dict[str, Any] = {}
    varied: dict[str, Any] = {}
    if grid:
        varied["grid"] = dict(_field(text) for text in grid)
    if scaling:
        varied["scaling"] = [as_scaling(text) for text in scaling]
    if skip_invalid:
        varied["invalid"] = "skip"
    if units:
        keys["units"] = [{"unit": unit, **varied} for unit in units]
    elif varied:
        keys["units"] = []
    if data:
        keys["data"] = list(data)
    if length is not None:
        keys["lengths"] = list(_values(length, "--length"))
    return keys


def _field(text: str) -> tuple[str, list[Any]]:
    """Parse FIELD=V,V,V."""
    field, equals, values = text.partition("=")
    if not equals or not values:
        raise InputError(f"--grid must be FIELD=V,V or FIELD=A:B, not {text!r}")
    return field.strip(), list(_values(values, f"--grid {field}"))


def _values(text: str, what: str) -> Iterator[Any]:
    """Parse V,V,A:B,A:B:STEP; a range includes both ends."""
    for part in text.split(","):
        if span := RANGE.fullmatch(part.strip()):
            first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
            if last < first or step < 1:
                raise InputError(f"{what}: a range must go up, A:B or A:B:STEP, not {part!r}")
            if (count := (last - first) // step + 1) > MOST_VALUES:
                raise InputError(f"{what}: a range must have at most {MOST_VALUES:,} values; {part!r} has {count:,}")
            yield from range(first, last + 1, step)
        elif not part.strip():
            raise InputError(f"{what} must be values with commas between them, not {text!r}")
        else:
            yield _value(part)


def _value(text: str) -> Any:
    """Parse a word or a number."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # a number of too many digits, a date that is none
        return text


def as_scaling(text: str) -> Any:
    """Parse NAME or NAME:KEY=V,KEY=V, or two of these with a slash between them, for A and for B."""
    if "/" in text:
        a, _, b = text.partition("/")
        return {"a": as_scaling(a), "b": as_scaling(b)}
    name, colon, rest = text.partition(":")
    if not colon:
        return name.strip()
    entry: dict[str, Any] = {"rule": name.strip()}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"--scaling must be NAME or NAME:KEY=V,KEY=V, not {text!r}")
        entry[key.strip()] = _value(value)
    return entry
