"""The unit file as a standard: the JSON schema of unit files, and a canonical form whose hash names the arithmetic."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, TableFormat
from hwsim.formats.blocks import BlockScale, reference
from hwsim.spec.fields import SAYINGS
from hwsim.spec.keys import NoneWord, SpecPart
from hwsim.spec.modes import ANY, MOST_MODES, ModalUnit, Mode
from hwsim.spec.parts import Instruction, OperandRules, Operands, Promotion, ResultRule, Scale
from hwsim.spec.sparse import AnyUnit, SparseUnit
from hwsim.spec.sums import LATE, SAYS_NOTHING, SUBGROUPS, SUMS, Combine, SumCut
from hwsim.spec.unit import Unit

SCHEMA_FILE = Path(__file__).with_name("unit.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Of the canonical form. A key that is added to the language gives every unit another text, and this another number.
VERSION = 1
KINDS: tuple[type[BaseModel], ...] = (FloatFormat, FixedFormat, ExponentFormat, TableFormat)
FORMAT, NOTHING = {"$ref": "#/$defs/Format"}, {"enum": [None, "none"]}


def unit_schema() -> dict[str, Any]:
    """The JSON schema of unit files, of one mode or of several.

    It has all keys, their kinds of values, and the keys of each method; `hwsim units FILE` checks the rules between
    keys too, and that names and paths lead to formats.
    """
    parts: tuple[type[BaseModel], ...] = (
        Operands, OperandRules, Scale, BlockScale, Instruction, *SUMS, Combine, SumCut, *SUBGROUPS, *LATE, ResultRule,
        Promotion, Mode, Unit, ModalUnit,
    )  # fmt: skip
    defs: dict[str, Any] = {}
    for name, schema in (("Unit", Unit.model_json_schema()), ("ModalUnit", ModalUnit.model_json_schema())):
        defs |= schema.pop("$defs")
        defs[name] = schema
    for cls in parts:
        _say_words(cls, defs[cls.__name__]["properties"])
    for tag, classes in (("method", SUMS), ("method", SUBGROUPS), ("operation", LATE)):
        _say_nothing(tag, classes, defs)
    defs["ModalUnit"]["properties"]["modes"] = _modes(defs["ModalUnit"]["properties"]["modes"])
    kinds = [cls.model_json_schema() for cls in KINDS]
    for kind in kinds:
        kind["required"] = ["name", "kind", *(name for name in kind["required"] if name not in ("name", "kind"))]
    defs["Format"] = {
        "description": "A format's name, the path of its file, or its keys.",
        "anyOf": [{"type": "string", "minLength": 1}, *kinds],
    }
    title = {"$schema": DIALECT, "title": "hwsim unit", "description": "What a dot-product unit returns, bit for bit."}
    branch = {"if": {"required": ["modes"]}, "then": {"$ref": "#/$defs/ModalUnit"}, "else": {"$ref": "#/$defs/Unit"}}
    return {**title, "type": "object", **branch, "$defs": _without_titles(dict(sorted(defs.items())))}


def schema_text() -> str:
    """The schema as the file that hwsim ships has it."""
    return json.dumps(unit_schema(), indent=1) + "\n"


def _say_words(cls: type[BaseModel], properties: dict[str, Any]) -> None:
    """Formats for values of any kind, and the word `none` for null, where files have it."""
    for name, field in cls.model_fields.items():
        if any(isinstance(leaf, type) and issubclass(leaf, KINDS) for leaf in _leaves(field.annotation)):
            optional = type(None) in _leaves(field.annotation)
            properties[name] = {"anyOf": [FORMAT, {"type": "null"}]} if optional else dict(FORMAT)
        if NoneWord in (*field.metadata, *getattr(field.annotation, "__metadata__", ())):
            choices = properties[name].pop("anyOf", None) or [properties[name]]
            others = [choice for choice in choices if choice != {"type": "null"}]
            properties[name] = {**properties[name], "anyOf": [*others, NOTHING]}


def _leaves(annotation: Any) -> Iterator[Any]:
    """The types in an annotation, in and out of unions."""
    inner = get_args(annotation)
    if isinstance(annotation, type) or not inner:
        yield annotation
        return
    for part in inner:
        yield from _leaves(part)


def _say_nothing(tag: str, classes: Sequence[type[SpecPart]], defs: dict[str, Any]) -> None:
    """Keys of other methods where they state what a method without them does, and null for keys with a default."""
    every = {name for cls in classes for name in cls.model_fields}
    for cls in classes:
        properties = defs[cls.__name__]["properties"]
        for name, own in properties.items():
            if name != tag and not cls.model_fields[name].is_required():
                properties[name] = {"anyOf": [own, {"type": "null"}]}
        for name in sorted(every - cls.model_fields.keys()):
            said = [SAYS_NOTHING[name]] if name in SAYS_NOTHING else []
            properties[name] = {"enum": [None, "none", *said]}


def _modes(by_name: dict[str, Any]) -> dict[str, Any]:
    """Modes by name, or those of all pairs of some formats."""
    listed = {"type": "array", "items": FORMAT, "minItems": 2, "maxItems": int(MOST_MODES**0.5)}
    pairs = {"type": "object", "properties": {ANY: listed}, "required": [ANY], "additionalProperties": False}
    return {"anyOf": [by_name, pairs]}


def _without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of keys."""
    if isinstance(schema, list):
        return list(map(_without_titles, schema))
    if not isinstance(schema, dict):
        return schema
    dropped = {"title", "discriminator"}  # no key of a unit file has such a name
    return {key: _without_titles(value) for key, value in schema.items() if key not in dropped}


def canonical(unit: AnyUnit) -> str:
    """A unit's arithmetic as one line of JSON: every key but name, summary, evidence and source, formats written out.

    Keys are sorted. Modes are a list, in the order of their numbers. There are integers, words, true, false and null,
    and no spaces.
    """
    keys = _unsaid(unit)
    if isinstance(unit, ModalUnit):
        keys["modes"] = list(keys["modes"].values())
    if isinstance(unit, SparseUnit):
        keys["dense"] = _unsaid(unit.dense)
    return json.dumps({"version": VERSION, **_written_out(keys)}, sort_keys=True, separators=(",", ":"))


def _unsaid(unit: AnyUnit) -> dict[str, Any]:
    return {key: value for key, value in unit.model_dump(mode="json").items() if key not in SAYINGS}


FORMAT_KEYS = {"a", "b", "addend", "format", "convert"}


def _written_out(data: Any) -> Any:
    """Keys with every format in full, without its name and where it is from."""
    if isinstance(data, list):
        return list(map(_written_out, data))
    if not isinstance(data, Mapping):
        return data
    return {
        key: _format(value) if key in FORMAT_KEYS and _is_format(value) else _written_out(value)
        for key, value in data.items()
    }


def _is_format(value: Any) -> bool:
    return (isinstance(value, str) and value not in ("aligned", "late")) or (
        isinstance(value, dict) and "kind" in value
    )


def _format(value: Any) -> dict[str, Any]:
    fmt: Format = reference(value)
    if isinstance(fmt, TableFormat):  # whether values are listed or by a rule is no part of the arithmetic
        return {"kind": fmt.kind, "entries": fmt.written_out}
    kept = fmt.model_dump(mode="json", exclude={"name", "summary", "source"})
    return {**kept, "kind": fmt.kind}


def fingerprint(unit: AnyUnit) -> str:
    """The SHA-256 of `canonical(unit)` in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(unit).encode()).hexdigest()
