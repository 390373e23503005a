"""The cycle-level model: a unit on a clock.

The arithmetic is the definition's and happens as a beat is accepted; what is modelled here is when: the flight of
beats through the registers, the wait of a beat for its context, and the standstill while a result is not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.model.clock.beat import Beat, Result
from hwsim.model.definition import Definition
from hwsim.model.terms import Term
from hwsim.spec import Pipeline, Unit, refuse_unimplemented_in_pipeline


@dataclass(slots=True)
class _Context:
    """One open sum: beats since it began or was last promoted, its partial sum and its promotion register."""

    open: bool = False
    count: int = 0
    partial: int = 0
    register: int = 0


@dataclass(frozen=True, slots=True)
class _Flying:
    context: int
    last: bool
    result: int


class PipelinedUnit:
    """A unit, cycle by cycle.

    In each cycle: look at `valid`, `result` and `ready`, then `tick`. Cycle 0 is the first after reset is released.
    Raises NotImplementedYet for a unit whose arithmetic is not that of one beat after the other yet.
    """

    def __init__(self, unit: Unit, pipeline: Pipeline):
        refuse_unimplemented_in_pipeline(unit)
        self.unit, self.pipeline = unit, pipeline
        self.definition = Definition(unit)
        self.reset()

    def reset(self) -> None:
        """Empty the unit, as a cycle with `rst` high does."""
        # _registers[n] is what stands in register n + 1; the last one is the output.
        self._registers: list[_Flying | None] = [None] * self.pipeline.latency
        self._contexts = [_Context() for _ in range(self.pipeline.contexts)]
        self.misuse = False

    @property
    def valid(self) -> bool:
        """Whether a result stands at the output."""
        leaving = self._registers[-1]
        return leaving is not None and leaving.last

    @property
    def result(self) -> Result | None:
        """The result at the output, or None."""
        leaving = self._registers[-1]
        return Result(leaving.result, leaving.context) if leaving is not None and leaving.last else None

    def ready(self, first: bool, context: int, output_ready: bool) -> bool:
        """Whether a beat would be accepted in this cycle."""
        if self.valid and not output_ready:
            return False
        return first or not any(
            flying is not None and not flying.last and flying.context == context for flying in self._registers[:-1]
        )

    def tick(self, beat: Beat | None, output_ready: bool) -> bool:
        """One rising edge. Returns whether `beat`, if any, was accepted."""
        accepted = beat is not None and self.ready(beat.first, beat.context, output_ready)
        if not self.valid or output_ready:
            entering = self._accept(beat) if beat is not None and accepted else None
            self._registers = [entering, *self._registers[:-1]]
        return accepted

    def _accept(self, beat: Beat) -> _Flying:
        if beat.context >= self.pipeline.contexts or not (beat.first or self._contexts[beat.context].open):
            self.misuse = True
        context = self._contexts[min(beat.context, self.pipeline.contexts - 1)]
        context.open = not beat.last
        return _Flying(beat.context, beat.last, self._sum(beat, context))

    def _sum(self, beat: Beat, context: _Context) -> int:
        """One beat's arithmetic; what a result would be if the beat is the last."""
        beats = self.unit.promotion_beats
        if beats is None:
            addend = self.definition.addend(beat.c) if beat.first else self.definition.partial(context.partial)
            context.partial = self._group(beat, addend)
            return context.partial
        if beat.first:
            context.count, context.register = 0, self.definition.register(beat.c)
        partial = context.partial if context.count else 0
        context.partial = self._group(beat, self.definition.partial(partial))
        context.count += 1
        if beat.last or context.count == beats:
            context.register = self.definition.promote(context.register, context.partial).code
            context.count = 0
        return context.register

    def _group(self, beat: Beat, addend: Term | None) -> int:
        scale_a, scale_b = self.lane_scales(beat)
        return self.definition.group(beat.a, beat.b, addend, scale_a, scale_b).code

    def lane_scales(self, beat: Beat) -> tuple[Sequence[int], Sequence[int]]:
        """The scale codes of a beat, one for each lane."""
        if self.unit.scale is None:
            return (), ()
        lanes = self.unit.instruction.lanes
        lengths = [-(-lanes // len(scales)) for scales in (beat.scale_a, beat.scale_b)]
        return (
            [beat.scale_a[lane // lengths[0]] for lane in range(lanes)],
            [beat.scale_b[lane // lengths[1]] for lane in range(lanes)],
        )
