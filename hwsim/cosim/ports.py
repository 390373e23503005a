"""How a device is driven: which signal is what, and which bits of a port are which field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hwsim.model.clock import Beat, Result
from hwsim.rtl import beat_layout, result_port_layout, top_name
from hwsim.spec import Pipeline, Unit


@dataclass(frozen=True)
class PortField:
    """Bits of a port: `count` elements of `bits` bits, the first in the low bits, from `offset` on."""

    name: str
    offset: int
    bits: int
    count: int = 1

    def place(self, values: Iterable[int]) -> int:
        """The field with these elements, in its place in the port."""
        word = 0
        for index, value in enumerate(values):
            word |= (value & ((1 << self.bits) - 1)) << (self.offset + index * self.bits)
        return word

    def take(self, word: int) -> int:
        """The only element of the field."""
        return word >> self.offset & ((1 << self.bits) - 1)


@dataclass(frozen=True)
class StreamPort:
    """The signals of one stream, and the fields of its payload."""

    payload: str
    valid: str
    ready: str
    width: int
    fields: tuple[PortField, ...]

    @property
    def words(self) -> int:
        """Words of 32 bits that hold a payload."""
        return -(-self.width // 32)


@dataclass(frozen=True)
class PortMap:
    """A device's ports: clock, synchronous active-high reset, a stream of beats in and a stream of results out."""

    top: str
    input: StreamPort
    output: StreamPort
    clock: str = "clk"
    reset: str = "rst"
    misuse: str = "misuse"

    def pack(self, beat: Beat) -> int:
        """A beat as the input's payload."""
        word = 0
        for field in self.input.fields:
            value = getattr(beat, field.name)
            word |= field.place(value if isinstance(value, tuple) else (int(value),))
        return word

    def unpack(self, word: int) -> Result:
        """The output's payload as a result."""
        taken = {field.name: field.take(word) for field in self.output.fields}
        return Result(taken["result"], taken["context"])

    def pack_result(self, result: Result) -> int:
        """A result as the output's payload."""
        values = {"result": result.code, "context": result.context}
        return sum(field.place((values[field.name],)) for field in self.output.fields)


def port_map(unit: Unit, pipeline: Pipeline) -> PortMap:
    """The ports of the RTL that hwsim generates."""
    beat, result = beat_layout(unit, pipeline), result_port_layout(unit, pipeline)
    return PortMap(
        top=top_name(unit),
        input=StreamPort("i__payload", "i__valid", "i__ready", beat.size, tuple(_fields(beat))),
        output=StreamPort("o__payload", "o__valid", "o__ready", result.size, tuple(_fields(result))),
    )


def _fields(layout: Iterable[tuple[str, object]]) -> Iterable[PortField]:
    for name, field in layout:
        shape, offset = field.shape, field.offset  # type: ignore[attr-defined]
        count = getattr(shape, "length", 1)
        bits = field.width // count  # type: ignore[attr-defined]
        yield PortField(name, offset, bits, count)
