"""The adapter: Verilog around a user's design, which makes a stream of beats and a stream of results of its ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hwsim.cosim.controls import ALWAYS, Controls, Driven, joined
from hwsim.cosim.dutfile import Dut
from hwsim.cosim.elaborate import Module
from hwsim.cosim.protocolkind import ControlPort
from hwsim.cosim.protocollogic import ProtocolLogic, protocol_logic
from hwsim.cosim.schedule import Serialized
from hwsim.cosim.serialprotocol import SerialProtocol
from hwsim.cosim.wiring import PLAIN, PortBit, Wiring, port_bit

ADAPTER = "hwsim_adapter"
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
        wire = f"port_{port.name}"
        array = f" [{port.elements[0]}:{port.elements[-1]}]" if port.elements else ""
        lines.append(f"  wire [{port.width - 1}:0] {wire}{array};\n")
        connections.append(f"    .{port.name}({wire})")
        for element in port.elements or (PLAIN,):
            if (port.name, element) in driven:
                target = f"{wire}[{element}]" if port.elements else wire
                assigned.append(f"  assign {target} = {driven[port.name, element]};\n")
    lines += [*(f"  {line}\n" for line in _streams(module, logic, fields)), *assigned]
    parameters = ", ".join(f".{name}({value})" for name, value in dut.file.parameters.items())
    lines.append(f"  {module.name} {f'#({parameters}) ' if parameters else ''}dut (\n")
    lines += [",\n".join(connections), "\n  );\n"]
    outputs = (f", port_{port.name}" for port in module.ports if port.direction == "out" and not port.elements)
    lines += [f"  wire unused = &{{1'b0, clk, rst, i__payload, i__valid, o__ready{''.join(outputs)}}};\nendmodule\n"]
    return "".join(lines)


def _driven(dut: Dut, module: Module, fields: Wiring, logic: ProtocolLogic) -> dict[tuple[str, int], str]:
    """What every word of every input is driven with."""
    sources: dict[PortBit, str] = {}
    for one in (*_controls(dut, module), *logic.driven, *_fields(fields, logic)):
        if one.bit in sources:
            raise dut.wrong(one.key, f"drives bit {one.bit[2]} of {one.bit[0]}, which something else drives too")
        sources[one.bit] = one.source
    made: dict[tuple[str, int], str] = {}
    for port in module.ports:
        for element in (port.elements or (PLAIN,)) if port.direction == "in" else ():
            words = [sources.get((port.name, element, bit)) for bit in range(port.width)]
            if None in words:
                raise dut.wrong("ports", f"leave bit {words.index(None)} of input {port.name} undriven; see constants")
            made[port.name, element] = joined(word for word in words if word is not None)
    return made


def _controls(dut: Dut, module: Module) -> Iterator[Driven]:
    """Clock, reset and constants."""
    file, controls = dut.file, Controls(dut, module)
    if file.clock is not None:
        yield controls.driven_as("clock", ControlPort(port=file.clock), "clk")
    if file.reset is not None:
        yield controls.driven_as("reset.port", ControlPort(port=file.reset.port, active=file.reset.active), "rst")
    for name, constant in file.constants.items():
        port = module.by_name.get(name)
        if port is None or port.direction != "in" or port.elements:
            inputs = ", ".join(port.name for port in module.ports if port.direction == "in")
            raise dut.wrong(f"constants.{name}", f"must name an input of {module.name} ({inputs}), not {name}")
        for place in range(port.width):
            yield Driven(f"constants.{name}", (name, PLAIN, place), f"1'd{constant >> place & 1}")


def _fields(fields: Wiring, logic: ProtocolLogic) -> Iterator[Driven]:
    """The fields of a beat, where ports hold them."""
    for field in fields.input:
        for number, bits in enumerate(fields.places.get(field.name, ())):
            first = field.offset + number * field.bits + fields.shift.get(field.name, 0)
            for index, bit in enumerate(bits):
                beyond = index >= field.bits  # of a context's port that is wider than the contexts need
                source = logic.fields.get(field.name) or f"i__payload[{first + index}]"
                yield Driven(f"ports.{field.name}", bit, "1'd0" if beyond else source)


def at_any_time(dut: Dut, module: Module, fields: Wiring) -> str:
    """What stands at the ports of a result, whether it is one or not; of a schedule those of it side by side."""
    if not isinstance(dut.file.protocol, SerialProtocol):
        return _result(module, fields)
    ports = Serialized(dut, module, fields, dut.file.protocol).results
    bits = [port_bit(bit, module) for port in ports for bit in port.bits]
    return joined([*bits, *["1'd0"] * (fields.output[0].bits - len(bits))])


def _streams(module: Module, logic: ProtocolLogic, fields: Wiring) -> Iterator[str]:
    """What is computed between the ports, and the two streams."""
    context = logic.context
    if "result_context" in fields.places:
        context = joined(port_bit(bit, module) for bit in fields.places["result_context"][0])
    body = [
        *logic.lines,
        f"assign i__ready = {logic.ready};",
        f"assign o__valid = {logic.valid};",
        f"assign o__payload = {{{context}, {logic.result or _result(module, fields)}}};",
    ]
    said = "\n".join([*body, *logic.fields.values(), *(one.source for one in logic.driven)])
    for field in fields.input:
        name = f"i__payload_{field.name}"
        if field.name in NAMED and name in said:
            high = field.offset + field.bits - 1
            place, bits = (f"{high}:{field.offset}", f"[{field.bits - 1}:0] ") if field.bits > 1 else (high, "")
            yield f"wire {bits}{name} = i__payload[{place}];"
    yield from body


def _result(module: Module, fields: Wiring) -> str:
    """The result's container: the design's bits above its padding, zeros elsewhere."""
    (field, _), (bits,) = fields.output, fields.places["result"]
    shift = fields.shift["result"]
    above = field.bits - shift - len(bits)
    made = joined(port_bit(bit, module) for bit in bits)
    return ", ".join([*([f"{above}'d0"] if above else []), made, *([f"{shift}'d0"] if shift else [])])
