"""The fields of a unit that can be changed, by short names and by their paths in the unit's file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from hwsim.base.errors import InputTypeError
from hwsim.formats.blocks import reference
from hwsim.formats.catalog import nearest
from hwsim.formats.yamlfile import Document, MappingDocument, SpecError, explain_invalid, read, validated
from hwsim.spec.keys import SpecPart
from hwsim.spec.parts import Scale, UnitKeys
from hwsim.spec.sums import RoundedSum, WindowSum, methods_of

WINDOWS, ROUNDED = methods_of(WindowSum), methods_of(RoundedSum)
GUARD = 2  # bits of a window below the result's, where the unit had none


def change_method(data: dict[str, Any], method: Any) -> None:
    """Give a unit's keys a `sum` of that method: what both methods have is kept, the rest is as presets have it.

    aligned, even-odd: the window that the unit had, or two bits more than its result. sequential, pairwise: exact
    products, additions rounded as the result is, in its format. even-odd: one group an instruction, whose addend is
    added late in f32.
    """
    old = data["sum"]
    if old["method"] == method:
        return
    new = {key: old[key] for key in ("addend", "product_limit") if key in old}
    new["method"] = method
    if method in WINDOWS:
        new |= {key: old[key] for key in ("fraction_bits", "lost", "zero_terms", "max_exp_floor") if key in old}
        new.setdefault("fraction_bits", reference(data["result"]["format"]).fraction_bits + GUARD)
    if method in ROUNDED:
        result = data["result"]
        new |= {"product": "fused", "format": result["format"], "rounding": result["rounding"]}
    elif "zero" in old:
        new["zero"] = old["zero"]
    late = data.get("late")
    if late and late["operation"] == "window" and method not in WINDOWS:
        _add_aligned(data, new)
    if method == "even-odd":
        new["combine"] = {"fraction_bits": new["fraction_bits"], "lost": new.get("lost", "truncate")}
        _add_late(data, new)
    data["sum"] = new


def _add_aligned(data: dict[str, Any], new: dict[str, Any]) -> None:
    del data["late"]
    data["instruction"]["start"] = "addend"
    new["addend"] = "aligned"


def _add_late(data: dict[str, Any], new: dict[str, Any]) -> None:
    instruction = data["instruction"]
    instruction |= {"lanes": instruction["k"], "start": "zero", "order": "sequential"}
    if data["operands"].get("addend") in (None, "none"):
        instruction["chain"] = "none"
    elif not data.get("late"):
        data["late"] = {"operation": "add", "format": "f32", "rounding": "rne"}
        new["addend"] = "late"


AnyUnit = TypeVar("AnyUnit", bound=UnitKeys)
AnyKeys = TypeVar("AnyKeys", bound=SpecPart)

Keys = tuple[str, ...]

# Short names that are paths, each of one value.
SHORT: dict[str, tuple[Keys, ...]] = {
    "fraction_bits": (("sum", "fraction_bits"),),
    "lost": (("sum", "lost"),),
    "format": (("sum", "format"),),
    "result": (("result", "format"),),
    "rounding": (("result", "rounding"),),
    "a": (("operands", "a"),),
    "b": (("operands", "b"),),
    "operands": (("operands", "a"), ("operands", "b")),
}
# Short names that change more than a value; `method` before the others, which may be about what it brings.
ORDER = ("method", "accumulator", "lanes", "interval")
NAMELESS = "unit"
# Keys of a unit that say nothing of what it returns.
SAYINGS = {"unit", "summary", "evidence", "source"}
BINARY32 = 23
NARROW = re.compile(r"e8m([1-9]|1\d|2[0-2])")


def vary(unit: AnyUnit, changes: Mapping[str, Any]) -> AnyUnit:
    """The unit with fields changed.

    changes: from a field's short name, or its path with dots (`late.rounding`), to its value as a unit's file has it.
    A format `eNmM` of binary32's exponent with M fraction bits, as e8m13 is, need not be one that hwsim ships.
    Raises SpecError for what is no field, naming the nearest, and for a value that breaks a rule of units.
    """
    if not changes:
        return unit
    data = worded(unit.model_dump(mode="json", exclude_unset=True))
    for field in sorted(changes, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)):
        _change(data, field, _value(changes[field]))
    wording = ", ".join(f"{field}={text(value)}" for field, value in changes.items())
    data |= {"unit": f"{unit.name}-{_slug(wording)}", "summary": f"{unit.name} with {wording}", "evidence": "designed"}
    data["source"] = [unit.name]
    return checked(type(unit), data)


def checked(kind: type[AnyKeys], data: dict[str, Any]) -> AnyKeys:
    """A unit, or a plan, of keys that no file holds. Raises SpecError, naming key, rule and value."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        message = str(explain_invalid(error, MappingDocument(NAMELESS, data)))
        raise SpecError(message.removeprefix(f"{NAMELESS}: ")) from None


def loaded(
    kind: type[AnyKeys], given: Any, called: str, found: Callable[[Document], None] = lambda document: None
) -> AnyKeys:
    """What a YAML file holds, or keys as a file has them, or what has been loaded, as it is.

    called: the argument's name. found: of a file that was read, what makes its paths start where it is.
    Raises SpecError for keys that break a rule, naming file, line, key, rule and value; TypeError for what is none.
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, Mapping):
        return checked(kind, dict(given))
    if not isinstance(given, (str, Path)):
        raise InputTypeError(f"{called} must be the path of a file, keys or a {kind.__name__}, not "
                             f"{type(given).__name__}")  # fmt: skip
    document = read(Path(given))
    found(document)
    return validated(kind, document)


def worded(data: Any) -> Any:
    """A unit's keys with the word for what there is none of, as files have it."""
    if isinstance(data, dict):
        return {key: worded(value) for key, value in data.items()}
    return "none" if data is None else data


def check_field(field: str) -> None:
    """Raise SpecError for what is no field of a unit, naming the nearest."""
    known = fields()
    if field not in known:
        raise SpecError(nearest("field of a unit", field, known))


@cache
def fields() -> tuple[str, ...]:
    """The names of all fields."""
    paths = dict.fromkeys(".".join(path) for path in _paths(UnitKeys) if path[0] not in SAYINGS)
    return (*ORDER, *SHORT, *paths)


def text(value: Any) -> str:
    """A field's value as labels show it: a format by its name."""
    if isinstance(value, dict):
        return str(value.get("name") or json.dumps(value, separators=(",", ":")))
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def _paths(model: type[BaseModel]) -> Iterator[Keys]:
    for name, field in model.model_fields.items():
        yield (name,)
        for part in _parts_of(field.annotation):
            yield from ((name, *path) for path in _paths(part))
    if model is Scale:
        yield from ((side, key) for side in ("a", "b") for key in ("format", "block"))


def _parts_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """The parts of a unit that a key's annotation names, those of unions too."""
    if isinstance(annotation, type):
        if issubclass(annotation, SpecPart):
            yield annotation
    else:
        for inner in get_args(annotation):
            yield from _parts_of(inner)


def _change(data: dict[str, Any], field: str, value: Any) -> None:
    if field == "method":
        change_method(data, value)
    elif field == "accumulator":
        _accumulator(data, value)
    elif field == "lanes":
        data["instruction"]["lanes"] = value
        if isinstance(value, int) and value > 0 and data["instruction"]["k"] % value:
            data["instruction"]["k"] = value
    elif field == "interval":
        _interval(data, value)
    elif field in SHORT:
        for path in SHORT[field]:
            _put(data, path, value)
    else:
        check_field(field)
        _put(data, tuple(field.split(".")), value)


def _accumulator(data: dict[str, Any], bits: Any) -> None:
    """Give everything that holds the sum these fraction bits: the window, and the format of the result or the chain."""
    if not isinstance(bits, int) or isinstance(bits, bool) or bits < 1:
        raise SpecError(f"accumulator must be a number of fraction bits of at least 1, not {bits!r}")
    fmt = _value("f32" if bits >= BINARY32 else f"e8m{bits}")
    data["result"]["format"] = fmt
    if data["sum"].get("format") is not None:
        data["sum"]["format"] = fmt
    else:
        data["sum"]["fraction_bits"] = bits


def _interval(data: dict[str, Any], value: Any) -> None:
    if value == "none":
        data["promotion"] = "none"
    elif isinstance(data.get("promotion"), dict):
        data["promotion"]["interval"] = value
    else:
        data["promotion"] = {"interval": value, "format": "f32", "operation": "add", "rounding": "rne"}


def _put(data: dict[str, Any], path: Keys, value: Any) -> None:
    for key in path[:-1]:
        if not isinstance(data.get(key), dict):
            data[key] = {}
        data = data[key]
    data[path[-1]] = value


def _value(value: Any) -> Any:
    """A value as a unit's file has it; formats with binary32's exponent written out."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_defaults=True) | {"kind": getattr(value, "kind", "float")}
    if isinstance(value, tuple):
        value = list(value)
    if value is None:
        return "none"
    narrow = NARROW.fullmatch(value) if isinstance(value, str) else None
    if narrow is None or value == "e8m13":
        return value
    return {
        "name": value, "kind": "float", "container": 32, "exponent_bits": 8, "fraction_bits": int(narrow[1]),
        "bias": 127, "infinities": True, "nan": "ieee",
    }  # fmt: skip


def _slug(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", words).strip("-")
