"""Cases that tell a unit from what a design may compute by mistake, for units whose windows have no readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case
from hwsim.readings.answers import results
from hwsim.readings.candidates import candidates
from hwsim.readings.changes import Candidate
from hwsim.readings.discriminate import LIMIT, QUOTA, Discrimination, ToldPair, lengths_of, stimuli
from hwsim.readings.known import Semantic, semantics
from hwsim.readings.mistakes.of_widths import OF_WIDTHS
from hwsim.readings.mistakes.wiring import NotCleared
from hwsim.readings.search import PairSearch
from hwsim.spec import Unit, unpromised

MOST_DIRECTED = 384  # of the directed cases, spread over all
MOST_DRAWN = 384
CHUNK = 48  # most mistakes are told by the first few, and those that are asked no more cost nothing


def told_from_mistakes(
    unit: Unit, seed: int, progress: Callable[[int], None] | None = None, limit: int = LIMIT
) -> Discrimination:
    """Cases on which a unit differs from each change of its rules, and from each mistake, of which something is known.

    At least 16 for each that is told apart; what no case tells is undecided: it may be no mistake of this unit. Wrong
    bits of every result, and sums that are not cleared, which depend on what came before, are left out.
    seed: of draws; the same cases for the same unit and seed. progress: called with the number of cases tried so far.
    limit: cases after which no more are tried.
    Raises NotImplementedYet for a unit that the model does not have.
    """
    # Mistakes of widths and signs change so many results that any case tells them.
    gross = {mistake.name for part in OF_WIDTHS for mistake in part(unit)}
    own, every = semantics(unit)[0], [one for one in candidates(unit) if one.name not in gross and _is_asked(one)]
    search = PairSearch([(0, at + 1) for at in range(len(every))], QUOTA)
    kept, tried = list[Case](), 0
    for cases in _chunks(unit, seed):
        asked = search.asked
        if not asked or tried >= limit:
            break
        codes = np.zeros((len(cases), len(every) + 1), np.int64)
        numbers: dict[int, int] = {}
        for at in asked:
            candidate = every[at - 1].candidate if at else own.candidate
            codes[:, at] = _numbered(unit, candidate, cases, numbers)
        kept += [cases[at] for at in search.keep(codes)]
        tried += len(cases)
        if progress is not None:
            progress(tried)
    needs = search.need.tolist()
    pairs = [ToldPair(own, one, QUOTA - need, "", tried) for one, need in zip(every, needs, strict=True)]
    return Discrimination(unit, kept, tuple(pairs), tried)


def _is_asked(one: Semantic) -> bool:
    return not one.name.startswith("result bit") and not isinstance(one.candidate.flaw, NotCleared)


def _numbered(unit: Unit, candidate: Candidate, cases: Sequence[Case], numbers: dict[int, int]) -> list[int]:
    """The results of a candidate, each a small number: the same for codes that are as good as one another."""
    plain = unpromised(unit).plain
    return [numbers.setdefault(plain(code), len(numbers)) for code in results(candidate, cases)]


def _chunks(unit: Unit, seed: int) -> Iterator[list[Case]]:
    """Directed cases and drawn ones, in turn."""
    known = directed(unit, seed)
    known = known[:: max(1, -(-len(known) // MOST_DIRECTED))]
    lengths = lengths_of(unit)
    for number, first in enumerate(range(0, max(len(known), MOST_DRAWN), CHUNK)):
        if first < MOST_DRAWN:
            yield list(stimuli(unit, seed, first, CHUNK, lengths[number % len(lengths)]).cases())
        if some := known[first : first + CHUNK]:
            yield some
