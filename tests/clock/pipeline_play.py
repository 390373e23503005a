"""How the tests of the cycle-level model play it, and the rules of the handshake, written down a second time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from hwsim.cases.case import Case, beats, term_scales
from hwsim.model.clock import Beat, PipelinedUnit, Result
from hwsim.model.definition import Definition
from hwsim.spec import Pipeline, Unit, pipeline, steps


def small(lanes: int = 1, *, interval: int | None = None, scaled: bool = False, **parts: Any) -> Unit:
    """A unit that is quick to compute: FP4 factors, f16 results. parts: other keys, added to those of each part."""
    data: dict[str, Any] = {
        "unit": "small",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "f16"},
        "instruction": {"k": lanes, "lanes": lanes},
        "sum": {"method": "aligned", "fraction_bits": 6},
        "result": {"format": "f16", "rounding": "rz"},
    }
    if interval:
        data["promotion"] = {"interval": interval, "format": "f16", "rounding": "rne"}
    if scaled:
        data["scale"] = {side: {"format": "e8m0", "block": block} for side, block in (("a", [1, 2]), ("b", [4, 1]))}
    for part, keys in parts.items():
        data[part] = keys if part == "sum" else data.get(part, {}) | keys
    return Unit.model_validate(data)


def registers(unit: Unit, latency: int, contexts: int | None = None) -> Pipeline:
    """A pipeline of so many registers, at the first steps and the last."""
    return pipeline(unit, cuts=steps(unit)[: latency - 1], contexts=contexts)


@dataclass
class Played:
    """What happened, by cycle. accepted: cycle and beat. taken: cycle and result."""

    accepted: list[tuple[int, Beat]] = field(default_factory=list)
    taken: list[tuple[int, Result]] = field(default_factory=list)

    @property
    def cycles(self) -> list[int]:
        """Cycles in which a beat was accepted."""
        return [cycle for cycle, _ in self.accepted]

    @property
    def results(self) -> list[Result]:
        """Results, in order."""
        return [result for _, result in self.taken]


def play(model: PipelinedUnit, stream: Sequence[Beat | None], takes: Sequence[bool] = (), cycles: int = 64) -> Played:
    """Offer each beat until it is accepted, None for a cycle without; then wait.

    takes: whether the output takes a result, cycle by cycle; always, after that.
    """
    played, waiting = Played(), list(stream)
    for cycle in range(cycles):
        take = takes[cycle] if cycle < len(takes) else True
        beat = waiting[0] if waiting else None
        if model.result is not None and take:
            played.taken.append((cycle, model.result))
        accepted = model.tick(beat, take)
        if accepted and beat is not None:
            played.accepted.append((cycle, beat))
        if waiting and (accepted or beat is None):
            waiting.pop(0)
    assert not waiting, "the stream did not end"
    return played


class Rules:
    """The handshake's rules as design.md states them, without registers: beats by the advances that they have seen.

    An advance is a cycle in which the pipeline moves. A beat that is accepted is `latency` advances later at the
    output, where one with `last` is a result; until then, one without `last` keeps its context busy.
    """

    def __init__(self, latency: int):
        self.latency = latency
        self.moved = 0
        self.flying: list[tuple[int, Beat]] = []

    def reset(self) -> None:
        """Nothing is in flight."""
        self.flying.clear()

    @property
    def result_of(self) -> Beat | None:
        """The beat whose result stands at the output."""
        return next((beat for at, beat in self.flying if self.moved - at == self.latency and beat.last), None)

    def ready(self, beat: Beat, take: bool) -> bool:
        """Whether the beat would be accepted."""
        if self.result_of is not None and not take:
            return False
        young = [other for at, other in self.flying if self.moved - at < self.latency]
        return beat.first or all(other.last or other.context != beat.context for other in young)

    def tick(self, beat: Beat | None, take: bool) -> None:
        """One rising edge."""
        if self.result_of is not None and not take:
            return
        if beat is not None and self.ready(beat, take):
            self.flying.append((self.moved, beat))
        self.moved += 1
        self.flying = [(at, other) for at, other in self.flying if self.moved - at <= self.latency]


@cache
def definition(unit: Unit) -> Definition:
    return Definition(unit)


def dot(unit: Unit, case: Case) -> int:
    """The code that the definition gives a case."""
    return definition(unit).dot(case.a, case.b, case.c, *term_scales(unit, case)).code


def some_cases(unit: Unit, number: int, rng: np.random.Generator, most_beats: int = 5) -> list[Case]:
    """Cases of random codes."""
    lanes, fmt = unit.instruction.lanes, unit.operands.a
    cases = []
    for index in range(number):
        terms = lanes * int(rng.integers(1, most_beats + 1))
        terms = -(-terms // unit.instruction.fill) * unit.instruction.fill
        if unit.scale is not None:
            terms = -(-terms // 4) * 4
        a, b = rng.integers(0, 1 << fmt.bits, (2, terms)).tolist()
        c = int(rng.integers(0, 0x6000)) | int(rng.integers(0, 2)) << 15
        blocks = (terms // 2, terms // 4) if unit.scale else (0, 0)
        scales = [tuple(rng.integers(122, 132, count).tolist()) for count in blocks]
        cases.append(Case(str(index), tuple(a), tuple(b), c, *scales))
    return cases


def shuffled(unit: Unit, cases: Sequence[Case], contexts: int, rng: np.random.Generator) -> Iterator[tuple[int, Beat]]:
    """The beats of all cases with their case's number, each context at its own pace; some sums are given up."""
    streams: list[list[tuple[int, Beat]]] = [[] for _ in range(contexts)]
    for number, case in enumerate(cases):
        context = number % contexts
        whole = [(number, beat) for beat in beats(unit, case, context)]
        given_up = int(rng.integers(len(whole))) if rng.random() < 0.3 else 0
        streams[context] += whole[:given_up] + whole
    while any(streams):
        chosen = streams[int(rng.choice([index for index, stream in enumerate(streams) if stream]))]
        yield chosen.pop(0)


def check(model: PipelinedUnit, seed: int, *, count: int = 24, offer: float = 0.8, take: float = 0.7) -> None:
    """Play random sums under random traffic; AssertionError unless the rules and the definition are kept.

    Every cycle's valid, every offer's ready, and every result, its context and its order are compared.
    """
    unit, latency, rng = model.unit, model.pipeline.latency, np.random.default_rng(seed)
    rules, cases = Rules(latency), some_cases(unit, count, rng)
    waiting = list(shuffled(unit, cases, model.pipeline.contexts, rng))
    due: list[Result] = []
    quiet = 0
    for _ in range(40 * len(waiting) * latency):
        takes, offers = bool(rng.random() < take), bool(waiting and rng.random() < offer)
        number, beat = waiting[0] if offers else (-1, None)
        assert model.valid == (rules.result_of is not None)
        assert model.result == (due[0] if model.valid else None)
        if model.valid and takes:
            due.pop(0)
        accepts = beat is not None and rules.ready(beat, takes)
        assert beat is None or model.ready(beat.first, beat.context, takes) == accepts
        assert model.tick(beat, takes) == accepts
        rules.tick(beat, takes)
        if accepts and beat is not None:
            waiting.pop(0)
            due += [Result(dot(unit, cases[number]), beat.context)] if beat.last else []
        # A result that nobody is due must be seen too: the end is some quiet cycles.
        quiet = 0 if waiting or due else quiet + 1
        if quiet > 3 * latency:
            break
    assert not waiting and not due
    assert not model.misuse
