"""Shrinking a failing case: rounds of simpler candidates, each round one simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hwsim.cases.case import Case
from hwsim.cosim.bench import fitting
from hwsim.cosim.simpler import CaseTaker, Edits, Simplifier
from hwsim.cosim.suites import expected_codes
from hwsim.readings.shape import NUMBER, ZERO, class_of
from hwsim.spec import unpromised
from hwsim.tb.job import MISSING

MOST_ROUNDS = 80
MOST_CANDIDATES = 1500  # of a round
MOST_BEATS = 1 << 14  # of a round
ALONE = 4  # failing cases that are tried in a simulation of their own, where the simplest one does not fail there
MOST_SEEDS = 64  # failing cases of a run that are tried alone

Ask = Callable[[Sequence[Case]], np.ndarray]


@dataclass(frozen=True)
class Shrunk:
    """The simplest case that was found to fail. rounds, tried: simulations and candidates that it took."""

    case: Case
    expected: int
    got: int
    rounds: int
    tried: int


# Of failing cases: which are of the kind that is looked for.
Like = Callable[[Sequence[Shrunk]], Sequence[bool]]


def of_any_kind(failing: Sequence[Shrunk]) -> Sequence[bool]:
    """True of every case."""
    return [True] * len(failing)


class Shrinker:
    """Makes failing cases simpler.

    ask: what the design returns for some cases. like: which failing cases count. round_done: called after each round,
    with how many there were so far.
    """

    def __init__(
        self,
        design: CaseTaker,
        ask: Ask,
        like: Like = of_any_kind,
        round_done: Callable[[int], None] = lambda rounds: None,
    ):
        self.design, self.ask, self.like, self.round_done = design, ask, like, round_done
        self.simplifier = Simplifier(design)
        self.rounds = self.tried = 0

    def shrink(self, failing: Sequence[Case]) -> Shrunk | None:
        """The simplest failing case; None where none of these fails alone, after a reset.

        No single step makes it simpler and still fails, unless it took `MOST_ROUNDS` simulations to come so far.
        """
        cost = self.simplifier.cost
        seeds = sorted(dict.fromkeys(failing), key=cost)[:MOST_SEEDS]
        found = self._round([*seeds, *self._shortened(seeds)])
        if not found:
            return None
        best = min(found, key=lambda one: cost(one.case))
        how, steps = self._how(best), list[Edits]()
        while self.rounds < MOST_ROUNDS:
            made = self._candidates(best.case, steps)
            failed = self._failed(list(made), how)
            if not failed:
                break
            steps = [made[case] for case in sorted(failed, key=cost) if made[case]]
            best = min(failed.values(), key=lambda one: cost(one.case))
        return next(
            (
                replace(one, rounds=self.rounds, tried=self.tried)
                for one in (best, *found[:ALONE])
                if self._fails_alone(one)
            ),
            None,
        )

    def _fails_alone(self, one: Shrunk) -> bool:
        """Whether a case fails in a simulation of its own: where nothing resets a design, those before it may count."""
        (got,) = self.ask([one.case]).tolist()
        return got != MISSING and not unpromised(self.design.unit).same(one.expected, got)

    def _failed(self, cases: Sequence[Case], how: tuple[str, str]) -> dict[Case, Shrunk]:
        """Those of the cases that fail in that way; the cheapest are tried first, and all before there are none."""
        for first in range(0, len(cases), MOST_CANDIDATES):
            some = self._round(cases[first : first + MOST_CANDIDATES])
            failed = {one.case: one for one in some if self._how(one) == how}
            if failed:
                return failed
        return {}

    def _shortened(self, seeds: Sequence[Case]) -> Iterator[Case]:
        for case in seeds[:4]:
            yield from self.simplifier.shorter(case)

    def _how(self, one: Shrunk) -> tuple[str, str]:
        """What is expected and what came, as far as a smaller case must fail in the same way: zero is a number."""
        expected, got = (class_of(self.design.unit.output, code) for code in (one.expected, one.got))
        return NUMBER if expected == ZERO else expected, NUMBER if got == ZERO else got

    def _candidates(self, case: Case, earlier: Sequence[Edits]) -> dict[Case, Edits]:
        """Simpler cases, each with the step that makes it; steps that worked before together, and every single one."""
        cost, simplifier = self.simplifier.cost, self.simplifier
        found: dict[Case, Edits] = {}
        limit = cost(case)

        def add(made: Iterable[tuple[Case, Edits]]) -> None:
            for one, edits in made:
                if cost(one) < limit and one not in found:
                    found[one] = edits

        add((one, {}) for one in simplifier.shorter(case))
        add(self._together(case, earlier))
        singles = [(simplifier.edited(case, edits), edits) for edits in simplifier.edits(case)]
        singles.sort(key=lambda one: cost(one[0]))
        add(singles)
        return found

    def _together(self, case: Case, steps: Sequence[Edits]) -> Iterator[tuple[Case, Edits]]:
        """The first steps together: one, two, three and so on, each on codes that none before it changed."""
        joined: dict[tuple[str, int], int] = {}
        for edits in steps:
            if not joined.keys() & edits.keys() and all(self._inside(case, place) for place in edits):
                joined |= edits
                yield self.simplifier.edited(case, joined), dict(joined)

    def _inside(self, case: Case, place: tuple[str, int]) -> bool:
        return place[0] == "c" or place[1] < len(getattr(case, place[0]))

    def _round(self, cases: Sequence[Case]) -> list[Shrunk]:
        """Those of the cases that fail."""
        if not cases:
            return []
        # Of sums of hundreds of beats a round is cut short: the first ones are the simplest.
        cases = next(fitting(cases, lambda case: len(case.a) // self.design.products, len(cases), MOST_BEATS))
        self.rounds += 1
        self.tried += len(cases)
        expected = expected_codes(self.design.unit, cases)
        got, good = self.ask(cases).tolist(), unpromised(self.design.unit)
        self.round_done(self.rounds)
        failing = [
            Shrunk(case, want, code, 0, 0)
            for case, want, code in zip(cases, expected, got, strict=True)
            if code != MISSING and not good.same(want, code)
        ]
        return [one for one, wanted in zip(failing, self.like(failing), strict=True) if wanted]
