"""Finds cases that tell the readings of a specification apart, pair by pair, and equal pairs (coverage, G13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.cases.case import Case, term_scales
from hwsim.readings import arrays
from hwsim.readings.proofs import normal_forms, why_equal
from hwsim.readings.reader import Reader
from hwsim.readings.readings import READINGS, Reading
from hwsim.readings.stimuli import Chunk, Stimuli
from hwsim.spec import Unit

QUOTA = 16  # cases on which a pair must differ
LIMIT = 10_000_000  # cases after which a pair is undecided
FIRST_CHUNK, CHUNK = 2048, 16384
# Of units that only the slow readers read.
SLOW_LIMIT, SLOW_CHUNK = 2000, 250
# Cases in which some readings' sums are too large, for the slow readers: at most of a chunk, and at most in vain.
OVERFLOWS, VAIN = 8, 100
PATIENCE = 16  # chunks after which pairs with too few cases are given those cases again, with their lanes turned


@dataclass(frozen=True)
class PairOfReadings:
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
        """The pair's state as a sentence."""
        if self.reason:
            return f"equal: {self.reason}"
        if not self.differ:
            return f"undecided after {self.tried} cases without a difference"
        return f"told apart by {self.differ} cases"


@dataclass(frozen=True)
class Discrimination:
    """The cases that tell a unit's readings apart, and every pair of readings. tried: the number of cases tried."""

    unit: Unit
    cases: list[Case]
    pairs: tuple[PairOfReadings, ...]
    tried: int

    def count(self, word: str) -> int:
        """The number of pairs with this `word`."""
        return sum(pair.word == word for pair in self.pairs)


def discrimination(
    unit: Unit, seed: int, progress: Callable[[int], None] | None = None, limit: int = LIMIT
) -> Discrimination:
    """Cases on which the 40 readings of a unit differ, at least 16 for each pair that is not equal.

    unit: of method `aligned`. seed: at least 0; the same cases for the same unit and seed. progress: called with the
    number of cases tried so far. limit: cases after which a pair without 16 is given up.
    Raises ValueError for a unit of another method, and NotImplementedYet for what the model does not have.
    """
    readers = [Reader(unit, reading) for reading in READINGS]
    forms = normal_forms(unit)
    reasons = {pair: why_equal(forms, *(READINGS[i] for i in pair)) for pair in combinations(range(len(READINGS)), 2)}
    search = _Search(unit, seed, [pair for pair, reason in reasons.items() if reason is None])
    search.run(limit, progress or (lambda tried: None))
    # Differences are counted on the definition's results, not on those of the compiled readings.
    codes = np.array([answers(readers, unit, case) for case in search.cases]).reshape(len(search.cases), len(READINGS))
    pairs = tuple(
        PairOfReadings(READINGS[i], READINGS[j], int((codes[:, i] != codes[:, j]).sum()), reason or "", search.tried)
        for (i, j), reason in reasons.items()
    )
    for pair in pairs:
        if pair.reason and pair.differ:
            raise RuntimeError(f"unit {unit.name}: {pair.first.name} is not {pair.second.name}, though {pair.reason}")
    return Discrimination(unit, search.cases, pairs, search.tried)


def answers(readers: list[Reader], unit: Unit, case: Case) -> list[int]:
    """The results of readings for a case of whole instructions."""
    scales = term_scales(unit, case)
    return [reader.answer(case.a, case.b, case.c, *scales) for reader in readers]


class _Search:
    """Draws cases, and keeps those that tell most pairs apart that still need cases."""

    def __init__(self, unit: Unit, seed: int, open_pairs: list[tuple[int, int]]):
        self.unit, self.stimuli = unit, Stimuli(unit, seed)
        self.cases: list[Case] = []
        self.tried = 0
        self.left, self.right = (np.array([pair[i] for pair in open_pairs], dtype=np.int64) for i in (0, 1))
        self.need = np.full(len(open_pairs), QUOTA)
        self._rows: list[tuple[Case, NDArray[np.int64]]] = []
        subgroup = unit.subgroup
        parts = [length for length in self.stimuli.blocks if length] + ([subgroup.lanes] if subgroup else [])
        self._turns = gcd(unit.instruction.lanes, *parts) if unit.instruction.order == "sequential" else 1
        self._fast = arrays.settings(unit) is not None
        self._readers = [Reader(unit, reading) for reading in READINGS]
        self._vain = 0

    def run(self, limit: int, progress: Callable[[int], None]) -> None:
        """Search until every pair is told apart by enough cases, or `limit` cases were tried."""
        number = 0
        for first, size, length in self._chunks(limit if self._fast else min(limit, SLOW_LIMIT)):
            if not (self.need > 0).any():
                break
            chunk = self.stimuli.chunk(first, size, length)
            codes = self._results(chunk)
            self.tried += size
            self._keep(chunk, codes)
            if size == CHUNK:
                self._keep_overflows(chunk, codes)
            if first and (number := number + 1) % PATIENCE == 0:
                self._turn()
            progress(self.tried)
        self._turn()

    def _chunks(self, limit: int) -> Iterator[tuple[int, int, int]]:
        first, number, lengths = 0, 0, self.stimuli.lengths
        while first < limit:
            most = (FIRST_CHUNK if number < 2 * len(lengths) else CHUNK) if self._fast else SLOW_CHUNK
            size = min(most, limit - first)
            yield first, size, lengths[number % len(lengths)]
            first, number = first + size, number + 1

    def _turn(self) -> None:
        """Add cases for pairs that have some, but too few: the same products in other lanes tell them apart too."""
        for index in np.flatnonzero((self.need > 0) & (self.need < QUOTA)).tolist():
            telling = [(case, row) for case, row in self._rows if row[self.left[index]] != row[self.right[index]]]
            for places in range(1, self._turns):
                for case, row in telling if self.need[index] > 0 else ():
                    self._take(turned(case, places, self._turns), row)

    def _take(self, case: Case, row: NDArray[np.int64]) -> None:
        self.cases.append(case)
        self.need -= row[self.left] != row[self.right]

    def _results(self, chunk: Chunk) -> NDArray[np.int64]:
        """The result codes of every reading, int64[n, 40]; -1 where the compiled readings have none."""
        if self._fast:
            return arrays.evaluated(self.unit, self.stimuli.products(chunk), chunk.c)
        cases = [self.stimuli.case(chunk, index) for index in range(len(chunk.c))]
        return np.array([answers(self._readers, self.unit, case) for case in cases], dtype=np.int64)

    def _keep(self, chunk: Chunk, codes: NDArray[np.int64]) -> None:
        """Keep cases of a chunk, always next the case that tells most pairs apart which still need cases."""
        wanted = np.flatnonzero(self.need > 0)
        differ: NDArray[Any] = codes[:, self.left[wanted]] != codes[:, self.right[wanted]]
        differ = differ & np.asarray((codes >= 0).all(axis=1))[:, None]
        helps = np.flatnonzero(differ.any(axis=1))
        differ = differ[helps]
        while len(differ):
            scores = differ[:, self.need[wanted] > 0].sum(axis=1)
            best = int(scores.argmax())
            if not scores[best]:
                return
            case, row = self.stimuli.case(chunk, int(helps[best])), codes[helps[best]]
            self._rows.append((case, row))
            self._take(case, row)
            differ[best] = False

    def _keep_overflows(self, chunk: Chunk, codes: NDArray[np.int64]) -> None:
        """Keep cases for pairs of readings of which only one has too large a sum."""
        wanted = np.flatnonzero(self.need > 0)
        large = codes < 0
        differ: NDArray[Any] = large[:, self.left[wanted]] != large[:, self.right[wanted]]
        for index in np.argsort(-differ.sum(axis=1), kind="stable")[:OVERFLOWS].tolist():
            if self._vain == VAIN or not differ[index, self.need[wanted] > 0].any():
                return
            case = self.stimuli.case(chunk, index)
            row = np.array(answers(self._readers, self.unit, case), dtype=np.int64)
            if ((row[self.left] != row[self.right]) & (self.need > 0)).any():
                self._rows.append((case, row))
                self._take(case, row)
            else:
                self._vain += 1


def turned(case: Case, places: int, among: int) -> Case:
    """A case whose products are rotated by `places` lanes within every `among` neighbours."""
    at = [i - i % among + (i + places) % among for i in range(len(case.a))]
    a, b = (tuple(side[i] for i in at) for side in (case.a, case.b))
    return replace(case, id=f"{case.id}-turned{places:02}", a=a, b=b)
