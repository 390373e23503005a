"""All keys of a specification, with meanings and values, read from the classes that check them."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from hwsim.spec.keys import NUMBER, SpecPart, Values
from hwsim.spec.parts import Instruction, Operands, Promotion, ResultRule, Scale, UnitKeys
from hwsim.spec.sums import LATE, SUBGROUPS, SUMS, Combine, SumCut


@dataclass(frozen=True)
class SpecKey:
    """One key of a specification.

    path: of its parts, as `sum.lost`. of: the methods or operations that have it; empty for all.
    values: in words; choices: the values that are words to choose from. required: whether it must be given.
    bounds: the least and the largest integer that is a value, None for no bound; None where integers are no values.
    is_format: whether formats are values.
    """

    path: str
    of: tuple[str, ...]
    meaning: str
    values: tuple[str, ...]
    choices: tuple[str | bool, ...]
    default: Any
    required: bool
    bounds: tuple[int | None, int | None] | None = None
    is_format: bool = False


# The parts of a file: path, the key that names a part's class, and the classes.
SECTIONS: tuple[tuple[str, str, Sequence[type[SpecPart]]], ...] = (
    ("", "", (UnitKeys,)),
    ("operands", "", (Operands,)),
    ("scale", "", (Scale,)),
    ("instruction", "", (Instruction,)),
    ("sum", "method", SUMS),
    ("sum.combine", "", (Combine,)),
    ("sum.cut", "", (SumCut,)),
    ("sum.subgroup", "method", SUBGROUPS),
    ("late", "operation", LATE),
    ("result", "", (ResultRule,)),
    ("promotion", "", (Promotion,)),
)


def spec_keys() -> Iterator[SpecKey]:
    """Every key, in the order of a file; a part is not a key itself."""
    for section, tag, classes in SECTIONS:
        names = dict.fromkeys(name for cls in classes for name in cls.model_fields)
        for name in names:
            having = [cls for cls in classes if name in cls.model_fields]
            if name == tag:
                yield _tag_key(section, tag, classes)
            elif not _is_part(having[0].model_fields[name]):
                yield _spec_key(section, tag, name, having, len(having) == len(classes))


def _tag_key(section: str, tag: str, classes: Sequence[type[SpecPart]]) -> SpecKey:
    tags = tuple(_tags(cls, tag) for cls in classes)
    meaning = " ".join(f"{name}: {_first_line(cls)}" for name, cls in zip(tags, classes, strict=True))
    return SpecKey(f"{section}.{tag}", (), meaning, tags, tags, None, required=True)


def _spec_key(section: str, tag: str, name: str, having: Sequence[type[SpecPart]], everywhere: bool) -> SpecKey:
    field = having[0].model_fields[name]
    values = dict.fromkeys(value for cls in having for value in _values(cls.model_fields[name]))
    path = f"{section}.{name}" if section else name
    choices = tuple(choice for cls in having for choice in _choices(cls.model_fields[name].annotation))
    return SpecKey(
        path,
        () if everywhere else tuple(_tags(cls, tag) for cls in having),
        meanings(having[0]).get(name, ""),
        tuple(values),
        tuple(dict.fromkeys(choices)),
        None if field.is_required() else field.default,
        field.is_required(),
        _bounds(field),
        any(isinstance(leaf, type) and issubclass(leaf, NUMBER) for leaf in _leaves(field.annotation)),
    )


def _bounds(field: FieldInfo) -> tuple[int | None, int | None] | None:
    annotations = list(_annotations(field))
    integers = int in _leaves(field.annotation)
    return (_bound(annotations, Ge), _bound(annotations, Le)) if integers else None


def _is_part(field: FieldInfo) -> bool:
    """True if a field is a part of the file with keys of its own."""
    classes = [cls for section, _, parts in SECTIONS if section for cls in parts]
    return any(cls in classes for cls in _leaves(field.annotation))


def _tags(each: type[SpecPart], tag: str) -> str:
    return str(get_args(each.model_fields[tag].annotation)[0])


def _first_line(each: type[SpecPart]) -> str:
    return (inspect.getdoc(each) or "").splitlines()[0]


@cache
def meanings(each: type[SpecPart]) -> dict[str, str]:
    """The docstrings below a class's keys."""
    texts: dict[str, str] = {}
    for base in reversed(each.__mro__):
        if not issubclass(base, SpecPart) or base is SpecPart:
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for statement, following in itertools.pairwise(statements):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                match following:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        texts[statement.target.id] = " ".join(text.split())
    return texts


def _leaves(annotation: Any) -> Iterator[Any]:
    """The types in an annotation, taken out of unions and `Annotated`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _leaves(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _leaves(part)
    else:
        yield annotation


def _choices(annotation: Any) -> Iterator[str | bool]:
    for leaf in _leaves(annotation):
        if get_origin(leaf) is Literal:
            yield from get_args(leaf)
        elif leaf is bool:
            yield from (False, True)


def _annotations(field: FieldInfo) -> Iterator[Any]:
    """The metadata of a field's annotation, inside unions too."""
    yield from field.metadata
    pending = [field.annotation]
    while pending:
        annotation = pending.pop()
        if get_origin(annotation) is Annotated:
            yield from getattr(annotation, "__metadata__", ())
        pending += [part for part in get_args(annotation) if get_origin(annotation) is not Literal]


def _values(field: FieldInfo) -> list[str]:
    """The values of a key, in words."""
    annotations = list(_annotations(field))
    words = [word for annotation in annotations if isinstance(annotation, Values) for word in annotation.words]
    if not words:
        for leaf in _leaves(field.annotation):
            words += _words(leaf, annotations)
    return words + (["none"] if type(None) in _leaves(field.annotation) else [])


def _words(leaf: Any, annotations: list[Any]) -> list[str]:
    if leaf is type(None):
        return []
    if leaf is int:
        low, high = _bound(annotations, Ge), _bound(annotations, Le)
        return [f"{low} to {high}" if high is not None else f"{low} or more" if low is not None else "an integer"]
    if get_origin(leaf) is Literal:
        return [str(value) for value in get_args(leaf)]
    if leaf is bool:
        return ["false", "true"]
    return [f"{{{', '.join(leaf.model_fields)}}}"]


def _bound(annotations: list[Any], kind: type[Ge] | type[Le]) -> int | None:
    """The bound in an integer's metadata, inside pydantic's FieldInfo too."""
    inside = [part for constraint in annotations for part in getattr(constraint, "metadata", [constraint])]
    name = "ge" if kind is Ge else "le"
    return next((getattr(constraint, name) for constraint in inside if isinstance(constraint, kind)), None)
