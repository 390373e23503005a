"""The cycle-level model of a stream: what enters leaves so many cycles later, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from hwsim.errors import InputError

Payload = TypeVar("Payload")
Result = TypeVar("Result")


class PipelinedStream(Generic[Payload, Result]):
    """A converter or a quantiser, cycle by cycle; one payload can enter in each.

    In each cycle: look at `valid`, `result` and `ready`, then `tick`. Cycle 0 is the first after reset is released.
    function: from a payload to its result. latency: registers, at least 1. Raises ValueError for fewer.
    """

    def __init__(self, function: Callable[[Payload], Result], latency: int):
        if latency < 1:
            raise InputError(f"latency must be at least 1, not {latency}")
        self.function, self.latency = function, latency
        self.reset()

    def reset(self) -> None:
        """Empty it, as a cycle with `rst` high does."""
        self._registers: list[tuple[Result] | None] = [None] * self.latency

    @property
    def valid(self) -> bool:
        """Whether a result stands at the output."""
        return self._registers[-1] is not None

    @property
    def result(self) -> Result | None:
        """The result at the output, or None."""
        leaving = self._registers[-1]
        return None if leaving is None else leaving[0]

    def ready(self, output_ready: bool) -> bool:
        """Whether a payload would be accepted in this cycle: not while a result waits."""
        return output_ready or not self.valid

    def tick(self, payload: Payload | None, output_ready: bool) -> bool:
        """One rising edge. Returns whether `payload`, if any, was accepted."""
        if not self.ready(output_ready):
            return False
        entering = None if payload is None else (self.function(payload),)
        self._registers = [entering, *self._registers[:-1]]
        return payload is not None
