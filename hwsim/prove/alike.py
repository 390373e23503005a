"""Two circuits that were built alike: what is equal inside of them is put together where the solver does not see it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hwsim.cases.drawing import WORD, Stream
from hwsim.prove.claims import Claim
from hwsim.prove.evaluated import Evaluated
from hwsim.prove.logic import Decided, ask, width
from hwsim.prove.merging import Merging
from hwsim.prove.reach import constants_of

AS_IT_IS = 0.1  # of the time given: what is decided at all without help is decided soon
SAMPLES, SEED = 256, 1


@dataclass(frozen=True)
class Alike(Claim):
    """A claim of two circuits that are alike inside.

    That two long products, or the sums of long chains, are equal no solver sees from the outputs; that their parts are,
    one after another from the inputs on, it does.
    """

    solver = "bitwuzla, part by part where need be"

    def decide(self, seconds: float) -> Decided:
        """What the solver says."""
        begun = time.monotonic()
        answer = super().decide(AS_IT_IS * seconds)
        if answer.word != "undecided":
            return answer
        terms = [*self.assumptions, self.claim]
        stream = Stream(SEED, "alike")
        samples = {term.symbol(): [_drawn(stream, width(term)) for _ in range(SAMPLES)] for term in constants_of(terms)}
        merging = Merging(Evaluated(samples), begun + seconds)
        *assumed, claim = [merging.merged(term) for term in terms]
        left = begun + seconds - time.monotonic()
        answer = ask(claim, assumed, left, self.show) if left > 0 else Decided("undecided", 0.0)
        return Decided(answer.word, time.monotonic() - begun, answer.model)


def _drawn(stream: Stream, bits: int) -> int:
    """A number of so many bits."""
    return sum(stream.word() << at for at in range(0, bits, WORD)) % (1 << bits)
