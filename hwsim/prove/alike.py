"""Two circuits that were built alike: what is equal inside of them is put together where the solver does not see it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

from hwsim.cases.drawing import WORD, Stream
from hwsim.prove.claims import Claim
from hwsim.prove.evaluated import Evaluated
from hwsim.prove.logic import Decided, Kind, Term, ask, width
from hwsim.prove.merging import FAR, Merging
from hwsim.prove.reach import constants_of, nodes_of, parts_of

# Seconds that the solver has for a claim as it is, and for one whose parts are put together: either may be by far the
# sooner, so each has a little, then more. At last it has a tenth of all the time as it is, and then the rest in parts.
TURNS, AT_LAST = ((1.0, 3.0), (10.0, 10.0)), 0.1
A_QUESTION = 0.01  # of the seconds in parts, for a question about all of two; a few may stay undecided
SAMPLES, SEED = 256, 1
# One sample of so many repeats a few bits, by turns so many: lanes then hold the same codes, and sums become as large
# as they can be. Where no sample sets a sum's high bits, the solver is asked whether any operands do, which is hard.
REPEATING, PERIODS = 4, (8, 4, 6, 16, 32)


@dataclass(frozen=True)
class Alike(Claim):
    """A claim of two circuits that are alike inside.

    That two long products, or the sums of long chains, are equal no solver sees from the outputs; that their parts are,
    one after another from the inputs on, it does.
    """

    solver = "bitwuzla, part by part where need be"

    def decide(self, seconds: float) -> Decided:
        """What the solver says."""
        begun = time.thread_time()
        answer = Decided("undecided", 0.0)
        for as_it_is, in_parts in (*TURNS, (AT_LAST * seconds, math.inf)):
            left = begun + seconds - time.thread_time()
            answer = super().decide(min(as_it_is, left / 2))
            left = begun + seconds - time.thread_time()
            if answer.word == "undecided" and left > 0:
                answer = self._part_by_part(min(in_parts, left))
            if answer.word != "undecided" or begun + seconds < time.thread_time():
                break
        return Decided(answer.word, time.thread_time() - begun, answer.model)

    def _part_by_part(self, seconds: float) -> Decided:
        until = time.thread_time() + seconds
        terms = [*self.assumptions, self.claim]
        stream = Stream(SEED, "alike")
        samples = {
            term.symbol(): [_drawn(stream, width(term), at) for at in range(SAMPLES)] for term in constants_of(terms)
        }
        merging = Merging(Evaluated(samples), until, _sides(self.claim), max(FAR, A_QUESTION * seconds))
        *assumed, claim = [merging.merged(term) for term in terms]
        left = until - time.thread_time()
        return ask(claim, assumed, left, self.show) if left > 0 else Decided("undecided", 0.0)


def _sides(claim: Term) -> Mapping[int, int]:
    """Of terms by their numbers, on which sides of a claim's equations they stand: 1, 2, or 3 for both.

    What stands in its conditions has no side.
    """
    found: dict[int, int] = {}
    for part, _ in parts_of(claim):
        for side, term in enumerate(part.children() if part.kind() == Kind.EQUAL else (), 1):
            for node in nodes_of([term]):
                found[node.id()] = found.get(node.id(), 0) | side
    return found


def _drawn(stream: Stream, bits: int, at: int) -> int:
    """A number of so many bits. at: of which sample."""
    number = sum(stream.word() << low for low in range(0, bits, WORD)) % (1 << bits)
    turn, other = divmod(at, REPEATING)
    period = PERIODS[turn % len(PERIODS)]
    if other or period >= bits:
        return number
    few = number % (1 << period)
    return sum(few << low for low in range(0, bits, period)) % (1 << bits)
