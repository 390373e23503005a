"""Reads YAML with the line of every key, so that an error can name its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from hwsim.errors import InputError
from hwsim.files import contents

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
    node: yaml.Node, at: Location, lines: dict[Location, int], path: Path, above: frozenset[yaml.Node] = frozenset()
) -> Any:
    """A node as plain data. above: the nodes that it stands in."""
    line, inner = node.start_mark.line + 1, above | {node}
    if node in above:
        raise SpecError(f"{path}:{line}: holds an alias of something that it stands in")
    if len(at) > MOST_DEPTH:
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
                raise SpecError(f"{path}:{line}: {_dotted((*at, key))} stands twice")
            lines[(*at, key)] = line
            mapping[key] = _build(value_node, (*at, key), lines, path, inner)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            lines[(*at, index)] = child.start_mark.line + 1
        return [_build(child, (*at, index), lines, path, inner) for index, child in enumerate(node.value)]
    constructor = yaml.SafeLoader("")
    digits = len(node.value)
    if node.tag.endswith((":int", ":float")) and digits > MOST_DIGITS:
        raise SpecError(f"{path}:{line}: {_dotted(at)}: must have at most {MOST_DIGITS:,} digits, not {digits:,}")
    try:
        made = constructor.construct_object(node)
        if isinstance(made, str) and UNWRITABLE.search(made):
            raise ValueError("must not hold NUL or half a surrogate pair")
        if isinstance(made, int) and abs(made) >= MOST:
            raise ValueError(f"must have at most {MOST_DIGITS:,} digits")
        return made
    except yaml.constructor.ConstructorError as error:
        problem = error.problem or "cannot be read"
    except OverflowError:  # a float in pieces of sixty
        problem = "must be a number that a float can hold"
    except (ValueError, LookupError, AttributeError) as error:  # a date that is none, !!bool and !!timestamp of a word
        problem = str(error) if isinstance(error, ValueError) else f"{node.value!r} is no {node.tag.rpartition(':')[2]}"
    raise SpecError(f"{path}:{line}: {_dotted(at)}: {problem}")


def _dotted(at: Location) -> str:
    return ".".join(map(str, at))
