"""Where a design meets the model on its way: bit vectors of the design that are numbers which the model works out.

Two circuits of one function are hardly told to be equal by a solver where nothing inside of them is. So a number that
the model works out (the largest exponent, a term in the window, their sum) is looked for among the design's bit
vectors: one that differs from it by a constant, modulo its width, in all of some samples. That it always does is then
proved, and from there on the design's bit vector stands for the model's number. A guess that is wrong is not proved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hwsim.prove.evaluated import Evaluated, signed
from hwsim.prove.logic import Decided, Kind, Term, Word, ask, op, same, substituted, value, width
from hwsim.prove.reach import constants_of, nodes_of
from hwsim.prove.specified import Met
from hwsim.prove.symbolic import Integer, bits_for

AT_ONCE = 0.4  # seconds after which a question is not tried as it is any more
MOST_GUESSES = 12  # bit vectors that are tried for a number
FEWEST = 12  # samples that a guess is made from
LEAST_SPAN = 4  # of a number that is looked for


@dataclass(frozen=True)
class PlacedQuestion:
    """Whether a claim holds where all assumptions do.

    met: numbers of the model that it is made of. show: constants whose values refute it, if any do.
    """

    claim: Term
    assumptions: tuple[Term, ...]
    met: tuple[Met, ...]
    show: tuple[Term, ...]


@dataclass
class MeetingPoints:
    """Questions about one result of a design.

    samples: of all that it depends on, and of what the model is asked. always: what holds in all questions.
    """

    result: Term
    samples: Evaluated
    always: tuple[Term, ...] = ()
    proved: dict[tuple[int, int, int, tuple[int, ...]], tuple[object, Word]] = field(default_factory=dict)
    refuting: list[Evaluated] = field(default_factory=list)

    def decide(self, question: PlacedQuestion, seconds: float) -> Decided:
        """What becomes of a question, in so many seconds."""
        begun = time.thread_time()
        known = (*self.always, *question.assumptions)
        answer = ask(question.claim, known, min(AT_ONCE, seconds), question.show)
        if answer.word != "undecided" or seconds <= AT_ONCE:
            return answer
        by = self._by_design(question, begun + seconds)
        left = max(AT_ONCE, begun + seconds - time.thread_time())
        claim, *assumptions = (substituted(term, by) for term in (question.claim, *known))
        answer = ask(claim, assumptions, left, question.show)
        return Decided(answer.word, time.thread_time() - begun, answer.model)

    @cached_property
    def _free(self) -> tuple[Term, ...]:
        """All constants that samples know: of others a guess does not depend."""
        known = {term.symbol(): term for term in constants_of([self.result, *self.always])}
        return tuple(known.values())

    def _by_design(self, question: PlacedQuestion, end: float) -> dict[Term, Term]:
        """The model's numbers by the design's bit vectors that stand for them."""
        by: dict[Term, Term] = {}
        for met in question.met:
            if met.number.term in by:
                continue
            here = substituted(met.seen.term, by)
            for vector, apart in self._guesses(met):
                left = end - time.thread_time()
                if left <= 0:
                    return by
                if not self._fits_again(met, vector, apart):
                    continue
                if self._meets(met, here, vector, apart, by, left):
                    stands = _standing(met, vector, apart)
                    by[met.number.term] = stands
                    break
        return by

    def _guesses(self, met: Met) -> Iterator[tuple[Term, int]]:
        """Bit vectors of the design that seem to be a number and a constant, narrow ones first."""
        number = met.seen
        if number.high - number.low < LEAST_SPAN:
            return
        kept = [at for at in range(self.samples.count) if all(self.samples.of(term)[at] for term in met.given)]
        found = self.samples.of(number.term)
        bits = width(number.term)
        wanted = [signed(found[at], bits) for at in kept]
        if len(kept) < FEWEST or len(set(wanted)) < LEAST_SPAN:
            return
        guesses = []
        for vector in self._vectors:
            most = 1 << width(vector)
            if most <= number.high - number.low:
                continue
            numbers = self.samples.of(vector)
            apart = (numbers[kept[0]] - wanted[0]) % most
            if all((numbers[at] - one - apart) % most == 0 for at, one in zip(kept, wanted, strict=True)):
                guesses.append((vector, apart))
        guesses.sort(key=lambda guess: width(guess[0]))
        yield from guesses[:MOST_GUESSES]

    @cached_property
    def _vectors(self) -> Sequence[Term]:
        return [term for term in nodes_of([self.result]) if term.sort().is_bv() and not term.is_value()]

    def _fits_again(self, met: Met, vector: Term, apart: int) -> bool:
        """Whether a guess is not refuted by what refuted another one."""
        most = 1 << width(vector)
        for sample in self.refuting:
            if all(sample.of(term)[0] for term in met.given):
                (number,), (found,) = sample.of(met.seen.term), sample.of(vector)
                if (found - signed(number, width(met.seen.term)) - apart) % most:
                    return False
        return True

    def _meets(self, met: Met, here: Term, vector: Term, apart: int, by: dict[Term, Term], seconds: float) -> bool:
        """Whether a bit vector always is a number and a constant."""
        known = tuple(substituted(term, by) for term in met.given)
        key = here.id(), vector.id(), apart, tuple(term.id() for term in known)
        if key not in self.proved:
            number, bits = met.seen, width(vector)
            sized = Integer(here, number.low, number.high).at(bits)
            equal = same(vector, op(Kind.BV_ADD, sized, value(apart, bits)))
            # The terms are kept: only as long as they are, no other has their numbers.
            answer = ask(equal, (*self.always, *known), seconds, self._free)
            if answer.model is not None:
                self.refuting.append(Evaluated({name: [number] for name, number in answer.model.items()}))
            self.proved[key] = (here, vector, known), answer.word
        return self.proved[key][1] == "proved"


def _standing(met: Met, vector: Term, apart: int) -> Term:
    """The term of a number, made of a bit vector that it is: low + ((vector - apart - low) mod 2^bits)."""
    number, bits = met.seen, width(vector)
    wide = max(bits, bits_for(number.low, number.high)) + 2
    above = op(Kind.BV_SUB, vector, value(apart + number.low, bits))
    whole = op(Kind.BV_ADD, op(Kind.BV_ZERO_EXTEND, above, indices=[wide - bits]), value(number.low, wide))
    found: Integer = Integer(whole, number.low, number.high)
    return (found if met.less is None else found + met.less).at(width(met.number.term))
