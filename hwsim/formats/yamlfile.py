"""YAML that a person wrote: the line of every key, and what is wrong there in plain words: the rule, and the value."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from hwsim.base.errors import InputError
from hwsim.base.files import contents

Location = tuple[str | int, ...]

# Of files that people write; what is larger is a mistake, or made to do harm.
MOST_BYTES, MOST_VALUES, MOST_DEPTH, MOST_DIGITS = 1 << 22, 100_000, 50, 4_000
MOST = 10**MOST_DIGITS  # of an integer, however it is written: what is larger, Python itself does not print


class SpecError(InputError):
    """A specification that breaks a rule. The message names file, line, key, rule and value."""


SHALLOW = 4_000  # characters, which cannot be nested too deep for a processor's stack
WORDED = 50_000  # characters that PyYAML itself reads in a second, for its words of an error
UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # what no file name and no UTF-8 text can hold


class RuleError(InputError):
    """Raised for a value, or two keys together, that break a rule.

    where: the key's path, from the mapping that the rule applies to; empty for the value itself. rule: `must be ...`.
    """

    def __init__(self, where: str, rule: str):
        super().__init__(f"{where} {rule}" if where else rule)
        self.where: Location = tuple(where.split(".")) if where else ()
        self.rule = rule


class Document:
    """One YAML mapping, as plain data, with the line of every key.

    data: the mapping. lines: from the path of a key to its line, counted from 1.
    """

    def __init__(self, path: Path, data: dict[str, Any], lines: dict[Location, int]):
        self.path, self.data, self.lines = path, data, lines

    def where(self, location: Location) -> str:
        """`file:line`, for the deepest part of `location` that the file holds."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.lines:
                return f"{self.path}:{self.lines[location[:end]]}"
        return f"{self.path}:1"


class MappingDocument(Document):
    """A mapping that stands in no file. Messages name it by its name alone."""

    def __init__(self, name: str, data: Mapping[str, Any]):
        super().__init__(Path(name), dict(data), dict.fromkeys(_locations(data), 0))

    def where(self, location: Location) -> str:
        """The name."""
        return str(self.path)


def _locations(data: Any, location: Location = ()) -> Iterator[Location]:
    """The paths of all keys of a mapping, those inside its mappings and lists too."""
    yield location
    for key, value in data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ():
        yield from _locations(value, (*location, key))


def read(path: Path) -> Document:
    """The mapping in a YAML file, with lines.

    Raises SpecError for a file that cannot be read, is not YAML, repeats a key, or holds no mapping.
    """
    try:
        return parse(contents(path, MOST_BYTES), path)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from error
    except SpecError:
        raise
    except InputError as error:
        raise SpecError(str(error)) from None


def parse(data: bytes, path: Path) -> Document:
    """The mapping in the bytes of a YAML file, with lines. path: what messages call it. Raises SpecError as `read`."""
    try:
        node = _compose(data.decode())
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: cannot be read: {error}") from error
    except RecursionError:
        raise SpecError(f"{path}:1: must not be nested more than {MOST_DEPTH} deep") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        if "nesting depth" in str(error):  # libyaml's own limit
            raise SpecError(f"{path}:{line}: must not be nested more than {MOST_DEPTH} deep") from None
        raise SpecError(f"{path}:{line}: not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{path}:1: must be a YAML mapping of keys to values")
    lines: dict[Location, int] = {(): 1}
    return Document(path, _build(node, (), lines, path), lines)


def _compose(text: str) -> yaml.Node | None:
    """The document's node, by libyaml where PyYAML has it: ten times as fast. Errors are in PyYAML's better words."""
    if yaml.__with_libyaml__:
        try:
            if len(text) > SHALLOW:
                _check_size(text)
            return yaml.compose(text, Loader=yaml.CSafeLoader)
        except (yaml.YAMLError, UnicodeError):
            if len(text) > WORDED:
                raise
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _check_size(text: str) -> None:
    """Raise RecursionError where a document is too deep for libyaml, which composes it on the processor's stack.

    Raises yaml.YAMLError for one with more keys and values than files may have.
    """
    depth = nodes = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        if depth > MOST_DEPTH + 1:
            raise RecursionError
        if nodes > 2 * MOST_VALUES + 2:
            mark = yaml.Mark("", 0, event.start_mark.line if event.start_mark else 0, 0, None, 0)
            raise yaml.MarkedYAMLError(problem=f"more than {MOST_VALUES:,} values", problem_mark=mark)


def _build(
    node: yaml.Node, place: Location, lines: dict[Location, int], path: Path, above: frozenset[yaml.Node] = frozenset()
) -> Any:
    """A node as plain data. above: the nodes that it stands in."""
    line, inner = node.start_mark.line + 1, above | {node}
    if node in above:
        raise SpecError(f"{path}:{line}: holds an alias of something that it stands in")
    if len(place) > MOST_DEPTH:
        raise SpecError(f"{path}:{line}: must not be nested more than {MOST_DEPTH} deep")
    if len(lines) > MOST_VALUES:
        raise SpecError(f"{path}:{line}: must not hold more than {MOST_VALUES:,} values, those of aliases counted")
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise SpecError(f"{path}:{line}: a key must be a word, not a {key_node.id}")
            key = str(key_node.value)
            if key in mapping:
                raise SpecError(f"{path}:{line}: {_dotted((*place, key))} stands twice")
            lines[(*place, key)] = line
            mapping[key] = _build(value_node, (*place, key), lines, path, inner)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            lines[(*place, index)] = child.start_mark.line + 1
        return [_build(child, (*place, index), lines, path, inner) for index, child in enumerate(node.value)]
    constructor = yaml.SafeLoader("")
    digits = len(node.value)
    if node.tag.endswith((":int", ":float")) and digits > MOST_DIGITS:
        raise SpecError(f"{path}:{line}: {_dotted(place)}: must have at most {MOST_DIGITS:,} digits, not {digits:,}")
    try:
        value = constructor.construct_object(node)
        if isinstance(value, str) and UNWRITABLE.search(value):
            raise ValueError("must not hold NUL or half a surrogate pair")
        if isinstance(value, int) and abs(value) >= MOST:
            raise ValueError(f"must have at most {MOST_DIGITS:,} digits")
        return value
    except yaml.constructor.ConstructorError as error:
        problem = error.problem or "cannot be read"
    except OverflowError:  # a float in pieces of sixty
        problem = "must be a number that a float can hold"
    except (ValueError, LookupError, AttributeError) as error:  # a date that is none, !!bool and !!timestamp of a word
        problem = str(error) if isinstance(error, ValueError) else f"{node.value!r} is no {node.tag.rpartition(':')[2]}"
    raise SpecError(f"{path}:{line}: {_dotted(place)}: {problem}")


def _dotted(location: Location) -> str:
    return ".".join(map(str, location))


M = TypeVar("M", bound=BaseModel)
KINDS = ("float", "fixed", "exponent", "table")
SILENT = {"missing", "extra_forbidden"}  # the value says nothing
TAGS = {"union_tag_not_found", "union_tag_invalid"}
# What pydantic says in words of Python, by the kind of error.
RULES = {
    "missing": "is missing",
    "extra_forbidden": "is not a key here",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be a mapping of keys to values"),
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list"),
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode"), "must be text"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing", "int_parsing_size"), "must be an integer"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
}

# What the patterns of keys ask for.
_DOTTED, _WORD = "letters, digits, `_`, `.` and `-`", "letters, digits, `_` and `-`"
PATTERNS = {
    r"^[A-Za-z0-9][A-Za-z0-9_.-]*$": f"must be of {_DOTTED}, a letter or a digit first",
    r"^[A-Za-z0-9][A-Za-z0-9_-]*$": f"must be of {_WORD}, a letter or a digit first",
    r"^[a-z][a-z0-9_.-]*$": f"must be of small {_DOTTED}, a letter first",
    r"^[A-Za-z_][A-Za-z0-9_$]*$": "must be a name of Verilog",
    r"^[^\s;]+$": "must be a signal's path, without spaces and semicolons",
    r"^[a-z_]+(\[\d{1,6}(\.\.\d{1,6})?\])?$": "must be a field, or elements of one, such as a[0] or a[0..7]",
    r"^(\d{1,4}(\.\.\d{1,4})?|otherwise)$": "must be a cycle, a range of cycles such as 3..34, or otherwise",
    r"^[^\x00-\x1f\x7f]*$": "must be a line of text",
    r"^[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*|\[\d+(?::\d+)?\])*$": (
        "must be a port, or a part of one, such as req.code[7:0]"
    ),
}

_short = reprlib.Repr()
_short.maxlevel, _short.maxdict, _short.maxlist, _short.maxtuple = 4, 12, 24, 24
_short.maxstring = _short.maxlong = _short.maxother = 200


def shown(value: Any) -> str:
    """A value as Python writes it, or the beginning and the end of a long one."""
    return _short.repr(value)


class FilePart(BaseModel):
    """A part of a file's keys: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def short(key: str) -> BeforeValidator:
    """The short form of a part with keys: text is the value of that one."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def validated(kind: type[M], document: Document) -> M:
    """A file's keys as a model. Raises SpecError for a file that breaks a rule, as `explain_invalid` says it."""
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        raise explain_invalid(error, document) from None


def explain_invalid(error: ValidationError, document: Document, prefix: Location = ()) -> SpecError:
    """The first thing wrong in a file: `FILE:LINE: KEY RULE, not VALUE`."""
    first = _likeliest(error.errors())
    mapping, last = _in_file(first["loc"], document, prefix)
    inside, rule = broken_rule(first)
    whole = (*mapping, *last)
    # A union reports the branch that failed as a last, made-up part of the path.
    known = whole in document.lines or first["type"] in {"missing", *TAGS}
    location = (*(whole if known else mapping), *inside)
    key = ".".join(map(str, location)) or "the file"
    return SpecError(f"{document.where(location)}: {key} {rule}")


def _likeliest(errors: list[ErrorDetails]) -> ErrorDetails:
    """The first error; where that is a missing key, a key beside it that is unknown: likely the same one misspelt."""
    first = errors[0]
    if first["type"] != "missing":
        return first
    unknown = (e for e in errors if e["type"] == "extra_forbidden" and e["loc"][:-1] == first["loc"][:-1])
    return next(unknown, first)


def broken_rule(error: ErrorDetails) -> tuple[Location, str]:
    """The rule that an error is of, `must be ..., not VALUE`, and the key that it is of inside the error's own."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, RuleError):
        return cause.where, cause.rule
    if error["type"] in TAGS:
        return _tag(error)
    rule = _rule(error)
    value = shown(error["input"])
    mention = value if isinstance(error["input"], str) else f"not {value}"  # quoted, or behind a word of its own
    names_value = error["type"] in SILENT or isinstance(cause, SpecError) or (cause is not None and mention in rule)
    return (), rule if names_value else f"{rule}, not {value}"


def _in_file(location: Location, document: Document, prefix: Location) -> tuple[Location, Location]:
    """The parts of a location that the file has, and its last part, which the file may lack.

    A union inserts the branch that it chose, which is no key of the file.
    """
    known = prefix
    for part in location[:-1]:
        if (*known, part) in document.lines:
            known = (*known, part)
    return known, tuple(location[-1:])


def _tag(error: ErrorDetails) -> tuple[Location, str]:
    """`kind`, and `is missing; it must be ...` or `must be ..., not VALUE`."""
    name = error["ctx"]["discriminator"].strip("'")
    value = error["input"].get(name) if isinstance(error["input"], dict) else None
    if name == "kind":
        rule = f"must be {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        return (name,), f"{rule}, not {shown(value)}" if value is not None else f"is missing; it {rule}"
    if value is None:
        return (name,), "is missing"
    *others, last = error["ctx"]["expected_tags"].split(", ")
    return (name,), f"must be {', '.join(others)} or {last}, not {shown(value)}"


def _rule(error: ErrorDetails) -> str:
    if error["type"] in RULES:
        return RULES[error["type"]]
    context = error.get("ctx", {})
    if error["type"] in ("too_short", "string_too_short"):
        least, of = context["min_length"], "item" if error["type"] == "too_short" else "character"
        return f"must have at least {least} {of}{'s' if least > 1 else ''}"
    if error["type"] == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], "must be written in another way")
    message = error["msg"]
    for opening, rule in (("Input should be ", "must be "), ("Value error, ", ""), ("String should ", "must ")):
        if message.startswith(opening):
            return rule + message[len(opening) :]
    return message[0].lower() + message[1:]
