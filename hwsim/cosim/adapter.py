"""The adapter: Verilog around a user's design, which makes a stream of beats and a stream of results of its ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from hwsim.cosim.dutfile import Dut
from hwsim.cosim.elaborate import Module, Port, PortBit
from hwsim.cosim.protocollogic import ProtocolLogic, Serialized, protocol_logic
from hwsim.cosim.protocols import ControlPort, SerialProtocol
from hwsim.cosim.sources import overrides
from hwsim.cosim.wiring import ALWAYS, Controls, Driven, ScaledResult, Wiring, joined, port_bit
from hwsim.tb.fields import Field

ADAPTER = "hwsim_adapter"
CLOCK = re.compile("clk|clock", re.IGNORECASE)
NAMED = ("first", "last", "context")  # the fields of a beat that the logic may name

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


def adapter(dut: Dut, module: Module, fields: Wiring, *, recorded: bool = False) -> str:
    """The adapter's Verilog. Raises SpecError, naming the key, for a port that has no source or two.

    recorded: whether the ports of the result are given in every cycle as they are, for a recording.
    """
    logic = protocol_logic(dut, Controls(dut, module), fields)
    if recorded:
        logic = replace(logic, valid=ALWAYS, result=at_any_time(dut, module, fields))
    driven = _driven(dut, module, fields, logic)
    lines = [
        HEAD.format(
            top=module.name, adapter=ADAPTER, input_high=fields.input_width - 1, output_high=fields.output_width - 1
        )
    ]
    assigned, connections = list[str](), list[str]()
    for port in module.ports:
        lines.append(f"  {_declared(port)};\n")
        connections.append(f"    .{port.name}(port_{port.name})")
        assigned += [
            f"  assign {_word(port.name, word)} = {driven[port.name, word]};\n"
            for word in port.words
            if (port.name, word) in driven
        ]
    lines += [line for name, scaled in fields.scaled.items() for line in _number(module, fields, name, scaled)]
    lines += [*(f"  {line}\n" for line in _streams(module, logic, fields)), *assigned]
    parameters = overrides(dut.file.parameters)
    lines.append(f"  {module.name} {f'#({parameters}) ' if parameters else ''}dut (\n")
    lines += [",\n".join(connections), "\n  );\n"]
    outputs = (f", port_{port.name}" for port in module.ports if port.direction == "out" and not port.arrays)
    lines += [f"  wire unused = &{{1'b0, clk, rst, i__payload, i__valid, o__ready{''.join(outputs)}}};\nendmodule\n"]
    return "".join(lines)


def _number(module: Module, fields: Wiring, name: str, scaled: ScaledResult) -> Iterator[str]:
    """Yield Verilog of the code of a result that is an integer and a scale."""
    ((integer,), called) = fields.places[name], _called(name)
    parts = [joined(port_bit(bit, module) for bit in bits) for bits in (integer, scaled.scale)]
    yield scaled.function(f"number_of_{called}")
    high = scaled.fmt.container_bits - 1
    yield f"  wire [{high}:0] number_{called} = number_of_{called}({{{parts[0]}}}, {{{parts[1]}}});\n"


def _called(name: str) -> str:
    return name.replace(".", "_")


def _declared(port: Port) -> str:
    """The declaration of a port's net. An array has the port's own kind of words; any other port is so many bits.

    Nets, because Icarus does not connect arrays that are variables; words of two states are none.
    """
    signed = " signed" if port.arrays and port.signed else ""
    kind = "bit" if port.arrays and port.two_state else "wire"
    arrays = f" {''.join(map(str, port.arrays))}" if port.arrays else ""
    return f"{kind}{signed} [{port.width - 1}:0] port_{port.name}{arrays}"


def _word(name: str, word: tuple[int, ...]) -> str:
    return f"port_{name}{''.join(f'[{index}]' for index in word)}"


def _driven(dut: Dut, module: Module, fields: Wiring, logic: ProtocolLogic) -> dict[tuple[str, tuple[int, ...]], str]:
    """The expression that drives each word of every input."""
    sources: dict[PortBit, str] = {}

    def drive(key: str, bit: PortBit, source: str) -> None:
        if bit in sources:
            raise dut.wrong(key, f"drives bit {bit[2]} of {bit[0]}, which something else drives too")
        sources[bit] = source

    for driven in (*_controls(dut, module), *logic.driven, *_fields(fields, logic)):
        drive(driven.key, driven.bit, driven.source)
    for bit, held in fields.held.items():
        drive("constants", bit, f"1'd{held}" if isinstance(held, int) else sources[held])
    inputs: dict[tuple[str, tuple[int, ...]], str] = {}
    for port in module.ports:
        for word in port.words if port.direction == "in" else ():
            drivers = [sources.get((port.name, word, place)) for place in range(port.width)]
            if None in drivers:
                missing = drivers.index(None)
                also = "; a second port of its clock stands in clock, as [clk, clk2]" if CLOCK.search(port.name) else ""
                raise dut.wrong("ports", f"leave bit {missing} of input {port.name} undriven; see constants{also}")
            inputs[port.name, word] = joined(driver for driver in drivers if driver is not None)
    return inputs


def _controls(dut: Dut, module: Module) -> Iterator[Driven]:
    file, controls = dut.file, Controls(dut, module)
    for clock in file.clock or ():
        yield controls.driven_as("clock", clock, "clk")
    if file.reset is not None:
        yield controls.driven_as("reset.port", ControlPort(port=file.reset.port, active=file.reset.active), "rst")


def _fields(fields: Wiring, logic: ProtocolLogic) -> Iterator[Driven]:
    """Yield the drivers of the fields of a beat, where ports hold them."""
    for field in fields.input:
        for number, bits in enumerate(fields.places.get(field.name, ())):
            first = field.offset + number * field.bits + fields.shift.get(field.name, 0)
            for index, bit in enumerate(bits):
                source = logic.fields.get(field.name) or f"i__payload[{first + index}]"
                yield Driven(f"ports.{field.name}", bit, source)


def at_any_time(dut: Dut, module: Module, fields: Wiring) -> str:
    """The value at the ports of a result, valid or not; of a schedule the values of its ports side by side."""
    if not isinstance(dut.file.protocol, SerialProtocol):
        return _result(module, fields, fields.output[0])
    ports = Serialized(dut, module, fields, dut.file.protocol).results
    bits = [port_bit(bit, module) for port in ports for bit in port.bits]
    return joined([*bits, *["1'd0"] * (fields.output[0].bits - len(bits))])


def _streams(module: Module, logic: ProtocolLogic, fields: Wiring) -> Iterator[str]:
    """Yield the logic between the ports, and the two streams."""
    context = f"{fields.output[1].bits}'d0"
    if "result_context" in fields.places:
        context = joined(port_bit(bit, module) for bit in fields.places["result_context"][0])
    extra = [_result(module, fields, field) for field in fields.extra]
    parts = [*reversed(extra), context, logic.result or _result(module, fields, fields.output[0])]
    body = [
        *logic.lines,
        f"assign i__ready = {logic.ready};",
        f"assign o__valid = {logic.valid};",
        f"assign o__payload = {{{', '.join(parts)}}};",
    ]
    text = "\n".join([*body, *logic.fields.values(), *(driven.source for driven in logic.driven)])
    for field in fields.input:
        name = f"i__payload_{field.name}"
        if field.name in NAMED and name in text:
            high = field.offset + field.bits - 1
            place, bits = (f"{high}:{field.offset}", f"[{field.bits - 1}:0] ") if field.bits > 1 else (high, "")
            yield f"wire {bits}{name} = i__payload[{place}];"
    yield from body


def _result(module: Module, fields: Wiring, field: Field) -> str:
    """A field of the output in its container: the design's bits above its padding, zeros elsewhere."""
    if field.name in fields.scaled:
        return f"number_{_called(field.name)}"
    (bits,), shift = fields.places[field.name], fields.shift.get(field.name, 0)
    above = field.bits - shift - len(bits)
    expression = joined(port_bit(bit, module) for bit in bits)
    return ", ".join([*([f"{above}'d0"] if above else []), expression, *([f"{shift}'d0"] if shift else [])])
