"""Finds cases that tell the readings of a specification apart, and a unit from mistakes and changed rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.bins.covering import covering
from hwsim.cases.case import Batch, Case, block_lengths
from hwsim.cases.drawing import key_of
from hwsim.cases.random_cases import draw
from hwsim.compute.kernels import supports
from hwsim.explain.candidate import batch_results, by_model
from hwsim.explain.known import Semantic, semantics
from hwsim.explain.mistakes.kills import known
from hwsim.explain.readings import READINGS, Reading, normal_forms, read_unit, why_equal
from hwsim.spec import Unit, unpromised


class PairSearch:
    """Pairs of candidates, by index, and the cases that each still needs.

    pairs: those that are to be told apart. quota: by how many cases each.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], quota: int):
        self.left, self.right = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
        self.need = np.full(len(pairs), quota)

    @property
    def asked(self) -> list[int]:
        """The candidates in pairs that need cases."""
        wanted = self.need > 0
        return sorted({*self.left[wanted].tolist(), *self.right[wanted].tolist()})

    def keep(self, codes: NDArray[np.int64]) -> list[int]:
        """The cases to keep, always next the one that tells most pairs apart that need cases.

        codes: (cases, candidates), the results; those of candidates that are not `asked` do not count.
        """
        wanted = np.flatnonzero(self.need > 0)
        differ = codes[:, self.left[wanted]] != codes[:, self.right[wanted]]
        helps = np.flatnonzero(differ.any(axis=1))
        differ = differ[helps]
        kept: list[int] = []
        scores = differ.sum(axis=1)  # how many pairs that need cases each case tells apart
        while scores.any():
            best = int(scores.argmax())
            kept.append(int(helps[best]))
            pairs_told = wanted[differ[best]]
            self.need[pairs_told] -= 1
            scores -= differ[:, differ[best] & (self.need[wanted] == 0)].sum(axis=1)
            scores[best], differ[best] = 0, False
        return kept


# Kinds of cases around the rules in which readings differ.
KINDS = ("edge", "ladder", "rounding", "opposite", "below", "few", "subnormal", "growth")
QUOTA = 16  # cases on which a pair must differ
LIMIT = 10_000_000  # cases after which a pair is undecided
FIRST_CHUNK, CHUNK = 2048, 16384
# Of units that only the model reads.
SLOW_LIMIT, SLOW_CHUNK = 2000, 250
PATIENCE = 16  # chunks after which pairs with too few cases are given those cases again, with their lanes turned


@dataclass(frozen=True)
class ToldPair:
    """Two readings, and whether they are told apart.

    differ: the number of the discrimination's cases on which they differ. reason: why they are equal, or empty.
    tried: the number of cases tried.
    """

    first: Reading
    second: Reading
    differ: int
    reason: str
    tried: int

    @property
    def word(self) -> str:
        """`told apart`, `equal`, `few` (fewer cases than asked for were found) or `undecided`."""
        if self.reason:
            return "equal"
        return "told apart" if self.differ >= QUOTA else "few" if self.differ else "undecided"

    @property
    def sentence(self) -> str:
        if self.reason:
            return f"equal: {self.reason}"
        if not self.differ:
            return f"undecided after {self.tried} cases without a difference"
        return f"told apart by {self.differ} cases"


@dataclass(frozen=True)
class Discrimination:
    """Cases that tell a unit's readings apart, and every pair. tried: how many were tried."""

    unit: Unit
    cases: list[Case]
    pairs: tuple[ToldPair, ...]
    tried: int

    def count(self, word: str) -> int:
        return sum(pair.word == word for pair in self.pairs)


def discrimination(
    unit: Unit, seed: int, progress: Callable[[int], None] | None = None, limit: int = LIMIT
) -> Discrimination:
    """Cases on which the 40 readings of a unit differ, at least 16 for each pair that is not equal.

    unit: of method `aligned`. seed: at least 0; the same cases for the same unit and seed. progress: called with the
    number of cases tried so far. limit: cases after which a pair without 16 is given up.
    Raises ValueError for a unit of another method, and NotImplementedYet for what the model does not have.
    """
    readings = [read_unit(unit, reading) for reading in READINGS]
    forms = normal_forms(unit)
    reasons = {pair: why_equal(forms, *(READINGS[i] for i in pair)) for pair in combinations(range(len(READINGS)), 2)}
    finder = _Finder(unit, readings, seed, [pair for pair, reason in reasons.items() if reason is None])
    finder.run(limit, progress or (lambda tried: None))
    # Differences are counted on the definition's results, not on those of compiled code.
    codes = unpromised(unit).plain_zeros(np.array([by_model(reading, finder.cases) for reading in readings]))
    pairs = tuple(
        ToldPair(READINGS[i], READINGS[j], int((codes[i] != codes[j]).sum()), reason or "", finder.tried)
        for (i, j), reason in reasons.items()
    )
    for pair in pairs:
        if pair.reason and pair.differ:
            raise RuntimeError(f"unit {unit.name}: {pair.first.name} is not {pair.second.name}, though {pair.reason}")
    return Discrimination(unit, finder.cases, pairs, finder.tried)


class _Finder:
    """Draws cases, and keeps those that tell most pairs apart that still need cases."""

    def __init__(self, unit: Unit, readings: Sequence[Unit], seed: int, open_pairs: list[tuple[int, int]]):
        self.unit, self.readings, self.seed = unit, readings, seed
        self.search = PairSearch(open_pairs, QUOTA)
        self.cases: list[Case] = []
        self.tried = 0
        # Each kept case with the results of the readings that were still asked.
        self._rows: list[tuple[Case, NDArray[np.int64]]] = []
        subgroup = unit.subgroup
        parts = (block_lengths(unit) if unit.scale else ()) + ((subgroup.lanes,) if subgroup else ())
        self._turns = gcd(unit.instruction.lanes, *parts) if unit.instruction.order == "sequential" else 1
        self._fast = all(map(supports, readings))
        self._plain = unpromised(unit).plain_zeros

    def run(self, limit: int, progress: Callable[[int], None]) -> None:
        """Search until every pair is told apart by enough cases, or `limit` cases were tried."""
        for number, (first, size, length) in enumerate(self._chunks(limit if self._fast else min(limit, SLOW_LIMIT))):
            if not self.search.asked:
                break
            batch = stimuli(self.unit, self.seed, first, size, length)
            codes = np.zeros((size, len(self.readings)), np.int64)
            for index in self.search.asked:
                codes[:, index] = self._plain(batch_results(self.readings[index], batch))
            for index in self.search.keep(codes):
                case = batch.case(index)
                self.cases.append(case)
                self._rows.append((case, codes[index]))
            self.tried += size
            if number and number % PATIENCE == 0:
                self._turn()
            progress(self.tried)
        self._turn()

    def _chunks(self, limit: int) -> Iterator[tuple[int, int, int]]:
        first, number, lengths = 0, 0, lengths_of(self.unit)
        while first < limit:
            most = (FIRST_CHUNK if number < 2 * len(lengths) else CHUNK) if self._fast else SLOW_CHUNK
            size = min(most, limit - first)
            yield first, size, lengths[number % len(lengths)]
            first, number = first + size, number + 1

    def _turn(self) -> None:
        """Add cases for pairs that have some, but too few: the same products in other lanes tell them apart too."""
        search = self.search
        for index in np.flatnonzero((search.need > 0) & (search.need < QUOTA)).tolist():
            telling = [(case, row) for case, row in self._rows if row[search.left[index]] != row[search.right[index]]]
            for places in range(1, self._turns):
                for case, row in telling if search.need[index] > 0 else ():
                    self.cases.append(turned(case, places, self._turns))
                    search.need -= row[search.left] != row[search.right]


def stimuli(unit: Unit, seed: int, first: int, count: int, length: int) -> Batch:
    """Cases `first` to `first` + `count` - 1, of `length` terms."""
    return draw(unit, key_of(seed, unit.name, "readings"), first, count, length, KINDS, "G13")


def lengths_of(unit: Unit) -> tuple[int, ...]:
    """Lengths of the cases, in turn: one instruction, and two where instructions chain.

    With a promotion register at least two: its window adds the sum so far, which the first group lacks.
    """
    step = lcm(unit.instruction.k, *(block_lengths(unit) if unit.scale else ()))
    if unit.promotion is not None:
        return 2 * step, min(3, unit.promotion_beats or 3) * step
    return (step, step, step, 2 * step) if unit.instruction.chain is not None else (step,)


def turned(case: Case, places: int, among: int) -> Case:
    """A case whose products are rotated by `places` lanes within every `among` neighbours."""
    indices = [i - i % among + (i + places) % among for i in range(len(case.a))]
    a, b = (tuple(side[i] for i in indices) for side in (case.a, case.b))
    return replace(case, id=f"{case.id}-turned{places:02}", a=a, b=b)


LOOKED_AT = 256  # directed cases, spread over all, and drawn ones, for a change that no killer of a mistake tells


def telling(unit: Unit) -> list[Case]:
    """Few cases: one that kills each likely mistake of a unit, and one that tells it from each change of its rules.

    As far as one is known. Raises NotImplementedYet for a unit that the model does not have.
    """
    cases = list(dict.fromkeys(known(unit).killers.values()))
    directed, plain = covering(unit, 1), unpromised(unit).plain
    lengths = lengths_of(unit)
    parts = [stimuli(unit, 1, first * CHUNK, LOOKED_AT // len(lengths), of) for first, of in enumerate(lengths)]
    further = [case for part in parts for case in part.cases()] + directed[:: max(1, len(directed) // LOOKED_AT)]
    specified = [[plain(code) for code in by_model(unit, some)] for some in (cases, further)]
    for semantic in semantics(unit)[1:]:
        # Changes of one rule; wrong bits of every result are told by any case.
        if semantic.changes > 1 or semantic.name.startswith("result bit"):
            continue
        if not _differs(semantic, cases[: len(specified[0])], specified[0]):
            cases += [further[index] for index in _differs(semantic, further, specified[1])[:1]]
    return list(dict.fromkeys(cases))


def _differs(semantic: Semantic, cases: Sequence[Case], own: Sequence[int]) -> list[int]:
    """The indices of cases of which other results come."""
    plain = unpromised(semantic.candidate.unit).plain
    return [index for index, code in enumerate(semantic.many(cases)) if plain(code) != own[index]]
