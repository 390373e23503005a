"""Traces: what drives a device in every cycle, and what the cycle-level model says it answers.

A stimulus is a list of beats, of when the input may offer one, and of when the output may take a result. The model
turns it into a trace once; cocotb and the bulk driver play the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hwsim.cases.case import Case, beats
from hwsim.cosim.ports import PortMap
from hwsim.model.clock import Beat, PipelinedUnit, Result
from hwsim.spec import Pipeline, Unit

RESET_CYCLES = 2
VALID, READY, RESET = 1, 2, 4  # bits of `drive`
SEEN_READY, SEEN_VALID, SEEN_MISUSE = 1, 2, 4  # bits of `expect`


@dataclass(frozen=True)
class Tagged:
    """A beat of a case: `case` is an index, `index` its place in the case."""

    beat: Beat
    case: int
    index: int


@dataclass(frozen=True)
class Trace:
    """One suite, cycle by cycle.

    cases: names. beats: those of all cases in the order in which they are offered.
    drive: uint8[cycles], bits VALID, READY, RESET. offered: int32[cycles], the beat at the input, or -1.
    expect: uint8[cycles], bits SEEN_*; ready is promised only while the input is valid, nothing during reset.
    results: (case, payload) of each result, in order. result_cycles: int64[results].
    """

    suite: str
    cases: tuple[str, ...]
    beats: tuple[Tagged, ...]
    drive: np.ndarray
    offered: np.ndarray
    expect: np.ndarray
    results: tuple[tuple[int, int], ...]
    result_cycles: np.ndarray

    @property
    def cycles(self) -> int:
        """Clock cycles, reset included."""
        return len(self.drive)

    def answered(self, codes: Sequence[int], ports: PortMap) -> Trace:
        """The same cycles, with each case's result as something else returned it."""
        results = []
        for case, payload in self.results:
            context = ports.unpack(payload).context
            results.append((case, ports.pack_result(Result(codes[case], context))))
        return replace(self, results=tuple(results))


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


def interleave(unit: Unit, cases: Sequence[Case], contexts: int, rng: np.random.Generator | None) -> Iterator[Tagged]:
    """The beats of all cases, `contexts` cases at a time, each in a context of its own.

    rng: chooses whose turn it is; None takes turns, which keeps a unit with enough contexts busy.
    """
    waiting = iter(enumerate(cases))

    def open_next(context: int) -> Iterator[Tagged] | None:
        following = next(waiting, None)
        return None if following is None else tag(unit, *following, context)

    streams = [stream for stream in map(open_next, range(contexts)) if stream is not None]
    slots = list(range(len(streams)))
    turn = 0
    while slots:
        at = turn % len(slots) if rng is None else int(rng.integers(len(slots)))
        slot = slots[at]
        tagged = next(streams[slot])
        yield tagged
        turn = at + 1
        if tagged.beat.last:
            following = open_next(slot)
            if following is None:
                del slots[at]
                turn = at
            else:
                streams[slot] = following


def tag(unit: Unit, number: int, case: Case, context: int) -> Iterator[Tagged]:
    """A case's beats, tagged with its number."""
    return (Tagged(beat, number, index) for index, beat in enumerate(beats(unit, case, context)))


def record(
    suite: str,
    unit: Unit,
    pipeline: Pipeline,
    ports: PortMap,
    cases: Sequence[Case],
    tagged: Iterable[Tagged],
    traffic: Traffic,
    rng: np.random.Generator,
    tick: Callable[[], None] = lambda: None,
) -> Trace:
    """Run the cycle-level model over a stimulus and note every cycle.

    tick: called now and then, to show progress.
    """
    recorder = _Recorder(PipelinedUnit(unit, pipeline), ports, traffic, rng)
    recorder.reset()
    order = tuple(tagged)
    for index, item in enumerate(order):
        recorder.offer(index, item)
        if index % 256 == 0:
            tick()
    recorder.drain()
    return recorder.trace(suite, tuple(case.id for case in cases), order)


def record_handshake(
    unit: Unit, pipeline: Pipeline, ports: PortMap, cases: Sequence[Case], rng: np.random.Generator
) -> Trace:
    """What traffic alone does not bring: a bubble at each stage, a standstill with every stage full, reset in flight
    and while a result waits, every context open, a sum given up for a new one in its context, and misuse at the end.

    Most sums are the first beat of a case alone. Cases are numbered through: first `cases`, whole, and then what
    `alone` makes of each of them.
    """
    recorder = _Recorder(PipelinedUnit(unit, pipeline), ports, FULL, rng)
    order: list[Tagged] = []

    def offer(item: Tagged) -> None:
        order.append(item)
        recorder.offer(len(order) - 1, item)

    def one_beat(number: int, context: int = 0, *, last: bool = True) -> Tagged:
        at = number % len(cases)
        first = next(tag(unit, len(cases) + at, cases[at], context))
        return replace(first, beat=replace(first.beat, last=last))

    latency, contexts = pipeline.latency, pipeline.contexts
    recorder.reset()
    for bubble in range(latency + 2):
        offer(one_beat(bubble, bubble % contexts))
        for _ in range(bubble):
            recorder.cycle(-1, None)
    recorder.drain()
    for number in range(2 * latency + 1):
        # One bubble, which moves through stages that are full.
        if number == latency:
            recorder.cycle(-1, None)
        offer(one_beat(number, number % contexts))
    recorder.drain()
    for held in range(latency + 2):
        for number in range(held):
            offer(one_beat(number, number % contexts))
        recorder.held = 2 * latency
        offer(one_beat(held, held % contexts))
        recorder.drain()
    for filled in range(1, latency + 2):
        for number in range(filled):
            offer(one_beat(number, number % contexts, last=number % 2 == 0))
        recorder.held = filled % 3
        recorder.cycle(-1, None)
        recorder.reset(1)
        # What was in flight is gone: nothing leaves, and no context is busy.
        for context in range(contexts):
            offer(one_beat(context, context))
        recorder.drain()
    for filled in range(1, latency + 1):
        # Reset with so many beats in flight, and, with all stages full, while a result waits.
        for number in range(filled):
            offer(one_beat(number, number % contexts))
        if filled == latency:
            recorder.held = 1
            recorder.cycle(-1, None)
        recorder.reset(1)
    for last in (False, True):
        # Every context is open, and then closed by a new sum.
        for context in range(contexts):
            offer(one_beat(context, context, last=last))
    recorder.drain()
    for number in range(2 * latency):
        # A sum that is given up: `first` never waits, and what is still in flight must not disturb the new sum.
        offer(one_beat(number, 0, last=False))
        for item in tag(unit, number % len(cases), cases[number % len(cases)], 0):
            offer(item)
    recorder.drain()
    for number, case in enumerate(cases):
        # A beat that waits for its context.
        if len(case.a) > unit.instruction.lanes:
            for item in tag(unit, number, case, 0):
                offer(item)
            recorder.drain()
            break
    stray = one_beat(0, 0, last=False)
    stray = replace(stray, beat=replace(stray.beat, first=False))
    for opened in (False, True):
        # A beat that continues no sum: none was open, or reset has closed it.
        if opened:
            offer(one_beat(0, 0, last=False))
        recorder.reset(1)
        offer(stray)
        recorder.drain()
    named = [case.id for case in (*cases, *(alone(unit, case) for case in cases))]
    return recorder.trace("handshake and reset", tuple(named), tuple(order))


def alone(unit: Unit, case: Case) -> Case:
    """The first beat of a case as a case of its own."""
    lanes, first = unit.instruction.lanes, next(beats(unit, case))
    if len(case.a) == lanes:
        return case
    return Case(f"{case.id}, its first beat", first.a, first.b, case.c, first.scale_a, first.scale_b)


class _Recorder:
    """The cycle-level model at work, with notes of what went in and came out."""

    def __init__(self, model: PipelinedUnit, ports: PortMap, traffic: Traffic, rng: np.random.Generator):
        self.model, self.ports, self.traffic, self.rng = model, ports, traffic, rng
        self.drive: list[int] = []
        self.offered: list[int] = []
        self.expect: list[int] = []
        self.results: list[tuple[int, int]] = []
        self.result_cycles: list[int] = []
        self.pending: list[int] = []
        self.held = 0
        self.draws: list[float] = []

    def _chance(self) -> float:
        if not self.draws:
            self.draws = self.rng.random(4096).tolist()
        return self.draws.pop()

    def reset(self, cycles: int = RESET_CYCLES) -> None:
        """Hold reset, with nothing promised. One cycle must be enough."""
        for _ in range(cycles):
            self.drive.append(RESET)
            self.offered.append(-1)
            self.expect.append(0)
        self.model.reset()
        self.pending.clear()

    def _takes(self) -> bool:
        if self.held:
            self.held -= 1
            return False
        if self.traffic.bursts and self._chance() < 0.02:
            self.held = 3 * self.model.pipeline.latency
        return self.traffic.take >= 1 or self._chance() < self.traffic.take

    def cycle(self, index: int, item: Tagged | None) -> bool:
        """One cycle; whether the beat was accepted."""
        take = self._takes()
        model = self.model
        expect = SEEN_VALID * model.valid | SEEN_MISUSE * model.misuse
        if item is not None and model.ready(item.beat.first, item.beat.context, take):
            expect |= SEEN_READY
        result = model.result
        if result is not None and take:
            self.result_cycles.append(len(self.drive))
            self.results.append((self.pending.pop(0), self.ports.pack_result(result)))
        self.drive.append(VALID * (item is not None) | READY * take)
        self.offered.append(index)
        self.expect.append(expect)
        accepted = model.tick(item.beat if item is not None else None, take)
        if accepted and item is not None and item.beat.last:
            self.pending.append(item.case)
        return accepted

    def offer(self, index: int, item: Tagged) -> None:
        """Offer a beat until it is accepted; before that, nothing for a while."""
        while self.traffic.offer < 1 and self._chance() >= self.traffic.offer:
            self.cycle(-1, None)
        while not self.cycle(index, item):
            pass

    def drain(self) -> None:
        """Nothing more comes; wait until the last result has left, and see that nothing follows."""
        while self.pending:
            self.cycle(-1, None)
        for _ in range(self.model.pipeline.latency + 1):
            self.cycle(-1, None)

    def trace(self, suite: str, cases: tuple[str, ...], order: tuple[Tagged, ...]) -> Trace:
        """What was noted."""
        return Trace(
            suite=suite,
            cases=cases,
            beats=order,
            drive=np.array(self.drive, np.uint8),
            offered=np.array(self.offered, np.int32),
            expect=np.array(self.expect, np.uint8),
            results=tuple(self.results),
            result_cycles=np.array(self.result_cycles, np.int64),
        )


def words_of(values: Sequence[int], words: int) -> np.ndarray:
    """Payloads as rows of 32-bit words, the low word first: uint32[values, words]."""
    data = b"".join(value.to_bytes(4 * words, "little") for value in values)
    return np.frombuffer(data, np.uint32).reshape(len(values), words)
