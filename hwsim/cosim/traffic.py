"""Traffic: which beat comes after which, and how busy the ports are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hwsim.cases.case import Case, beats
from hwsim.cases.drawing import Stream
from hwsim.model.clock import Beat
from hwsim.spec import Specified

BURST = 0.02  # the chance that a burst without a taken result begins in a cycle


@dataclass(frozen=True)
class Traffic:
    """How busy the ports are.

    offer: chance that the input offers a beat in a cycle. take: chance that the output takes a result.
    bursts: whole spans of cycles, drawn at random, in which nothing is taken.
    """

    offer: float = 1.0
    take: float = 1.0
    bursts: bool = False


FULL = Traffic()
BUSY = Traffic(offer=0.75, take=0.7, bursts=True)


@dataclass(frozen=True)
class Tagged:
    """A beat of a case: `case` is an index, `index` its place in the case."""

    beat: Beat
    case: int
    index: int


def tag(unit: Specified, number: int, case: Case, context: int) -> Iterator[Tagged]:
    """A case's beats, tagged with its number."""
    return (Tagged(beat, number, index) for index, beat in enumerate(beats(unit, case, context)))


def interleave(unit: Specified, cases: Sequence[Case], contexts: int, stream: Stream | None) -> Iterator[Tagged]:
    """The beats of all cases, `contexts` cases at a time, each in a context of its own.

    stream: chooses whose turn it is; None takes turns, which keeps a unit with enough contexts busy.
    """
    waiting = iter(enumerate(cases))

    def open_next(context: int) -> Iterator[Tagged] | None:
        following = next(waiting, None)
        return None if following is None else tag(unit, *following, context)

    queues = [queue for queue in map(open_next, range(contexts)) if queue is not None]
    slots = list(range(len(queues)))
    turn = 0
    while slots:
        at = turn % len(slots) if stream is None else stream.randrange(len(slots))
        slot = slots[at]
        tagged = next(queues[slot])
        yield tagged
        turn = at + 1
        if tagged.beat.last:
            following = open_next(slot)
            if following is None:
                del slots[at]
                turn = at
            else:
                queues[slot] = following


def with_tags(tagged: Sequence[Tagged], tags: int, stream: Stream) -> list[Tagged]:
    """The beats of each case with a tag for a context, every tag once before any comes again, in an order at random."""
    numbers, drawn = dict[int, int](), list[int]()
    for item in tagged:
        if item.case not in numbers:
            drawn = drawn or stream.sample(range(tags), tags)
            numbers[item.case] = drawn.pop()
    return [replace(item, beat=replace(item.beat, context=numbers[item.case])) for item in tagged]


def draws(stream: Stream, chance: float, count: int) -> np.ndarray:
    """In which of `count` cycles something of that chance happens: bool[count]."""
    return stream.uniforms(count) < chance
