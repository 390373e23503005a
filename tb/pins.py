"""Valid and ready at a design's own ports: what puts transfers into a stream, and what takes them from one.

They keep the rules, and play in the cycles, of the testbenches of `hwsim cosim`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from cocotb.handle import ArrayObject
from cocotb.triggers import Event, RisingEdge

from hwsim.base.errors import InputError
from hwsim.tb.board import StandingOffer, WaitingOutput
from hwsim.tb.cycles import Cycles, cycles_of
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


class FieldPort:
    """A port that holds a field: a handle, or the words of an unpacked array, by their indices."""

    def __init__(self, port: Any):
        self.handle, self.name = port, port._path
        self.words = [FieldPort(port[index]) for index in sorted(port.range)] if isinstance(port, ArrayObject) else []
        self.bits = 0 if self.words else len(port)

    def writes(self, value: Value) -> list[tuple[Any, int]]:
        """Pairs of a handle and its value, which set the port to a number, or to elements, side by side or a word each.

        Raises InputError where they do not fit the port.
        """
        if self.words:
            elements = [value] if isinstance(value, int) else list(value)
            if len(elements) != len(self.words):
                raise InputError(f"{self.name} has {len(self.words)} words, and the beat {len(elements)} elements")
            parts = zip(self.words, elements, strict=True)
            return [write for word, element in parts for write in word.writes(element)]
        word = value if isinstance(value, int) else self._joined(value)
        if word >> self.bits:
            raise InputError(f"{self.name} has {self.bits} bits, too few for {word:#x}")
        return [(self.handle, word)]

    def _joined(self, elements: Sequence[int]) -> int:
        width, rest = divmod(self.bits, len(elements))
        if rest or any(element >> width for element in elements):
            rule = f"which are not {len(elements)} elements of as many as these codes"
            raise InputError(f"{self.name} has {self.bits} bits, {rule}")
        word = 0
        for element in reversed(elements):
            word = word << width | element
        return word


def seen(port: Any) -> int:
    """A port's value; UNKNOWN where a bit of it is neither 0 nor 1."""
    try:
        return int(port.value)
    except ValueError:
        return UNKNOWN


@dataclass(eq=False)
class Sending:
    """A transfer that waits to be sent. writes: handles, and the value of each."""

    writes: list[tuple[Any, int]]
    taken: bool = False


class ValidReadySource(PinStream):
    """A source of transfers for a stream with valid and ready.

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
        self.offer = StandingOffer(iter(repeat(True) if offer is None else offer).__next__)
        self.ports: dict[str, FieldPort | None] = {}
        self.waiting: deque[Sending] = deque()
        self.cycles: Cycles | None = None  # while anything waits
        self.shown = False
        self.valid.value = 0

    async def send(self, **fields: Sequence[Value]) -> None:
        """Send transfers, one after the other. Returns at the edge that takes the last one.

        fields: by name a value for each transfer, an integer or a tuple of integers for elements side by side.
        Raises InputError for a field that has no port, or does not fit it.
        """
        ports, sent = [self._port(name, values) for name, values in fields.items()], list[Sending]()
        for row in zip(*fields.values(), strict=True):
            placed = zip(ports, row, strict=True)
            sent.append(Sending([write for port, value in placed if port is not None for write in port.writes(value)]))
        self.waiting += sent
        if self.waiting and self.cycles is None:
            self.cycles = cycles_of(self.clock)
            self.cycles.join(self)
        edge = RisingEdge(self.clock)
        try:
            while sent and not sent[-1].taken:
                await edge
        finally:
            if sent and not sent[-1].taken:  # the test no longer waits, and what is left is not sent
                self._forget(sent)

    def drive(self) -> None:
        """Offer the next transfer, or none."""
        stood, offer = self.offer.standing, self.offer.offers(bool(self.waiting))
        if offer and not stood:
            for handle, value in self.waiting[0].writes:
                handle.value = value
        if offer != self.shown:
            self.valid.value, self.shown = int(offer), offer
        if not self.waiting and self.cycles is not None:
            self.cycles.leave(self)
            self.cycles = None

    def look(self) -> None:
        """Note whether the transfer is taken."""
        if self.offer.taken(self.ready is None or seen(self.ready) == 1):
            self.waiting.popleft().taken = True

    def _forget(self, sent: list[Sending]) -> None:
        """Drop the transfers of a call that still wait."""
        self.offer.standing = self.offer.standing and self.waiting[0] not in sent
        self.waiting = deque(transfer for transfer in self.waiting if transfer not in sent)
        if self.cycles is not None and self.cycles.begun:
            self.drive()

    def _port(self, name: str, values: Sequence[Value]) -> FieldPort | None:
        """The port of a field; None where there is none and the field says the same in all transfers."""
        if name not in self.ports:
            alike = name in SAID_BY_PORT and all(value == values[0] for value in values)
            port = self.find(name) if alike else self.port(name)
            self.ports[name] = None if port is None else FieldPort(port)
        elif self.ports[name] is None and any(value != values[0] for value in values):
            self.port(name)  # raises
        return self.ports[name]


@dataclass(frozen=True)
class Transfer:
    """A transfer that left a stream. cycle: from the sink's first. fields: by name; UNKNOWN where a bit is unknown."""

    cycle: int
    fields: dict[str, int]


class ValidReadyMonitor(PinStream):
    """Watches a stream with valid and ready from its start on: its transfers, and whether it keeps its promise.

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
        self.received, self.waiting, self.known = 0, WaitingOutput(), False
        self.take: bool | None = None
        self.cycles = cycles_of(clock)
        self.start = self.cycles.cycle
        self.cycles.join(self)

    @property
    def cycle(self) -> int:
        return self.cycles.cycle - self.start

    def drive(self) -> None:
        """Begin a cycle: decide whether a transfer is taken in it; None where the ready decides."""
        self.take = True if self.ready is None else None

    def look(self) -> None:
        """Look at the stream's ports."""
        valid = seen(self.valid)
        if self.reset is not None and seen(self.reset) == self.level:
            self.waiting.held = None
        elif valid == 1:
            self.known = True
            self._valid(seen(self.ready) == 1 if self.take is None else self.take)
        else:
            if self.waiting.dropped():
                self._note("dropped", 0, 1)
            if valid == UNKNOWN and self.known:
                self._note("unknown", UNKNOWN, 1)
            self.known = self.known or valid == 0

    def _valid(self, take: bool) -> None:
        """Handle a cycle in which the output is valid."""
        fields = {name: seen(port) for name, port in self.ports.items()}
        word = tuple(fields.values())
        if before := self.waiting.changed(word, take):
            got, expected = next((now, was) for now, was in zip(word, before, strict=True) if now != was)
            self._note("changed", got, expected)
        if take:
            self.received += 1
            self._taken(fields)

    def _taken(self, fields: dict[str, int]) -> None:
        """Handle a transfer that is taken."""
        self.put(Transfer(self.cycle, fields))

    def put(self, transfer: Transfer) -> None:
        """Append a transfer to those that `receive` returns."""
        self.queue.append(transfer)
        self.arrived.set()

    def _note(self, kind: str, got: int, expected: int) -> None:
        self.outcome.note(PortMismatch(kind, self.cycle, self.received, got, expected))

    def stop(self) -> None:
        """Stop watching; a ready that was driven stays as it is."""
        self.cycles.leave(self)

    async def receive(self) -> Transfer:
        """Wait for the next transfer, and return it."""
        while not self.queue:
            self.arrived.clear()
            await self.arrived.wait()
        return self.queue.popleft()


class ValidReadySink(ValidReadyMonitor):
    """Takes transfers from a stream with valid and ready, from its start on, and watches it.

    take: whether a transfer is taken, cycle by cycle, without an end; in every cycle unless given.
    """

    def __init__(self, *stream: Any, take: Iterable[bool] | None = None, **watched: Any):
        self.takes = iter(repeat(True) if take is None else take)
        self.driven: bool | None = None
        super().__init__(*stream, **watched)

    def drive(self) -> None:
        """Drive ready."""
        self.take = next(self.takes)
        if self.ready is None:
            self.take = True
        elif self.take != self.driven:
            self.ready.value, self.driven = int(self.take), self.take
