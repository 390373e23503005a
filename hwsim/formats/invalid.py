"""What is wrong in data that a person wrote, in plain words: the rule of a key, and the value that breaks it."""

from __future__ import annotations

import reprlib
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hwsim.formats.yamlfile import Document, Location, RuleError, SpecError

M = TypeVar("M", bound=BaseModel)
KINDS = ("float", "fixed", "exponent")
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
    beside = (e for e in errors if e["type"] == "extra_forbidden" and e["loc"][:-1] == first["loc"][:-1])
    return next(beside, first)


def broken_rule(error: ErrorDetails) -> tuple[Location, str]:
    """The rule that an error is of, `must be ..., not VALUE`, and the key that it is of inside the error's own."""
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, RuleError):
        return cause.where, cause.rule
    if error["type"] in TAGS:
        return _tag(error)
    rule = _rule(error)
    value = shown(error["input"])
    said = value if isinstance(error["input"], str) else f"not {value}"  # quoted, or behind a word of its own
    told = error["type"] in SILENT or isinstance(cause, SpecError) or (cause is not None and said in rule)
    return (), rule if told else f"{rule}, not {value}"


def _in_file(location: Location, document: Document, prefix: Location) -> tuple[Location, Location]:
    """The parts of a location that the file has, and its last part, which the file may lack.

    A union inserts the branch that it chose, which is no key of the file.
    """
    kept = prefix
    for part in location[:-1]:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept, tuple(location[-1:])


def _tag(error: ErrorDetails) -> tuple[Location, str]:
    """`kind`, and `is missing; it must be ...` or `must be ..., not VALUE`."""
    name = error["ctx"]["discriminator"].strip("'")
    given = error["input"].get(name) if isinstance(error["input"], dict) else None
    if name == "kind":
        rule = f"must be {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        return (name,), f"{rule}, not {shown(given)}" if given is not None else f"is missing; it {rule}"
    if given is None:
        return (name,), "is missing"
    *others, last = error["ctx"]["expected_tags"].split(", ")
    return (name,), f"must be {', '.join(others)} or {last}, not {shown(given)}"


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
    for said, rule in (("Input should be ", "must be "), ("Value error, ", ""), ("String should ", "must ")):
        if message.startswith(said):
            return rule + message[len(said) :]
    return message[0].lower() + message[1:]
