"""Which likely mistakes cases tell from their unit: kills, mistakes shown to be equivalent, and those that are open.

A mistake is killed by a case where a design with it returns another result. Cases are computed once, with what passes
each place of the arithmetic. At a case where a mistake changes nothing that passes, its design does what the unit does,
step by step, and needs no run of its own; the others are run one after the other until one kills it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import accumulate
from typing import Any

from hwsim.base.files import cache_folder, replaced, takes_files
from hwsim.base.package import identity
from hwsim.cases.case import Case, dot
from hwsim.explain.mistakes import Mistake, catalogue
from hwsim.explain.mistakes.equal import why_equal
from hwsim.explain.mistakes.flawed import Flaw, FlawedDefinition
from hwsim.explain.mistakes.sums import RoundingStep, adder_after, adder_of
from hwsim.explain.record import Kills
from hwsim.formats import FixedFormat, FloatFormat
from hwsim.model.definition import Definition
from hwsim.model.hooks import Hooks, Side
from hwsim.model.rounding import add
from hwsim.model.terms import Term
from hwsim.spec import RoundedSum, Unit, unpromised

Passing = dict[tuple[Any, ...], list[int]]  # what passes a place, and the cases in which it does

# Decoded factors and products are kept by definitions, which ask their hooks once: `Passages` has them from the codes.
OF_CODES = ("factor", "product")
# Rounded additions of two terms pass these alone: their terms are recorded, and their sums compared.
OF_ADDITIONS = ("dropped", "distance", "cut", "special", "total", "magnitude", "last_place", "number", "zero_sign")
INSIDE = ("multipliers", "after")  # hooks of other roundings
PLACES = tuple(each.name for each in fields(Hooks) if each.name not in (*OF_CODES, *INSIDE))


@dataclass(frozen=True)
class _PassageHooks(Hooks):
    """Hooks that change nothing, and tell what passes. note: takes what passes with a place's name."""

    note: Callable[..., Any] = field(kw_only=True)

    def pair(self, terms: tuple[Term, ...], fmt: FloatFormat, fused: bool) -> tuple[Term, ...]:
        """The two terms as they are."""
        if len(terms) == 2:
            self.note("pair", terms, fmt, fused)
        return terms


class Passages:
    """What passes each place of a unit's arithmetic as cases are computed, and the results' codes."""

    def __init__(self, unit: Unit, cases: Sequence[Case]):
        self.unit, self.cases = unit, cases
        self.passing: dict[str, Passing] = {}
        self._index = 0
        inside = {name: self._recorder(f"{name}.") for name in INSIDE}
        definition = Definition(unit, hooks=self._recorder("", **inside))
        self.codes: list[int] = []
        for index, case in enumerate(cases):
            self._index = index
            self.codes.append(dot(definition, case).code)
        self._of_codes()
        # What `hwsim.model.rounding.add` does with the terms of each addition of two.
        self._adders = {"after.": adder_after(unit), "": adder_of(unit) if isinstance(unit.sum, RoundedSum) else None}

    def _recorder(self, prefix: str, **inside: Any) -> _PassageHooks:
        places: dict[str, Any] = {
            place: partial(self._note, prefix + place) for place in PLACES if place not in ("dropped", "cut")
        }
        return _PassageHooks(**places, **inside, note=lambda place, *value: self._note(prefix + place, *value))

    def _note(self, place: str, *value: Any) -> Any:
        cases = self.passing.setdefault(place, {}).setdefault(value, [])
        if not cases or cases[-1] != self._index:
            cases.append(self._index)
        return value[0]

    def _of_codes(self) -> None:
        """What passes decoders and multipliers, as far as it differs."""
        plain, operands = Definition(self.unit), self.unit.operands
        of_factors = self.passing["factor"] = {}
        pairs: dict[tuple[int, int], list[int]] = {}
        for index, case in enumerate(self.cases):
            for pair in dict.fromkeys(zip(case.a, case.b, strict=True)):
                pairs.setdefault(pair, []).append(index)
        of_products = self.passing["product"] = {}
        sides: dict[Side, dict[int, set[int]]] = {"a": {}, "b": {}}
        for (x, y), cases in pairs.items():
            factors = plain.factor("a", x), plain.factor("b", y)
            of_products.setdefault((plain.product(x, y), *factors), []).extend(cases)
            sides["a"].setdefault(x, set()).update(cases)
            sides["b"].setdefault(y, set()).update(cases)
        formats: dict[Side, FloatFormat | FixedFormat] = {"a": operands.a, "b": operands.b}
        for side, fmt in formats.items():
            for code, some in sides[side].items():
                of_factors[plain.factor(side, code), side, fmt, code] = sorted(some)

    def before(self, index: int) -> int | None:
        """The result before a case, which a design that no case has told from the unit has returned too."""
        return self.codes[index - 1] if index else None

    def changed(self, flaw: Flaw) -> Iterator[int]:
        """The cases at which a flaw changes something that passes; some of them more than once."""
        if flaw.case is not None:
            for index, case in enumerate(self.cases):
                if flaw.case(case, self.unit, self.before(index)) != case:
                    yield index
        if flaw.code is not None:
            for index, (case, code) in enumerate(zip(self.cases, self.codes, strict=True)):
                if flaw.code(code, self.unit, case) != code:
                    yield index
        yield from self._changed_within(flaw, "")

    def _changed_within(self, hooks: Hooks, prefix: str) -> Iterator[int]:
        adder = self._adders.get(prefix)
        if adder is not None and any(getattr(hooks, place) is not None for place in OF_ADDITIONS):
            for (terms, fmt, fused), cases in self.passing.get(prefix + "pair", {}).items():
                changed = _sum(adder, fmt, hooks.pair(terms, fmt, fused), hooks)
                if changed != _sum(adder, fmt, terms, None):
                    yield from cases
        for place in (*OF_CODES, *PLACES):
            # Of additions of two terms all is said by their sums.
            function = None if adder is not None and place in OF_ADDITIONS else getattr(hooks, place)
            if function is not None:
                for value, cases in self.passing.get(prefix + place, {}).items():
                    if function(*value) != value[0]:
                        yield from cases
        for name in INSIDE:
            inside = getattr(hooks, name)
            if inside is not None:
                yield from self._changed_within(inside, f"{prefix}{name}.")


def _sum(adder: RoundingStep, fmt: FloatFormat, terms: tuple[Term, ...], hooks: Hooks | None) -> int:
    """The code of a sum."""
    return add(fmt, terms, adder.rounding, adder.flushes, adder.overflow, hooks)


def kills(unit: Unit, cases: Sequence[Case], mistakes: Sequence[Mistake] | None = None) -> Kills:
    """Count the likely mistakes of a unit that cases kill.

    cases: in the order in which a design computes them, one after the other.
    mistakes: those to count, or None for all of the catalogue.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    passages = Passages(unit, cases)
    killed, equivalent, left = dict[str, str](), dict[str, str](), list[str]()
    for mistake in catalogue(unit) if mistakes is None else mistakes:
        # To ask every code of a decoder takes longer than to find the cases in which it is wrong.
        decoder = mistake.flaw.factor is not None or mistake.flaw.addend is not None
        why = "" if decoder else why_equal(unit, mistake)
        index = None if why else killer(passages, mistake.flaw)
        if index is not None:
            killed[mistake.name] = cases[index].id
        elif why := why or (why_equal(unit, mistake) if decoder else ""):
            equivalent[mistake.name] = why
        else:
            left.append(mistake.name)
    return Kills(unit=unit.name, cases=len(cases), killed=killed, equivalent=equivalent, open=tuple(left))


MOST_PRODUCTS = 1 << 20  # of the cases that `kept_kills` looks at, together: some ten seconds


def kept_kills(unit: Unit, cases: Sequence[Case]) -> Kills:
    """`kills` of all of the catalogue by the first cases, as many as have a million products together.

    It is kept in the cache for the next run that has the same unit and the same cases.
    """
    ends = accumulate(len(case.a) for case in cases)
    cases = cases[: max(1, sum(end <= MOST_PRODUCTS for end in ends))]
    content = hashlib.sha256(f"{identity(__name__)} {unit.model_dump_json()}".encode())
    for case in cases:
        content.update(repr(case).encode())
    path = cache_folder() / "kills" / f"{content.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError):
        return Kills.model_validate_json(path.read_bytes())
    counted = kills(unit, cases)
    if takes_files(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write(counted.model_dump_json().encode())
    return counted


def killer(passages: Passages, flaw: Flaw) -> int | None:
    """The index of a case that kills a mistake: the first of those at which it changes something; None for none."""
    tried, plain = set[int](), unpromised(passages.unit).plain
    definition = FlawedDefinition(passages.unit, flaw)
    for index in passages.changed(flaw):
        if index in tried:
            continue
        tried.add(index)
        code = definition.code_of(passages.cases[index], passages.before(index))
        if plain(code) != plain(passages.codes[index]):
            return index
    return None
