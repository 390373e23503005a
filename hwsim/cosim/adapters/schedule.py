"""What every port of a serial protocol holds in every cycle, bit by bit, as Verilog of the adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hwsim.cosim.adapters.beatphases import when
from hwsim.cosim.adapters.controls import Driven, joined
from hwsim.cosim.adapters.serial import ScheduleLogic
from hwsim.cosim.adapters.wiring import Direction, Wiring, bits_of, port_bit
from hwsim.cosim.bench import PortField
from hwsim.cosim.dut.dutfile import Dut
from hwsim.cosim.dut.serialfile import OTHERWISE, SerialEntry, cycles_of
from hwsim.cosim.dut.serialprotocol import SerialProtocol
from hwsim.cosim.sources.elaborate import Module
from hwsim.cosim.sources.portbits import PortBit
from hwsim.words import counted

ZERO = "1'd0"


@dataclass(frozen=True)
class Vector:
    """A vector of the adapter that holds fields."""

    name: str
    fields: Mapping[str, PortField]

    def bits(self, field: str, element: int) -> list[str]:
        """The bits of an element, the least significant first."""
        held = self.fields[field]
        low = held.offset + element * held.bits
        return [f"{self.name}[{place}]" for place in range(low, low + held.bits)]


@dataclass(frozen=True)
class ScheduledPort:
    """A port or a slice of the schedule. bits: of the design. otherwise: what it holds in cycles without a word.

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
        """Those that are driven. Raises SpecError where the file does not fit the ports or the unit."""
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
        """Those that are read. Raises SpecError as `inputs`."""
        made = Vector("made", {"result": replace(self.fields.output[0], offset=0)})
        ports = [self._port("out", port, entries, made) for port, entries in self.protocol.results.items()]
        read = [bit for port in ports for word in port.words.values() for bit in word]
        wanted = made.bits("result", 0)
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
            made = self._words(where, entry, len(bits), len(cycles_of(cycles)), vector)
            for cycle, word in zip(cycles_of(cycles), made, strict=True):
                if cycle in words:
                    raise self.dut.wrong(where, f"must be of cycles that no other key names, not of cycle {cycle}")
                words[cycle] = word
        return ScheduledPort(port, tuple(bits), otherwise, words)

    def _words(self, key: str, entry: SerialEntry, width: int, cycles: int, vector: Vector) -> list[tuple[str, ...]]:
        """What a key's cycles hold."""
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
        """The ports that hold words of the schedule."""
        return tuple(
            Driven(f"protocol.inputs.{port.name}", bit, f"send_{number}[{place}]")
            for number, port in enumerate(self.inputs)
            for place, bit in enumerate(port.bits)
        )

    def sends(self) -> Iterator[str]:
        """What every port holds in every cycle."""
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

    def reads(self, timed: ScheduleLogic, step: str) -> Iterator[str]:
        """The result, put together of its words."""
        yield f"reg [{self.fields.output[0].bits - 1}:0] made;"
        yield "always @(posedge clk)"
        yield f"  {when(step)}begin"
        for port in self.results:
            source = joined(port_bit(bit, self.module) for bit in port.bits)
            for cycle, word in sorted(port.words.items()):
                yield f"    if ({timed.reads(cycle)}) {joined(word)} <= {source};"
        yield "  end"


def cut(elements: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """Elements as words, the first element and the least significant bits first, padded with zeros.

    A word has as many whole elements as fill it, or one, or a part of one.
    """
    bits = len(elements[0])
    together = width // bits if width % bits == 0 else 1
    words = list[list[str]]()
    for at in range(0, len(elements), together):
        joint = [bit for element in elements[at : at + together] for bit in element]
        words += [joint[low : low + width] for low in range(0, len(joint), width)]
    return [(*word, *[ZERO] * (width - len(word))) for word in words]
