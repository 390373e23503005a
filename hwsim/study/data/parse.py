"""Data as a study's file or the command line writes them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hwsim.formats.yamlfile import RuleError, broken_rule
from hwsim.quantize.tensors import names_a_file
from hwsim.study.data.matrices import SIDES, Data
from hwsim.study.data.sources import DISTRIBUTIONS, Source
from hwsim.study.data.tensors import Tensor

Entry = str | Mapping[str, Any]
KINDS = "distribution, tensor, or a and b"


def parse_data(entry: Entry, folder: Path) -> Data:
    """The data that an entry describes; `hwsim docs study-data` has all forms.

    entry: a distribution's name or a tensor's file, with or without parameters, `outliers:factor=100`; the same as a
    mapping; or a mapping with `a` and `b`, which are one of these each. A mapping may give a `name`; else it is the
    short form. folder: what a tensor's path is relative to; the data have the absolute one, for workers elsewhere.
    Raises RuleError, a ValueError, with the key, the rule and the value.
    """
    fields = _fields(entry, ())
    name = fields.pop("name", None)
    if any(side in fields for side in SIDES):
        _check_keys(fields, ("name", *SIDES), "data", ())
        for side in SIDES:
            if side not in fields:
                raise RuleError(side, "is missing: data with one of a and b must have both")
        sides = [_fields(fields[side], (side,)) for side in SIDES]
        labels = [_label(_source(side, at, None)) for side, at in zip(sides, SIDES, strict=True)]
        found = [_source(side, at, folder) for side, at in zip(sides, SIDES, strict=True)]
        label = " x ".join(labels)
    else:
        label = _label(_source(fields, None, None))
        found = _both(_source(fields, None, folder))
    try:
        return Data(name=label if name is None else name, a=found[0], b=found[1])
    except ValidationError as error:
        raise _explained(error, ()) from None


def _both(source: Source) -> list[Source]:
    """One source for both sides. Of a tensor, A and B take the same vectors, and so B's matrix is the transpose."""
    if isinstance(source, Tensor):
        return [source, source.model_copy(update={"transpose": not source.transpose})]
    return [source, source]


def _fields(entry: Any, at: tuple[str, ...]) -> dict[str, Any]:
    """An entry's keys and values."""
    if isinstance(entry, Mapping):
        return {str(key): value for key, value in entry.items()}
    if not isinstance(entry, str):
        raise RuleError(".".join(at) or "data", f"must be a name or a mapping, not {entry!r}")
    short, parameters = entry.strip(), {}
    # The last colon with an equals sign: a tensor's name may have colons of its own.
    split = re.fullmatch(r"(.*?):(\s*[\w-]+\s*=.*)", short, re.DOTALL)
    if split:
        short = split[1].strip()
        for part in split[2].split(","):
            key, equals, value = part.partition("=")
            if not equals or not value.strip():
                raise RuleError(".".join((*at, key.strip())), f"must be written KEY=VALUE, not {part!r}")
            parameters[key.strip()] = value.strip()
    return {"tensor" if names_a_file(short) else "distribution": short, **parameters}


def _source(fields: dict[str, Any], side: str | None, folder: Path | None) -> Source:
    """The source of a side's keys. folder: None leaves a tensor's path as it is written."""
    at = () if side is None else (side,)
    if "tensor" in fields:
        kind: type[Source] = Tensor
        path = fields["tensor"]
        if not isinstance(path, str) or not names_a_file(path):
            rule = "must be FILE.npy, FILE.npz, FILE.npz:NAME, FILE.safetensors or FILE.safetensors:NAME"
            raise RuleError(".".join((*at, "tensor")), f"{rule}, not {path!r}")
        fields = fields if folder is None else {**fields, "tensor": str(folder.absolute() / path)}
    elif "distribution" in fields:
        name = fields["distribution"]
        if not isinstance(name, str) or name not in DISTRIBUTIONS:
            rule = f"is unknown: {name!r}; {_meant(str(name), DISTRIBUTIONS)}"
            raise RuleError(".".join((*at, "distribution")), rule)
        kind = DISTRIBUTIONS[name]
    else:
        raise RuleError(".".join(at) or "data", f"must have {KINDS}, not {', '.join(fields) or 'nothing'}")
    what = fields.get("distribution", "tensor") if kind is not Tensor else "tensor"
    _check_keys(fields, kind.model_fields, what, at)
    try:
        return kind(**fields)
    except ValidationError as error:
        raise _explained(error, at) from None


def _check_keys(fields: Iterable[str], known: Iterable[str], what: str, at: tuple[str, ...]) -> None:
    keys = list(known)
    for key in fields:
        if key not in keys:
            raise RuleError(".".join((*at, key)), f"is no key of {what}; {_meant(key, keys)}")


def _meant(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"


def _explained(error: ValidationError, at: tuple[str, ...]) -> RuleError:
    """The first error of a validation, with its key."""
    first = error.errors()[0]
    inside, rule = broken_rule(first)
    return RuleError(".".join(map(str, (*at, *first["loc"], *inside))) or "data", rule)


def _label(source: Source) -> str:
    """The short form, with the parameters that are not their defaults."""
    changed = source.changed()
    name = changed.pop("tensor", None) or getattr(source, "distribution", "")
    parameters = ",".join(f"{key}={_shown(value)}" for key, value in changed.items())
    return f"{name}:{parameters}" if parameters else str(name)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
