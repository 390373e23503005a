"""What is wrong with a design: its wrong results by kinds, each with the names that explain them.

A name is offered where it explains wrong results and contradicts no right one. Several mistakes of one design are
found one after the other, each judged on top of those before it, and together where hardly any result is of one alone.
Wrong results that no name explains are kinds too, by what is expected and what came, with what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hwsim.cases.case import Case
from hwsim.explain.candidate import NO_EDIT, Candidate, results
from hwsim.explain.evidence import spread
from hwsim.explain.facts import Classes, Observation, WrongResult, by_class, facts, independent, special_operands
from hwsim.explain.known import ALWAYS, Semantic, candidates, evident, semantics
from hwsim.explain.mistakes import NO_FLAW
from hwsim.spec import Unit, unpromised

FIRST, TELLING, SAMPLE = 8, 40, 120  # results that candidates are tried on, one after the other: wrong, wrong, right
HOPEFUL, CLOSE = 200, 6  # candidates that are tried on more, and that hold for all
PRECISE = 0.9  # of what a name would change, how much must have come out as it says, where others are searched for
FEW = 0.1  # of the wrong results that have no name yet, a name must explain so many
BASES = 8  # changes to which a second one is made
MOST_MISTAKES, MOST_NAMES = 4, 3

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Cause:
    """A name for a mistake, which explains all wrong results of its kind.

    agrees: right results that it says too. mistakes: the names of the mistakes that it is of: one, or several at once.
    """

    name: str
    description: str
    agrees: int
    mistakes: tuple[str, ...]


@dataclass(frozen=True)
class WrongKind:
    """Wrong results of one kind.

    causes: the names that explain all of them, the likeliest first; none where nothing known does. facts: what they
    have in common, where nothing is named. members: their places among the observations. semantic: what the likeliest
    name means; None without one. classes: what is expected and what came, of a kind without a name.
    """

    causes: tuple[Cause, ...]
    facts: tuple[str, ...]
    members: tuple[int, ...]
    semantic: Semantic | None = None
    classes: Classes | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The kinds, the largest first, the unexplained last. wrong, right: how many results there were of each."""

    kinds: tuple[WrongKind, ...]
    wrong: int
    right: int

    @property
    def names(self) -> tuple[str, ...]:
        """The likeliest name of each kind that has one."""
        return tuple(kind.causes[0].name for kind in self.kinds if kind.causes)

    @property
    def unnamed(self) -> bool:
        """Whether some wrong results have no name."""
        return any(not kind.causes for kind in self.kinds)


def diagnose(
    unit: Unit,
    observations: Sequence[Observation],
    progress: Progress | None = None,
) -> Diagnosis:
    """What explains the wrong results of a design.

    observations: its results, right ones among them: what none of them contradicts may be named. progress: called with
    what is being done.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    return _Examination(unit, observations, progress or (lambda _: None)).diagnosis()


@dataclass
class _Tried:
    """A candidate and what it says, as far as it was asked: by the place of the observation.

    parts: the mistakes that it is made of. finite: whether it leaves cases with operands that are NaN or infinite as
    specified: designs find these apart.
    """

    semantic: Semantic
    rank: int
    said: dict[int, int] = field(default_factory=dict)
    finite: bool = False
    parts: tuple[_Tried, ...] = ()

    @property
    def description(self) -> str:
        """What a design with it does."""
        more = "; NaN and infinite operands are as specified" if self.finite else ""
        return f"{self.semantic.description}{more}"

    @property
    def singles(self) -> tuple[_Tried, ...]:
        """The single mistakes that it is made of."""
        return self.parts or (self,)


@dataclass(frozen=True)
class _Story:
    """Mistakes that a design may have together: the candidate of all, and of the last one what is as good as it."""

    whole: _Tried
    alternatives: dict[str, tuple[_Tried, ...]]


class _Examination:
    """The results of one design, and the candidates as far as they were tried on them."""

    def __init__(self, unit: Unit, observations: Sequence[Observation], progress: Progress):
        self.unit, self.seen, self.progress = unit, observations, progress
        self.same = unpromised(unit).plain
        cases = [one.case for one in observations]
        self.expected = results(Candidate("as specified", unit), cases)
        every = range(len(observations))
        self.wrong = [at for at in every if self.same(self.expected[at]) != self.same(observations[at].code)]
        apart = set(self.wrong)
        self.right = [at for at in every if at not in apart]
        self.special: dict[int, bool] = {}
        self.tried: list[_Tried] = []
        if self.wrong:
            every_one: dict[str, Semantic] = {}
            longest = max(len(case.a) for case in cases)
            for one in (*evident(unit, self.expected, [one.code for one in observations]), *candidates(unit)):
                if longest > unit.instruction.k or one.candidate.unit.instruction.k <= unit.instruction.k:
                    every_one.setdefault(one.name, one)  # nothing is said of several instructions where one was played
            self.tried = [_Tried(one, rank) for rank, one in enumerate(every_one.values())]
            # The simplest come first: where few operands count, several mistakes seldom meet.
            self.wrong.sort(key=lambda at: counted_operands(observations[at].case))
        self.own = _Tried(semantics(unit)[0], 0, dict(enumerate(self.expected))) if self.wrong else None

    def diagnosis(self) -> Diagnosis:
        """The kinds of wrong results."""
        named, rest = self._named() if self.wrong else ([], [])
        right = [self.seen[at] for at in self.right]
        unused = self._independent() if rest else []
        kinds = []
        parts = by_class(self.unit.output, rest, self._as_wrong)
        for classes, members in parts:
            words = sorted(f"{got} where {expected} is expected" for expected, got in classes)
            said = facts(self.unit, [self._as_wrong(at) for at in members], right)
            said = ("; ".join(words), *said) if len(parts) > 1 else said
            kinds.append(WrongKind((), (*unused, *dict.fromkeys(said)), tuple(members), classes=classes))
        return Diagnosis((*named, *kinds), len(self.wrong), len(self.right))

    def _named(self) -> tuple[list[WrongKind], list[int]]:
        """The kinds that have names, the largest first, and the wrong results that none explains."""
        story = self._story()
        if story is None:
            return [], sorted(self.wrong)
        whole, rest = story.whole, list(self.wrong)
        kinds: list[WrongKind] = []
        # What one mistake alone explains is a kind of its own; what only several explain comes last.
        parts = [*whole.singles, *([whole] if len(whole.singles) > 1 else [])]
        for part in parts:
            members = [at for at in rest if self._fits(part, at)]
            if not members:
                continue
            alike = story.alternatives.get(part.semantic.name, (part,))
            kept = [one for one in alike if all(self._fits(one, at) for at in (*members, *self.right))]
            if not kept:
                continue  # alone it says of right results that they are wrong
            causes = tuple(self._cause(one) for one in kept)
            kinds.append(WrongKind(causes[:MOST_NAMES], (), tuple(sorted(members)), part.semantic))
            taken = set(members)
            rest = [at for at in rest if at not in taken]
        if len(self.wrong) - len(rest) < len(rest):
            # Names for the smaller part of what is wrong are likely to be another mistake's shadow.
            return [], sorted(self.wrong)
        return sorted(kinds, key=lambda kind: -len(kind.members)), sorted(rest)

    def _cause(self, one: _Tried) -> Cause:
        mistakes = tuple(part.semantic.name for part in one.singles)
        return Cause(one.semantic.name, one.description, len(self.right), mistakes)

    def _story(self) -> _Story | None:
        """The mistakes that explain most of the wrong results together, the fewest; None where nothing does."""
        assert self.own is not None
        self.progress(f"trying {len(self.tried)} names on {len(self.wrong)} mismatches")
        best = self._grown(self.own, self.wrong, {})
        explained = 0 if best is None else self._hits(best.whole, self.wrong)
        if best is None or explained < len(self.wrong):
            first = best.whole.singles if best is not None else ()
            self.progress("trying two names at once")
            pair = self._best(self._pairs(self.wrong, first), self.wrong, self.own)
            # Two at once must explain what neither does alone.
            pair = [one for one in pair if self._beats_its_parts(one)]
            if pair and self._hits(pair[0], self.wrong) > explained:
                names: dict[str, tuple[_Tried, ...]] = {part.semantic.name: (part,) for part in pair[0].singles}
                names[pair[0].semantic.name] = tuple(pair)
                rest = [at for at in self.wrong if not self._fits(pair[0], at)]
                other = self._grown(pair[0], rest, names) or _Story(pair[0], names)
                if best is None or self._hits(other.whole, self.wrong) > explained:
                    best = other
        return best

    def _grown(self, base: _Tried, rest: Sequence[int], names: dict[str, tuple[_Tried, ...]]) -> _Story | None:
        """Mistakes added to a base, one after the other, each explaining most of what is left; None if none does."""
        story: _Story | None = None
        while rest and len(base.parts) < MOST_MISTAKES:
            among = self.tried if base is self.own else list(self._added(base))
            chosen = self._best(among, rest, base)
            if not chosen:
                break
            last = [one.singles[-1] for one in chosen]
            names = {**names, last[0].semantic.name: tuple(last)}
            base = chosen[0]
            names.setdefault(base.semantic.name, (base,))
            story = _Story(base, names)
            rest = [at for at in rest if not self._fits(base, at)]
        return story

    def _added(self, base: _Tried) -> Iterator[_Tried]:
        """The base with another mistake, each in turn."""
        there = {part.semantic.name for part in base.singles}
        for other in self.tried:
            if other.semantic.name not in there:
                made = _together(self.unit, (*base.singles, other))
                if made is not None:
                    yield made

    def _beats_its_parts(self, one: _Tried) -> bool:
        whole = self._hits(one, self.wrong)
        return all(whole > self._hits(part, self.wrong) + 1 for part in one.singles)

    def _independent(self) -> list[str]:
        """What no result depends on."""
        cases, got = [one.case for one in self.seen], [self.same(one.code) for one in self.seen]
        return independent(self.unit, cases, [self.same(code) for code in self.expected], got)

    def _as_wrong(self, at: int) -> WrongResult:
        return WrongResult(self.seen[at].case, self.expected[at], self.seen[at].code, self.seen[at].stalled)

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
        ends = (0, FIRST, SAMPLE, 8 * SAMPLE, len(places))
        parts = (places[start:end] for start, end in pairwise(ends))
        return any(self._hits(one, part) < len(part) for part in parts)

    def _precision(self, one: _Tried, base: _Tried, places: Sequence[int]) -> float:
        """Of the wrong results of which a candidate says something else than its base, the part that it explains."""
        self._ask(one, places)
        self._ask(base, places)
        changes = [at for at in places if self.same(one.said[at]) != self.same(base.said[at])]
        return sum(self._fits(one, at) for at in changes) / len(changes) if changes else 0.0

    def _finite(self, one: _Tried) -> _Tried:
        """A candidate that leaves special operands as specified."""
        for at in one.said:
            if at not in self.special:
                self.special[at] = special_operands(self.unit, self.seen[at].case)
        said = {at: self.expected[at] if self.special[at] else code for at, code in one.said.items()}
        return _Tried(one.semantic, one.rank, said, finite=True, parts=one.parts)

    def _holds(self, one: _Tried, base: _Tried, wrong: Sequence[int], right: Sequence[int]) -> bool:
        """Whether nearly all that a candidate changes came out as it says, and none of it is right as specified."""
        return self._precision(one, base, wrong) >= PRECISE and not self._contradicts(one, right)

    def _best(self, among: Iterable[_Tried], rest: Sequence[int], base: _Tried) -> list[_Tried]:
        """The candidates that explain most of the rest and contradict nothing, the likeliest first; none of none."""
        first, telling = self._chosen(rest, FIRST), self._chosen(rest, TELLING)
        hopeful = [one for one in among if self._hits(one, first)]
        hopeful = sorted(hopeful, key=lambda one: (-self._hits(one, telling), one.rank))[:HOPEFUL]
        sample = spread(self.right, SAMPLE)
        whole = list[_Tried]()
        for one in hopeful:
            self._ask(one, [*telling, *sample])
            for each in (one, self._finite(one)):
                if self._holds(each, base, telling, sample) and self._holds(each, base, self.wrong, self.right):
                    whole.append(each)
                    break
            if len(whole) == CLOSE:
                break
        if not whole:
            return []
        most = max(self._hits(one, rest) for one in whole)
        constant = [one for one in whole if one.semantic.name.startswith(ALWAYS)]
        if constant and self._hits(constant[0], rest) == most:
            return constant  # whatever else would explain it
        # Few results of many are explained by chance.
        if most < max(min(2, len(self.wrong)), FEW * len(rest)):
            return []
        best = [one for one in whole if self._hits(one, rest) == most]
        # Nothing need be said of NaN and infinite operands where a name explains as much without it.
        return ([one for one in best if not one.finite] or best)[:MOST_NAMES]

    def _chosen(self, places: Sequence[int], most: int) -> list[int]:
        """Some of the wrong results, the simplest first: half of them the simplest ones, half spread over all."""
        simplest = list(places[: most // 2])
        return list(dict.fromkeys([*simplest, *spread(places[most // 2 :], most - len(simplest))]))

    def _pairs(self, rest: Sequence[int], first: Sequence[_Tried]) -> list[_Tried]:
        """Two changes at once that explain some of the rest: what is named already, and what explains some of it."""
        telling = self._chosen(rest, TELLING)
        few = self._chosen(rest, FIRST)
        scored = [one for one in self.tried if one.semantic.changes == 1 and self._hits(one, few)]
        scored.sort(key=lambda one: (-self._hits(one, telling), one.rank))
        bases = list({id(one): one for one in (*first, *scored[:BASES])}.values())
        made: dict[frozenset[str], _Tried] = {}
        for number, base in enumerate(bases):
            self.progress(f"trying two names at once: {number + 1} of {len(bases)}")
            open_places = [at for at in few if not self._fits(base, at)] or few
            for other in self.tried:
                key = frozenset((base.semantic.name, other.semantic.name))
                if len(key) < 2 or key in made:
                    continue
                pair = _together(self.unit, (base, other))
                if pair is not None and self._hits(pair, open_places[:2]):
                    made[key] = pair
        return list(made.values())


def counted_operands(case: Case) -> int:
    """How many operands of a case count: products that are not zero, and an addend."""
    return sum(1 for a, b in zip(case.a, case.b, strict=True) if a and b) + (case.c != 0)


def _together(unit: Unit, parts: Sequence[_Tried]) -> _Tried | None:
    """Several mistakes in one design; None where it cannot have all, or where they cannot be computed together."""
    candidate, flaw, edit = Candidate("", unit), NO_FLAW, NO_EDIT
    for part in sorted(parts, key=lambda part: not part.semantic.specified):
        if part.semantic.changes != 1:
            return None
        made = part.semantic.on(candidate.unit)
        if made is None:
            return None
        if made.edit != NO_EDIT:
            if edit != NO_EDIT:
                return None
            edit = made.edit
        if made.flaw != NO_FLAW:
            flaw = flaw & made.flaw
        candidate = made
    name = " and ".join(part.semantic.name for part in parts)
    description = ", and ".join(part.semantic.description for part in parts)
    whole = replace(candidate, name=name, edit=edit, flaw=flaw)
    semantic = Semantic(name, description, whole, parts[0].semantic.on, changes=len(parts))
    return _Tried(semantic, sum(part.rank for part in parts), parts=tuple(parts))
