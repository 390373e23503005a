"""Functions of the model summed up: what a call returns on all of its paths is one result, of terms that choose.

`paths` runs a whole function again for each answer that is possible. Of a dot product that is one run for each
combination of signs, shifts, carries and so on, and they multiply. Where a function inside it is summed up, its own
questions are answered inside: the caller goes on with one result. Only what cannot be chosen by a term, as the class of
a number, is asked in the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hwsim.prove.explore import Path, given, paths
from hwsim.prove.logic import Kind, Term, either, op
from hwsim.prove.relations import holds
from hwsim.prove.symbolic import Integer, Truth, ite

# A place of a function: what has it, and its name there.
Place = tuple[Any, str]


@dataclass(frozen=True)
class Called:
    """A call that was summed up: the function's name, what it took and returned, and what was known there."""

    name: str
    arguments: tuple[Any, ...]
    result: Any
    given: tuple[Term, ...]


@dataclass(frozen=True)
class _Remembered:
    """A call's results, one for each shape, and calls that it makes itself. held: what its key speaks of."""

    results: list[Path[Any]]
    inner: tuple[Called, ...]
    held: object


class Summaries:
    """Summed up calls, each explored once for what is known where it is made. called: all calls, in order."""

    def __init__(self) -> None:
        self.kept: dict[Any, _Remembered] = {}
        self.called: list[Called] = []

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that returns what another returns, summed up."""

        def summed_up(*arguments: Any, **named: Any) -> Any:
            known, asked = given(), (*arguments, *sorted(named.items()))
            key = function, _key(asked), _key(known)
            if key not in self.kept:
                before, self.called = self.called, []
                results = _joined(paths(lambda: function(*arguments, **named), known))
                self.kept[key] = _Remembered(results, tuple(self.called), (asked, known))
                self.called = before
            kept = self.kept[key]
            result = _chosen(kept.results)
            self.called += [*kept.inner, Called(function.__name__, arguments, result, known)]
            return result

        return summed_up

    @contextmanager
    def within(self, places: Sequence[Place]) -> Iterator[None]:
        """Functions in these places are summed up, as long as this lasts."""
        before = [getattr(owner, name) for owner, name in places]
        for (owner, name), function in zip(places, before, strict=True):
            setattr(owner, name, self.of(function))
        try:
            yield
        finally:
            for (owner, name), function in zip(places, before, strict=True):
                setattr(owner, name, function)


def _key(thing: Any) -> Any:
    """What two arguments have in common that are the same."""
    match thing:
        case Integer():
            return Integer, thing.term.id(), thing.low, thing.high
        case Truth():
            return Truth, thing.term.id()
        case tuple() | list():
            return type(thing), *map(_key, thing)
        case int() | str() | None | Enum():
            return type(thing), thing
        case _:
            return id(thing)


def _shape(result: Any) -> Any:
    """What of a result no term chooses."""
    match result:
        case bool() | Truth():
            return "truth"
        case int() | Integer():
            return "number"
        case tuple() | list():
            return type(result), *map(_shape, result)
        case str() | None | Enum():
            return result
        case _:
            return id(result)


def _joined(found: Sequence[Path[Any]]) -> list[Path[Any]]:
    """One path for each shape."""
    shapes: dict[Any, list[Path[Any]]] = {}
    for path in found:
        shapes.setdefault(_shape(path.result), []).append(path)
    return [
        Path(either(*(one.condition for one in group)), _merged([(one.condition, one.result) for one in group]))
        for group in shapes.values()
    ]


def _merged(choices: Sequence[tuple[Term, Any]]) -> Any:
    """Results of one shape as one; the last one where none of the other conditions holds."""
    last = choices[-1][1]
    match last:
        case bool() | Truth():
            return _truth([(condition, one) for condition, one in choices])
        case int() | Integer():
            made = last
            for condition, one in reversed(choices[:-1]):
                made = made if _key(one) == _key(made) else ite(Truth(condition), one, made)
            return made
        case tuple() | list():
            parts = [_merged([(condition, result[at]) for condition, result in choices]) for at in range(len(last))]
            return last._make(parts) if hasattr(last, "_make") else type(last)(parts)
        case _:
            return last


def _truth(choices: Sequence[tuple[Term, Any]]) -> Any:
    if len({_key(one) for _, one in choices}) == 1:
        return choices[0][1]
    made = holds(choices[-1][1])
    for condition, one in reversed(choices[:-1]):
        made = op(Kind.ITE, condition, holds(one), made)
    return Truth(made)


def _chosen(joined: Sequence[Path[Any]]) -> Any:
    """The result of the shape that is asked for, in the caller."""
    for path in joined[:-1]:
        if Truth(path.condition):
            return path.result
    return joined[-1].result
