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
from hwsim.explain.candidate import Candidate, results
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
MOST_WRONG, MOST_RIGHT = 600, 6000  # results that names are judged by

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
        return any(not kind.causes for kind in self.kinds)


def diagnose(
    unit: Unit,
    observations: Sequence[Observation],
    progress: Progress | None = None,
) -> Diagnosis:
    """Find the mistakes that explain the wrong results of a design.

    observations: its results, right ones among them: what none of them contradicts may be named. progress: called with
    what is being done.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    return _Examination(unit, observations, progress or (lambda _: None)).diagnosis()


@dataclass
class _Hypothesis:
    """A candidate that may explain results. codes: its results by the index of an observation, as far as computed.

    parts: the mistakes that it is made of. finite: whether it leaves cases with operands that are NaN or infinite as
    specified: designs find these apart.
    """

    semantic: Semantic
    rank: int
    codes: dict[int, int] = field(default_factory=dict)
    finite: bool = False
    parts: tuple[_Hypothesis, ...] = ()

    @property
    def description(self) -> str:
        suffix = "; NaN and infinite operands are as specified" if self.finite else ""
        return f"{self.semantic.description}{suffix}"

    @property
    def singles(self) -> tuple[_Hypothesis, ...]:
        """The single mistakes that it is made of."""
        return self.parts or (self,)


@dataclass(frozen=True)
class _Combination:
    """Mistakes that a design may have together: the candidate of all, and alternatives to the last mistake."""

    whole: _Hypothesis
    alternatives: dict[str, tuple[_Hypothesis, ...]]


class _Examination:
    """The results of one design, and the candidates as far as they were tried on them."""

    def __init__(self, unit: Unit, observations: Sequence[Observation], progress: Progress):
        self.unit, self.observations, self.progress = unit, observations, progress
        self.plain = unpromised(unit).plain
        cases = [observation.case for observation in observations]
        self.expected = results(Candidate("as specified", unit), cases)
        every = range(len(observations))
        self.wrong = [
            index for index in every if self.plain(self.expected[index]) != self.plain(observations[index].code)
        ]
        apart = set(self.wrong)
        self.right = [index for index in every if index not in apart]
        self.special: dict[int, bool] = {}
        self.hypotheses: list[_Hypothesis] = []
        if self.wrong:
            named: dict[str, Semantic] = {}
            longest, k = max(len(case.a) for case in cases), unit.instruction.k
            codes = [observation.code for observation in observations]
            for semantic in (*evident(unit, self.expected, codes), *candidates(unit)):
                if longest > k or semantic.candidate.unit.instruction.k <= k:
                    named.setdefault(semantic.name, semantic)  # no several instructions where one was played
            self.hypotheses = [_Hypothesis(semantic, rank) for rank, semantic in enumerate(named.values())]
            # The simplest come first: where few operands count, several mistakes seldom meet.
            self.wrong.sort(key=lambda index: counted_operands(observations[index].case))
        self.own = _Hypothesis(semantics(unit)[0], 0, dict(enumerate(self.expected))) if self.wrong else None

    def diagnosis(self) -> Diagnosis:
        named, rest = self._named() if self.wrong else ([], [])
        right = [self.observations[index] for index in self.right]
        unused = self._independent() if rest else []
        kinds = []
        parts = by_class(self.unit.output, rest, self._as_wrong)
        for classes, members in parts:
            words = sorted(f"{got} where {expected} is expected" for expected, got in classes)
            common = facts(self.unit, [self._as_wrong(index) for index in members], right)
            common = ("; ".join(words), *common) if len(parts) > 1 else common
            kinds.append(WrongKind((), (*unused, *dict.fromkeys(common)), tuple(members), classes=classes))
        return Diagnosis((*named, *kinds), len(self.wrong), len(self.right))

    def _named(self) -> tuple[list[WrongKind], list[int]]:
        """The kinds that have names, the largest first, and the wrong results that none explains."""
        combination = self._combination()
        if combination is None:
            return [], sorted(self.wrong)
        whole, rest = combination.whole, list(self.wrong)
        kinds: list[WrongKind] = []
        # What one mistake alone explains is a kind of its own; what only several explain comes last.
        parts = [*whole.singles, *([whole] if len(whole.singles) > 1 else [])]
        for part in parts:
            members = [index for index in rest if self._explains(part, index)]
            if not members:
                continue
            alike = combination.alternatives.get(part.semantic.name, (part,))
            asked = (*members, *self.right)
            kept = [hypothesis for hypothesis in alike if all(self._explains(hypothesis, index) for index in asked)]
            if not kept:
                continue  # alone it says of right results that they are wrong
            causes = tuple(self._cause(hypothesis) for hypothesis in kept)
            kinds.append(WrongKind(causes[:MOST_NAMES], (), tuple(sorted(members)), part.semantic))
            taken = set(members)
            rest = [index for index in rest if index not in taken]
        if len(self.wrong) - len(rest) < len(rest):
            # Names for the smaller part of what is wrong are likely to be another mistake's shadow.
            return [], sorted(self.wrong)
        return sorted(kinds, key=lambda kind: -len(kind.members)), sorted(rest)

    def _cause(self, hypothesis: _Hypothesis) -> Cause:
        mistakes = tuple(part.semantic.name for part in hypothesis.singles)
        return Cause(hypothesis.semantic.name, hypothesis.description, len(self.right), mistakes)

    def _combination(self) -> _Combination | None:
        """The mistakes that explain most of the wrong results together, the fewest; None where nothing does."""
        assert self.own is not None
        self.progress(f"trying {len(self.hypotheses)} names on {len(self.wrong)} mismatches")
        best = self._extended(self.own, self.wrong, {})
        explained = 0 if best is None else self._explained(best.whole, self.wrong)
        if best is None or explained < len(self.wrong):
            first = best.whole.singles if best is not None else ()
            self.progress("trying two names at once")
            pair = self._best(self._pairs(self.wrong, first), self.wrong, self.own)
            # Two at once must explain what neither does alone.
            pair = [hypothesis for hypothesis in pair if self._beats_its_parts(hypothesis)]
            if pair and self._explained(pair[0], self.wrong) > explained:
                names: dict[str, tuple[_Hypothesis, ...]] = {part.semantic.name: (part,) for part in pair[0].singles}
                names[pair[0].semantic.name] = tuple(pair)
                rest = [index for index in self.wrong if not self._explains(pair[0], index)]
                combination = self._extended(pair[0], rest, names) or _Combination(pair[0], names)
                if best is None or self._explained(combination.whole, self.wrong) > explained:
                    best = combination
        return best

    def _extended(
        self, base: _Hypothesis, rest: Sequence[int], names: dict[str, tuple[_Hypothesis, ...]]
    ) -> _Combination | None:
        """Mistakes added to a base, one after the other, each explaining most of what is left; None if none does."""
        combination: _Combination | None = None
        while rest and len(base.parts) < MOST_MISTAKES:
            among = self.hypotheses if base is self.own else list(self._with_another(base))
            chosen = self._best(among, rest, base)
            if not chosen:
                break
            last = [hypothesis.singles[-1] for hypothesis in chosen]
            names = {**names, last[0].semantic.name: tuple(last)}
            base = chosen[0]
            names.setdefault(base.semantic.name, (base,))
            combination = _Combination(base, names)
            rest = [index for index in rest if not self._explains(base, index)]
        return combination

    def _with_another(self, base: _Hypothesis) -> Iterator[_Hypothesis]:
        """The base with another mistake, each in turn."""
        there = {part.semantic.name for part in base.singles}
        for mistake in self.hypotheses:
            if mistake.semantic.name not in there:
                both = _together(self.unit, (*base.singles, mistake))
                if both is not None:
                    yield both

    def _beats_its_parts(self, hypothesis: _Hypothesis) -> bool:
        whole = self._explained(hypothesis, self.wrong)
        return all(whole > self._explained(part, self.wrong) + 1 for part in hypothesis.singles)

    def _independent(self) -> list[str]:
        cases = [observation.case for observation in self.observations]
        got = [self.plain(observation.code) for observation in self.observations]
        return independent(self.unit, cases, [self.plain(code) for code in self.expected], got)

    def _as_wrong(self, index: int) -> WrongResult:
        observation = self.observations[index]
        return WrongResult(observation.case, self.expected[index], observation.code, observation.stalled)

    def _compute(self, hypothesis: _Hypothesis, indices: Sequence[int]) -> None:
        """Compute a hypothesis' results of some observations, where they are not known yet."""
        unknown = [index for index in indices if index not in hypothesis.codes]
        if unknown:
            observations = [self.observations[index] for index in unknown]
            cases, before = [seen.case for seen in observations], [seen.before for seen in observations]
            returned = results(hypothesis.semantic.candidate, cases, before=before)
            hypothesis.codes.update(zip(unknown, returned, strict=True))
            if hypothesis.finite:
                hypothesis.codes |= self._finite(hypothesis).codes

    def _explains(self, hypothesis: _Hypothesis, index: int) -> bool:
        self._compute(hypothesis, [index])
        return self.plain(hypothesis.codes[index]) == self.plain(self.observations[index].code)

    def _explained(self, hypothesis: _Hypothesis, indices: Sequence[int]) -> int:
        self._compute(hypothesis, indices)
        return sum(self._explains(hypothesis, index) for index in indices)

    def _contradicts(self, hypothesis: _Hypothesis, indices: Sequence[int]) -> bool:
        """True if a candidate spoils a right result; the first results are tried first."""
        ends = (0, FIRST, SAMPLE, 8 * SAMPLE, len(indices))
        parts = (indices[start:end] for start, end in pairwise(ends))
        return any(self._explained(hypothesis, part) < len(part) for part in parts)

    def _precision(self, hypothesis: _Hypothesis, base: _Hypothesis, indices: Sequence[int]) -> float:
        """The part that a candidate explains of the wrong results that it changes from its base's."""
        self._compute(hypothesis, indices)
        self._compute(base, indices)
        changes = [index for index in indices if self.plain(hypothesis.codes[index]) != self.plain(base.codes[index])]
        return sum(self._explains(hypothesis, index) for index in changes) / len(changes) if changes else 0.0

    def _finite(self, hypothesis: _Hypothesis) -> _Hypothesis:
        """A candidate that leaves special operands as specified."""
        for index in hypothesis.codes:
            if index not in self.special:
                self.special[index] = special_operands(self.unit, self.observations[index].case)
        codes = {
            index: self.expected[index] if self.special[index] else code for index, code in hypothesis.codes.items()
        }
        return _Hypothesis(hypothesis.semantic, hypothesis.rank, codes, finite=True, parts=hypothesis.parts)

    def _holds(self, hypothesis: _Hypothesis, base: _Hypothesis, wrong: Sequence[int], right: Sequence[int]) -> bool:
        """True if nearly all results that a candidate changes came out as it says, and it changes no right one."""
        return self._precision(hypothesis, base, wrong) >= PRECISE and not self._contradicts(hypothesis, right)

    def _best(self, among: Iterable[_Hypothesis], rest: Sequence[int], base: _Hypothesis) -> list[_Hypothesis]:
        """The candidates that explain most of the rest and contradict nothing, the likeliest first; may be none."""
        first, telling = self._sample(rest, FIRST), self._sample(rest, TELLING)
        hopeful = [hypothesis for hypothesis in among if self._explained(hypothesis, first)]
        hopeful = sorted(hopeful, key=lambda hypothesis: (-self._explained(hypothesis, telling), hypothesis.rank))[
            :HOPEFUL
        ]
        sample = spread(self.right, SAMPLE)
        whole = list[_Hypothesis]()
        for hypothesis in hopeful:
            self._compute(hypothesis, [*telling, *sample])
            for guess in (hypothesis, self._finite(hypothesis)):
                if self._holds(guess, base, telling, sample) and self._holds(guess, base, self.wrong, self.right):
                    whole.append(guess)
                    break
            if len(whole) == CLOSE:
                break
        if not whole:
            return []
        most = max(self._explained(hypothesis, rest) for hypothesis in whole)
        constant = [hypothesis for hypothesis in whole if hypothesis.semantic.name.startswith(ALWAYS)]
        if constant and self._explained(constant[0], rest) == most:
            return constant  # whatever else would explain it
        # Few results of many are explained by chance.
        if most < max(min(2, len(self.wrong)), FEW * len(rest)):
            return []
        best = [hypothesis for hypothesis in whole if self._explained(hypothesis, rest) == most]
        # Nothing need be said of NaN and infinite operands where a name explains as much without it.
        return ([hypothesis for hypothesis in best if not hypothesis.finite] or best)[:MOST_NAMES]

    def _sample(self, indices: Sequence[int], most: int) -> list[int]:
        """Some of the wrong results, the simplest first: half of them the simplest ones, half spread over all."""
        simplest = list(indices[: most // 2])
        return list(dict.fromkeys([*simplest, *spread(indices[most // 2 :], most - len(simplest))]))

    def _pairs(self, rest: Sequence[int], first: Sequence[_Hypothesis]) -> list[_Hypothesis]:
        """Two changes at once that explain some of the rest: what is named already, and what explains some of it."""
        telling = self._sample(rest, TELLING)
        few = self._sample(rest, FIRST)
        scored = [
            hypothesis
            for hypothesis in self.hypotheses
            if hypothesis.semantic.changes == 1 and self._explained(hypothesis, few)
        ]
        scored.sort(key=lambda hypothesis: (-self._explained(hypothesis, telling), hypothesis.rank))
        bases = list({id(hypothesis): hypothesis for hypothesis in (*first, *scored[:BASES])}.values())
        by_names: dict[frozenset[str], _Hypothesis] = {}
        for number, base in enumerate(bases):
            self.progress(f"trying two names at once: {number + 1} of {len(bases)}")
            unknown = [index for index in few if not self._explains(base, index)] or few
            for partner in self.hypotheses:
                key = frozenset((base.semantic.name, partner.semantic.name))
                if len(key) < 2 or key in by_names:
                    continue
                pair = _together(self.unit, (base, partner))
                if pair is not None and self._explained(pair, unknown[:2]):
                    by_names[key] = pair
        return list(by_names.values())


def judged_by(wrong: list[Observation], right: list[Observation]) -> list[Observation]:
    """Wrong and right results of a design, as many of each as names need."""
    return [*_spread(wrong, MOST_WRONG), *_spread(right, MOST_RIGHT)]


def _spread(every: list[Observation], most: int) -> list[Observation]:
    """At most `most` observations: a third those of the fewest operands, where mistakes stand alone; others evenly."""
    if len(every) <= most:
        return every
    by_size = sorted(range(len(every)), key=lambda index: counted_operands(every[index].case))
    simplest, others = set(by_size[: most // 3]), sorted(by_size[most // 3 :])
    step = -(-len(others) // (most - len(simplest)))
    return [every[index] for index in sorted({*simplest, *others[::step]})]


def counted_operands(case: Case) -> int:
    """The number of operands of a case that count: products that are not zero, and an addend."""
    return sum(1 for a, b in zip(case.a, case.b, strict=True) if a and b) + (case.c != 0)


def _together(unit: Unit, parts: Sequence[_Hypothesis]) -> _Hypothesis | None:
    """Several mistakes in one design; None where it cannot have all, or where they cannot be computed together."""
    candidate, flaw, edit = Candidate("", unit), NO_FLAW, NO_FLAW
    for part in sorted(parts, key=lambda part: not part.semantic.specified):
        if part.semantic.changes != 1:
            return None
        changed = part.semantic.on(candidate.unit)
        if changed is None:
            return None
        if not part.semantic.edited:
            flaw = flaw & changed.flaw
        elif edit != NO_FLAW:
            return None
        else:
            edit = changed.flaw
        candidate = changed
    name = " and ".join(part.semantic.name for part in parts)
    description = ", and ".join(part.semantic.description for part in parts)
    # Operands are edited before all else, and results after it.
    whole = replace(candidate, name=name, flaw=flaw & edit if edit.case is None else edit & flaw)
    semantic = Semantic(name, description, whole, parts[0].semantic.on, changes=len(parts))
    return _Hypothesis(semantic, sum(part.rank for part in parts), parts=tuple(parts))
