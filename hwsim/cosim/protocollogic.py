"""The adapter's logic for each protocol of a user's design, as Verilog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never

from hwsim.base.text import counted
from hwsim.cosim.dutfile import ControlPlace, Dut, Ports
from hwsim.cosim.elaborate import Module, PortBit
from hwsim.cosim.protocols import (
    OTHERWISE,
    AccumulateProtocol,
    ClockedProtocol,
    CombinationalProtocol,
    LatencyProtocol,
    NamedControl,
    SerialEntry,
    SerialProtocol,
    StreamProtocol,
    TaggedProtocol,
    cycles_of,
)
from hwsim.cosim.wiring import (
    ALWAYS,
    NEVER,
    Controls,
    Direction,
    Driven,
    Wiring,
    all_of,
    bits_of,
    inverted,
    joined,
    port_bit,
)
from hwsim.tb.fields import Field


@dataclass(frozen=True)
class Stalls:
    """The logic of the clock enables. step: an expression that is high where all of them are active."""

    lines: tuple[str, ...] = ()
    step: str = "1'b1"
    driven: tuple[Driven, ...] = ()


def stalls(controls: Controls, enables: Sequence[NamedControl], *, waits: bool) -> Stalls:
    """Drive the clock enables that hold a design while the result has to wait: each alone and each set of them in turn.

    waits: whether results can be made to wait in another way too, which is then one of those.
    """
    count = len(enables)
    if count == 0:
        return Stalls()
    if count == 1 and not waits:
        return Stalls((), "o__ready", (controls.driven(enables[0], "o__ready"),))
    first, last = 0 if waits else 1, (1 << count) - 1
    lines = (
        "// stalled: the clock enables that are low while the result has to wait, another set of them in every cycle",
        f"reg [{count - 1}:0] turn;",
        "always @(posedge clk)",
        f"  if (rst) turn <= {count}'d{first};",
        f"  else if (~o__ready) turn <= turn == {count}'d{last} ? {count}'d{first} : turn + {count}'d1;",
        f"wire [{count - 1}:0] stalled = o__ready ? {count}'d0 : turn;",
        f"wire step = stalled == {count}'d0;",
    )
    driven = tuple(controls.driven(enable, f"~stalled[{number}]") for number, enable in enumerate(enables))
    return Stalls(lines, "step", driven)


@dataclass(frozen=True)
class Phases:
    """The logic of the cycles before, in and after the beats of a sum.

    lines: Verilog. beat: whether a beat stands at the design; taken: whether it is taken; ready: of the stream of
    beats. opening: whether this is a cycle before a first beat; first_pulse: whether it is the earliest of these.
    idle: whether no cycle after a last beat is left; last_pulse: whether this is the latest of them.
    """

    lines: tuple[str, ...]
    beat: str
    taken: str
    ready: str
    opening: str = "1'b0"
    first_pulse: str = "1'b0"
    idle: str = "1'b1"
    last_pulse: str = "1'b0"


def phases(before: int, after: int, ready: str, step: str) -> Phases:
    """Insert so many cycles before the first beat of every sum, and after its last, in which no beat is taken.

    ready: whether the design takes a beat that stands there. step: whether a cycle counts.
    """
    if not before and not after:
        return Phases((), "i__valid", all_of("i__valid", ready), ready)
    lines, resets, steps = list[str](), list[str](), list[str]()
    idle, opening, first_pulse, last_pulse = "1'b1", "1'b0", "1'b0", "1'b0"
    if after:
        width = after.bit_length()
        lines += [
            "// tail: cycles that are left behind the last beat of a sum, before another may come",
            f"reg [{width - 1}:0] tail;",
        ]
        idle, last_pulse = f"tail == {width}'d0", f"tail == {width}'d1"
        resets.append(f"tail <= {width}'d0;")
        steps.append(f"tail <= taken & i__payload_last ? {width}'d{after} : {idle} ? {width}'d0 : tail - {width}'d1;")
    if before:
        width = before.bit_length()
        opens = "i__valid", "i__payload_first", idle, f"lead != {width}'d{before}"
        lines += [
            "// lead: cycles that have passed before the first beat of a sum",
            f"reg [{width - 1}:0] lead;",
            f"wire opening = {all_of(*opens)};",
        ]
        opening, first_pulse = "opening", f"opening & lead == {width}'d0"
        resets.append(f"lead <= {width}'d0;")
        steps.append(f"lead <= taken ? {width}'d0 : opening ? lead + {width}'d1 : lead;")
    lines += [
        f"wire beat = {all_of('i__valid', inverted(opening), idle)};",
        f"wire taken = {all_of('beat', ready)};",
        "always @(posedge clk)",
        f"  if (rst) begin {' '.join(resets)} end",
        f"  else {when(step)}begin",
        *(f"    {line}" for line in steps),
        "  end",
    ]
    open_for_beats = all_of(ready, inverted(opening), idle)
    return Phases(tuple(lines), "beat", "taken", open_for_beats, opening, first_pulse, idle, last_pulse)


def when(step: str) -> str:
    """The condition `if (...) `; empty where every cycle counts."""
    return "" if step == ALWAYS else f"if ({step}) "


def delayed(name: str, source: str, bits: int, cycles: int, step: str) -> Iterator[str]:
    """Yield Verilog of a signal's value so many cycles ago; zeros where that was in a reset or before it."""
    width = f"[{bits - 1}:0] " if bits > 1 else ""
    if not cycles:
        yield f"wire {width}{name} = {source};"
        return
    held, kept = f"{name}_before", bits * (cycles - 1)
    yield f"reg [{bits * cycles - 1}:0] {held};"
    yield "always @(posedge clk)"
    yield f"  if (rst) {held} <= {bits * cycles}'d0;"
    following = f"{{{held}[{kept - 1}:0], {source}}}" if kept else source
    yield f"  else {when(step)}{held} <= {following};"
    yield f"wire {width}{name} = {held}[{bits * cycles - 1}:{kept}];"


@dataclass(frozen=True)
class ScheduleTimer:
    """A counter of the cycles of a dot product, and a register of the cycles since those of its result began.

    step: whether a cycle counts. free: whether the design lets a dot product begin. done: whether it says that its
    result comes.
    """

    protocol: SerialProtocol
    step: str
    free: str
    done: str

    def lines(self) -> Iterator[str]:
        yield from self._counter()
        if self.waits:
            yield from self._waiting()
        yield from self._reading()

    def reads(self, cycle: int) -> str:
        """The expression that is high in that cycle of the results."""
        return f"reading[{cycle - 1}]" if cycle else self.started

    @property
    def waits(self) -> bool:
        return self.done != NEVER

    def at(self, cycle: int) -> str:
        return f"cycle == {self.number(cycle)}"

    def number(self, cycle: int) -> str:
        return f"{max(1, (self.protocol.cycles - 1).bit_length())}'d{cycle}"

    @property
    def empty(self) -> str:
        return f"reading == {self.protocol.given}'d0"

    @property
    def begins(self) -> str:
        """The expression that is high in cycle 0 of a dot product."""
        return f"active & {self.at(0)}"

    @property
    def taken(self) -> str:
        """The expression that is high in the last cycle of a dot product."""
        return all_of("active", self.at(self.protocol.cycles - 1), self.step)

    @property
    def started(self) -> str:
        return all_of("pending", self.done) if self.waits else self.begins

    @property
    def valid(self) -> str:
        """The expression that is high once a whole result is there, or the design reports one nobody asked for."""
        there = f"reading[{self.protocol.given - 1}]"
        return f"{there} | stray & ~pending & {self.empty}" if self.waits else there

    def _counter(self) -> Iterator[str]:
        width, last = max(1, (self.protocol.cycles - 1).bit_length()), self.protocol.cycles - 1
        repeats = self.protocol.between == "repeats"
        yield "// cycle: of the dot product that stands at the input, which is taken in the last one"
        yield f"reg [{width - 1}:0] cycle;"
        yield f"reg [{self.protocol.given - 1}:0] reading;"
        if self.waits:
            yield "// stray: whether the design said that it was done where no dot product was under way"
            yield "reg pending, was_done, stray;"
        if repeats:
            yield "// engaged: whether the cycles are those of a dot product"
            yield "reg engaged;"
            yield f"wire active = {self.at(0)} ? i__valid : engaged;"
        else:
            begin = all_of(self.free, *["~pending"] * self.waits, *[self.empty] * (self.waits and self.free == ALWAYS))
            under_way = ALWAYS if begin == ALWAYS else f"cycle != {self.number(0)} | {begin}"
            yield f"wire active = {all_of('i__valid', under_way)};"
        counts = self.step if repeats else all_of("active", self.step)
        yield "always @(posedge clk)"
        yield f"  if (rst) cycle <= {self.number(0)};"
        yield f"  else {when(counts)}cycle <= {self.at(last)} ? {self.number(0)} : cycle + {self.number(1)};"
        if repeats:
            yield "always @(posedge clk)"
            yield "  if (rst) engaged <= 1'b0;"
            yield f"  else {when(self.step)}engaged <= active;"

    def _waiting(self) -> Iterator[str]:
        """Yield the register `pending`: the result of a dot product is awaited."""
        yield "always @(posedge clk)"
        yield "  if (rst) begin pending <= 1'b0; was_done <= 1'b0; stray <= 1'b0; end"
        yield f"  else {when(self.step)}begin"
        yield f"    pending <= {self.taken} | pending & {inverted(self.done)};"
        yield f"    was_done <= {self.done};"
        yield f"    stray <= stray | {all_of(self.done, '~was_done', '~pending')};"
        yield "  end"

    def _reading(self) -> Iterator[str]:
        width = self.protocol.given
        following = f"{{reading[{width - 2}:0], {self.started}}}" if width > 1 else self.started
        yield "// reading: how many cycles ago the cycles of the result began"
        yield "always @(posedge clk)"
        yield f"  if (rst) reading <= {width}'d0;"
        yield f"  else {when(self.step)}reading <= {following};"


ZERO = "1'd0"


@dataclass(frozen=True)
class Vector:
    """A vector of the adapter that holds fields."""

    name: str
    fields: Mapping[str, Field]

    def bits(self, field: str, element: int) -> list[str]:
        """The bits of an element, the least significant first."""
        held = self.fields[field]
        low = held.offset + element * held.bits
        return [f"{self.name}[{place}]" for place in range(low, low + held.bits)]


@dataclass(frozen=True)
class ScheduledPort:
    """A port of the schedule, or a slice of one. bits: of the design. otherwise: its value in cycles without a word.

    words: by cycle, for each bit what drives it, or the place in the result where it belongs.
    """

    name: str
    bits: tuple[PortBit, ...]
    otherwise: int
    words: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True)
class Serialized:
    """The schedule of a design, bit by bit."""

    dut: Dut
    module: Module
    fields: Wiring
    protocol: SerialProtocol

    @cached_property
    def inputs(self) -> list[ScheduledPort]:
        """The scheduled inputs. Raises SpecError where the file does not fit the ports or the unit."""
        payload = Vector("i__payload", {field.name: field for field in self.fields.input})
        ports = [self._port("in", port, entries, payload) for port, entries in self.protocol.inputs.items()]
        sent = {bit for port in ports for word in port.words.values() for bit in word}
        for name in sorted(self.protocol.scheduled - {"result"}):
            for element in range(payload.fields[name].count):
                if not sent.issuperset(payload.bits(name, element)):
                    raise self.dut.wrong("protocol.inputs", f"must send all of element {element} of {name}")
        return ports

    @cached_property
    def results(self) -> list[ScheduledPort]:
        """The scheduled outputs that a result is read from. Raises SpecError as `inputs`."""
        assembled = Vector("made", {"result": replace(self.fields.output[0], offset=0)})
        ports = [self._port("out", port, entries, assembled) for port, entries in self.protocol.results.items()]
        read = [bit for port in ports for word in port.words.values() for bit in word]
        wanted = assembled.bits("result", 0)
        if sorted(read) != sorted(wanted):
            which = f"the {len(wanted)} bits of a result ({self.dut.unit.output.name}), each once"
            raise self.dut.wrong("protocol.results", f"must be {which}, not {counted(len(read), 'bit')}")
        return ports

    def _port(
        self, direction: Direction, port: str, entries: Mapping[str, SerialEntry], vector: Vector
    ) -> ScheduledPort:
        key = f"protocol.{'inputs' if direction == 'in' else 'results'}.{port}"
        bits = bits_of(self.dut, self.module, key, port, direction)
        words, otherwise = dict[int, tuple[str, ...]](), 0
        for cycles, entry in entries.items():
            where = f"{key}.{cycles}"
            if entry.constant is not None and entry.constant >> len(bits):
                raise self.dut.wrong(where, f"must have at most {len(bits)} bits, not {entry.constant:#x}")
            if cycles == OTHERWISE:
                if entry.constant is None:
                    raise self.dut.wrong(where, f"must be a number, not {entry.field}")
                otherwise = entry.constant
                continue
            placed = self._words(where, entry, len(bits), len(cycles_of(cycles)), vector)
            for cycle, word in zip(cycles_of(cycles), placed, strict=True):
                if cycle in words:
                    raise self.dut.wrong(where, f"must be of cycles that no other key names, not of cycle {cycle}")
                words[cycle] = word
        return ScheduledPort(port, tuple(bits), otherwise, words)

    def _words(self, key: str, entry: SerialEntry, width: int, cycles: int, vector: Vector) -> list[tuple[str, ...]]:
        if entry.constant is not None:
            return [tuple(f"1'd{entry.constant >> bit & 1}" for bit in range(width))] * cycles
        name, first, last = entry.part
        if name not in vector.fields:
            raise self.dut.wrong(key, f"must be of what {self.dut.unit.name} has, not {name}")
        count = vector.fields[name].count
        chosen = range(count) if first is None or last is None else range(first, last + 1)
        if not chosen or chosen[-1] >= count:
            raise self.dut.wrong(key, f"must be of elements 0 to {count - 1} of {name}, not {entry.field}")
        words = cut([vector.bits(name, element) for element in chosen], width)
        if len(words) != cycles:
            rule = (
                f"must name {counted(len(words), 'cycle')} for {entry.field} on {counted(width, 'bit')}, not {cycles}"
            )
            raise self.dut.wrong(key, rule)
        return words if entry.first == "low" else words[::-1]

    @property
    def driven(self) -> tuple[Driven, ...]:
        """The ports that hold words of the schedule, with their drivers."""
        return tuple(
            Driven(f"protocol.inputs.{port.name}", bit, f"send_{number}[{place}]")
            for number, port in enumerate(self.inputs)
            for place, bit in enumerate(port.bits)
        )

    def sends(self) -> Iterator[str]:
        """Yield Verilog that gives every scheduled input its value in every cycle."""
        digits = max(1, (self.protocol.cycles - 1).bit_length())
        for number, port in enumerate(self.inputs):
            width = len(port.bits)
            yield f"// send_{number}: on {port.name}"
            yield f"reg [{width - 1}:0] send_{number};"
            yield "always @* begin"
            yield f"  send_{number} = {width}'d{port.otherwise};"
            yield "  if (active) case (cycle)"
            for cycle, word in sorted(port.words.items()):
                yield f"    {digits}'d{cycle}: send_{number} = {joined(word)};"
            yield "    default: ;"
            yield "  endcase"
            yield "end"

    def reads(self, timed: ScheduleTimer, step: str) -> Iterator[str]:
        """Yield Verilog of the register in which the result is assembled from its words."""
        yield f"reg [{self.fields.output[0].bits - 1}:0] made;"
        yield "always @(posedge clk)"
        yield f"  {when(step)}begin"
        for port in self.results:
            source = joined(port_bit(bit, self.module) for bit in port.bits)
            for cycle, word in sorted(port.words.items()):
                yield f"    if ({timed.reads(cycle)}) {joined(word)} <= {source};"
        yield "  end"


def cut(elements: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """Cut elements into words, the first element and the least significant bits first, padded with zeros.

    A word has as many whole elements as fill it, or one, or a part of one.
    """
    bits = len(elements[0])
    together = width // bits if width % bits == 0 else 1
    words = list[list[str]]()
    for index in range(0, len(elements), together):
        joint = [bit for element in elements[index : index + together] for bit in element]
        words += [joint[low : low + width] for low in range(0, len(joint), width)]
    return [(*word, *[ZERO] * (width - len(word))) for word in words]


@dataclass(frozen=True)
class ProtocolLogic:
    """The logic that drives a design, takes its beats and waits for its results.

    ready: of the stream of beats; valid: of the stream of results. result: a register that holds it, where no port
    does. driven: control inputs. fields: for a bit of a beat what drives it, not the payload. lines: Verilog.
    """

    ready: str
    valid: str
    result: str = ""
    driven: tuple[Driven, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


def protocol_logic(dut: Dut, controls: Controls, fields: Wiring) -> ProtocolLogic:
    """The adapter's logic for a design's protocol. Raises SpecError for a port that is not there."""
    protocol = dut.file.protocol
    match protocol:
        case CombinationalProtocol():
            return ProtocolLogic(ALWAYS, "i__valid")
        case SerialProtocol():
            return _serial(protocol, controls, Serialized(dut, controls.module, fields, protocol))
        case StreamProtocol() | TaggedProtocol() | LatencyProtocol() | AccumulateProtocol():
            return _beats(dut, protocol, controls)
        case _:
            assert_never(protocol)


def _beats(dut: Dut, protocol: ClockedProtocol, controls: Controls) -> ProtocolLogic:
    """The logic for beats on the operands' ports, one a cycle. Keys of a protocol say what stands around the beats."""
    ports, late = dut.file.ports, getattr(protocol, "ready_latency", 0)
    clear, load = (getattr(protocol, key, None) for key in ("clear", "load"))
    stalled = stalls(controls, protocol.clock_enables, waits=protocol.control("output_ready") is not None)
    step = stalled.step
    taking = ALWAYS if protocol.taking is None else controls.seen(protocol.taking)
    valid = "awaited" if protocol.giving is None else controls.seen(protocol.giving)
    # Cycles of their own before a sum's first beat and after its last.
    slots = [key for key, port in (("clear", clear), ("load", load)) if port and port.when != "first"]
    before = len(slots) or max(0, -ports.first.at if ports.first else 0)
    after = (protocol.promised or 0) if slots else ports.last.at if ports.last else 0
    around = phases(before, after, all_of("may_come" if late else taking, step), step)
    first = all_of(around.beat, "i__payload_first")
    pulses = {key: f"{around.opening} & lead == {len(slots).bit_length()}'d{place}" for place, key in enumerate(slots)}
    lines = [*stalled.lines]
    if late:
        lines += delayed("may_come", taking, 1, late, step)
    lines += around.lines
    if ports.first and ports.first.at > 0:
        lines += delayed("first_late", all_of(around.taken, "i__payload_first"), 1, ports.first.at, step)
    if protocol.promised is not None:
        lines.append(f"wire due = {all_of(around.taken, 'i__payload_last')};")
        lines += delayed("awaited", "due", 1, protocol.promised, step)
    if clear is not None and clear.when == "between":
        lines += _open(around, stalled)
        pulses["clear"] = f"~open & {around.idle} & (~i__valid | {pulses['clear']})"
    active = {
        "input_valid": all_of(around.beat, "may_come" if late else ALWAYS),
        "output_ready": "o__ready",
        "clear": pulses.get("clear", first),
        "load": pulses.get("load", first),
        "enable": around.beat,
    }
    driven = list(stalled.driven)
    for key, high in active.items():
        control = protocol.control(key)
        if control is None or control in protocol.clock_enables:
            continue
        if place := getattr(control.port, "at", 0):  # of a later stage
            lines += delayed(f"{key}_late", high, 1, place, step)
            high = f"{key}_late"
        driven.append(controls.driven(control, high))
    return ProtocolLogic(around.ready, valid, driven=tuple(driven), fields=_pulses(ports, around), lines=tuple(lines))


def _serial(protocol: SerialProtocol, controls: Controls, serialized: Serialized) -> ProtocolLogic:
    stalled = stalls(controls, protocol.clock_enables, waits=False)
    free = ALWAYS if protocol.taking is None else controls.seen(protocol.taking)
    done = NEVER if protocol.giving is None else controls.seen(protocol.giving)
    timer, start = ScheduleTimer(protocol, stalled.step, free, done), protocol.control("start")
    started = () if start is None else (controls.driven(start, timer.begins),)
    return ProtocolLogic(
        timer.taken,
        timer.valid,
        "made",
        (*stalled.driven, *started, *serialized.driven),
        lines=(*stalled.lines, *timer.lines(), *serialized.sends(), *serialized.reads(timer, stalled.step)),
    )


def _pulses(ports: Ports, around: Phases) -> dict[str, str]:
    """The drivers of `first` and `last`, where these are not their bit of the payload."""
    first, last, pulses = ports.first, ports.last, dict[str, str]()
    if first is not None and not first.plain:
        high = "first_late" if first.at > 0 else around.first_pulse if first.at else "i__payload_first"
        pulses["first"] = _active(first, high)
    if last is not None and not last.plain:
        pulses["last"] = _active(last, around.last_pulse if last.at else "i__payload_last")
    return pulses


def _active(place: ControlPlace, high: str) -> str:
    return high if place.active == "high" else inverted(high)


def _open(around: Phases, stalled: Stalls) -> Iterator[str]:
    """Yield the register `open`: a sum has begun, and its last beat is to come."""
    yield "reg open;"
    yield "always @(posedge clk)"
    yield "  if (rst) open <= 1'b0;"
    yield f"  else if ({all_of(around.taken, stalled.step)}) open <= ~i__payload_last;"
