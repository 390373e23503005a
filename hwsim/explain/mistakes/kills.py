"""Which likely mistakes cases tell from their unit: kills, mistakes shown to be equivalent, and those that are open.

A mistake is killed by a case where a design with it returns another result. Cases are computed once, with what passes
each place of the arithmetic. At a case where a mistake changes nothing that passes, its design does what the unit does,
step by step, and needs no run of its own; the others are run one after the other until one kills it. For mistakes that
no directed case kills, cases are looked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from functools import lru_cache, partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from hwsim.base.files import cache_folder, replaced, takes_files
from hwsim.base.package import identity
from hwsim.cases.aimed import aimed
from hwsim.cases.bins.covering import covering
from hwsim.cases.case import Case, dot
from hwsim.explain.mistakes import Mistake, catalogue
from hwsim.explain.mistakes.equal import why_equal
from hwsim.explain.mistakes.flawed import Flaw, FlawedDefinition
from hwsim.explain.mistakes.operands import NOT_CLEARED
from hwsim.explain.mistakes.sums import RoundingStep, adder_after, adder_of
from hwsim.explain.record import Kills
from hwsim.formats import FloatFormat
from hwsim.model.definition import Definition, definition_of
from hwsim.model.hooks import Hooks, Side, passed
from hwsim.model.rounding import ResultRounding, add
from hwsim.model.terms import Term
from hwsim.spec import AlignedSum, ExactSum, LateInWindow, RoundedSum, Unit, unpromised
from hwsim.spec.keys import Factor

Passing = dict[tuple[Any, ...], list[int]]  # what passes a place, and the cases in which it does

# Decoded factors and products are kept by definitions, which ask their hooks once: `Passages` has them from the codes.
OF_CODES = ("factor", "product")
# Rounded additions of two terms pass these alone: their terms are recorded, and their sums compared.
OF_ADDITIONS = ("dropped", "distance", "cut", "special", "total", "magnitude", "last_place", "number", "zero_sign")
# So are results that are rounded from a sum other than zero.
OF_RESULTS = ("total", "magnitude", "last_place", "number", "fixed")
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
    """The values that pass each place of a unit's arithmetic as cases are computed, and the results' codes.

    earlier: of each case the one that is computed before it; None for the first of all.
    """

    def __init__(self, unit: Unit, cases: Sequence[Case], earlier: Sequence[Case | None] = ()):
        self.unit, self.cases = unit, cases
        self._earlier = earlier or [None, *cases[:-1]]
        self.passing: dict[str, Passing] = {}
        self._index = 0
        inside = {name: self._recorder(f"{name}.") for name in INSIDE}
        definition = Definition(unit, hooks=self._recorder("", **inside))
        self.codes: list[int] = []
        self._ends = _rounds_alone(unit)
        self._sums: Passing = {}  # sums of groups that are rounded: in integers, the unit, and whether more is lost
        for index, case in enumerate(cases):
            self._index = index
            explanation = dot(definition, case)
            self.codes.append(explanation.code)
            for group in explanation.groups if self._ends else ():
                if group.special is None and group.unit_exp is not None:
                    held = self._sums.setdefault((group.total, group.unit_exp, group.sticky), [])
                    if not held or held[-1] != index:
                        held.append(index)
        self._rounding = ResultRounding(unit.result)
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
        """Record what passes decoders and multipliers: each distinct value, with the cases that it is of."""
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
        formats: dict[Side, Factor] = {"a": operands.a, "b": operands.b}
        for side, fmt in formats.items():
            for code, some in sides[side].items():
                of_factors[plain.factor(side, code), side, fmt, code] = sorted(some)

    def before(self, index: int) -> int | None:
        """The result before a case, which a design that no case has told from the unit has returned too."""
        earlier = self._earlier[index]
        return None if earlier is None else dot(definition_of(self.unit), earlier).code

    def changed(self, flaw: Flaw) -> Iterator[int]:
        """The cases at which a flaw changes something that passes; some of them more than once."""
        if flaw.case is not None:
            for index, case in enumerate(self.cases):
                before = self.before(index) if flaw is NOT_CLEARED else None
                if flaw.case(case, self.unit, before) != case:
                    yield index
        if flaw.code is not None:
            for index, (case, code) in enumerate(zip(self.cases, self.codes, strict=True)):
                if flaw.code(code, self.unit, case) != code:
                    yield index
        if flaw.scaling is not None:  # of every promotion
            yield from range(len(self.cases))
        yield from self._changed_within(flaw, "")

    def _changed_within(self, hooks: Hooks, prefix: str) -> Iterator[int]:
        adder = self._adders.get(prefix)
        ends = self._ends and not prefix
        if ends and any(getattr(hooks, place) is not None for place in OF_RESULTS):
            rounding = ResultRounding(self.unit.result, hooks)
            for (total, unit_exp, sticky), cases in self._sums.items():
                flawed = passed(hooks.total, total, unit_exp)
                # Of a sum of zero there is no more than its sign.
                codes = [
                    rule.total(number, unit_exp, 0, sticky).code
                    for rule, number in ((rounding, flawed), (self._rounding, total))
                ]
                if bool(flawed) != bool(total) or codes[0] != codes[1]:
                    yield from cases
        if adder is not None and any(getattr(hooks, place) is not None for place in OF_ADDITIONS):
            for (terms, fmt, fused), cases in self.passing.get(prefix + "pair", {}).items():
                changed = _sum(adder, fmt, hooks.pair(terms, fmt, fused), hooks)
                if changed != _sum(adder, fmt, terms, None):
                    yield from cases
        for place in (*OF_CODES, *PLACES):
            # Of additions of two terms all is said by their sums.
            known = (adder is not None and place in OF_ADDITIONS) or (ends and place in OF_RESULTS)
            function = None if known else getattr(hooks, place)
            if function is not None:
                for value, cases in self.passing.get(prefix + place, {}).items():
                    if function(*value) != value[0]:
                        yield from cases
        for name in INSIDE:
            inside = getattr(hooks, name)
            if inside is not None:
                yield from self._changed_within(inside, f"{prefix}{name}.")


def _rounds_alone(unit: Unit) -> bool:
    """True if all that comes of a group's sum, other than zero, is its rounded result."""
    rule = unit.sum
    if isinstance(rule, ExactSum):
        plain = rule.rounded == "group" or unit.instruction.groups * (2 if unit.instruction.chain else 1) == 1
        return plain and not isinstance(unit.late, LateInWindow)
    return isinstance(rule, AlignedSum) and rule.cut is None and not isinstance(unit.late, LateInWindow)


def _sum(adder: RoundingStep, fmt: FloatFormat, terms: tuple[Term, ...], hooks: Hooks | None) -> int:
    """The code of a sum."""
    return add(fmt, terms, adder.rounding, adder.flushes, adder.overflow, hooks)


def kills(unit: Unit, cases: Sequence[Case], mistakes: Sequence[Mistake] | None = None) -> Kills:
    """Count the likely mistakes of a unit that cases kill.

    cases: in the order in which a design computes them, one after the other.
    mistakes: those to count, or None for all of the catalogue.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    every = {mistake.name: mistake for mistake in (catalogue(unit) if mistakes is None else mistakes)}
    equivalent = {
        name: why for name, mistake in every.items() if not _decodes(mistake) if (why := why_equal(unit, mistake))
    }
    killed = killers(unit, cases, [mistake for name, mistake in every.items() if name not in equivalent])
    # To ask every code of a decoder takes longer than to find the cases in which it is wrong.
    for name, mistake in every.items():
        if name not in killed and _decodes(mistake) and (why := why_equal(unit, mistake)):
            equivalent[name] = why
    return _counted(unit, len(cases), every, {name: case.id for name, case in killed.items()}, equivalent)


def _decodes(mistake: Mistake) -> bool:
    return mistake.flaw.factor is not None or mistake.flaw.addend is not None


def _counted(
    unit: Unit, cases: int, every: Iterable[str], killed: Mapping[str, str], equivalent: Mapping[str, str]
) -> Kills:
    """The count, everything in the order of the catalogue."""
    return Kills(
        unit=unit.name,
        cases=cases,
        killed={name: killed[name] for name in every if name in killed},
        equivalent={name: equivalent[name] for name in every if name in equivalent},
        open=tuple(name for name in every if name not in killed and name not in equivalent),
    )


CHUNK = 256  # cases that are looked at together


def killers(unit: Unit, cases: Sequence[Case], mistakes: Sequence[Mistake]) -> dict[str, Case]:
    """A case that kills each mistake, by name; none of those that no case kills.

    Some from everywhere are looked at first, and no more than are needed. cases: as `kills` takes them.
    """
    killed, left = dict[str, Case](), list(mistakes)
    parts = -(-len(cases) // CHUNK)
    for part in range(parts):
        if not left:
            break
        some = range(part, len(cases), parts)
        passages = Passages(unit, [cases[i] for i in some], [cases[i - 1] if i else None for i in some])
        for mistake in left:
            index = killer(passages, mistake.flaw)
            if index is not None:
                killed[mistake.name] = passages.cases[index]
        left = [mistake for mistake in left if mistake.name not in killed]
    return killed


SEARCHED, PATIENCE = 2048, 3  # cases that are looked for, and chunks without a kill after which no more are


@dataclass(frozen=True)
class Known:
    """The known facts about the likely mistakes of a unit.

    killers: a case of the directed ones, or of those that were looked for, that kills each. equivalent: the reasons why
    no case can. open: the others. tried: cases that were looked for. more: killers that are no directed cases.
    """

    killers: dict[str, Case]
    equivalent: dict[str, str]
    open: tuple[str, ...]
    tried: int
    more: tuple[Case, ...]


@lru_cache(maxsize=8)
def known(unit: Unit) -> Known:
    """Return the known facts about a unit's likely mistakes, from directed cases and others that are looked for.

    It is kept in the cache. Raises NotImplementedYet for a unit that the model does not have.
    """
    path = _kept(f"{unit.model_dump_json()} known")
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        data = json.loads(path.read_bytes())
        cases = {name: _case(*row) for name, row in data["killers"].items()}
        more = tuple(_case(*row) for row in data["more"])
        return Known(cases, data["equivalent"], tuple(data["open"]), data["tried"], more)
    every = {mistake.name: mistake for mistake in catalogue(unit)}
    directed = _first(covering(unit, 1))
    counted = kills(unit, directed)
    by_id = {case.id: case for case in directed}
    killed = {name: by_id[case] for name, case in counted.killed.items()}
    searched, tried = search(unit, [every[name] for name in counted.open])
    left = tuple(name for name in counted.open if name not in searched)
    result = Known(killed | searched, counted.equivalent, left, tried, tuple(dict.fromkeys(searched.values())))
    rows = {name: astuple(case) for name, case in result.killers.items()}
    state = {**vars(result), "killers": rows, "more": [astuple(case) for case in result.more]}
    _keep(path, json.dumps(state).encode())
    return result


def _case(name: str, a: list[int], b: list[int], c: int, *more: list[int]) -> Case:
    """A case of its fields as JSON has them. more: scales, modes and metadata."""
    return Case(name, tuple(a), tuple(b), c, *map(tuple, more))


def search(unit: Unit, mistakes: Sequence[Mistake], seed: int = 2, most: int = SEARCHED) -> tuple[dict[str, Case], int]:
    """Cases that kill mistakes, by name, drawn among those aimed at places of roundings; and the number looked at.

    seed: other than 1, whose first cases are directed ones.
    """
    killed, left, tried, idle = dict[str, Case](), list(mistakes), 0, 0
    drawn = aimed(unit, seed)
    while left and tried < most and idle < PATIENCE:
        cases = list(islice(drawn, min(CHUNK, most - tried)))
        new = killers(unit, cases, left)
        killed |= new
        left = [mistake for mistake in left if mistake.name not in new]
        tried, idle = tried + len(cases), 0 if new else idle + 1
    return killed, tried


MOST_PRODUCTS = 1 << 20  # of the cases that are looked at, together: some ten seconds
MOST_KNOWN = 1 << 14  # lanes, times K, of units whose directed cases are looked at, too


def kept_kills(unit: Unit, cases: Sequence[Case]) -> Kills:
    """`kills` of all of the catalogue by the first cases, as many as have a million products together.

    What directed cases are known to kill is not asked again. It is kept in the cache for the next run that has the same
    unit and the same cases.
    """
    cases = _first(cases)
    path = _kept(unit.model_dump_json(), *map(repr, cases))
    with contextlib.suppress(OSError, ValueError):
        return Kills.model_validate_json(path.read_bytes())
    counted = (
        _by_known(unit, cases) if unit.instruction.lanes * unit.instruction.k <= MOST_KNOWN else kills(unit, cases)
    )
    _keep(path, counted.model_dump_json().encode())
    return counted


def _by_known(unit: Unit, cases: Sequence[Case]) -> Kills:
    """`kills`, and which mistakes that these cases leave other ones kill."""
    every, told, there = {mistake.name: mistake for mistake in catalogue(unit)}, known(unit), set(cases)
    # What a sum that is not cleared does depends on the case before.
    killed = {
        name: case for name, case in told.killers.items() if case in there and every[name].flaw is not NOT_CLEARED
    }
    asked = [mistake for name, mistake in every.items() if name not in killed and name not in told.equivalent]
    killed |= killers(unit, cases, asked)
    counted = _counted(unit, len(cases), every, {name: case.id for name, case in killed.items()}, told.equivalent)
    alive = tuple(name for name in counted.open if name in told.killers)
    left = tuple(name for name in counted.open if name not in told.killers)
    return counted.model_copy(update={"alive": alive, "open": left, "tried": told.tried})


def _first(cases: Sequence[Case]) -> Sequence[Case]:
    """The first cases, as many as have a million products together."""
    ends = accumulate(len(case.a) for case in cases)
    return cases[: max(1, sum(end <= MOST_PRODUCTS for end in ends))]


def _kept(*content: str) -> Path:
    """The file of the cache that is kept for a content."""
    digest = hashlib.sha256(identity(__name__).encode())
    for part in content:
        digest.update(part.encode())
    return cache_folder() / "kills" / f"{digest.hexdigest()[:32]}.json"


def _keep(path: Path, content: bytes) -> None:
    if takes_files(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write(content)


def killer(passages: Passages, flaw: Flaw) -> int | None:
    """The index of a case that kills a mistake: the first of those at which it changes something; None for none."""
    tried, plain = set[int](), unpromised(passages.unit).plain
    definition = FlawedDefinition(passages.unit, flaw)
    for index in passages.changed(flaw):
        if index in tried:
            continue
        tried.add(index)
        before = passages.before(index) if flaw is NOT_CLEARED else None
        code = definition.code_of(passages.cases[index], before)
        if plain(code) != plain(passages.codes[index]):
            return index
    return None
