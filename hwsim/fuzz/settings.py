"""What of the language was drawn: a count for every value of every key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hwsim.fuzz.draw import DrawnUnit
from hwsim.spec.table import spec_keys

TEXTS = ("unit", "summary", "evidence", "source")
Setting = tuple[str, str]


def settings(drawn: DrawnUnit) -> list[Setting]:
    """Every key of a unit, defaults too, and of its pipeline, with its value; numbers by their binades."""
    data = drawn.unit.model_dump(mode="json")
    keys = [(path, _label(path, value)) for path, value in _leaves(data) if path not in TEXTS]
    keys += [("pipeline.cuts", _binade(len(drawn.pipeline.cuts))), ("pipeline.contexts", str(drawn.pipeline.contexts))]
    keys += [("pipeline.register_ready", str(drawn.pipeline.register_ready).lower())]
    return keys


def counted_settings(drawn: Iterable[Iterable[Setting]]) -> dict[str, Counter[str]]:
    """How often each value of each key was drawn; words that were never drawn with a count of 0."""
    found: dict[str, Counter[str]] = {}
    for key in spec_keys():
        if key.path not in TEXTS:
            found[key.path] = Counter({_word(choice): 0 for choice in key.choices})
    for one in drawn:
        for path, value in one:
            found.setdefault(path, Counter())[value] += 1
    return {path: values for path, values in found.items() if values}


def _leaves(data: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        path = f"{at}.{key}" if at else key
        inside = isinstance(value, Mapping) and "kind" not in value and key != "order"
        if path in ("scale.a", "scale.b") and value is not None:
            yield f"{path}.format", value["format"]
            yield f"{path}.block", value["block"][1 if path == "scale.a" else 0]
        elif inside:
            yield from _leaves(value, path)
        else:
            yield path, value


def _label(path: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"own {value['kind']}" if "kind" in value else "modulo"
    if isinstance(value, int) and not isinstance(value, bool):
        return "a code" if path == "result.nan" else _binade(value)
    return _word(value)


def _word(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _binade(value: int) -> str:
    if abs(value) < 2:
        return str(value)
    low = 1 << abs(value).bit_length() - 1
    ends = (low, 2 * low - 1) if value > 0 else (-2 * low + 1, -low)
    return f"{ends[0]}..{ends[1]}"
