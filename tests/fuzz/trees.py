"""Mutations of what YAML and JSON hold: mappings, lists, words and numbers; and of how they are written."""

from __future__ import annotations

import copy
import datetime
import json
import math
from collections.abc import Iterator
from random import Random
from typing import Any

import yaml

Tree = Any
Place = tuple[Any, Any]  # a mapping or list, and the key or index in it

# Those of libyaml are ten times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
MOST_NESTED = 400  # of lists in lists that are built as data; deeper ones are written as text
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 8, 16, 255, 256, 257, 65_535, 65_536, 65_537, 2**31, 2**32, 2**53, 2**63, 2**64, 10**21,
    -(10**21), 10**400, 10**4200, 0.5, -0.0, 1e-320, 1e308, math.nan, math.inf, -math.inf, True, False,
)  # fmt: skip
TEXTS: tuple[Any, ...] = (
    "", " ", "none", "null", "true", "~", "nan", ".inf", "0", "-1", "1e3", "0x10", "1_000", "8", "é", "\u202e",
    "\ud800",
    "a\0b", "a\nb", "\x1b[31mred", "\N{ARABIC-INDIC DIGIT FIVE}", "x" * 300, "x" * 70_000, "../x",
    "../../../etc/passwd",
    "/dev/zero", "/dev/full", "/dev/null", "/proc/self/mem", "/", ".", "..", "-", "--help", "x.yaml", "./x.yaml", "a b",
    "a;b", "$(touch written)", "`touch written`", "%s%n", "{}", "[0]", "a[0:0]", "a[99999999999999999999:0]",
    "a[0:70000]",
    "__class__", "*", "&a", "!!str", "4", "float", "e4m3", "f32", "int8", "aligned", "rne", "block", "tensor",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, [], {}, [[]], [None], {"": None}, {"a": 1}, {"a": {"b": {"c": 1}}}, ["a", "b"], [1, 2, 3], [0] * 1000,
    [float("nan")], {"kind": "float"}, {"method": "aligned"}, b"\xff\0", datetime.date(2001, 1, 1),
    datetime.datetime(2001, 1, 1, 1, 1, 1), {1: 2}, {None: None}, {True: False},
)  # fmt: skip
TAILS = (
    "KEY: &a [*a]\n",
    "KEY: *nothing\n",
    "b0: &b0 [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 9)),
    "<<: {KEY: 1}\n",
    "KEY: !!python/object/apply:os.system ['touch written']\n",
    "KEY: !!python/name:os.system\n",
    "KEY: !!binary '%%%'\n",
    "KEY: !!int x\n",
    "KEY: !!timestamp x\n",
    "KEY: !!set {a, b}\n",
    "KEY: !!omap [a: 1]\n",
    "KEY: !own x\n",
    "KEY: !!bool [1]\n",
    "KEY: 1:2:3\n",
    "KEY: 0b2\n",
    "KEY: 0o9\n",
    "KEY: 2001-13-45\n",
    "? [a, b]\n: 1\n",
    "? {a: b}\n: 1\n",
    "KEY: " + "[" * 60 + "]" * 60 + "\n",
    "KEY: " + "[" * 20_000 + "\n",
    "KEY: " + "{a: " * 3_000 + "\n",
    "KEY:\n" + "- - - -\n" * 10,
    "---\nKEY: 1\n",
    "...\nx\n",
    "KEY: 1\n",
    "KEY: |\n  x\n y\n",
    "KEY:\tx\n",
    "  KEY: 1\n",
    "@\n",
    "%YAML 9.9\n",
    "KEY: '\n",
    "# " + "x" * 100_000 + "\n",
)


def places(tree: Tree) -> Iterator[Place]:
    """Every value of a tree that stands in a mapping or a list."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(tree, dict):
        pairs = list(tree.items())
    elif isinstance(tree, list):
        pairs = list(enumerate(tree))
    for key, value in pairs:
        yield tree, key
        yield from places(value)


def mutate(tree: Tree, rng: Random, pool: dict[str, list[Any]]) -> Tree:
    """A tree with one thing changed. pool: the values that keys have in any file."""
    there = list(places(tree))
    if not there:
        return rng.choice(OTHERS)
    # A file's own keys as often as the many codes of a list.
    keys = [place for place in there if isinstance(place[0], dict)]
    holder, key = rng.choice(keys if keys and rng.random() < 0.8 else there)
    rng.choice(MILD if rng.random() < 0.4 else CHANGES)(holder, key, rng, pool)
    return tree


def _drop(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    del holder[key]


def _rename(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    if not isinstance(holder, dict):
        return _repeat(holder, key, rng, pool)
    word = str(key)
    new = rng.choice((word[:-1], word + "x", word.upper(), "", rng.choice(list(pool) or [""]), 0, None, "\x1b[31m"))
    holder[new] = holder.pop(key)
    return None


def _repeat(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    if isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key]) for _ in range(rng.choice((1, 2, 60)))]
    else:
        holder[f"{key}{rng.choice(('2', '_', ' '))}"] = copy.deepcopy(holder[key])


def _number(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    holder[key] = rng.choice(NUMBERS)


def _near(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    """A number near the one that is there, which may be right."""
    value = holder[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _text(holder, key, rng, pool)
    holder[key] = rng.choice(
        (value + 1, value - 1, value + 1, value - 1, -value, value * 2, value // 2, value * 1000, str(value))
    )
    return None


def _text(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    holder[key] = rng.choice(TEXTS)


def _other(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    holder[key] = copy.deepcopy(rng.choice(OTHERS))


def _foreign(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    """The value that this key, or any other, has in another file."""
    same = pool.get(str(key)) or []
    values = same if same and rng.random() < 0.7 else rng.choice(list(pool.values()) or [[None]])
    holder[key] = copy.deepcopy(rng.choice(values))


def _own(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    """Another value that this key has in any file, a list's too; a number near for a number."""
    same = [value for value in pool.get(str(key), []) if type(value) is type(holder[key]) and value != holder[key]]
    if same:
        holder[key] = copy.deepcopy(rng.choice(same))
    else:
        _near(holder, key, rng, pool)


def _move(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    """The values of two places of a mapping or list exchanged."""
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def _add(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    """A key of another file."""
    if isinstance(holder, dict) and pool:
        new = rng.choice(list(pool))
        holder[new] = copy.deepcopy(rng.choice(pool[new]))
    else:
        _foreign(holder, key, rng, pool)


def _wrap(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    value = holder[key]
    for _ in range(rng.choice((1, 1, 2, 45, 60, MOST_NESTED))):
        value = [value] if rng.random() < 0.5 else {str(key): value}
    holder[key] = value


def _unwrap(holder: Any, key: Any, rng: Random, pool: dict[str, list[Any]]) -> None:
    value = holder[key]
    if isinstance(value, dict) and value:
        holder[key] = value[rng.choice(list(value))]
    elif isinstance(value, list) and value:
        holder[key] = value[0]
    else:
        _other(holder, key, rng, pool)


CHANGES = (
    _drop, _rename, _repeat, _number, _number, _near, _near, _text, _text, _other, _foreign, _foreign, _move, _add,
    _wrap,
    _unwrap,
)  # fmt: skip


MILD = (_drop, _near, _own, _own, _own)  # what may be accepted


def as_yaml(tree: Tree, rng: Random) -> bytes:
    """A tree as YAML, now and then with something at its end that only YAML can say."""
    try:
        text = str(yaml.dump(tree, Dumper=DUMPER, sort_keys=False, allow_unicode=rng.random() < 0.5))
    except (RecursionError, ValueError, UnicodeError):  # too deep for PyYAML, or more digits than Python converts
        text = "x: " + "[" * 3000 + "]" * 3000 + "\n"
    if rng.random() < 0.15:
        words = [str(key) for key in tree] if isinstance(tree, dict) and tree else ["x"]
        text = _with_tail(text, rng.choice(TAILS), rng.choice(words), rng)
    data = text.encode("utf-8", "surrogatepass")
    return data if rng.random() < 0.97 else text.encode(rng.choice(("utf-16", "utf-32", "utf-8-sig")), "replace")


def _with_tail(text: str, tail: str, word: str, rng: Random) -> str:
    own = tail.replace("KEY", rng.choice(("x", word)))
    return text + own if rng.random() < 0.8 else own + text


def as_json(tree: Tree, rng: Random) -> bytes:
    """A tree as JSON, now and then with a number or a nest that only text can hold."""
    try:
        text = json.dumps(tree, default=str, skipkeys=True)
    except (RecursionError, ValueError):
        text = "[" * 3000 + "]" * 3000
    if rng.random() < 0.1:
        new = rng.choice(("1e999", "-0", "1" + "0" * 5000, "[" * 100_000, '{"a":1,"a":2}', "NaN", '"\\ud800"', "0x1"))
        text = text.replace(rng.choice((": 1", ": 0", ": {", ": [")), f": {new}", 1)
    return text.encode("utf-8", "surrogatepass")


def gathered(trees: list[Tree]) -> dict[str, list[Any]]:
    """The values that every key has in some trees."""
    pool: dict[str, list[Any]] = {}
    for tree in trees:
        for holder, key in places(tree):
            if isinstance(holder, dict) and holder[key] not in pool.setdefault(str(key), []):
                pool[str(key)].append(holder[key])
    return pool
