"""Benches in Verilog around a stream device: the device's ports, what drives and watches them, and assertions.

A testbench in Python costs what crosses between it and the simulator. Payloads are hundreds of bits wide, so they
wait in a memory of the bench, which the simulator fills from a file; what crosses is an index. The bulk driver's bench
holds what is driven for the whole cycle: what depends on inputs of its top, Verilator computes at both edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from amaranth.lib.data import StructLayout

from hwsim.model.clock import Beat
from hwsim.rtl import (
    CLOCK_ENABLE,
    PLAIN,
    Project,
    StreamedDatapath,
    Style,
    beat_layout,
    fields_of,
    result_port_layout,
    timing,
    top_name,
    unit_package,
)
from hwsim.spec import AnyUnit, Pipeline
from hwsim.tb.fields import Field
from hwsim.tb.job import INDEX


@dataclass(frozen=True)
class StreamPort:
    """The signals of one stream, and the fields of its payload. payload: empty where each field is a port."""

    payload: str
    valid: str
    ready: str
    width: int
    fields: tuple[Field, ...]

    @property
    def words(self) -> int:
        """The number of 32-bit words that hold a payload."""
        return -(-self.width // 32)

    def connected(self, payload: str) -> dict[str, str]:
        """The payload's ports, each with its bits of a net of the payload's width."""
        if self.payload:
            return {self.payload: payload}
        return {
            field.port: f"{payload}[{field.offset + field.bits * field.count - 1}:{field.offset}]"
            for field in self.fields
        }

    @property
    def joined(self) -> str:
        """The payload as one expression of its ports."""
        return self.payload or f"{{{', '.join(field.port for field in reversed(self.fields))}}}"


@dataclass(frozen=True)
class PortMap:
    """A device's ports: clock, reset, a stream of beats in and a stream of results out.

    misuse: empty for a device that reports none. reset_low: whether the reset is active low. enable: of a clock enable;
    empty for a device that has none. extra: fields of the output, the last of its payload, that stand
    beside result and context.
    """

    top: str
    input: StreamPort
    output: StreamPort
    clock: str = "clk"
    reset: str = "rst"
    misuse: str = "misuse"
    reset_low: bool = False
    enable: str = ""
    extra: tuple[Field, ...] = ()

    @property
    def extra_width(self) -> int:
        return sum(field.bits for field in self.extra)

    @property
    def result(self) -> Field:
        """The field of the result in the output's payload; all of it, where there is no such field."""
        return self._output("result") or Field("result", 0, self.output.width)

    @property
    def context(self) -> Field | None:
        """The field of a result's context; None for a device without one."""
        return self._output("context")

    def _output(self, name: str) -> Field | None:
        return next((field for field in self.output.fields if field.name == name), None)

    def pack(self, beat: Beat) -> int:
        """Pack a beat into the input's payload."""
        word = 0
        for field in self.input.fields:
            value = getattr(beat, field.name)
            word |= field.place(value if isinstance(value, tuple) else (int(value),))
        return word

    def results(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The contexts and the codes of output payloads, uint32[results, words]: uint64[results], or objects."""
        context = np.zeros(len(words), np.uint64) if self.context is None else self.context.take(words)
        return context, self.result.take(words)


def port_map(unit: AnyUnit, pipeline: Pipeline, style: Style = PLAIN) -> PortMap:
    """The ports of the RTL that hwsim generates."""
    return PortMap(
        top=top_name(unit),
        input=_stream("in", beat_layout(unit, pipeline), style),
        output=_stream("out", result_port_layout(unit, pipeline), style),
        reset=style.reset_name,
        reset_low=style.reset_low,
        enable=CLOCK_ENABLE if style.clock_enable else "",
    )


def stream_ports(top: str, component: StreamedDatapath) -> PortMap:
    """The ports of a converter or a quantiser: a stream in and a stream out, and no misuse."""
    i, o = component.i.payload.shape(), component.o.payload.shape()
    return PortMap(top=top, input=_stream("in", i, PLAIN), output=_stream("out", o, PLAIN), misuse="")


def _stream(name: str, layout: StructLayout, style: Style) -> StreamPort:
    payload = f"{name}_payload" if style.package else ""
    fields = (
        Field(
            member.name, member.low, member.bits, member.elements or 1, port="" if payload else f"{name}_{member.name}"
        )
        for member in fields_of(layout)
    )
    return StreamPort(payload, f"{name}_valid", f"{name}_ready", layout.size, tuple(fields))


def words_of(values: Sequence[int], words: int) -> np.ndarray:
    """Payloads as rows of 32-bit words, the low word first: uint32[values, words]."""
    data = b"".join(value.to_bytes(4 * words, "little") for value in values)
    return np.frombuffer(data, np.uint32).reshape(len(values), words)


TOP = "hwsim_bench"
PUBLIC = ("clk", "drive", "seen", "result")  # and `extra`, where there are outputs beside the results
CODE_WORD = 32  # bits of what says a result, at least
ROOM = 1 << 17  # payloads that one run can hold
DEPTH = ROOM - 1  # beats of a suite: one payload stands at the input where none of them does

T = TypeVar("T")

# What `drive` and `seen` hold, bit by bit, is in hwsim.tb.job too.
TEMPLATE = """// Plays payloads into {top}, one index a cycle.
module {bench} (
  input clk,
  // bit 0: the input is valid; 1: the output is ready; 2: reset; 3: the clock is not enabled; from 4 on: which payload
  input [31:0] drive,
  // bit 0: the input is ready; 1: the output is valid; 2: misuse; 3: an unknown bit in these; 4: in a valid result;
  // from 5 on: the context
  output [31:0] seen,
  output [{code_high}:0] result{extra_port}
);
  reg [{input_high}:0] payloads [0:{depth_high}];
  integer last;
  initial if ($value$plusargs("last=%d", last)) $readmemh("payloads.hex", payloads, 0, last);

  wire [{input_high}:0] payload = payloads[drive[{index_high}:4]];
{device}
  wire lost = (^{{input_ready, output_valid, misuse}} === 1'bx);
  // A result that is not valid may be anything; an unknown bit anywhere else is a fault.
  wire unknown = !lost & output_valid & (^out === 1'bx);
  wire [{output_high}:0] known = (!lost & output_valid & !unknown) ? out : {output_width}'d0;
  wire [{owner_high}:0] owner = {owner};
  assign seen = lost ? 32'd8 : {{ {seen_padding}'d0, owner, unknown, 1'b0, misuse, output_valid, input_ready }};
  assign result = {{ {result_padding}known[{result_high}:{result_low}] }};{extra}
endmodule
"""

BULK = "hwsim_bulk"
BULK_TEMPLATE = """module {bench} (
  input clk,
  input load,  // at both edges of which the rest is taken
  input [3:0] driven,  // as the four low bits of the other bench's `drive`
  input [{input_high}:0] offered,
  output [2:0] seen,  // as the three low bits of the other bench's
  output [{output_high}:0] out
);
  reg [3:0] drive;
  reg [{input_high}:0] payload;
  always @(posedge load or negedge load) begin
    drive <= driven;
    payload <= offered;
  end
{device}
  assign seen = {{misuse, output_valid, input_ready}};
endmodule
"""


def device(ports: PortMap, drive: str) -> str:
    """Verilog that instantiates a device, between nets clk, payload and out; `drive` has the bits of hwsim.tb.job."""
    i, o = ports.input, ports.output
    connected = {
        ports.clock: "clk",
        ports.reset: f"{'~' * ports.reset_low}{drive}[2]",
        **({ports.enable: f"~{drive}[3]"} if ports.enable else {}),
        **i.connected("payload"),
        i.valid: f"{drive}[0]",
        i.ready: "input_ready",
        **o.connected("out"),
        o.valid: "output_valid",
        o.ready: f"{drive}[1]",
        **({ports.misuse: "misuse"} if ports.misuse else {}),
    }
    pins = ",\n".join(f"    .{port}({net})" for port, net in connected.items())
    none = "" if ports.misuse else "\n  assign misuse = 1'b0;"
    return f"  wire input_ready, output_valid, misuse;\n  {ports.top} dut (\n{pins}\n  );{none}"


def bulk_bench(ports: PortMap) -> str:
    """The bulk driver's bench in Verilog."""
    return BULK_TEMPLATE.format(
        bench=BULK,
        input_high=ports.input.width - 1,
        output_high=ports.output.width - 1,
        device=device(ports, "drive"),
    )


def bench(ports: PortMap, room: int = ROOM) -> str:
    """The bench's Verilog. room: how many payloads it holds."""
    i, o, result, context = ports.input, ports.output, ports.result, ports.context
    context_bits = 1 if context is None else context.bits
    low, high = o.width - ports.extra_width, o.width - 1
    return TEMPLATE.format(
        bench=TOP,
        top=ports.top,
        device=f"  wire [{o.width - 1}:0] out;\n{device(ports, 'drive')}",
        input_high=i.width - 1,
        output_high=o.width - 1,
        output_width=o.width,
        depth_high=room - 1,
        index_high=INDEX - 1 + (room - 1).bit_length(),
        result_high=result.offset + result.bits - 1,
        result_low=result.offset,
        code_high=max(CODE_WORD, result.bits) - 1,
        result_padding=f"{CODE_WORD - result.bits}'d0, " if result.bits < CODE_WORD else "",
        owner_high=context_bits - 1,
        owner="1'd0" if context is None else f"known[{context.offset + context.bits - 1}:{context.offset}]",
        seen_padding=27 - context_bits,
        extra_port=f",\n  output [{high - low}:0] extra" if ports.extra else "",
        extra=f"\n  assign extra = known[{high}:{low}];" if ports.extra else "",
    )


def public(ports: PortMap) -> tuple[str, ...]:
    """The names of the bench's ports."""
    return (*PUBLIC, "extra") if ports.extra else PUBLIC


def fitting(items: Iterable[T], beats: Callable[[T], int], most: int, depth: int | None = None) -> Iterator[list[T]]:
    """Yield items in parts of at most `most`, and of at most `depth` beats, by default as many as a suite can have."""
    depth = DEPTH if depth is None else depth
    part: list[T] = []
    held = 0
    for item in items:
        if part and (len(part) == most or held + beats(item) > depth):
            yield part
            part, held = [], 0
        part.append(item)
        held += beats(item)
    if part:
        yield part


CHECKS = Path(__file__).with_name("hwsim_stream_checks.sv")

BIND = """
bind {top} hwsim_stream_checks #(.INPUT_WIDTH({input_width}), .OUTPUT_WIDTH({output_width}), .LAST({last})) checks (
  .clk({clock}), .rst({reset}),
  .i_payload({i.joined}), .i_valid({i.valid}), .i_ready({i.ready}),
  .o_payload({o.joined}), .o_valid({o.valid}), .o_ready({o.ready}));
"""


def checks(ports: PortMap) -> str:
    """The checker and its binding to a device with these ports, as SystemVerilog."""
    last = next((field.offset for field in ports.input.fields if field.name == "last"), -1)
    return CHECKS.read_text(encoding="utf-8") + BIND.format(
        top=ports.top,
        input_width=ports.input.width,
        output_width=ports.output.width,
        last=last,
        clock=ports.clock,
        reset=f"{'~' * ports.reset_low}{ports.reset}",
        i=ports.input,
        o=ports.output,
    )


def bound_checks(unit: AnyUnit, pipeline: Pipeline, style: Style) -> dict[str, str]:
    """The assertions of a unit's ports, by the name of their file.

    There are none with a clock enable: they look at every cycle, also at those in which nothing happens.
    """
    if style.clock_enable:
        return {}
    ports = port_map(unit, pipeline, style)
    return {f"{ports.top}_checks.sv": checks(ports)}


def project_files(unit: AnyUnit, pipeline: Pipeline, style: Style, period: float, version: str) -> dict[str, str]:
    """The files beside `TOP.sv`, by name. period: of the clock, in ns. version: hwsim's."""
    top = top_name(unit)
    packages = {f"{top}_pkg.sv": unit_package(unit, pipeline)} if style.package else {}
    assertions = bound_checks(unit, pipeline, style)
    project = Project(
        top=top,
        sources=[*packages, f"{top}.sv"],
        checks=list(assertions),
        constraints=f"{top}.sdc",
        words=f"{unit.name}: {unit.summary}",
        version=version,
    )
    ports = port_map(unit, pipeline, style)
    i, o = ports.input, ports.output
    enable = [ports.enable] if ports.enable else []
    inputs = [*enable, i.valid, *_patterns(i), o.ready]
    outputs = [i.ready, o.valid, *_patterns(o), ports.misuse]
    constraints = timing(top, period, inputs, outputs, style)
    return {**packages, f"{top}.core": project.core(), f"{top}.sdc": constraints, **assertions}


def _patterns(stream: StreamPort) -> list[str]:
    """The ports of a payload as timing constraints name them: a port of several bits by a pattern."""
    if stream.payload:
        return [f"{stream.payload}[*]"]
    return [field.port + "[*]" * (field.bits * field.count > 1) for field in stream.fields]
