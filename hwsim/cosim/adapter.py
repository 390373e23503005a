"""The adapter: Verilog around a user's design, which makes a stream of beats and a stream of results of its ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from hwsim.cosim.dutfile import Dut
from hwsim.cosim.elaborate import Module, Port
from hwsim.cosim.portbits import PLAIN, PortBit
from hwsim.cosim.ports import PortField
from hwsim.cosim.slang import overrides
from hwsim.cosim.wiring import Wiring

ADAPTER = "hwsim_adapter"

HEAD = """// {top} as a stream of beats and a stream of results.
module {adapter} (
  input clk,
  input rst,
  input [{input_high}:0] i__payload,
  input i__valid,
  output i__ready,
  output [{output_high}:0] o__payload,
  output o__valid,
  input o__ready
);
"""


def adapter(dut: Dut, module: Module, fields: Wiring) -> str:
    """The adapter's Verilog. Raises SpecError, naming the key, for a port that has no source or two."""
    driven = _driven(dut, module, fields)
    lines = [
        HEAD.format(
            top=module.name, adapter=ADAPTER, input_high=fields.input_width - 1, output_high=fields.output_width - 1
        )
    ]
    connections = []
    for port in module.ports:
        lines.append(f"  {_declared(port)};\n")
        connections.append(f"    .{port.name}(port_{port.name})")
        lines += [
            f"  assign {_word(port.name, word)} = {driven[port.name, word]};\n"
            for word in port.words
            if (port.name, word) in driven
        ]
    lines += [f"  {line}\n" for line in _protocol(dut, fields)]
    parameters = overrides(dut.file.parameters)
    lines.append(f"  {module.name} {f'#({parameters}) ' if parameters else ''}dut (\n")
    lines += [",\n".join(connections), "\n  );\nendmodule\n"]
    return "".join(lines)


def _declared(port: Port) -> str:
    """What stands at a port. An array must be of the port's own kind of words; any other port is so many bits.

    Nets, because Icarus does not connect arrays that are variables; words of two states are none.
    """
    signed = " signed" if port.arrays and port.signed else ""
    kind = "bit" if port.arrays and port.two_state else "wire"
    arrays = f" {''.join(map(str, port.arrays))}" if port.arrays else ""
    return f"{kind}{signed} [{port.width - 1}:0] port_{port.name}{arrays}"


def _word(name: str, word: tuple[int, ...]) -> str:
    return f"port_{name}{''.join(f'[{index}]' for index in word)}"


def _driven(dut: Dut, module: Module, fields: Wiring) -> dict[tuple[str, tuple[int, ...]], str]:
    """What every word of every input is driven with."""
    sources: dict[PortBit, str] = {}

    def drive(key: str, bit: PortBit, source: str) -> None:
        if bit in sources:
            raise dut.wrong(key, f"drives bit {bit[2]} of {bit[0]}, which something else drives too")
        sources[bit] = source

    for key, name, source in _controls(dut):
        port = module.by_name.get(name)
        if port is None or port.direction != "in" or port.arrays:
            raise dut.wrong(key, f"must name an input of {module.name} ({', '.join(_inputs(module))}), not {name}")
        if port.width != 1:
            raise dut.wrong(key, f"must name an input of one bit, not {name} ({port.width} bits)")
        drive(key, (name, PLAIN, 0), source)
    for field in fields.input:
        for number, bits in enumerate(fields.places.get(field.name, ())):
            first = field.offset + number * field.bits + fields.shift.get(field.name, 0)
            for index, bit in enumerate(bits):
                drive(f"ports.{field.name}", bit, f"i__payload[{first + index}]")
    for bit, held in fields.held.items():
        drive("constants", bit, f"1'd{held}" if isinstance(held, int) else sources[held])
    made: dict[tuple[str, tuple[int, ...]], str] = {}
    for port in module.ports:
        for word in port.words if port.direction == "in" else ():
            drivers = [sources.get((port.name, word, place)) for place in range(port.width)]
            if None in drivers:
                missing = drivers.index(None)
                raise dut.wrong("ports", f"leave bit {missing} of input {port.name} undriven; see constants")
            made[port.name, word] = _concatenation(driver for driver in drivers if driver is not None)
    return made


def _inputs(module: Module) -> Iterator[str]:
    return (port.name for port in module.ports if port.direction == "in")


def _controls(dut: Dut) -> Iterator[tuple[str, str, str]]:
    """Keys, ports and what drives them: clock, reset and handshake."""
    file, protocol = dut.file, dut.file.protocol
    if file.clock is not None:
        yield "clock", file.clock, "clk"
    if file.reset is not None:
        yield "reset.port", file.reset.port, "rst" if file.reset.active == "high" else "~rst"
    for key, source in (("input_valid", "i__valid"), ("output_ready", "o__ready"), ("enable", "o__ready")):
        port = getattr(protocol, key)
        if port is not None:
            yield f"protocol.{key}", port, source


def _concatenation(bits: Iterable[str]) -> str:
    """Bits, the least significant first, as one expression; those of the payload that follow one another as a slice."""
    parts = []
    numbered = enumerate(bits)
    for _, run in groupby(numbered, key=lambda item: _follows(*item)):
        sources = [source for _, source in run]
        if len(sources) == 1 or not sources[0].startswith("i__payload["):
            parts += sources
        else:
            parts.append(f"i__payload[{_index(sources[-1])}:{_index(sources[0])}]")
    return parts[0] if len(parts) == 1 else "{" + ", ".join(reversed(parts)) + "}"


def _index(source: str) -> int:
    return int(source[source.index("[") + 1 : -1])


def _follows(position: int, source: str) -> object:
    return _index(source) - position if source.startswith("i__payload[") else (position, source)


def _protocol(dut: Dut, fields: Wiring) -> Iterator[str]:
    """Handshake and result: the design's own, or made of the latency that the file promises."""
    protocol = dut.file.protocol
    ready = f"port_{protocol.input_ready}" if protocol.input_ready else "1'b1"
    if protocol.kind == "combinational":
        valid, context = "i__valid", "i__payload_context"
    elif protocol.output_valid is not None:
        valid, context = f"port_{protocol.output_valid}", "awaited_context"
    else:
        valid, context = "awaited", "awaited_context"
    if protocol.enable is not None:
        ready = "o__ready"
    places = {field.name: field for field in fields.input}
    last, number = places["last"], places["context"]
    yield f"wire i__payload_last = i__payload[{last.offset}];"
    high = number.offset + number.bits - 1
    yield f"wire [{number.bits - 1}:0] i__payload_context = i__payload[{high}:{number.offset}];"
    if protocol.kind == "latency":
        yield from _delay(protocol.cycles or 0, number.bits, protocol.enable is not None)
    elif protocol.kind == "stream":
        yield f"wire [{number.bits - 1}:0] awaited_context = {number.bits}'d0;"
    if "result_context" in fields.places:
        (taken,) = fields.places["result_context"]
        context = "{" + ", ".join(_port_bit(bit) for bit in reversed(taken)) + "}"
    yield f"assign i__ready = {ready};"
    yield f"assign o__valid = {valid};"
    results = [_result(fields, field) for field in fields.output if field.name != "context"]
    parts = [*reversed(results[1:]), context, results[0]]
    yield f"assign o__payload = {{{', '.join(parts)}}};"


def _result(fields: Wiring, field: PortField) -> str:
    """A field of the output as its container: the design's bits above its padding, zeros elsewhere."""
    (bits,), shift = fields.places[field.name], fields.shift.get(field.name, 0)
    parts = [_port_bit(bit) for bit in reversed(bits)]
    above = field.bits - shift - len(bits)
    return "{" + ", ".join([*([f"{above}'d0"] if above else []), *parts, *([f"{shift}'d0"] if shift else [])]) + "}"


def _port_bit(bit: PortBit) -> str:
    name, word, index = bit
    return f"{_word(name, word)}[{index}]"


def _delay(cycles: int, bits: int, enabled: bool) -> Iterator[str]:
    """Whether a result is due, and of which context: the input of `cycles` cycles ago."""
    yield "wire due = i__valid & i__payload_last;"
    if not cycles:
        yield "wire awaited = due;"
        yield f"wire [{bits - 1}:0] awaited_context = i__payload_context;"
        return
    yield f"reg [{cycles - 1}:0] waits;"
    yield f"reg [{bits - 1}:0] contexts [0:{cycles - 1}];"
    yield "integer stage;"
    yield "always @(posedge clk)"
    yield f"  if (rst) waits <= {cycles}'d0;"
    yield f"  else {'if (o__ready) ' if enabled else ''}begin"
    yield f"    waits <= {{waits, due}} & {{{cycles}{{1'b1}}}};"
    yield "    contexts[0] <= i__payload_context;"
    yield f"    for (stage = 1; stage < {cycles}; stage = stage + 1) contexts[stage] <= contexts[stage - 1];"
    yield "  end"
    yield f"wire awaited = waits[{cycles - 1}];"
    yield f"wire [{bits - 1}:0] awaited_context = contexts[{cycles - 1}];"
