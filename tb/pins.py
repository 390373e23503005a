"""Valid and ready at a design's own ports: what puts transfers into a stream, and what takes them from one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from cocotb.handle import ArrayObject
from cocotb.triggers import Event, RisingEdge

from hwsim.base.errors import InputError
from hwsim.tb.cycles import Cycles, cycles_of
from hwsim.tb.job import UNKNOWN, PortMismatch, SuiteOutcome
from hwsim.tb.streams import StreamSink, StreamSource, Word

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


class ValidReadySource(PinStream, StreamSource):
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
        PinStream.__init__(self, entity, name, clock, signals)
        StreamSource.__init__(self, iter(repeat(True) if offer is None else offer).__next__)
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

    def more(self) -> bool:
        """True if a transfer waits to be offered."""
        return bool(self.waiting)

    def show(self, new: bool) -> None:
        """Drive valid, and the fields of a transfer that is new; leave the clock once nothing waits."""
        if new:
            for handle, value in self.waiting[0].writes:
                handle.value = value
        if self.standing != self.shown:
            self.valid.value, self.shown = int(self.standing), self.standing
        if not self.waiting and self.cycles is not None:
            self.cycles.leave(self)
            self.cycles = None

    def accepted(self) -> bool:
        """True if the design is ready."""
        return self.ready is None or seen(self.ready) == 1

    def sent(self) -> None:
        """Go on to the next transfer."""
        self.waiting.popleft().taken = True

    def _forget(self, sent: list[Sending]) -> None:
        """Drop the transfers of a call that still wait."""
        self.standing = self.standing and self.waiting[0] not in sent
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


class ValidReadyMonitor(PinStream, StreamSink):
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
        PinStream.__init__(self, entity, name, clock, signals)
        StreamSink.__init__(self)
        self.reset, self.level = reset, int(not active_low)
        self.ports = {field: self.port(field) for field in fields}
        self.outcome = SuiteOutcome(name)
        self.queue: deque[Transfer] = deque()
        self.arrived = Event()
        self.received, self.known = 0, False
        self.cycles = cycles_of(clock)
        self.start = self.cycles.cycle
        self.cycles.join(self)

    @property
    def cycle(self) -> int:
        return self.cycles.cycle - self.start

    def drive(self) -> None:
        """Do nothing: whether a transfer is taken is seen at ready."""

    def look(self) -> None:
        """Look at the stream's ports, but in a reset, which forgets what waits."""
        if self.reset is not None and seen(self.reset) == self.level:
            self.held = None
        else:
            super().look()

    def word(self) -> Word | None:
        """The fields' values; None where the output is not valid."""
        valid = seen(self.valid)
        if valid == UNKNOWN and self.known:
            self._note("unknown", UNKNOWN, 1)
        self.known = self.known or valid != UNKNOWN
        if valid != 1:
            return None
        self.take = self._takes()
        return tuple(seen(port) for port in self.ports.values())

    def _takes(self) -> bool:
        """True if a valid output is taken in this cycle."""
        return self.ready is None or seen(self.ready) == 1

    def absent(self, dropped: bool) -> None:
        """Note a word that was dropped."""
        if dropped:
            self._note("dropped", 0, 1)

    def changed(self, before: Word, word: Word) -> None:
        """Note a word that changed while it waited."""
        got, expected = next((now, was) for now, was in zip(word, before, strict=True) if now != was)
        self._note("changed", got, expected)

    def taken(self, word: Word) -> None:
        """Keep a transfer for `receive`."""
        self.received += 1
        self.put(Transfer(self.cycle, dict(zip(self.ports, word, strict=True))))

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
        self.take = next(self.takes) or self.ready is None
        if self.ready is not None and self.take != self.driven:
            self.ready.value, self.driven = int(self.take), self.take

    def _takes(self) -> bool:
        return self.take
