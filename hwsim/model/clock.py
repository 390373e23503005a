"""The cycle-level model: a unit on a clock.

The arithmetic is the definition's and happens as a beat is accepted; what is modelled here is when: the flight of
beats through the registers, the wait of a beat for its context, the standstill while a result is not taken, and the
buffer at the input of a unit whose `ready` is a register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hwsim.base.errors import InputError
from hwsim.model.definition import Definition, GroupOperands, definition_of, selected
from hwsim.model.methods import Carried
from hwsim.spec import AnyUnit, Pipeline, SparseUnit, Support, dense_of, implemented, modes_of, of_modes
from hwsim.spec.support import in_beats


@dataclass(frozen=True, slots=True)
class Beat:
    """One group of products.

    a, b: a code for each lane. scale_a, scale_b: a code for each `Unit.lanes_of_scale` lanes; empty for an unscaled
    unit. c: the addend's code; counts only where `first`. first: opens a sum in its context. last: closes it.
    mode: of a unit of several, the number of the mode that computes this group; 0 for a unit of one.
    metadata: of a sparse unit, the indices of what a keeps among all factors of b, which b has here.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int = 0
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    first: bool = True
    last: bool = True
    context: int = 0
    mode: int = 0
    metadata: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """A result that leaves a unit: a code in the result's container, and the context that it belongs to."""

    code: int
    context: int


def supports(unit: AnyUnit) -> Support:
    """The cycle-level model's support of a unit or of its modes: that of implementations without readings."""
    return in_beats(unit, of_modes(dense_of(unit), implemented))


@dataclass(slots=True)
class _Context:
    """The state of one sum: whether it is open, and the value that its next beat starts from."""

    carried: Carried
    open: bool = False


@dataclass(frozen=True, slots=True)
class _Flying:
    """A beat in a register. result: None unless the beat is the last of its sum."""

    context: int
    result: int | None


class PipelinedUnit:
    """A unit, cycle by cycle; of several modes, each beat by the definition of its own mode; of a sparse unit, each by
    the dense one's, of the factors of b that its metadata select.

    In each cycle: look at `valid`, `result` and `ready`, then `tick`. Cycle 0 is the first after reset is released.
    Raises NotImplementedYet for a unit that `supports` says something lacks of.
    """

    def __init__(self, unit: AnyUnit, pipeline: Pipeline):
        supports(unit).demand()
        self.unit, self.pipeline = dense_of(unit), pipeline
        self.sparsity = unit.sparsity if isinstance(unit, SparseUnit) else None
        self.modes = tuple(map(definition_of, modes_of(self.unit)))
        self.reset()

    @property
    def definition(self) -> Definition:
        """The definition of the first mode: what a sum begins and ends with is the same in every mode."""
        return self.modes[0]

    def reset(self) -> None:
        """Empty the unit, as a cycle with `rst` high does."""
        # _registers[n] is what stands in register n + 1; the last one is the output.
        self._registers: list[_Flying | None] = [None] * self.pipeline.latency
        self._contexts = [_Context(self.definition.open(0)) for _ in range(self.pipeline.contexts)]
        self._buffered: Beat | None = None
        self.misuse = False

    @property
    def valid(self) -> bool:
        """True if a result stands at the output."""
        return self.result is not None

    @property
    def result(self) -> Result | None:
        """The result at the output, or None."""
        leaving = self._registers[-1]
        return None if leaving is None or leaving.result is None else Result(leaving.result, leaving.context)

    def ready(self, first: bool, context: int, output_ready: bool) -> bool:
        """True if a beat would be accepted in this cycle."""
        if self.pipeline.register_ready:
            return self._buffered is None
        return self._enters(first, context, output_ready)

    def _enters(self, first: bool, context: int, output_ready: bool) -> bool:
        """True if a beat would enter the pipeline in this cycle."""
        if self.valid and not output_ready:
            return False
        under_way = [flying for flying in self._registers[:-1] if flying is not None]
        return first or not any(flying.result is None and flying.context == context for flying in under_way)

    def tick(self, beat: Beat | None, output_ready: bool) -> bool:
        """One rising edge. Returns whether `beat`, if any, was accepted."""
        accepted = beat is not None and self.ready(beat.first, beat.context, output_ready)
        # What stands in the buffer goes first; the buffer is empty in a cycle in which a beat is accepted.
        offered = beat if self._buffered is None else self._buffered
        enters = offered is not None and self._enters(offered.first, offered.context, output_ready)
        if not self.valid or output_ready:
            entering = self._accept(offered) if offered is not None and enters else None
            self._registers = [entering, *self._registers[:-1]]
        if self.pipeline.register_ready:
            self._buffered = None if enters else offered
        return accepted

    def _accept(self, beat: Beat) -> _Flying:
        exists = beat.context < self.pipeline.contexts and beat.mode < len(self.modes)
        exists &= self.sparsity is None or max(beat.metadata) < self.sparsity.of
        if not exists or not (beat.first or self._contexts[beat.context].open):
            self.misuse = True
        context = self._contexts[min(beat.context, self.pipeline.contexts - 1)]
        context.open = not beat.last
        self._step(beat, context)
        return _Flying(beat.context, self.definition.close(context.carried) if beat.last else None)

    def _step(self, beat: Beat, context: _Context) -> None:
        before = self.definition.open(beat.c) if beat.first else context.carried
        b = beat.b if self.sparsity is None else selected(self.sparsity, beat.b, beat.metadata)
        lanes = GroupOperands(beat.a, b, *self.lane_scales(beat))
        mode = self.modes[min(beat.mode, len(self.modes) - 1)]
        context.carried = mode.step(before, lanes, beat.last).carried

    def lane_scales(self, beat: Beat) -> tuple[Sequence[int], Sequence[int]]:
        """The scale codes of a beat, one for each lane."""
        unit = self.unit
        if unit.scale is None:
            return (), ()
        lanes, of_a, of_b = range(unit.instruction.lanes), unit.lanes_of_scale("a"), unit.lanes_of_scale("b")
        return [beat.scale_a[lane // of_a] for lane in lanes], [beat.scale_b[lane // of_b] for lane in lanes]


Payload = TypeVar("Payload")
Streamed = TypeVar("Streamed")


class PipelinedStream(Generic[Payload, Streamed]):
    """A converter or a quantiser, cycle by cycle; one payload can enter in each.

    In each cycle: look at `valid`, `result` and `ready`, then `tick`. Cycle 0 is the first after reset is released.
    function: from a payload to its result. latency: registers, at least 1. Raises ValueError for fewer.
    """

    def __init__(self, function: Callable[[Payload], Streamed], latency: int):
        if latency < 1:
            raise InputError(f"latency must be at least 1, not {latency}")
        self.function, self.latency = function, latency
        self.reset()

    def reset(self) -> None:
        """Empty it, as a cycle with `rst` high does."""
        self._registers: list[tuple[Streamed] | None] = [None] * self.latency

    @property
    def valid(self) -> bool:
        """True if a result stands at the output."""
        return self._registers[-1] is not None

    @property
    def result(self) -> Streamed | None:
        """The result at the output, or None."""
        leaving = self._registers[-1]
        return None if leaving is None else leaving[0]

    def ready(self, output_ready: bool) -> bool:
        """True if a payload would be accepted in this cycle: not while a result waits."""
        return output_ready or not self.valid

    def tick(self, payload: Payload | None, output_ready: bool) -> bool:
        """One rising edge. Returns whether `payload`, if any, was accepted."""
        if not self.ready(output_ready):
            return False
        entering = None if payload is None else (self.function(payload),)
        self._registers = [entering, *self._registers[:-1]]
        return payload is not None
