"""How a device is driven: which signal is what, and which bits of a port are which field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hwsim.codewords import WORD, code_array
from hwsim.model.clock import Beat
from hwsim.rtl import StreamedDatapath, beat_layout, result_port_layout, top_name
from hwsim.spec import Pipeline, Specified


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

    def take(self, words: np.ndarray) -> np.ndarray:
        """The only element of the field: of ports, uint32[ports, words], as uint64[ports]; objects if it is longer."""
        if self.bits > WORD:
            rows = [int.from_bytes(row.astype("<u4").tobytes(), "little") for row in words]
            return code_array([row >> self.offset & (1 << self.bits) - 1 for row in rows], self.bits)
        first, shift = divmod(self.offset, 32)
        found = words[:, first].astype(np.uint64) >> np.uint64(shift)
        for place in range(1, -(-(shift + self.bits) // 32)):
            found |= words[:, first + place].astype(np.uint64) << np.uint64(32 * place - shift)
        return found & np.uint64((1 << self.bits) - 1)


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
    """A device's ports: clock, synchronous active-high reset, a stream of beats in and a stream of results out.

    misuse: empty for a device that reports none. beside: fields of the output, the last of its payload, that stand
    beside result and context.
    """

    top: str
    input: StreamPort
    output: StreamPort
    clock: str = "clk"
    reset: str = "rst"
    misuse: str = "misuse"
    beside: tuple[PortField, ...] = ()

    @property
    def beside_width(self) -> int:
        """Bits of what stands beside result and context."""
        return sum(field.bits for field in self.beside)

    def pack(self, beat: Beat) -> int:
        """A beat as the input's payload."""
        word = 0
        for field in self.input.fields:
            value = getattr(beat, field.name)
            word |= field.place(value if isinstance(value, tuple) else (int(value),))
        return word

    def results(self, words: np.ndarray) -> np.ndarray:
        """Payloads of the output, uint32[results, words], as `result_rows` has them: context and code."""
        fields = {field.name: field for field in self.output.fields}
        context, code = (fields[name].take(words) for name in ("context", "result"))
        return np.stack([context.astype(code.dtype), code], axis=1)


def port_map(unit: Specified, pipeline: Pipeline) -> PortMap:
    """The ports of the RTL that hwsim generates."""
    beat, result = beat_layout(unit, pipeline), result_port_layout(unit, pipeline)
    return PortMap(
        top=top_name(unit),
        input=StreamPort("i__payload", "i__valid", "i__ready", beat.size, tuple(_fields(beat))),
        output=StreamPort("o__payload", "o__valid", "o__ready", result.size, tuple(_fields(result))),
    )


def stream_ports(top: str, component: StreamedDatapath) -> PortMap:
    """The ports of a converter or a quantiser: a stream in and a stream out, and no misuse."""
    i, o = component.i.payload.shape(), component.o.payload.shape()
    return PortMap(
        top=top,
        input=StreamPort("i__payload", "i__valid", "i__ready", i.size, tuple(_fields(i))),
        output=StreamPort("o__payload", "o__valid", "o__ready", o.size, tuple(_fields(o))),
        misuse="",
    )


def _fields(layout: Iterable[tuple[str, object]]) -> Iterable[PortField]:
    for name, field in layout:
        shape, offset = field.shape, field.offset  # type: ignore[attr-defined]
        count = getattr(shape, "length", 1)
        bits = field.width // count  # type: ignore[attr-defined]
        yield PortField(name, offset, bits, count)


def words_of(values: Sequence[int], words: int) -> np.ndarray:
    """Payloads as rows of 32-bit words, the low word first: uint32[values, words]."""
    data = b"".join(value.to_bytes(4 * words, "little") for value in values)
    return np.frombuffer(data, np.uint32).reshape(len(values), words)
