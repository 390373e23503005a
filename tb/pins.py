"""Valid and ready at a design's own ports: what puts transfers into a stream, and what takes them from one.

All drive just after a rising edge and look once the cycle is quiet, as the testbenches of `hwsim cosim` do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import cocotb
from cocotb.handle import ArrayObject
from cocotb.triggers import Event, ReadOnly, RisingEdge

from hwsim.base.errors import InputError
from hwsim.tb.board import WaitingOutput
from hwsim.tb.job import UNKNOWN, PortMismatch, SuiteOutcome

Value = int | Sequence[int]
# Fields that a design need not have: of them a port is asked for only where the beats of one call differ.
SAID_BY_PORT = ("first", "last", "context", "mode")


class PinStream:
    """The ports of one stream with valid and ready: `NAME_valid`, `NAME_ready`, and `NAME_FIELD` for each field.

    entity: a cocotb handle. signals: other names, by field, `valid` and `ready` among them: {"valid": "req_vld"}.
    A stream without a ready is one that is always taken.
    """

    def __init__(self, entity: Any, name: str, clock: Any, signals: Mapping[str, str] | None = None):
        self.entity, self.name, self.clock = entity, name, clock
        self.signals = dict(signals or {})
        self.valid, self.ready = self.port("valid"), self.find("ready")
        self.edge, self.quiet = RisingEdge(clock), ReadOnly()

    def find(self, field: str) -> Any:
        """The port of a field; None where the design has none of that name."""
        return getattr(self.entity, self.signals.get(field, f"{self.name}_{field}"), None)

    def port(self, field: str) -> Any:
        """The port of a field. Raises InputError where there is none."""
        port = self.find(field)
        if port is None:
            named = self.signals.get(field, f"{self.name}_{field}")
            raise InputError(f"{self.entity._path} has no port {named}: name it in signals={{{field!r}: ...}}")
        return port


def put(port: Any, value: Value) -> None:
    """Drive a number, or elements side by side, the first in the low bits, or one to a word of an unpacked array.

    Raises InputError where they do not fit the port.
    """
    if isinstance(port, ArrayObject):
        words = [value] if isinstance(value, int) else list(value)
        if len(words) != len(port):
            raise InputError(f"{port._path} has {len(port)} words, and the beat {len(words)} elements")
        for word, element in zip(sorted(port.range), words, strict=True):
            put(port[word], element)
        return
    if not isinstance(value, int):
        value = joined(value, len(port), port._path)
    if value >> len(port):
        raise InputError(f"{port._path} has {len(port)} bits, too few for {value:#x}")
    port.value = value


def joined(elements: Sequence[int], bits: int, where: str) -> int:
    """Elements side by side in so many bits, the first in the low ones. where: the port, for the error."""
    each, rest = divmod(bits, len(elements))
    if rest or any(element >> each for element in elements):
        raise InputError(f"{where} has {bits} bits, which are not {len(elements)} elements of as many as these codes")
    word = 0
    for element in reversed(elements):
        word = word << each | element
    return word


def seen(port: Any) -> int:
    """A port's value; UNKNOWN where a bit of it is neither 0 nor 1."""
    try:
        return int(port.value)
    except ValueError:
        return UNKNOWN


class ValidReadySource(PinStream):
    """Puts transfers into a stream with valid and ready.

    offer: whether a transfer may be offered, cycle by cycle, without an end; in every cycle unless given. Once it is
    offered it stays until it is taken.
    """

    def __init__(
        self,
        entity: Any,
        name: str,
        clock: Any,
        *,
        offer: Iterable[bool] | None = None,
        signals: Mapping[str, str] | None = None,
    ):
        super().__init__(entity, name, clock, signals)
        self.offer = repeat(True) if offer is None else iter(offer)
        self.ports: dict[str, Any] = {}
        self.valid.value = 0

    async def send(self, **fields: Sequence[Value]) -> None:
        """Send transfers, one after the other; returns at the edge that takes the last one.

        fields: by name a value for each transfer, an integer or a tuple of integers for elements side by side.
        Raises InputError for a field that has no port, or does not fit it.
        """
        names = [name for name in fields if self._has(name, fields[name])]
        for values in zip(*fields.values(), strict=True):
            beat = dict(zip(fields, values, strict=True))
            while not next(self.offer):
                self.valid.value = 0
                await self.edge
            for name in names:
                put(self.ports[name], beat[name])
            self.valid.value = 1
            taken = False
            while not taken:
                await self.quiet
                taken = self.ready is None or seen(self.ready) == 1
                await self.edge
        self.valid.value = 0

    def _has(self, name: str, values: Sequence[Value]) -> bool:
        """Whether a field has a port; one that says the same in all transfers need not."""
        if name not in self.ports:
            alike = name in SAID_BY_PORT and all(value == values[0] for value in values)
            port = self.find(name) if alike else self.port(name)
            if port is None:
                return False
            self.ports[name] = port
        return True


@dataclass(frozen=True)
class Transfer:
    """What left a stream. cycle: counted from the sink's first. fields: by name; UNKNOWN where a bit is unknown."""

    cycle: int
    fields: dict[str, int]


class ValidReadyMonitor(PinStream):
    """Watches a stream with valid and ready from its start on: what is taken, and whether the stream keeps its promise.

    A valid output stays, unchanged, until it is taken: what does not is noted in `outcome`, as `dropped` or `changed`,
    and an unknown valid, once it was known and outside of a reset, as `unknown`.
    fields: which ports are looked at. reset: a port whose active level forgets what waits; active_low: whether that is
    0. cycle: of the clock, counted from the start.
    """

    def __init__(
        self,
        entity: Any,
        name: str,
        clock: Any,
        *,
        fields: Iterable[str] = ("result",),
        signals: Mapping[str, str] | None = None,
        reset: Any = None,
        active_low: bool = False,
    ):
        super().__init__(entity, name, clock, signals)
        self.reset, self.level = reset, int(not active_low)
        self.ports = {field: self.port(field) for field in fields}
        self.outcome = SuiteOutcome(name)
        self.queue: deque[Transfer] = deque()
        self.arrived = Event()
        self.cycle = self.received = 0
        self._running = cocotb.start_soon(self._run())

    def _drive(self) -> bool | None:
        """Begin a cycle; whether a transfer is taken in it, None where the ready says so."""
        return True if self.ready is None else None

    async def _run(self) -> None:
        waiting, known = WaitingOutput(), False
        while True:
            take = self._drive()
            await self.quiet
            valid = seen(self.valid)
            if self.reset is not None and seen(self.reset) == self.level:
                waiting.held = None
            elif valid == 1:
                known = True
                self._valid(waiting, seen(self.ready) == 1 if take is None else take)
            else:
                if waiting.held is not None:
                    self._note("dropped", 0, 1)
                    waiting.held = None
                if valid == UNKNOWN and known:
                    self._note("unknown", UNKNOWN, 1)
                known = known or valid == 0
            await self.edge
            self.cycle += 1

    def _valid(self, waiting: WaitingOutput, take: bool) -> None:
        """A cycle in which the output is valid."""
        fields = {name: seen(port) for name, port in self.ports.items()}
        word = tuple(fields.values())
        if before := waiting.changed(word):
            got, expected = next((now, was) for now, was in zip(word, before, strict=True) if now != was)
            self._note("changed", got, expected)
        waiting.leave(word, take)
        if take:
            self.received += 1
            self._taken(fields)

    def _taken(self, fields: dict[str, int]) -> None:
        """A transfer was taken."""
        self.put(Transfer(self.cycle, fields))

    def put(self, transfer: Transfer) -> None:
        """Add a transfer to those that `receive` returns."""
        self.queue.append(transfer)
        self.arrived.set()

    def _note(self, kind: str, got: int, expected: int) -> None:
        self.outcome.note(PortMismatch(kind, self.cycle, self.received, got, expected))

    def stop(self) -> None:
        """Watch no more; a ready that was driven stays as it is."""
        self._running.cancel()

    async def receive(self) -> Transfer:
        """The next transfer, which is waited for."""
        while not self.queue:
            self.arrived.clear()
            await self.arrived.wait()
        return self.queue.popleft()


class ValidReadySink(ValidReadyMonitor):
    """Takes transfers from a stream with valid and ready, from its start on, and watches it.

    take: whether a transfer is taken, cycle by cycle, without an end; in every cycle unless given.
    """

    def __init__(self, *stream: Any, take: Iterable[bool] | None = None, **watched: Any):
        self.take, self.offered = repeat(True) if take is None else iter(take), False
        super().__init__(*stream, **watched)
        if self.ready is not None:
            self.ready.value = 0

    def _drive(self) -> bool:
        take = next(self.take)
        if self.ready is None:
            return True
        if take != self.offered:
            self.ready.value, self.offered = int(take), take
        return take
