"""What is wrong with a design: its wrong results by kinds, each with the names that explain them.

A name is offered where it explains wrong results, contradicts no right one, and where nearly everything that it would
change has come out as it says. Wrong results that no name explains are a kind too, with what they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from hwsim.cases.case import Case
from hwsim.readings.answers import results
from hwsim.readings.changes import Candidate, changed
from hwsim.readings.consistent import spread
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.mistakes.catalogue import catalogue
from hwsim.readings.mistakes.flaw import NO_FLAW, Both
from hwsim.readings.mistakes.mistake import Mistake
from hwsim.readings.mistakes.wiring import NotCleared
from hwsim.readings.shape import WrongResult, facts, special_operands
from hwsim.spec import Unit, unpromised

FIRST, TELLING, SAMPLE = 8, 40, 120  # results that candidates are tried on, one after the other: wrong, wrong, right
HOPEFUL, CLOSE = 40, 6  # candidates that are tried on more, and on all
PRECISE = 0.9  # of what a name would change, how much must have come out as it says
BASES = 6  # changes to which a second one is made
MOST_KINDS, MOST_NAMES = 4, 3


class Observation(NamedTuple):
    """A result of a design. before: the result that left before it, None where nobody knows it."""

    case: Case
    code: int
    before: int | None = None


@dataclass(frozen=True)
class Cause:
    """A name for a mistake. right: wrong results of the kind that it explains, of `of`."""

    name: str
    description: str
    right: int
    of: int


@dataclass(frozen=True)
class WrongKind:
    """Wrong results of one kind.

    causes: the names that explain all of them, the likeliest first; none where nothing known does. facts: what they
    have in common, where nothing is named. members: their places among the observations. semantic: what the likeliest
    name means; None without one.
    """

    causes: tuple[Cause, ...]
    facts: tuple[str, ...]
    members: tuple[int, ...]
    semantic: Semantic | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The kinds, the largest first, the unexplained last. wrong, right: how many results there were of each."""

    kinds: tuple[WrongKind, ...]
    wrong: int
    right: int


def diagnose(unit: Unit, observations: Sequence[Observation]) -> Diagnosis:
    """What explains the wrong results of a design.

    observations: its results, right ones among them: what none of them contradicts may be named.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    return _Examination(unit, observations).diagnosis()


def candidates(unit: Unit) -> tuple[Semantic, ...]:
    """All that a result may be explained by, the likeliest first: single changes before several, then mistakes."""
    return _candidates(unit)


@lru_cache(maxsize=8)
def _candidates(unit: Unit) -> tuple[Semantic, ...]:
    known = list(semantics(unit)[1:])
    made = [_semantic(unit, mistake) for mistake in catalogue(unit)]
    plain = [one for one in known if one.changes == 1 and not one.name.startswith("result bit")]
    bits = [one for one in known if one.changes == 1 and one.name.startswith("result bit")]
    several = sorted((one for one in known if one.changes > 1), key=lambda one: one.changes)
    names: dict[str, Semantic] = {}
    for one in (*plain, *made, *bits, *several):
        names.setdefault(one.name, one)
    return tuple(names.values())


def _semantic(unit: Unit, mistake: Mistake) -> Semantic:
    on = partial(_flawed, mistake)
    return Semantic(mistake.name, mistake.description, on(unit), on)


def _flawed(mistake: Mistake, unit: Unit) -> Candidate:
    if isinstance(mistake.flaw, NotCleared) and unit.operands.addend is None:
        # What a sum goes on from enters as an addend does, also where the unit takes none.
        unit = changed(unit, {"operands": {"addend": unit.model_dump(mode="json")["result"]["format"]}})
    return Candidate(mistake.name, unit, flaw=mistake.flaw)


@dataclass
class _Tried:
    """A candidate and what it says, as far as it was asked: by the place of the observation.

    finite: whether it leaves cases with operands that are NaN or infinite as specified: designs find these apart.
    """

    semantic: Semantic
    rank: int
    said: dict[int, int] = field(default_factory=dict)
    finite: bool = False

    @property
    def description(self) -> str:
        """What a design with it does."""
        more = "; NaN and infinite operands are as specified" if self.finite else ""
        return f"{self.semantic.description}{more}"


class _Examination:
    """The results of one design, and the candidates as far as they were tried on them."""

    def __init__(self, unit: Unit, observations: Sequence[Observation]):
        self.unit, self.seen = unit, observations
        self.same = unpromised(unit).plain
        cases = [one.case for one in observations]
        self.expected = results(Candidate("as specified", unit), cases)
        every = range(len(observations))
        self.wrong = [at for at in every if self.same(self.expected[at]) != self.same(observations[at].code)]
        apart = set(self.wrong)
        self.right = [at for at in every if at not in apart]
        self.special: dict[int, bool] = {}
        self.tried = [_Tried(one, rank) for rank, one in enumerate(candidates(unit))] if self.wrong else []

    def diagnosis(self) -> Diagnosis:
        """The kinds of wrong results."""
        rest, named = list(self.wrong), list[WrongKind]()
        while rest and len(named) < MOST_KINDS:
            chosen = self._best(self.tried, rest) or self._best(self._pairs(rest, named), rest)
            if not chosen:
                break
            members = [at for at in rest if self._fits(chosen[0], at)]
            causes = tuple(Cause(one.semantic.name, one.description, len(members), len(members)) for one in chosen)
            named.append(WrongKind(causes, (), tuple(members), chosen[0].semantic))
            rest = [at for at in rest if not self._fits(chosen[0], at)]
        named.sort(key=lambda kind: -len(kind.members))
        if sum(len(kind.members) for kind in named) < len(rest):
            # A name for the smaller part of what is wrong is likely to be another mistake's shadow.
            named, rest = [], list(self.wrong)
        if rest:
            shape = facts(self.unit, [self._as_wrong(at) for at in rest], [self.seen[at].case for at in self.right])
            named.append(WrongKind((), shape, tuple(rest)))
        return Diagnosis(tuple(named), len(self.wrong), len(self.right))

    def _as_wrong(self, at: int) -> WrongResult:
        return WrongResult(self.seen[at].case, self.expected[at], self.seen[at].code)

    def _ask(self, one: _Tried, places: Sequence[int]) -> None:
        """Make a candidate say what it returns at some places."""
        open_places = [at for at in places if at not in one.said]
        if open_places:
            cases, before = [self.seen[at].case for at in open_places], [self.seen[at].before for at in open_places]
            codes = results(one.semantic.candidate, cases, before=before)
            one.said.update(zip(open_places, codes, strict=True))
            if one.finite:
                one.said |= {at: code for at, code in self._finite(one).said.items() if at in set(open_places)}

    def _fits(self, one: _Tried, at: int) -> bool:
        self._ask(one, [at])
        return self.same(one.said[at]) == self.same(self.seen[at].code)

    def _hits(self, one: _Tried, places: Sequence[int]) -> int:
        self._ask(one, places)
        return sum(self._fits(one, at) for at in places)

    def _contradicts(self, one: _Tried, places: Sequence[int]) -> bool:
        """Whether a candidate spoils a right result, the first ones tried first."""
        return any(
            self._hits(one, part) < len(part) for part in (places[:FIRST], places[FIRST:SAMPLE], places[SAMPLE:])
        )

    def _precision(self, one: _Tried, places: Sequence[int]) -> float:
        """Of the wrong results that a candidate says are not as specified, the part that it explains."""
        self._ask(one, places)
        changes = [at for at in places if self.same(one.said[at]) != self.same(self.expected[at])]
        return sum(self._fits(one, at) for at in changes) / len(changes) if changes else 0.0

    def _finite(self, one: _Tried) -> _Tried:
        """A candidate that leaves special operands as specified."""
        for at in one.said:
            if at not in self.special:
                self.special[at] = special_operands(self.unit, self.seen[at].case)
        said = {at: self.expected[at] if self.special[at] else code for at, code in one.said.items()}
        return _Tried(one.semantic, one.rank, said, finite=True)

    def _holds(self, one: _Tried, wrong: Sequence[int], right: Sequence[int]) -> bool:
        """Whether nearly all that a candidate changes came out as it says, and none of it is right as specified."""
        return self._precision(one, wrong) >= PRECISE and not self._contradicts(one, right)

    def _best(self, among: Sequence[_Tried], rest: Sequence[int]) -> list[_Tried]:
        """The candidates that explain most of the rest and contradict nothing, the likeliest first; none of none."""
        first, telling = spread(rest, FIRST), spread(rest, TELLING)
        hopeful = [one for one in among if self._hits(one, first)]
        hopeful = sorted(hopeful, key=lambda one: (-self._hits(one, telling), one.rank))[:HOPEFUL]
        sample = spread(self.right, SAMPLE)
        close = []
        for one in hopeful:
            self._ask(one, [*telling, *sample])
            either = (each for each in (one, self._finite(one)) if self._holds(each, telling, sample))
            close += list(islice(either, 1))
            if len(close) == CLOSE:
                break
        whole = []
        for one in close:
            self._ask(one, [*self.wrong, *self.right])
            either = (each for each in (one, self._finite(one)) if self._holds(each, self.wrong, self.right))
            whole += list(islice(either, 1))
        if not whole:
            return []
        most = max(self._hits(one, rest) for one in whole)
        # Few results of many are explained by chance.
        if most < min(2, len(self.wrong)):
            return []
        return [one for one in whole if self._hits(one, rest) == most][:MOST_NAMES]

    def _pairs(self, rest: Sequence[int], named: Sequence[WrongKind]) -> list[_Tried]:
        """Two changes at once that explain some of the rest: what is named already, and what explains some of it."""
        first = spread(rest, FIRST)
        names = {cause.name for kind in named for cause in kind.causes[:1]}
        scored = sorted(self.tried, key=lambda one: (-self._hits(one, first), one.rank))
        bases = [one for one in self.tried if one.semantic.name in names]
        bases += [one for one in scored[:BASES] if self._hits(one, first)]
        made: dict[frozenset[str], _Tried] = {}
        for base in bases:
            for other in self.tried:
                key = frozenset((base.semantic.name, other.semantic.name))
                if len(key) < 2 or key in made:
                    continue
                both = _both(base.semantic, other.semantic)
                if both is not None:
                    pair = _Tried(both, base.rank + other.rank)
                    if self._hits(pair, first[:2]):
                        made[key] = pair
        return list(made.values())


def _both(one: Semantic, other: Semantic) -> Semantic | None:
    """Two changes as one; None where a design cannot have both, or where they cannot be computed together."""
    if one.changes != 1 or other.changes != 1:
        return None
    inner, outer = (one, other) if one.specified else (other, one)
    name, description = f"{one.name} and {other.name}", f"{one.description}, and {other.description}"
    flaws = [each.candidate.flaw for each in (inner, outer)]
    if NO_FLAW not in flaws:
        candidate = replace(inner.candidate, name=name, flaw=Both(*flaws))
        return replace(inner, name=name, description=description, candidate=candidate, changes=2)
    if not inner.specified:
        return None
    both = outer.on(inner.candidate.unit)
    if both is None:
        return None
    return replace(outer, name=name, description=description, candidate=both, changes=2)
