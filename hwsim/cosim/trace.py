"""Recording traces: what drives our RTL in every cycle, and what the cycle-level model says it answers.

A stimulus is a list of beats, of when the input may offer one, and of when the output may take a result. The model
turns it into a trace once; cocotb and the bulk driver play the same trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hwsim.cases.case import Case, beats, block_lengths
from hwsim.cases.drawing import Stream
from hwsim.cosim.bench import PortMap
from hwsim.cosim.design import BURST, FULL, Play, Suite, Tagged, Traffic, tag
from hwsim.formats.blocks import one_code
from hwsim.model.clock import PipelinedUnit
from hwsim.spec import AnyUnit, Pipeline, SparseUnit, Specified, dense_of
from hwsim.tb.job import HOLD, READY, RESET, SEEN_MISUSE, SEEN_READY, SEEN_VALID, VALID, Script, Trace, result_rows

RESET_CYCLES = 2
HELD = 0.25  # how often the clock is not enabled


def record(
    suite: Suite,
    unit: AnyUnit,
    pipeline: Pipeline,
    ports: PortMap,
    order: Iterable[Tagged],
    stream: Stream,
) -> Play:
    """Run the cycle-level model over a suite's beats, and record every cycle.

    stream: when ports stop, and in which cycles the clock of a device with a clock enable is not enabled.
    """
    recorder = _Recorder(PipelinedUnit(unit, pipeline), suite.traffic, stream, bool(ports.enable))
    recorder.reset()
    for item in order:
        recorder.offer(item)
    recorder.drain()
    return recorder.play(suite, ports)


def record_handshake(suite: Suite, unit: AnyUnit, pipeline: Pipeline, ports: PortMap, stream: Stream) -> Play:
    """Record the states of the handshake that random traffic does not bring.

    These are a bubble at each stage, a standstill with every stage full, reset in flight and while a result waits,
    every context open, a sum given up for a new one in its context, and misuse at the end.
    Most sums are the first beat of a case alone. Cases are numbered through: first the suite's, whole, and then what
    `alone` makes of each of them.
    """
    cases = suite.cases
    recorder = _Recorder(PipelinedUnit(unit, pipeline), FULL, stream, bool(ports.enable))
    offer = recorder.offer

    def one_beat(number: int, context: int = 0, *, last: bool = True) -> Tagged:
        index = number % len(cases)
        first = next(tag(unit, len(cases) + index, cases[index], context))
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
        if len(case.a) > dense_of(unit).instruction.lanes:
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
    return recorder.play(replace(suite, cases=(*cases, *(alone(unit, case) for case in cases))), ports)


def alone(unit: AnyUnit, case: Case) -> Case:
    """Return the first beat of a case as a case of its own.

    Where an instruction takes its products in an order of its own, zeros under scales of 1 stand for those of its
    other beats.
    """
    lanes, first, name = dense_of(unit).instruction.lanes, next(beats(unit, case)), f"{case.id}, its first beat"
    if len(case.a) == lanes:
        return case
    if isinstance(unit, SparseUnit):
        return Case(name, first.a, first.b, case.c, metadata=first.metadata)
    if unit.instruction.order == "sequential":
        return Case(name, first.a, first.b, case.c, first.scale_a, first.scale_b, case.modes[:1])
    here, every = unit.instruction.indices(0), range(unit.instruction.k)
    a, b = (tuple(codes[i] if i in here else 0 for i in every) for codes in (case.a, case.b))
    scale_a, scale_b = list(_scales_of(unit, case, here)) or ((), ())
    return Case(name, a, b, case.c, scale_a, scale_b, case.modes[: unit.instruction.groups])


def _scales_of(unit: Specified, case: Case, here: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield a case's scales of the blocks of some products, with 1 for the other blocks of its first instruction."""
    if unit.scale is None:
        return
    sides = zip((case.scale_a, case.scale_b), (unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)
    for codes, side, length in sides:
        blocks, unscaled = {i // length for i in here}, one_code(side.format)
        some = codes[: -(-unit.instruction.k // length)]
        yield tuple(code if block in blocks else unscaled for block, code in enumerate(some))


class _Recorder:
    """Runs the cycle-level model, and records its inputs and outputs.

    holds: whether there are cycles in which the clock is not enabled, and nothing happens but a reset.
    """

    def __init__(self, model: PipelinedUnit, traffic: Traffic, stream: Stream, holds: bool):
        self.model, self.traffic, self.stream, self.holds = model, traffic, stream, holds
        self.order: list[Tagged] = []
        self.drive: list[int] = []
        self.offered: list[int] = []
        self.expect: list[int] = []
        self.results: list[tuple[int, int]] = []
        self.owners: list[int] = []
        self.pending: list[int] = []
        self.held = 0

    def reset(self, cycles: int = RESET_CYCLES) -> None:
        """Hold reset, with nothing promised. One cycle must be enough."""
        for _ in range(cycles):
            self.drive.append(RESET | HOLD * self._stands_still())
            self.offered.append(-1)
            self.expect.append(0)
        self.model.reset()
        self.pending.clear()

    def _takes(self) -> bool:
        if self.held:
            self.held -= 1
            return False
        if self.traffic.bursts and self.stream.random() < BURST:
            self.held = 3 * self.model.pipeline.latency
        return self.traffic.take >= 1 or self.stream.random() < self.traffic.take

    def _stands_still(self) -> bool:
        return self.holds and self.stream.random() < HELD

    def _note(self, drive: int, index: int, item: Tagged | None) -> None:
        """Record a cycle's inputs, and the outputs that are promised."""
        model = self.model
        expect = SEEN_VALID * model.valid | SEEN_MISUSE * model.misuse
        if item is not None and model.ready(item.beat.first, item.beat.context, bool(drive & READY)):
            expect |= SEEN_READY
        self.drive.append(VALID * (item is not None) | drive)
        self.offered.append(index)
        self.expect.append(expect)

    def cycle(self, index: int, item: Tagged | None) -> bool:
        """Run one cycle; True if the beat was accepted."""
        while self._stands_still():
            self._note(HOLD | READY * (self.stream.random() < 0.5), index, item)
        take = self._takes()
        self._note(READY * take, index, item)
        model = self.model
        result = model.result
        if result is not None and take:
            self.owners.append(self.pending.pop(0))
            self.results.append((result.context, result.code))
        accepted = model.tick(item.beat if item is not None else None, take)
        if accepted and item is not None and item.beat.last:
            self.pending.append(item.case)
        return accepted

    def offer(self, item: Tagged) -> None:
        """Offer a beat until it is accepted; before that, offer nothing for a random number of cycles."""
        self.order.append(item)
        while self.traffic.offer < 1 and self.stream.random() >= self.traffic.offer:
            self.cycle(-1, None)
        while not self.cycle(len(self.order) - 1, item):
            pass

    def drain(self) -> None:
        """Offer nothing more; run until the last result has left, and some cycles on in which nothing may follow."""
        while self.pending:
            self.cycle(-1, None)
        for _ in range(self.model.pipeline.latency + 1):
            self.cycle(-1, None)

    def play(self, suite: Suite, ports: PortMap) -> Play:
        """The recorded play; a suite's own expected codes take the place of the model's."""
        codes = [code for _, code in self.results]
        if suite.expected is not None:
            codes = [suite.expected[owner] for owner in self.owners]
        results = result_rows([context for context, _ in self.results], codes)
        trace = Trace(np.array(self.drive, np.uint8), np.array(self.offered, np.int32), np.array(self.expect, np.uint8))
        beats_offered = tuple(item.beat for item in self.order)
        payloads = [ports.pack(beat) for beat in beats_offered]
        return Play(suite, Script(suite.name, trace, payloads, results), beats_offered, tuple(self.owners))
